// Package schedule plans collectives of devices that share memory of the host.
//
// Each rank of a group carries out the same number of steps. A step is some commands that its device can
// carry out at the same time: copies between its own memory and the shared memory, and combinations of what
// the others have put there. A rank may begin step t when all ranks have completed step t - Lag. While
// devices carry out one step, the host gives them the next one.
//
// The operand is divided into chunks, and a chunk moves through phases, one in every Lag steps. For an
// all_reduce these are those of Rabenseifner's algorithm (Thakur, Rabenseifner and Gropp 2005), a reduce-scatter and an
// all-gather: each rank shares the parts of the others; each combines its part from all ranks, in the order of the
// group; each takes the combined parts of the others. So with two ranks every byte of the operand crosses the bus of
// a device once in each direction, and a step reads and writes over the bus at the same time.
//
// Two devices of one kind need no division: each shares its operand and combines both itself, with the same bits (Swapped, or
// Direct for little). As many bytes cross the bus, in two phases in place of three.
//
// What a rank keeps of its operand (Kept) is copied before the first step.
//
// The last steps of a schedule read what others have shared. So no rank needs another one that has been given its
// last steps.
//
// The package knows bytes and offsets, and refuses to know devices, types and how steps are carried out. Start
// reading at New, then Schedule.Commands.
package schedule
