// Package packet cuts the stream of a connection into messages, and writes messages to
// it: packets, fragments, the atom cache and large binaries of the distribution
// protocol (Erlang documentation, "External Term Format: Distribution Header" and
// "Protocol between Connected Nodes").
//
// A Reader copies the bytes of a short message once, into its buffer. A large binary is
// read from the socket into memory of an etf.Allocator, also out of fragments, and is
// never copied. A Writer gathers short messages in one write, lets senders write by
// themselves where nothing waits, and sends long messages in fragments between others.
// Data that arrive, that are decoded or that wait are charged to a quota.Account.
//
// The package refuses to know operations, processes and what messages are for.
package packet
