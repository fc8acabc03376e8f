//go:build !cgo && !novulkan && (amd64 || arm64) && (linux || freebsd || darwin || windows)

package vk

import (
	"runtime"
	"unsafe"

	"nxvk/vulkan/vk/abi"
)

// CreateTimeline creates a timeline semaphore at 0.
func CreateTimeline(handle Device) (Semaphore, Result) {
	var pin runtime.Pinner
	defer pin.Unpin()
	d := handle.get()
	ci := &abi.SemaphoreCreateInfo{SType: abi.TypeSemaphoreCreateInfo, PNext: pinned(&pin, &abi.SemaphoreTypeCreateInfo{
		SType: abi.TypeSemaphoreTypeCreateInfo, SemaphoreType: abi.SemaphoreTypeTimeline,
	})}
	var s Semaphore
	r := call(d.CreateSemaphore, d.handle, uintptr(unsafe.Pointer(ci)), 0, uintptr(unsafe.Pointer(&s)))
	return s, r
}

// DestroySemaphore destroys a semaphore.
func DestroySemaphore(handle Device, s Semaphore) {
	d := handle.get()
	call(d.DestroySemaphore, d.handle, uintptr(s), 0)
}

// GetSemaphoreCounterValue reads a timeline.
func GetSemaphoreCounterValue(handle Device, s Semaphore) (uint64, Result) {
	d := handle.get()
	var v uint64
	r := call(d.GetSemaphoreCounterValue, d.handle, uintptr(s), uintptr(unsafe.Pointer(&v)))
	return v, r
}

// WaitSemaphores waits until a timeline reaches value, at most ns nanoseconds.
func WaitSemaphores(handle Device, s Semaphore, value, ns uint64) Result {
	var pin runtime.Pinner
	defer pin.Unpin()
	d := handle.get()
	wi := &struct {
		abi.SemaphoreWaitInfo
		semaphore Semaphore
		value     uint64
	}{semaphore: s, value: value}
	pin.Pin(wi)
	wi.SemaphoreWaitInfo = abi.SemaphoreWaitInfo{
		SType: abi.TypeSemaphoreWaitInfo, SemaphoreCount: 1,
		PSemaphores: unsafe.Pointer(&wi.semaphore), PValues: unsafe.Pointer(&wi.value),
	}
	return call(d.WaitSemaphores, d.handle, uintptr(unsafe.Pointer(wi)), uintptr(ns))
}

// submission is what QueueSubmit hands over. A recorder has one, which is pinned as long as it lives.
type submission struct {
	info     abi.SubmitInfo
	timeline abi.TimelineSemaphoreSubmitInfo
	waits    [allQueues]Semaphore
	values   [allQueues]uint64
	stages   [allQueues]uint32
	signal   Semaphore
	value    uint64
}

// link points the structures at one another and at the command buffer.
func (s *submission) link(buffer *uintptr, stage uint32) {
	s.timeline = abi.TimelineSemaphoreSubmitInfo{
		SType:                     abi.TypeTimelineSemaphoreSubmitInfo,
		PWaitSemaphoreValues:      unsafe.Pointer(&s.values),
		SignalSemaphoreValueCount: 1,
		PSignalSemaphoreValues:    unsafe.Pointer(&s.value),
	}
	for i := range s.stages {
		s.stages[i] = stage
	}
	s.info = abi.SubmitInfo{
		SType:                abi.TypeSubmitInfo,
		PNext:                unsafe.Pointer(&s.timeline),
		PWaitSemaphores:      unsafe.Pointer(&s.waits),
		PWaitDstStageMask:    unsafe.Pointer(&s.stages),
		CommandBufferCount:   1,
		PCommandBuffers:      unsafe.Pointer(buffer),
		SignalSemaphoreCount: 1,
		PSignalSemaphores:    unsafe.Pointer(&s.signal),
	}
}

// QueueSubmit submits a recorded command buffer to a queue. It begins when other
// timelines have reached points, at most one for each queue, and sets its own to value when
// done. The caller serialises submissions to a queue.
func QueueSubmit(handle Device, queue int, rec Recorder, sem Semaphore, value uint64, after []Point) Result {
	d, r := handle.get(), rec.get()
	if len(after) > allQueues || queue >= d.computing+len(d.copying) {
		return ErrorTooManyObjects
	}
	s := &r.submission
	for i, p := range after {
		s.waits[i], s.values[i] = p.Semaphore, p.Value
	}
	s.info.WaitSemaphoreCount, s.timeline.WaitSemaphoreValueCount = uint32(len(after)), uint32(len(after))
	s.signal, s.value = sem, value
	return r.call(d.QueueSubmit, d.queues[queue], 1, uintptr(unsafe.Pointer(&s.info)), 0)
}
