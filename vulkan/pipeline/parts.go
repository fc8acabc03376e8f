package pipeline

import (
	"sync/atomic"

	"nxvk/vulkan/vk"
)

// parts is a second pipeline of the same kernel, for parts of dispatches: its grid may begin
// at any workgroup (VK_PIPELINE_CREATE_DISPATCH_BASE). NVIDIA's driver makes slower code for
// that, by 5 % for matrix products and 12 % for sorts. It is compiled when a dispatch is to be
// cut for the first time; until it is there, dispatches stay whole.
type parts struct {
	asked  atomic.Bool
	handle atomic.Uint64 // 0 until it is compiled
}

// Parts returns the pipeline for parts of dispatches, 0 where there is none yet. The first
// call starts a goroutine that compiles it.
func (p *Pipeline) Parts() vk.Pipeline {
	if h := p.parts.handle.Load(); h != 0 || p.layout.Whole || !p.c.d.CutsDispatches() {
		return vk.Pipeline(h)
	}
	if !p.parts.asked.Swap(true) && p.c.begin() {
		go func() {
			defer p.c.making.Done()
			p.compileParts()
		}()
	}
	return 0
}

// compileParts compiles the pipeline for parts. Where the driver refuses, dispatches stay
// whole.
func (p *Pipeline) compileParts() {
	c := p.c
	cache := c.takeCache()
	h, r := p.create(cache, true, false)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.giveCache(cache)
	if r != vk.Success {
		return
	}
	c.fresh = true
	if _, ok := c.all[p]; !ok { // freed meanwhile
		vk.DestroyPipeline(c.d.VK, h)
		return
	}
	p.parts.handle.Store(uint64(h))
}
