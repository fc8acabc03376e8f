// Package wire turns Erlang terms into instructions and requests, and errors
// into terms, by the op table's attribute schemas: there is no code for a single
// operation here. gen/README.md is the specification.
//
// Any term may arrive from the network. A term that is not an instruction becomes an
// Instr with an error, never a panic. The results that can be read are kept, so that
// the error can stay with them.
//
// It refuses to know processes and how anything is computed.
package wire
