// Package vk holds the Vulkan entry points this program calls, and no others,
// under Vulkan's own names.
//
// Every structure is built in C from flat arguments, so no Go pointer is ever
// stored in C memory and the garbage collector has nothing to move or free
// under a driver's feet. Calls that matter for speed take pointer-free slices:
// [Replay] records a whole batch of [Cmd] values into a command buffer in one
// call.
//
// github.com/vulkan-go/vulkan serves for the enumeration of physical devices
// and as the check on constants and result names. Its functions that take
// slices of structures free their C copies while the driver reads them, and it
// ends at Vulkan 1.0, so nothing else goes through it.
//
// The package knows nothing of allocation policy, hazards or lifetimes; that
// is package vulkan. Built without cgo it has the same functions, and [Load]
// reports [ErrNoCgo].
//
// Start reading at types.go, then vk.h, then replay.c.
package vk
