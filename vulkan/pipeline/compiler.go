package pipeline

import (
	"sync"

	"nxvk/vulkan/logical"
	"nxvk/vulkan/vk"
)

// Compiler makes the pipelines of a device, and owns them together with the layouts and the
// cache that they share.
type Compiler struct {
	d      *logical.Device
	making sync.WaitGroup             // pipelines that are being compiled
	apart  func() (*apart, vk.Result) // waits for what compiles for a driver that needs it; nil otherwise
	shapes shapes

	mu     sync.Mutex
	closed bool
	cache  *driverCache
	most   int  // bytes of the cache
	fresh  bool // it has what is not saved
	made   int  // pipelines since the size of the cache was checked
	all    map[*Pipeline]struct{}
}

// New returns the compiler of a device, with the cache from disk where that is valid.
func New(d *logical.Device) (*Compiler, error) {
	c := &Compiler{d: d, shapes: shapes{d: d, device: d.VK}, all: make(map[*Pipeline]struct{})}
	err := c.openCache()
	if err == nil && d.Info.PipelinesApart {
		c.apart = openApart(d)
	}
	return c, err
}

// Close waits for kernels that are being compiled, saves the cache and destroys all
// pipelines. The device must have completed all work. Close is idempotent.
func (c *Compiler) Close() error {
	c.mu.Lock()
	was := c.closed
	c.closed = true
	if !was {
		_ = c.saveCache() // what follows may take a second, and the next node may start meanwhile
	}
	c.mu.Unlock()
	if was {
		return nil
	}
	c.making.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	for p := range c.all {
		p.destroy()
	}
	c.shapes.destroy()
	if c.apart != nil {
		if a, r := c.apart(); r == vk.Success {
			a.close()
		}
	}
	c.all = nil
	err := c.saveCache()
	vk.DestroyPipelineCache(c.d.VK, c.cache.handle)
	return err
}

// begin reports whether a kernel may be compiled; Close then waits for it.
func (c *Compiler) begin() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.making.Add(1)
	}
	return !c.closed
}

// add notes a pipeline; mu is held. An error of the check of the cache can be ignored:
// saving the cache reports it.
func (c *Compiler) add(p *Pipeline) {
	c.all[p] = struct{}{}
	if c.made++; c.made >= checkEvery {
		c.made = 0
		_, _ = c.boundCache()
	}
}

// Count returns the number of pipelines.
func (c *Compiler) Count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.all)
}
