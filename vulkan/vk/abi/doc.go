// Package abi has the structures and numbers of Vulkan that the build without cgo hands to a driver,
// under Vulkan's own names: VkSubmitInfo is [SubmitInfo], and its member pNext the field PNext.
//
// Vulkan's structures have members of fixed sizes, and alignments that are the same on all systems
// with pointers of 64 bits: Go lays them out as C does. The tests compare every size, offset and
// number with the headers, by the C compiler and, for each system that the node is built for, by clang.
//
// A dispatchable handle and a function are a uintptr, another handle a uint64. The package imports
// nothing and calls nothing: package vk does.
package abi
