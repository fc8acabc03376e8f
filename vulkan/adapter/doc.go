// Package adapter lists the Vulkan devices of the machine and describes each: its kind, the
// features that kernels may use, and its limits.
//
// An adapter (in Vulkan's words a physical device) can be used where it has Vulkan 1.2, timeline
// semaphores and a queue that computes. Listing asks the drivers once per call and takes
// milliseconds. One Vulkan instance serves the whole process.
//
// The package opens no device and allocates no memory.
package adapter
