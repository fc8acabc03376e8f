//go:build cgo

package vk

// #include "vk.h"
import "C"

import "unsafe"

// The Go and C layouts of a command are the same.
var (
	_ [unsafe.Sizeof(Cmd{})]byte  = [C.sizeof_nxvk_cmd]byte{}
	_ [unsafe.Sizeof(Bind{})]byte = [C.sizeof_nxvk_bind]byte{}

	_ [unsafe.Sizeof(Point{})]byte = [C.sizeof_nxvk_point]byte{}
)

func (r Recorder) c() *C.nxvk_recorder { return *(**C.nxvk_recorder)(unsafe.Pointer(&r)) }

// CreateRecorder creates a command buffer with its pools: for queues that compute where copies is 0, or for a queue that
// copies, from 1 on.
func CreateRecorder(d Device, copies int) (Recorder, Result) {
	var out *C.nxvk_recorder
	r := Result(C.nxvk_create_recorder(d.c(), C.uint32_t(copies), &out))
	return Recorder(uintptr(unsafe.Pointer(out))), r
}

// DestroyRecorder destroys a recorder that is not executing.
func DestroyRecorder(d Device, r Recorder) { C.nxvk_destroy_recorder(d.c(), r.c()) }

// Replay resets the recorder and records the commands. Their PushAt and BindAt are indices of push and
// binds; queries is the number of timestamps that they take, numbered from 0. once means that the
// recorder is submitted at most once.
func Replay(d Device, r Recorder, cmds []Cmd, push []byte, binds []Bind, queries int, once bool) Result {
	return Result(C.nxvk_replay(d.c(), r.c(), (*C.nxvk_cmd)(unsafe.Pointer(unsafe.SliceData(cmds))), C.uint32_t(len(cmds)),
		(*C.uint8_t)(unsafe.SliceData(push)), (*C.nxvk_bind)(unsafe.Pointer(unsafe.SliceData(binds))), C.uint32_t(queries), C._Bool(once)))
}

// CreateTimeline creates a timeline semaphore at 0.
func CreateTimeline(d Device) (Semaphore, Result) {
	var s C.uint64_t
	r := Result(C.nxvk_create_timeline(d.c(), &s))
	return Semaphore(s), r
}

// DestroySemaphore destroys a semaphore.
func DestroySemaphore(d Device, s Semaphore) { C.nxvk_destroy_semaphore(d.c(), C.uint64_t(s)) }

// GetSemaphoreCounterValue reads a timeline.
func GetSemaphoreCounterValue(d Device, s Semaphore) (uint64, Result) {
	var v C.uint64_t
	r := Result(C.nxvk_counter(d.c(), C.uint64_t(s), &v))
	return uint64(v), r
}

// WaitSemaphores waits until a timeline reaches value, at most ns nanoseconds.
func WaitSemaphores(d Device, s Semaphore, value, ns uint64) Result {
	return Result(C.nxvk_wait(d.c(), C.uint64_t(s), C.uint64_t(value), C.uint64_t(ns)))
}

// QueueSubmit submits a recorded command buffer to a queue. It begins when other
// timelines have reached points, at most one for each queue, and sets its own to value when
// done. The caller serialises submissions to a queue.
func QueueSubmit(d Device, queue int, r Recorder, s Semaphore, value uint64, after []Point) Result {
	return Result(C.nxvk_submit(d.c(), C.uint32_t(queue), r.c(), C.uint64_t(s), C.uint64_t(value),
		(*C.nxvk_point)(unsafe.Pointer(unsafe.SliceData(after))), C.uint32_t(len(after))))
}
