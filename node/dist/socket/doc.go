// Package socket prepares, reads, writes and encrypts the sockets of connections.
//
// A SpinReader tries to read for some microseconds before it sleeps, as the schedulers
// of a BEAM do, while data arrives in quick succession, and then waits on its own thread
// for some milliseconds. A TryWriter writes what the kernel takes at once, so that a
// sender need not wake a writer. TLS is that of -proto_dist inet_tls.
//
// What spinning earns: a call of 150 bytes over loopback, on two processors that did
// nothing else, took 28 µs with it and 60 µs without where calls follow each other at
// once (medians), and 32 and 48 µs of the node's processor time. On two processors with a
// load of 20 it costs more than it earns: a call took 50 µs with it and 34 µs without. There
// the longer spin after an answer and the wait on the thread earn something: a read of 400
// bytes by a BEAM took 63 to 85 µs with them and 160 µs without.
//
// The package refuses to know the protocol.
package socket
