// Package loop detects that a stream of instructions repeats itself, and says where to cut
// it into traces so that these repeat themselves too: the node then compiles a trace once
// and runs it as fused kernels from then on.
//
// A loop is detected when the last p instruction signatures repeat, for at least 32
// instructions. It is cut at a place whose signature, with those of the three instructions
// before, is unique in a round, so that the cuts do not depend on where the stream was
// entered. Loops of fewer than 32 instructions are cut every few rounds. Without a loop
// traces have 512 instructions. A Detector looks at signatures alone, never at the clock, and
// begins anew where the client waits for something; so the same stream has the same cuts.
//
// What it earns: an SGD step of an MLP 784-128-10 with batch 128, sent one instruction at a
// time, takes 12.2 and 8.5 ms on lavapipe with loops detected, 15.1 and 12.5 ms where traces
// end after 512 instructions alone (two pairs of runs that took turns;
// nxvk-node bench --only "one by one: SGD" ops).
//
// It costs some 20 ns an instruction and 16 KiB a session.
//
// The package refuses to know what instructions are. Start reading at Detector.Step.
package loop
