// Package spmd divides a program over a mesh of devices: the program of each rank computes its part of the values,
// and has collectives where it needs parts of others (SPMD partitioning, as XLA calls it).
//
// The shardings of the parameters propagate forward. The rule of an operation names factors, as Shardy does: the
// dimensions of operands and results that go together. A dimension without a factor has to be whole. Each
// operand is brought to the sharding that the factors ask for, by slices of its own part and by all_gather; then the
// instruction is carried out on the parts. A factor of operands alone is contracted: an all_reduce follows. An
// operation without a rule is carried out whole on every rank. The two sums of a variance are combined together (variance.go).
//
// Then the instructions are ordered (order.go): reductions begin as early as they can, several together (bucket.go), and their
// readers come late.
//
// Values of operations without a split reduction have the bits of the whole program.
//
// Start reading at Partition, then emitter.instr; rules.go has the rules.
package spmd
