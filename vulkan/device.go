package vulkan

import (
	"fmt"
	"sync/atomic"
	"time"

	"nxvk/vulkan/vk"
)

// Device is an open device. Its methods may be called from any goroutine.
type Device struct {
	info Info
	raw  vk.Info
	sel  string
	opts Options

	in  vk.Instance
	gpu vk.PhysicalDevice
	dev vk.Device

	mem     memory
	queue   queue
	kernels kernels
	copier  copier
	counts  counters
	onEnd   atomic.Pointer[func(waited, ran time.Duration)] // see OnEnd

	lost    atomic.Pointer[error]
	stalled atomic.Bool // work on it may never end
	closed  atomic.Bool
	// holds counts Close and what the host may be reading or writing: open
	// readbacks and the buffers of AllocHost. Memory is unmapped after the last.
	holds atomic.Int64
}

// Open opens the device that sel names: "" for the best, an index or a UUID
// of [Devices], or a part of a name.
func Open(sel string, o Options) (*Device, error) {
	var message vk.Message
	if o.Validation {
		message = func(severity, text string) {
			if o.OnMessage != nil {
				o.OnMessage(severity, text)
			}
		}
	}
	in, err := newInstance(message)
	if err != nil {
		return nil, err
	}
	d, err := open(in, sel, o)
	if err != nil {
		destroyInstance(in)
		return nil, err
	}
	return d, nil
}

func open(in vk.Instance, sel string, o Options) (*Device, error) {
	list, err := candidates(in)
	if err != nil {
		return nil, err
	}
	c, err := choose(list, sel)
	if err != nil {
		return nil, err
	}
	d := &Device{info: c.info, raw: c.raw, sel: sel, opts: o, in: in, gpu: c.gpu}
	if o.Fault.NoPushDescriptors {
		d.raw.Features &^= vk.PushDescriptor
		d.info.Features.PushDescriptor = false
	}
	if o.Fault.NoAddresses {
		d.info.Features.BufferDeviceAddress, d.info.Bindings = false, true
	}
	if o.Fault.StorageRange != nil {
		d.info.Limits.MaxStorageRange = d.storageRange()
	}
	d.raw.Queues = min(max(1, d.raw.Queues), uint32(max(1, o.Queues)), vk.MaxQueues)
	if d.info.Queues = int(d.raw.Queues); o.Fault.Queues > 0 {
		d.info.Queues = min(o.Fault.Queues, vk.MaxQueues)
	}
	var r vk.Result
	if d.dev, r = vk.CreateDevice(in, c.gpu, &c.raw); r != vk.Success {
		return nil, fmt.Errorf("open %s: %w", c.info.Name, r)
	}
	if err := d.init(); err != nil {
		vk.DestroyDevice(d.dev)
		return nil, fmt.Errorf("open %s: %w", c.info.Name, err)
	}
	return d, nil
}

func (d *Device) init() error {
	d.hold()
	if err := d.mem.init(d); err != nil {
		return err
	}
	if err := d.queue.init(d); err != nil {
		return err
	}
	if err := d.kernels.init(d); err != nil {
		d.queue.close()
		return err
	}
	return nil
}

// storageRange is the bytes that a binding holds at most.
func (d *Device) storageRange() uint64 {
	most := d.raw.MaxRange
	if f := d.opts.Fault.StorageRange; f != nil {
		most = min(most, f())
	}
	return most
}

// slices reports whether long dispatches are cut, so that others have their turn in
// between: where the device has several queues they have one of those instead.
func (d *Device) slices() bool { return d.info.Queues == 1 || d.opts.Piece > 0 }

// Info describes the device.
func (d *Device) Info() Info { return d.info }

// Lost returns an error that wraps [ErrDeviceLost] once the device is lost, and
// nil before.
func (d *Device) Lost() error {
	if p := d.lost.Load(); p != nil {
		return *p
	}
	return nil
}

// lose latches the loss of the device and returns it. The waiter
// notices within a slice of its wait.
func (d *Device) lose(doing string, cause error) error {
	err := fmt.Errorf("%s: %w: %w", doing, ErrDeviceLost, cause)
	d.lost.CompareAndSwap(nil, &err)
	return d.Lost()
}

// stall loses a device whose work does not end.
func (d *Device) stall() error {
	d.stalled.Store(true)
	return d.lose("watch the device", errStalled)
}

// fail turns a result into an error, latching the loss of the device.
func (d *Device) fail(doing string, r vk.Result) error {
	switch r {
	case vk.ErrorDeviceLost:
		return d.lose(doing, r)
	case vk.ErrorOutOfDeviceMemory, vk.ErrorOutOfHostMemory, vk.ErrorMemoryMapFailed, vk.ErrorTooManyObjects:
		return fmt.Errorf("%s: %w: %w", doing, ErrOutOfMemory, r)
	}
	return fmt.Errorf("%s: %w", doing, r)
}

// gone returns why the device takes no more work: it is lost or closed.
func (d *Device) gone() error {
	if d.closed.Load() {
		return ErrClosed
	}
	return d.Lost()
}

// Close waits for the work submitted, saves the pipeline cache and gives
// everything back, except that the bytes of open readbacks and of buffers from
// AllocHost stay valid until they are released and freed. It waits for kernels
// that other goroutines are compiling; nothing else of the device may be in use
// by them, and later calls return [ErrClosed]. Close is idempotent.
func (d *Device) Close() error {
	if d.closed.Swap(true) {
		return nil
	}
	d.mem.idle.end()
	if d.stalled.Load() {
		d.queue.abandon()
	} else {
		d.queue.drain()
	}
	for _, l := range d.queue.lines {
		l.waiter.close()
	}
	if d.stalled.Load() {
		// Destroying anything would wait for work that may never end. The
		// system takes it all back when the process is gone.
		return nil
	}
	vk.DeviceWaitIdle(d.dev)
	err := d.kernels.close()
	d.queue.close()
	d.unhold()
	return err
}

func (d *Device) hold() { d.holds.Add(1) }

// unhold drops a hold; after the last, and Close has one, the device goes.
func (d *Device) unhold() {
	if d.holds.Add(-1) > 0 || d.stalled.Load() {
		return
	}
	d.mem.close()
	vk.DestroyDevice(d.dev)
	destroyInstance(d.in)
}

// Reopen closes the device and opens it again, with nothing on it: the way on
// after [ErrDeviceLost].
func (d *Device) Reopen() (*Device, error) {
	if err := d.Close(); err != nil && d.Lost() == nil {
		return nil, err
	}
	return Open(d.info.UUID, d.opts)
}
