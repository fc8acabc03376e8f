// Package vk has the Vulkan entry points that this program calls, under Vulkan's own names.
//
// There are two builds of the same functions, and [Binding] says which one this is. Calls that matter
// for speed take pointer-free slices in both: [Replay] records a whole batch of [Cmd] values into a
// command buffer.
//
// With cgo, every structure is built in C from flat arguments, so that no Go pointer is ever stored in
// C memory, where the garbage collector would not see it, and a batch is one call of C.
// github.com/vulkan-go/vulkan enumerates physical devices, and tests compare constants and result names
// with it. It ends at Vulkan 1.0, and its functions that take slices of structures free their C copies
// while the driver reads them, so nothing else calls it.
//
// Without cgo, on amd64 and arm64, github.com/ebitengine/purego opens the loader and calls it. Structures
// are those of package abi, in Go memory. They are pinned while the driver may read them, and a recorder
// has those of recording and submission, pinned as long as it lives. Every command is a call of its own,
// which takes 0.3 µs longer for a dispatch with its barrier: 1,000 dependent additions of 1,024 elements and
// the read of their result take 3 % longer on lavapipe (4.67 ms instead of 4.53, the fastest of 30 runs of
// each build in turn). Only messages of the validation layer call Go back.
//
// A build without cgo for other systems, or with the tag novulkan, has neither: [Load] reports
// [ErrNotBuilt].
//
// The package knows nothing of allocation policy, hazards or lifetimes; the packages above it do.
//
// Start reading at types.go, then vk.h and replay.c, or replay_purego.go.
package vk
