// Package trace records straight-line code of a stream until somebody needs a result, and says
// what to run then. Values that were freed before are not computed.
//
// A Trace renumbers ids into slots in the order in which they appear; its key is the signatures
// of its instructions and the slots of their operands. So the rounds of a loop give equal keys,
// and a Cache has them compiled like programs, as tracing just-in-time compilers do (Bala,
// Duesterwald and Banerjia, Dynamo, 2000). What is compiled also depends on which values the
// session can still name.
//
// To record an instruction is one look-up of its signature, and no allocation once its queue has
// recorded before. A Cache keeps 2^17 instructions.
//
// The package refuses to know sessions, queues and how a block is run. Start reading at
// Trace.Add, then Cache.Block.
package trace
