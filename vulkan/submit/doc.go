// Package submit gives the device its work: a scheduler decides whose batch is next, and
// timelines carry batches to the queues of the device and say when they are complete.
//
// Each stream is a [Flow]. Flows share the device by start-time fair queueing (Goyal, Vin and
// Cheng, 1996; fair.go), so a flow that asks for little waits for at most the submission that
// runs. While several flows have work, batches are cut into pieces of some milliseconds and
// long dispatches into parts (pieces.go); one flow alone has its batches submitted whole and
// well ahead, but for dispatches of a processor that take longer than a flow that comes may
// wait. Expected times come from the caller and are corrected by measured times.
//
// Choosing the next batch costs time in proportion to the flows that have work waiting.
// On an H200, one 1 MiB operation beside four sessions that multiply 8192 × 8192 matrices
// waits 2.7 ms in the median and 6.4 ms in the 99th percentile; the four lose 0.3 %.
//
// The package does not know buffers or kernels: a batch is a list of commands and the
// submissions that it comes after.
package submit
