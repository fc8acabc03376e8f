// Package logical holds an open device (in Vulkan's words a logical device) and the state
// that all parts of package vulkan share: its handles and limits, the options of Open, the
// errors, the counters, and whether the device is lost or closed.
//
// A device is lost when the driver says so, when a submission runs for longer than the
// watchdog allows, or when a submission that others build on fails. The loss is latched:
// every later call returns it.
//
// The package knows nothing of memory, kernels or submissions.
package logical
