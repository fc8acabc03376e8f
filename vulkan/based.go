package vulkan

import (
	"sync/atomic"

	"nxvk/vulkan/vk"
)

// base is a pipeline once more, made for parts of dispatches: NVIDIA's driver makes slower
// code where a grid may begin anywhere, by a twentieth for products and an eighth for sorts.
// So it is made when a dispatch is to be cut for the first time, while other sessions have
// work, and dispatches are whole until it is there.
type base struct {
	asked  atomic.Bool
	handle atomic.Uint64 // 0 until it is made
}

// based is the pipeline for parts of dispatches, 0 where there is none yet.
func (p *Pipeline) based() vk.Pipeline {
	if h := p.base.handle.Load(); h != 0 || p.layout.Whole || !p.d.slices() {
		return vk.Pipeline(h)
	}
	if !p.base.asked.Swap(true) && p.d.kernels.begin() {
		go func() {
			defer p.d.kernels.making.Done()
			p.makeBase()
		}()
	}
	return 0
}

// makeBase compiles the pipeline for parts. Where the driver does not, dispatches stay
// whole.
func (p *Pipeline) makeBase() {
	k := &p.d.kernels
	cache := k.takeCache()
	h, r := vk.CreateComputePipeline(p.d.dev, &vk.PipelineInfo{
		Code: p.code, Layout: p.shape.layout, Cache: cache.handle, Spec: p.layout.Spec, Subgroup: uint32(p.layout.SubgroupSize), Base: true,
	})
	k.mu.Lock()
	defer k.mu.Unlock()
	k.giveCache(cache)
	if r != vk.Success {
		return
	}
	if _, ok := k.all[p]; !ok { // it was freed meanwhile
		vk.DestroyPipeline(p.d.dev, h)
		return
	}
	p.base.handle.Store(uint64(h))
}

// destroy gives back what the driver has made.
func (p *Pipeline) destroy() {
	if h := vk.Pipeline(p.base.handle.Load()); h != 0 && h != p.handle {
		vk.DestroyPipeline(p.d.dev, h)
	}
	vk.DestroyPipeline(p.d.dev, p.handle)
}
