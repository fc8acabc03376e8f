// Package sample draws from log densities that are programs of a session, by the No-U-Turn
// sampler of package nuts (Hoffman and Gelman, 2014), and takes leapfrog steps for clients.
//
// Where the device can compute the density, one kernel takes many leapfrog steps, of many
// chains at a time (batcher.go). Elsewhere, and where the device is a processor and the
// density small, each chain evaluates the density on the host. A run costs a goroutine a
// chain; draws go to their reader in chunks, and a chain waits where the reader is slow.
//
// The package refuses to know Erlang and how programs are executed: exec.Services do
// that. Start reading at Sampler.Sample.
package sample
