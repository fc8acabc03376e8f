// Package wire turns Erlang terms into instructions and requests, and errors
// into terms, by the op table's attribute schemas: there is no code for a single
// operation here. gen/README.md is the specification.
//
// Anything may arrive from the network. A term that is not an instruction
// becomes an Instr with an error, never a panic; whatever can be read of its
// results is kept, so that the error can stay with them.
package wire
