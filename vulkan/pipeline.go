package vulkan

import (
	"fmt"
	"sync"

	"nxvk/vulkan/vk"
)

// Layout says what a kernel takes.
type Layout struct {
	// Buffers is how many it takes: with Addresses their 64-bit addresses
	// are the first push constants, else they are storage buffers at
	// bindings 0 to Buffers-1 of set 0.
	Buffers   int
	Addresses bool
	// PushBytes is the size of the parameters, a multiple of 4. They follow
	// the addresses in the push constants.
	PushBytes int
	// Spec are the values of specialisation constants 0, 1, 2 …
	Spec []uint32
	// SubgroupSize asks for one, 0 leaves it to the driver.
	SubgroupSize int
	// Whole says that workgroups of a dispatch count on there being all of them: it
	// is never cut in slices.
	Whole bool
}

// push returns the bytes of push constants.
func (l *Layout) push() int {
	if l.Addresses {
		return 8*l.Buffers + l.PushBytes
	}
	return l.PushBytes
}

// Pipeline is a compiled kernel. It lives as long as its device, or until
// Free.
type Pipeline struct {
	d      *Device
	name   string
	layout Layout
	handle vk.Pipeline
	code   []uint32
	base   base
	shape  shape
	learnt rate
}

// kernels makes pipelines. What they share, layouts and the cache, is made
// once.
type kernels struct {
	d      *Device
	making sync.WaitGroup // pipelines that are being compiled

	mu     sync.Mutex
	closed bool
	cache  *driverCache
	most   int // bytes of a cache
	made   int // pipelines since the size of the cache was looked at
	shapes map[shapeKey]shape
	all    map[*Pipeline]struct{}
}

// shape is a pipeline layout and its set layout.
type shape struct {
	set    vk.SetLayout
	layout vk.PipelineLayout
}

type shapeKey struct{ bindings, push int }

func (k *kernels) init(d *Device) error {
	k.d = d
	k.shapes = map[shapeKey]shape{}
	k.all = map[*Pipeline]struct{}{}
	return k.openCache()
}

// close waits for what is being compiled: a driver does not survive the loss of
// its device in the middle.
func (k *kernels) close() error {
	k.mu.Lock()
	k.closed = true
	k.mu.Unlock()
	k.making.Wait()
	k.mu.Lock()
	defer k.mu.Unlock()
	for p := range k.all {
		p.destroy()
	}
	for _, s := range k.shapes {
		vk.DestroyLayout(k.d.dev, s.set, s.layout)
	}
	k.all, k.shapes = nil, nil
	err := k.saveCache()
	vk.DestroyPipelineCache(k.d.dev, k.cache.handle)
	return err
}

// begin reports whether a kernel may be compiled. Who may says when it is done.
func (k *kernels) begin() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return false
	}
	k.making.Add(1)
	return true
}

// Pipeline compiles a kernel, whose entry point is main. It takes milliseconds
// to seconds, holds no lock, and may be called from many goroutines at once. Where
// the driver does not compile it the error wraps [ErrRefused].
func (d *Device) Pipeline(name string, code []uint32, l Layout) (*Pipeline, error) {
	if err := d.checkLayout(code, &l); err != nil {
		return nil, fmt.Errorf("compile %s: %w", name, err)
	}
	if err := d.gone(); err != nil {
		return nil, err
	}
	if !d.kernels.begin() {
		return nil, ErrClosed
	}
	defer d.kernels.making.Done()
	s, err := d.kernels.shape(&l)
	if err != nil {
		return nil, fmt.Errorf("compile %s: %w", name, err)
	}
	l.Spec = append([]uint32(nil), l.Spec...)
	cache := d.kernels.takeCache()
	h, r := vk.CreateComputePipeline(d.dev, &vk.PipelineInfo{
		Code: code, Layout: s.layout, Cache: cache.handle, Spec: l.Spec, Subgroup: uint32(l.SubgroupSize),
		Base: d.info.Kind == CPU && d.slices() && !l.Whole,
	})
	if f := d.opts.Fault.Refuse; f != nil && r == vk.Success && f(name) {
		vk.DestroyPipeline(d.dev, h)
		r = vk.ErrorUnknown
	}
	d.kernels.mu.Lock()
	defer d.kernels.mu.Unlock()
	d.kernels.giveCache(cache)
	if r != vk.Success {
		if err = d.fail("compile "+name, r); d.gone() == nil {
			err = fmt.Errorf("%w: %w", ErrRefused, err)
		}
		return nil, err
	}
	p := &Pipeline{d: d, name: name, layout: l, handle: h, shape: s, code: code}
	if d.info.Kind == CPU {
		p.base.handle.Store(uint64(h))
	}
	d.kernels.add(p)
	d.counts.pipelines.Add(1)
	return p, nil
}

// add notes a pipeline; mu is held. That the cache could not be looked at harms nobody.
func (k *kernels) add(p *Pipeline) {
	k.all[p] = struct{}{}
	if k.made++; k.made >= checkEvery {
		k.made = 0
		_, _ = k.boundCache()
	}
}

// Name returns the name given to it.
func (p *Pipeline) Name() string { return p.name }

// Layout returns the layout given to it.
func (p *Pipeline) Layout() Layout { return p.layout }

// Free destroys the pipeline. The caller makes sure that no recorded or
// running work uses it. It is idempotent.
func (p *Pipeline) Free() {
	k := &p.d.kernels
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, ok := k.all[p]; ok {
		delete(k.all, p)
		p.d.queue.forget()
		p.destroy()
	}
}

// count is how many pipelines there are.
func (k *kernels) count() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.all)
}

func (d *Device) checkLayout(code []uint32, l *Layout) error {
	const magic = 0x07230203
	switch {
	case len(code) < 5 || code[0] != magic:
		return fmt.Errorf("%w: not SPIR-V", ErrInvalid)
	case l.Buffers < 0 || l.PushBytes < 0 || l.PushBytes%4 != 0:
		return fmt.Errorf("%w: %d buffers, %d push bytes", ErrInvalid, l.Buffers, l.PushBytes)
	case l.Addresses && !d.info.Features.BufferDeviceAddress:
		return fmt.Errorf("%w: the device has no buffer addresses", ErrInvalid)
	case !l.Addresses && l.Buffers > d.info.Limits.MaxBindings:
		return fmt.Errorf("%w: %d buffers, at most %d can be bound", ErrInvalid, l.Buffers, d.info.Limits.MaxBindings)
	case l.push() > d.info.Limits.MaxPush:
		return fmt.Errorf("%w: %d bytes of addresses and parameters, the device takes %d; put the rest into a buffer",
			ErrInvalid, l.push(), d.info.Limits.MaxPush)
	case len(l.Spec) > vk.MaxSpecs:
		return fmt.Errorf("%w: %d specialisation constants, at most %d", ErrInvalid, len(l.Spec), vk.MaxSpecs)
	case l.SubgroupSize != 0 && !d.info.Features.SubgroupSize:
		return fmt.Errorf("%w: the device cannot choose its subgroup size", ErrInvalid)
	}
	return nil
}

func (k *kernels) shape(l *Layout) (shape, error) {
	key := shapeKey{push: l.push()}
	if !l.Addresses {
		key.bindings = l.Buffers
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if s, ok := k.shapes[key]; ok {
		return s, nil
	}
	set, layout, r := vk.CreateLayout(k.d.dev, key.bindings, k.d.info.Features.PushDescriptor, key.push)
	if r != vk.Success {
		return shape{}, k.d.fail("create a pipeline layout", r)
	}
	s := shape{set, layout}
	k.shapes[key] = s
	return s, nil
}
