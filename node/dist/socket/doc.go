// Package socket prepares, reads, writes and encrypts the sockets of connections.
//
// A SpinReader tries to read for some microseconds before it sleeps, as the schedulers
// of a BEAM do, while data arrives in quick succession. A TryWriter writes what the
// kernel takes at once, so that a sender need not wake a writer. TLS is that of
// -proto_dist inet_tls.
//
// The package refuses to know the protocol.
package socket
