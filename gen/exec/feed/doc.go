// Package feed has the work of each session for the device: what is recorded in the stream of
// the session, what is submitted and not complete, and what has been asked of the results.
//
// Each session has a stream of its own, so nobody's work is in front of what another session
// submits, and the streams take turns on the device (package vulkan/submit). A batch ends at 8
// dispatches where the device has nothing to do, and those that follow at 16, 32 and 64 while it has little, so that it starts early;
// otherwise at 256 dispatches or 50 ms of estimated time. Completions submit what has gathered. The device's part of a deadline is
// here (Effort), and the words by which kernels tell what is wrong (Check). While a submission is under way the owner pays one look at the clock
// and one function posted for its completion.
//
// The package refuses to know instructions, programs and queues. All methods are for the
// goroutine of the owner, and none waits, but for Alloc. Start reading at Feed.Dispatch, then
// Feed.Submit.
package feed
