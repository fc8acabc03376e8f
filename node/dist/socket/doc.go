// Package socket prepares, reads, writes and encrypts the sockets of connections.
//
// A SpinReader tries to read for some microseconds before it sleeps, as the schedulers
// of a BEAM do, while data arrives in quick succession. A TryWriter writes what the
// kernel takes at once, so that a sender need not wake a writer. TLS is that of
// -proto_dist inet_tls.
//
// The gain: a call of 150 bytes over loopback that follows another at once, on two
// idle processors, takes 28 µs with spinning and 60 µs without (medians); the node
// uses 32 and 48 µs of processor time. Calls 80 µs apart do not spin, and cost the
// same either way. On two processors with a load of 20 it costs more than it earns: 50
// µs and 34 µs a call.
//
// The package refuses to know the protocol.
package socket
