package pipeline

import (
	"sync"

	"nxvk/vulkan/logical"
	"nxvk/vulkan/vk"
)

// With NVIDIA's 580.159 on an H100 and an H200, a pipeline that is made while another thread is in vkQueueSubmit may run with the
// code or the constants of another one: wrong numbers, or loops that hang the device (TestPipelinesComeAndGo: within 130 to 700
// pipelines where four goroutines make them, and 1 in some thousands where one does). A pipeline cache, the destruction of pipelines
// or modules, the number of queues, and what else runs at the time made no difference; where no submission overlaps, 6,000 made by four
// goroutines are right. So submissions and the making of pipelines exclude each other there. A submission must not wait until a kernel
// is compiled, which takes up to a second: the kernel is compiled by a second device, which nothing is submitted to, and the
// driver makes the pipeline of the first one from the data of a pipeline cache in about a millisecond.

// apart compiles kernels by a device of its own.
type apart struct {
	d      *logical.Device // of the pipelines
	device vk.Device       // compiles; nothing is submitted to it
	shapes shapes
}

// openApart opens the second device, which takes as long as the first one, and gives it to those who wait for it.
func openApart(d *logical.Device) func() (*apart, vk.Result) {
	open := sync.OnceValues(func() (*apart, vk.Result) {
		d.Making.RLock() // the driver may make pipelines of its own
		defer d.Making.RUnlock()
		raw := d.Raw
		raw.Queues, raw.CopyQueues = 1, nil
		device, r := vk.CreateDevice(d.Instance, d.GPU, &raw)
		if r != vk.Success {
			return nil, r
		}
		return &apart{d: d, device: device, shapes: shapes{d: d, device: device}}, r
	})
	go open()
	return open
}

// close destroys the device. Nobody compiles any more.
func (a *apart) close() {
	a.shapes.destroy()
	vk.DestroyDevice(a.device)
}

// createApart makes a pipeline between submissions, of code that the cache has or that apart makes.
func (p *Pipeline) createApart(cache *driverCache, info *vk.PipelineInfo) (vk.Pipeline, vk.Result) {
	c := p.c
	if c.d.Raw.Features&vk.CacheOnly != 0 {
		known := *info
		known.CacheOnly = true
		if h, r := c.createBetween(cache, &known); r != vk.CompileRequired || info.CacheOnly {
			return h, r
		}
	}
	a, r := c.apart()
	if r != vk.Success {
		return 0, r
	}
	data, r := a.compile(info, keyOf(&p.layout))
	if r != vk.Success {
		return 0, r
	}
	if r := c.merge(cache, data); r != vk.Success {
		return 0, r
	}
	p.fresh = true
	return c.createBetween(cache, info)
}

// createBetween makes a pipeline while nothing is submitted.
func (c *Compiler) createBetween(cache *driverCache, info *vk.PipelineInfo) (vk.Pipeline, vk.Result) {
	cache.merging.RLock()
	defer cache.merging.RUnlock()
	c.d.Making.RLock()
	defer c.d.Making.RUnlock()
	return vk.CreateComputePipeline(c.d.VK, info)
}

// merge adds data to a cache.
func (c *Compiler) merge(cache *driverCache, data []byte) vk.Result {
	from, r := vk.CreatePipelineCache(c.d.VK, data)
	if r != vk.Success {
		return r
	}
	defer vk.DestroyPipelineCache(c.d.VK, from)
	cache.merging.Lock()
	defer cache.merging.Unlock()
	return vk.MergePipelineCache(c.d.VK, cache.handle, from)
}

// compile compiles a kernel, and returns the data of a pipeline cache with it alone.
func (a *apart) compile(info *vk.PipelineInfo, key shapeKey) ([]byte, vk.Result) {
	s, r := a.shapes.get(key)
	if r != vk.Success {
		return nil, r
	}
	cache, r := vk.CreatePipelineCache(a.device, nil)
	if r != vk.Success {
		return nil, r
	}
	defer vk.DestroyPipelineCache(a.device, cache)
	here := *info
	here.Cache, here.Layout = cache, s.layout
	h, r := vk.CreateComputePipeline(a.device, &here)
	if r != vk.Success {
		return nil, r
	}
	defer vk.DestroyPipeline(a.device, h)
	return vk.GetPipelineCacheData(a.device, cache)
}
