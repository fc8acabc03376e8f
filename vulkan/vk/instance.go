//go:build cgo

package vk

/*
#cgo linux LDFLAGS: -ldl
#include "vk.h"
*/
import "C"

import (
	"fmt"
	"runtime"
	"runtime/cgo"
	"sync"
	"unsafe"

	binding "github.com/vulkan-go/vulkan"
)

// Binding says how the package calls Vulkan.
const Binding = "cgo"

// mu guards the loader, the function table of the binding, which is global to the process, and
// messages.
var (
	mu       sync.Mutex
	loaded   bool
	messages = map[Instance]cgo.Handle{}
)

// Load opens the Vulkan loader. It is cheap after the first success.
func Load() error {
	mu.Lock()
	defer mu.Unlock()
	if loaded {
		return nil
	}
	if name := C.nxvk_load(); name != nil {
		return fmt.Errorf("%s not found", C.GoString(name))
	}
	binding.SetGetInstanceProcAddr(C.nxvk_proc_addr())
	if err := binding.Init(); err != nil {
		return fmt.Errorf("initialise the Vulkan binding: %w", err)
	}
	loaded = true
	return nil
}

// CreateInstance creates an instance; with a message function it has the
// validation layer, with synchronization validation.
func CreateInstance(message Message) (Instance, Result) {
	var in *C.nxvk_instance
	if message == nil {
		r := Result(C.nxvk_create_instance(0, 0, &in))
		return Instance(uintptr(unsafe.Pointer(in))), r
	}
	h := cgo.NewHandle(message)
	if r := Result(C.nxvk_create_instance(1, C.uintptr_t(h), &in)); r != Success {
		h.Delete()
		return 0, r
	}
	mu.Lock()
	defer mu.Unlock()
	messages[Instance(uintptr(unsafe.Pointer(in)))] = h
	return Instance(uintptr(unsafe.Pointer(in))), Success
}

// DestroyInstance destroys an instance whose devices are destroyed.
func DestroyInstance(in Instance) {
	C.nxvk_destroy_instance(in.c())
	mu.Lock()
	defer mu.Unlock()
	if h, ok := messages[in]; ok {
		h.Delete()
		delete(messages, in)
	}
}

// EnumeratePhysicalDevices lists the instance's devices.
func EnumeratePhysicalDevices(in Instance) ([]PhysicalDevice, error) {
	mu.Lock()
	defer mu.Unlock()
	handle := binding.Instance(unsafe.Pointer(in.c().handle))
	if err := binding.InitInstance(handle); err != nil {
		return nil, err
	}
	var n uint32
	if r := binding.EnumeratePhysicalDevices(handle, &n, nil); r != binding.Success {
		return nil, Result(r)
	}
	list := make([]binding.PhysicalDevice, n)
	if n > 0 {
		if r := binding.EnumeratePhysicalDevices(handle, &n, list); r != binding.Success && r != binding.Incomplete {
			return nil, Result(r)
		}
	}
	out := make([]PhysicalDevice, n)
	for i, p := range list[:n] {
		out[i] = PhysicalDevice(uintptr(unsafe.Pointer(p)))
	}
	runtime.KeepAlive(list)
	return out, nil
}

// GetPhysicalDeviceInfo reads properties, limits, features and memory types.
func GetPhysicalDeviceInfo(in Instance, p PhysicalDevice) Info {
	var c C.nxvk_info
	C.nxvk_get_info(in.c(), C.uint64_t(p), &c)
	return goInfo(&c)
}

// GetMemoryBudget returns how many bytes of each heap the process may use, and how many it uses.
func GetMemoryBudget(in Instance, p PhysicalDevice) (budget, usage [16]uint64) {
	C.nxvk_get_budget(in.c(), C.uint64_t(p), (*C.uint64_t)(&budget[0]), (*C.uint64_t)(&usage[0]))
	return budget, usage
}

func (in Instance) c() *C.nxvk_instance {
	return *(**C.nxvk_instance)(unsafe.Pointer(&in))
}

func goInfo(c *C.nxvk_info) Info {
	i := Info{
		Name: C.GoString(&c.name[0]), Driver: C.GoString(&c.driver[0]), DriverInfo: C.GoString(&c.driver_info[0]),
		Kind: uint32(c.kind), Vendor: uint32(c.vendor), Device: uint32(c.device),
		API: uint32(c.api), DriverVersion: uint32(c.driver_version), DriverID: uint32(c.driver_id),
		Features: uint32(c.features), Family: uint32(c.family), Queues: uint32(c.queues),
		MaxPush: uint32(c.max_push), MaxBindings: uint32(c.max_bindings), Shared: uint32(c.shared), MaxInvocations: uint32(c.max_invocations),
		Subgroup: uint32(c.subgroup), SubgroupMin: uint32(c.subgroup_min), SubgroupMax: uint32(c.subgroup_max),
		SubgroupOps: uint32(c.subgroup_ops), MaxRange: uint64(c.max_range), MaxAllocation: uint64(c.max_alloc),
		OffsetAligned: uint64(c.offset_align), ImportAligned: uint64(c.import_align),
		TimestampPeriod: float32(c.timestamp_period),
	}
	for k := range int(c.copy_queues) {
		i.CopyQueues = append(i.CopyQueues, CopyQueue{uint32(c.copy_family[k]), uint32(c.copy_index[k])})
	}
	for k := range 16 {
		i.UUID[k], i.CacheUUID[k] = byte(c.uuid[k]), byte(c.cache_uuid[k])
	}
	for k := range 3 {
		i.MaxSize[k], i.MaxCount[k] = uint32(c.max_size[k]), uint32(c.max_count[k])
	}
	for k := range int(c.types) {
		i.Types = append(i.Types, MemoryType{uint32(c.type_flags[k]), int(c.type_heap[k])})
	}
	for k := range int(c.heaps) {
		i.Heaps = append(i.Heaps, MemoryHeap{uint64(c.heap_size[k]), uint32(c.heap_flags[k])})
	}
	for k := range int(c.matrices) {
		m := &c.matrix[k]
		i.Matrices = append(i.Matrices, MatrixShape{M: uint32(m.m), N: uint32(m.n), K: uint32(m.k), A: uint32(m.a), B: uint32(m.b),
			C: uint32(m.c), Result: uint32(m.result), Scope: uint32(m.scope), Saturating: m.saturating != 0})
	}
	return i
}
