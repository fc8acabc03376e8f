// Package control reads the control messages of the distribution protocol: tuples that
// begin with an operation and say whom the message is for.
//
// It follows "Protocol between Connected Nodes" of the Erlang documentation, OTP 25 and
// later. Operations whose names end in TT carry a trace token, which is ignored.
//
// The package refuses to know what becomes of a message.
package control
