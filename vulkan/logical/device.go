package logical

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"nxvk/vulkan/adapter"
	"nxvk/vulkan/vk"
)

// Device is an open device. Its methods may be called from any goroutine.
type Device struct {
	VK       vk.Device
	Instance vk.Instance
	GPU      vk.PhysicalDevice
	Info     adapter.Info
	Raw      vk.Info
	Options  Options
	Counts   Counters

	// Making is held by submissions, and shared by those who make pipelines, where Info.PipelinesApart is true.
	Making sync.RWMutex

	onEnd   atomic.Pointer[func(waited, ran time.Duration)]
	epoch   atomic.Uint64
	lost    atomic.Pointer[error]
	stalled atomic.Bool
	closed  atomic.Bool
}

// Open creates the device of an adapter, with the faults of the options injected.
func Open(in vk.Instance, a *adapter.Adapter, o Options) (*Device, error) {
	d := &Device{Instance: in, GPU: a.GPU, Info: a.Info, Raw: a.Raw, Options: o}
	if o.Fault.PipelinesApart {
		d.Info.PipelinesApart = true
	}
	if o.Fault.NoPushDescriptors {
		d.Raw.Features &^= vk.PushDescriptor
		d.Info.Features.PushDescriptor = false
	}
	if o.Fault.NoAddresses {
		d.Info.Features.BufferDeviceAddress, d.Info.Bindings = false, true
	}
	if o.Fault.NoImport {
		d.Info.Features.HostImport = false
	}
	if o.Fault.StorageRange != nil {
		d.Info.Limits.MaxStorageRange = d.StorageRange()
	}
	all := min(max(1, d.Raw.Queues), vk.MaxQueues)
	d.Info.Queues = min(int(all), max(1, o.Queues))
	d.Raw.Queues = min(all, uint32(d.Info.Queues)+1) // one for streams of Device.Siblings
	if o.Fault.Queues > 0 {
		d.Info.Queues = min(o.Fault.Queues, vk.MaxQueues)
	}
	if len(o.CopyQueues) > 0 {
		d.Raw.CopyQueues = nil
		for _, q := range o.CopyQueues[:min(len(o.CopyQueues), vk.MaxCopyQueues)] {
			d.Raw.CopyQueues = append(d.Raw.CopyQueues, vk.CopyQueue{Family: uint32(q[0]), Index: uint32(q[1])})
		}
		d.Info.CopyQueues = len(d.Raw.CopyQueues)
	}
	if n := o.Fault.CopyQueues; n != 0 {
		d.Info.CopyQueues = min(max(n, 0), vk.MaxCopyQueues)
		d.Raw.CopyQueues = d.Raw.CopyQueues[:min(len(d.Raw.CopyQueues), d.Info.CopyQueues)]
	}
	raw := a.Raw
	raw.Queues, raw.CopyQueues = d.Raw.Queues, d.Raw.CopyQueues
	var r vk.Result
	if d.VK, r = vk.CreateDevice(in, a.GPU, &raw); r != vk.Success {
		return nil, r
	}
	return d, nil
}

// StorageRange returns how many bytes a binding holds at most.
func (d *Device) StorageRange() uint64 {
	most := d.Raw.MaxRange
	if f := d.Options.Fault.StorageRange; f != nil {
		most = min(most, f())
	}
	return most
}

// CutsDispatches reports whether long dispatches are cut into parts, so that the work of
// other streams runs between them. A device with several queues runs that on another queue.
func (d *Device) CutsDispatches() bool { return d.Info.Queues == 1 || d.Options.Piece > 0 }

// Epoch changes when Invalidate is called.
func (d *Device) Epoch() uint64 { return d.epoch.Load() }

// Invalidate says that a pipeline or a buffer is about to be destroyed. Recorded command
// buffers may refer to it and are not submitted again.
func (d *Device) Invalidate() { d.epoch.Add(1) }

// Lost returns an error that wraps [ErrDeviceLost] once the device is lost, and nil before.
func (d *Device) Lost() error {
	if p := d.lost.Load(); p != nil {
		return *p
	}
	return nil
}

// Lose latches the loss of the device and returns it. Goroutines that wait for the device
// notice within a fifth of a second.
func (d *Device) Lose(doing string, cause error) error {
	err := fmt.Errorf("%s: %w: %w", doing, ErrDeviceLost, cause)
	d.lost.CompareAndSwap(nil, &err)
	return d.Lost()
}

// Stall loses a device whose work does not end.
func (d *Device) Stall() error {
	d.stalled.Store(true)
	return d.Lose("watch the device", errStalled)
}

// Stalled reports whether work on the device may never end.
func (d *Device) Stalled() bool { return d.stalled.Load() }

// Fail turns a result into an error, and latches the loss of the device.
func (d *Device) Fail(doing string, r vk.Result) error {
	switch r {
	case vk.ErrorDeviceLost:
		return d.Lose(doing, r)
	case vk.ErrorOutOfDeviceMemory, vk.ErrorOutOfHostMemory, vk.ErrorMemoryMapFailed, vk.ErrorTooManyObjects:
		return fmt.Errorf("%s: %w: %w", doing, ErrOutOfMemory, r)
	}
	return fmt.Errorf("%s: %w", doing, r)
}

// Gone returns why the device takes no more work, nil where it does: it is lost or closed.
func (d *Device) Gone() error {
	if d.Closed() {
		return ErrClosed
	}
	return d.Lost()
}

// Close marks the device as closed, and reports whether it was open.
func (d *Device) Close() bool { return !d.closed.Swap(true) }

// Closed reports whether the device is closed.
func (d *Device) Closed() bool { return d.closed.Load() }
