// Package vk has the Vulkan entry points that this program calls, under Vulkan's own names.
//
// Every structure is built in C from flat arguments, so that no Go pointer is ever stored in C memory,
// where the garbage collector would not see it. Calls that matter for speed take pointer-free slices:
// [Replay] records a whole batch of [Cmd] values into a command buffer in one
// call.
//
// github.com/vulkan-go/vulkan enumerates physical devices, and tests compare constants and result names
// with it. It ends at Vulkan 1.0, and its functions that take slices of structures free their C copies
// while the driver reads them, so nothing else calls it.
//
// The package knows nothing of allocation policy, hazards or lifetimes; the packages above it do. Built without cgo it has the same functions, and [Load]
// reports [ErrNoCgo].
//
// Start reading at types.go, then vk.h, then replay.c.
package vk
