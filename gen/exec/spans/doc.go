// Package spans measures where the time of a run or a read with a W3C trace context goes: waiting for
// its turn, waiting for compilations, the device's work, and the copy to the client.
//
// The device work of such a request is submitted apart from other work of its session, so the times of
// these submissions are its own. A request without a context costs a comparison.
//
// The package refuses to know instructions and queues. Start reading at Observer.Observe.
package spans
