package vulkan

import (
	"fmt"
	"sync/atomic"
	"time"

	"nxvk/vulkan/adapter"
	"nxvk/vulkan/hazard"
	"nxvk/vulkan/logical"
	"nxvk/vulkan/memory"
	"nxvk/vulkan/pipeline"
	"nxvk/vulkan/submit"
	"nxvk/vulkan/vk"
)

// Device is an open device. Its methods may be called from any goroutine.
type Device struct {
	dev      *logical.Device
	mem      *memory.Memory
	queue    *submit.Scheduler
	compiler *pipeline.Compiler
	trackers hazard.Pool
	copier   copier

	// holds counts Close and what the host may be reading or writing: open readbacks and the
	// buffers of AllocHost. Memory is unmapped after the last.
	holds atomic.Int64
}

// Open opens the device that sel names: "" for the best, an index or a UUID of [Devices], or
// a part of a name.
func Open(sel string, o Options) (*Device, error) {
	var message vk.Message
	if o.Validation {
		message = func(severity, text string) {
			if o.OnMessage != nil {
				o.OnMessage(severity, text)
			}
		}
	}
	in, err := adapter.Instance(message)
	if err != nil {
		return nil, err
	}
	d, err := open(in, sel, o)
	if err != nil {
		adapter.Release(in)
		return nil, err
	}
	return d, nil
}

func open(in vk.Instance, sel string, o Options) (*Device, error) {
	a, err := adapter.Choose(in, sel)
	if err != nil {
		return nil, err
	}
	dev, err := logical.Open(in, a, o)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", a.Info.Name, err)
	}
	d := &Device{dev: dev}
	if err := d.init(); err != nil {
		vk.DestroyDevice(dev.VK)
		return nil, fmt.Errorf("open %s: %w", a.Info.Name, err)
	}
	return d, nil
}

func (d *Device) init() (err error) {
	d.hold()
	if d.queue, err = submit.NewScheduler(d.dev); err != nil {
		return err
	}
	if d.mem, err = memory.New(d.dev, d.queue); err == nil {
		d.compiler, err = pipeline.New(d.dev)
	}
	if err != nil {
		d.queue.Close()
	}
	return err
}

// Info describes the device.
func (d *Device) Info() Info { return d.dev.Info }

// Lost returns an error that wraps [ErrDeviceLost] once the device is lost, and nil before.
func (d *Device) Lost() error { return d.dev.Lost() }

// OnEnd has f called for each submission that ends from now on, with the time it waited for
// its turn and the time from then until its end was seen. f must not block or call the device.
func (d *Device) OnEnd(f func(waited, ran time.Duration)) { d.dev.OnEnd(f) }

// Pipeline compiles a kernel with the entry point main. It takes milliseconds to seconds,
// holds no lock, and may be called from several goroutines at once. The error wraps
// [ErrRefused] where the driver cannot compile the kernel.
func (d *Device) Pipeline(name string, code []uint32, l Layout) (*Pipeline, error) {
	return d.compiler.Compile(name, code, l)
}

// CachedPipeline is Pipeline for a kernel that the pipeline cache has, which takes about a millisecond. The error wraps
// [ErrNotCached] where the driver would have to compile the kernel, or does not say whether it would.
func (d *Device) CachedPipeline(name string, code []uint32, l Layout) (*Pipeline, error) {
	return d.compiler.Cached(name, code, l)
}

// SaveCache writes the pipeline cache to Options.CacheDir, as Close does. A reader never sees
// half a file.
func (d *Device) SaveCache() error { return d.compiler.Save() }

// Apart reports whether the streams that Siblings returns have queues of their own: what a kernel of another stream waits for may come by
// them.
func (d *Device) Apart() bool { return d.queue.Apart() }

// Trim returns free memory to the driver, except memory that running work uses. It returns how
// many bytes that was.
func (d *Device) Trim() uint64 { return d.mem.Trim() }

// Close waits for the work submitted, saves the pipeline cache and gives everything back,
// except that the bytes of open readbacks and of buffers from AllocHost stay valid until they
// are released and freed. It waits for kernels that other goroutines are compiling; nothing
// else of the device may be in use by them, and later calls return [ErrClosed]. Close is
// idempotent.
func (d *Device) Close() error {
	if !d.dev.Close() {
		return nil
	}
	d.mem.StopAging()
	if d.dev.Stalled() {
		d.queue.Abandon()
	} else {
		d.queue.Drain()
	}
	d.queue.StopNotices()
	if d.dev.Stalled() {
		// Destroying anything would wait for work that may never end. The system takes
		// it all back when the process ends.
		return nil
	}
	vk.DeviceWaitIdle(d.dev.VK)
	err := d.compiler.Close()
	d.queue.Close()
	d.unhold()
	return err
}

// hold keeps memory mapped until unhold.
func (d *Device) hold() { d.holds.Add(1) }

// unhold drops a hold. After the last one, which may be that of Close, the device is destroyed.
func (d *Device) unhold() {
	if d.holds.Add(-1) > 0 || d.dev.Stalled() {
		return
	}
	d.mem.Close()
	vk.DestroyDevice(d.dev.VK)
	adapter.Release(d.dev.Instance)
}

// Reopen closes the device and opens it again, with nothing on it. That is how to go on after
// [ErrDeviceLost].
func (d *Device) Reopen() (*Device, error) {
	if err := d.Close(); err != nil && d.Lost() == nil {
		return nil, err
	}
	return Open(d.dev.Info.UUID, d.dev.Options)
}
