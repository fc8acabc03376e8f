package vulkan

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"nxvk/vulkan/memory"
)

// HostMemory is memory of the process that several devices can use in place ([Device.Import]): what one of them
// writes, another one reads, without a copy by the processor. It is page-locked while a device has it.
type HostMemory struct {
	bytes []byte
	pin   runtime.Pinner
	refs  atomic.Int32
	freed atomic.Bool
}

// shared has the memory that is in use. A device that hangs keeps its own for as long as the process lives.
var shared sync.Map

// hostAlign is the alignment of memory for all devices: that of large pages is no device's need.
const hostAlign = 64 << 10

// AllocShared returns at least n bytes of memory, cleared, for devices to import.
func AllocShared(n int) *HostMemory {
	n = max(n+hostAlign-1, hostAlign) &^ (hostAlign - 1)
	all := make([]byte, n+hostAlign)
	at := -int(uintptr(unsafe.Pointer(unsafe.SliceData(all)))) & (hostAlign - 1)
	h := &HostMemory{bytes: all[at:][:n:n]}
	h.pin.Pin(unsafe.SliceData(h.bytes))
	h.refs.Store(1)
	shared.Store(h, true)
	return h
}

// Bytes returns the memory.
func (h *HostMemory) Bytes() []byte { return h.bytes }

// Free gives the memory back, once all devices have freed their buffers of it. It is idempotent.
func (h *HostMemory) Free() {
	if !h.freed.Swap(true) {
		h.Drop()
	}
}

// Drop gives back what a device has had of the memory; package memory calls it.
func (h *HostMemory) Drop() {
	if h.refs.Add(-1) == 0 {
		h.pin.Unpin()
		shared.Delete(h)
	}
}

// Import returns memory of the process as a buffer, which kernels reach over the bus of the device. Work of
// several devices, and of the host, on the same bytes is ordered by whoever submits it: a device sees what
// another one has written when it gets its work after the other's has completed.
func (d *Device) Import(h *HostMemory) (*Buffer, error) {
	if err := d.dev.Gone(); err != nil {
		return nil, err
	}
	i := d.dev.Info
	if a := i.Limits.ImportAlignment; !i.Features.HostImport || a > hostAlign {
		return nil, fmt.Errorf("import memory of the host: %w: %s does not, or asks for an alignment of %d bytes", ErrInvalid, i.Name, a)
	}
	h.refs.Add(1)
	r, err := d.mem.Import(h)
	if err != nil {
		h.Drop()
		return nil, err
	}
	return &Buffer{d: d, r: r, n: len(h.bytes)}, nil
}

var _ memory.Imported = (*HostMemory)(nil)
