// Package exchange has a device carry out its part of a collective over memory that all devices of the group
// share (package mesh/schedule): copies between its own memory and the shared memory, and combinations.
//
// The shared memory is that of the process, which each device imports (vulkan.HostMemory). Kernels and copies
// reach it over the bus, so no processor touches the bytes. A combination is one kernel, made by package synth as
// that of a fusion: it reads the chunks of all ranks, combines them in the order of the group, and writes the
// result to the memory of the rank, and to the shared memory if other ranks take it from there. Sums and products of
// bf16 and f16 are rounded once.
//
// Copies to the shared memory, copies from it and combinations have a queue each (vulkan.Device.Siblings): a step is up to
// three submissions, which touch different bytes. So the device reads and writes over its bus at the same time, and beside
// the kernels of others.
//
// A Port is the part of a device in a collective of few bytes: a kernel that waits for the others, with the host between them
// (package mesh/relay).
//
// The package refuses to know sessions and queues, and what other ranks do. Start reading at Rank.Open.
package exchange
