// Package transfer brings values to a device and back.
//
// A literal becomes the memory of a value without a copy where nobody else holds it. Up to 1 MiB the
// goroutine of the Executor copies itself; more is copied on the processors that sessions share, in place
// where the host writes memory of the device, otherwise in pieces of 16 MiB through memory that the device
// copies from. A queue waits for an upload or a readback of its own, and for nobody else's.
//
// The package refuses to know queues and instructions. Start reading at Transfers.ToDevice and ReadBack.
package transfer
