package memory

import (
	"sync/atomic"

	"nxvk/gen/etf"
	"nxvk/vulkan"
)

// Allocator gives memory for large binaries that arrive: memory that the
// device reads in place, so that an uploaded tensor is written once, by the
// socket. What the device has no room for lies on the host.
type Allocator struct {
	dev  *vulkan.Device
	host *Host
}

// NewAllocator returns an allocator for a device, or for the host alone.
func NewAllocator(dev *vulkan.Device, host *Host) *Allocator {
	return &Allocator{dev: dev, host: host}
}

// Alloc returns a block of at least n bytes.
func (a *Allocator) Alloc(n int) (etf.Block, error) {
	if a.dev == nil {
		return a.host.Alloc(n)
	}
	buf, err := a.dev.AllocHost(n)
	if err != nil {
		return a.host.Alloc(n)
	}
	return &deviceBlock{dev: a.dev, buf: buf}, nil
}

// deviceBlock is memory that is mapped for both the host and the device.
type deviceBlock struct {
	dev   *vulkan.Device
	buf   *vulkan.Buffer
	taken atomic.Bool
}

// Bytes returns the memory as the host sees it.
func (b *deviceBlock) Bytes() []byte { return b.buf.Bytes() }

// Free gives the memory back unless it has become a tensor's.
func (b *deviceBlock) Free() {
	if !b.taken.Swap(true) {
		b.buf.Free()
	}
}

// Buffer hands the memory over to the device server of the same device.
// Memory that kernels reach slowly stays a staging area.
func (b *deviceBlock) Buffer(d *vulkan.Device) (*vulkan.Buffer, bool) {
	if d != b.dev || !b.buf.DeviceLocal() || b.taken.Swap(true) {
		return nil, false
	}
	return b.buf, true
}

// DeviceBlock is a block of memory that a device can read in place. A large
// binary that was received into one becomes a tensor without a copy.
type DeviceBlock interface {
	etf.Block
	// Buffer hands the buffer over if it belongs to the device.
	Buffer(d *vulkan.Device) (*vulkan.Buffer, bool)
}
