// Package program makes programs ready to run: regions become blocks of steps whose ids are
// slots, and blocks that run often get specializations, whose steps are fusions.
//
// New unrolls loops of known length (graph.Unroll), renumbers ids, and notes after which step a
// value is needed no more, by a pass backwards as in liveness analysis. A Specializer counts
// runs and compiles a program when it has been seen Enough times, for the parameters that are
// literals in these runs. A Partitioner cuts straight-line code between control flow into
// fusions (synth.Fuse). Both give the same bits as the single instructions. A Library keeps the
// programs of a session; those that have run least recently go first.
//
// To make a program costs some 12 µs for each of its instructions. Long programs are made, and all
// programs are partitioned, apart from the goroutine of the owner. On that goroutine, plans are asked
// for in slices, and each plan that is made costs the same, however many there are: a program of
// 12,500 fusions, all different, takes 0.8 ms of it at a time.
//
// The package refuses to know sessions, values and runs. Start reading at New, then
// Specializer.Specialize.
package program
