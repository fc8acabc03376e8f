package pipeline

import (
	"fmt"

	"nxvk/vulkan/adapter"
	"nxvk/vulkan/logical"
	"nxvk/vulkan/vk"
)

// Pipeline is a compiled kernel. It lives until Free, or until its device is closed.
type Pipeline struct {
	c      *Compiler
	name   string
	layout Layout
	handle vk.Pipeline
	code   []uint32
	shape  shape
	parts  parts
	fresh  bool // the cache on disk may not have it

	// Rate corrects the expected times of dispatches.
	Rate Rate
}

// Compile compiles a kernel with the entry point main. It takes milliseconds to seconds,
// holds no lock, and may be called from several goroutines at once. The error wraps
// [logical.ErrRefused] where the driver cannot compile the kernel.
func (c *Compiler) Compile(name string, code []uint32, l Layout) (*Pipeline, error) {
	return c.compile(name, code, l, false)
}

// Cached is Compile for a kernel that the cache has. It takes about a millisecond. The error wraps [logical.ErrNotCached]
// where the driver would have to compile the kernel, or does not say whether it would.
func (c *Compiler) Cached(name string, code []uint32, l Layout) (*Pipeline, error) {
	if c.d.Raw.Features&vk.CacheOnly == 0 {
		return nil, fmt.Errorf("compile %s: %w", name, logical.ErrNotCached)
	}
	return c.compile(name, code, l, true)
}

func (c *Compiler) compile(name string, code []uint32, l Layout, cached bool) (*Pipeline, error) {
	d := c.d
	if err := l.check(d, code); err != nil {
		return nil, fmt.Errorf("compile %s: %w", name, err)
	}
	if err := d.Gone(); err != nil {
		return nil, err
	}
	if !c.begin() {
		return nil, logical.ErrClosed
	}
	defer c.making.Done()
	s, r := c.shapes.get(keyOf(&l))
	if r != vk.Success {
		return nil, d.Fail(fmt.Sprintf("compile %s: create a pipeline layout", name), r)
	}
	l.Spec = append([]uint32(nil), l.Spec...)
	p := &Pipeline{c: c, name: name, layout: l, shape: s, code: code}
	cache := c.takeCache()
	h, r := p.create(cache, d.Info.Kind == adapter.CPU && d.CutsDispatches() && !l.Whole, cached)
	if f := d.Options.Fault.Refuse; f != nil && r == vk.Success && f(name) {
		vk.DestroyPipeline(d.VK, h)
		r = vk.ErrorUnknown
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.giveCache(cache)
	if cached && r == vk.CompileRequired {
		return nil, fmt.Errorf("compile %s: %w", name, logical.ErrNotCached)
	}
	if r != vk.Success {
		err := d.Fail("compile "+name, r)
		if d.Gone() == nil {
			err = fmt.Errorf("%w: %w", logical.ErrRefused, err)
		}
		return nil, err
	}
	p.handle = h
	c.fresh = c.fresh || p.fresh
	if d.Info.Kind == adapter.CPU {
		p.parts.handle.Store(uint64(h))
	}
	c.add(p)
	d.Counts.Pipelines.Add(1)
	return p, nil
}

// create has the driver compile the kernel, for dispatches that begin at workgroup 0 or,
// with base, anywhere. With cached it only makes what the cache has.
func (p *Pipeline) create(cache *driverCache, base, cached bool) (vk.Pipeline, vk.Result) {
	info := &vk.PipelineInfo{
		Code: p.code, Layout: p.shape.layout, Cache: cache.handle, Spec: p.layout.Spec,
		Subgroup: uint32(p.layout.SubgroupSize), Base: base, CacheOnly: cached,
	}
	if p.c.apart != nil {
		return p.createApart(cache, info)
	}
	p.fresh = !cached // for all that is known
	return vk.CreateComputePipeline(p.c.d.VK, info)
}

// Name returns the name given to Compile.
func (p *Pipeline) Name() string { return p.name }

// Layout returns the layout given to Compile, which must not be changed.
func (p *Pipeline) Layout() *Layout { return &p.layout }

// Device returns the device of the pipeline.
func (p *Pipeline) Device() *logical.Device { return p.c.d }

// Handles returns the Vulkan objects that a command buffer needs to run the kernel.
func (p *Pipeline) Handles() (vk.Pipeline, vk.PipelineLayout, vk.SetLayout) {
	return p.handle, p.shape.layout, p.shape.set
}

// Free destroys the pipeline. The caller makes sure that no recorded or running work uses
// it. Free is idempotent.
func (p *Pipeline) Free() {
	c := p.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.all[p]; ok {
		delete(c.all, p)
		c.d.Invalidate()
		p.destroy()
	}
}

// destroy destroys the Vulkan pipelines.
func (p *Pipeline) destroy() {
	if h := vk.Pipeline(p.parts.handle.Load()); h != 0 && h != p.handle {
		vk.DestroyPipeline(p.c.d.VK, h)
	}
	vk.DestroyPipeline(p.c.d.VK, p.handle)
}
