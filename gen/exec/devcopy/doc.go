// Package devcopy copies the memory of a value from one device of a node to another, or between a
// device and the host.
//
// A Sender has the device read the value back in chunks, and lends each chunk to a Receiver, which
// copies it into memory of its own device: in place where the host writes that, otherwise by way of
// memory that the device copies from. A few chunks are on their way at a time, so one device reads
// while the other one writes, and the copy takes little memory of the host beside the value. Where the
// host has the value it is lent as it is, so between two host devices the bytes are copied once. Two devices that
// import memory of the process copy to and from slots of it (Slots), by queues that only copy. Chunks that are
// not in slots begin at offsets that the size of the value alone decides, so chunks of several senders match.
//
// A Sender belongs to the goroutine of its Executor and a Receiver to that of another one. Neither
// waits for the other: what passes between them are functions that each has the other's goroutine run.
//
// The package refuses to know sessions, ids and instructions. Start reading at Sender.Start, then
// Receiver.Take.
package devcopy
