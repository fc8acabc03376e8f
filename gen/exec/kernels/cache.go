package kernels

import (
	"github.com/rs/zerolog"

	"nxvk/fallback/sched"
	"nxvk/gen/exec/lru"
	"nxvk/synth"
	"nxvk/vulkan"
)

// The bounds of a Cache.
const (
	maxPlans   = 1 << 14
	maxKernels = 1 << 12 // pipelines, for which a driver of a processor keeps machine code
)

// Config is what a Cache works with.
type Config struct {
	Device *vulkan.Device
	Target synth.Target
	Log    zerolog.Logger

	Post    func(func())                                                     // runs a function on the goroutine of the Cache
	Aside   func(what string, f func(*sched.Worker) error, then func(error)) // runs f elsewhere, and then there
	Flush   func()                                                           // submits what has been recorded
	Warm    func(k *Kernel) (vulkan.Ticket, error)                           // submits a kernel without work
	Refused func(k *Kernel)                                                  // is told of a kernel that the driver does not compile
}

// Kinds of computations, as metrics show them.
const (
	WorkPlan     = "plan"     // instructions into kernels, programs into fusions
	WorkPipeline = "pipeline" // kernels into machine code
)

// Cache is the compiled code of a device.
type Cache struct {
	WarmUp bool // the host interprets kernels of a processor until compiling them pays
	Stead  bool // the host may do the work of a processor for good

	cfg     Config
	target  synth.Target  // without an archive where the host interprets
	archive synth.Archive // notes which kernels and programs have been compiled; nil keeps none

	plans      lru.Cache[*Plan]
	kernels    lru.Cache[*Kernel]
	maxPlans   int
	maxKernels int
	retired    []*vulkan.Pipeline // that nobody will use again
	warming    []*Kernel          // the device is to make machine code of them
	saving     bool               // pipelines will be saved
	busy       int                // pipelines that are being warmed or destroyed
	key        []byte             // scratch
}

// New returns an empty Cache. warmUp is as in Cache.
func New(cfg Config, warmUp bool) *Cache {
	c := &Cache{WarmUp: warmUp, cfg: cfg, target: cfg.Target, archive: cfg.Target.Archive,
		maxPlans: maxPlans, maxKernels: maxKernels}
	if c.Interprets() {
		c.target.Archive = nil // the host does without what is archived of kernels
	}
	return c
}

// Bound bounds plans and kernels otherwise than usual.
func (c *Cache) Bound(plans, kernels int) { c.maxPlans, c.maxKernels = plans, kernels }

// Target is what kernels are made for.
func (c *Cache) Target() *synth.Target { return &c.target }

// Archive is where the node keeps which programs have been compiled; nil where it does not.
func (c *Cache) Archive() synth.Archive { return c.archive }

// Busy counts the pipelines that are being warmed or destroyed.
func (c *Cache) Busy() int { return c.busy }

// Len returns how many plans and kernels there are, and pipelines to be destroyed.
func (c *Cache) Len() (plans, kernels, retired int) {
	return c.plans.Len(), c.kernels.Len(), len(c.retired)
}

// Clear forgets all plans.
func (c *Cache) Clear() { c.plans.Clear() }

// Each calls f with each kernel.
func (c *Cache) Each(f func(*Kernel)) {
	for k := range c.kernels.All() {
		f(k)
	}
}

// EachPlan calls f with each plan.
func (c *Cache) EachPlan(f func(*Plan)) {
	for p := range c.plans.All() {
		f(p)
	}
}

// RetireAtOnce is how many pipelines are destroyed together: what has been recorded
// is submitted before.
const RetireAtOnce = 32

// roomForKernel makes room for one more kernel. A kernel may go while plans still name it:
// they look again before they are carried out (Refresh), and then have it made anew.
func (c *Cache) roomForKernel() {
	c.kernels.Evict(c.maxKernels, idle, func(k *Kernel) {
		k.gone = true
		if k.pipe != nil {
			c.retired = append(c.retired, k.pipe)
			k.pipe = nil
		}
		c.dismiss(k)
	})
	if len(c.retired) >= RetireAtOnce {
		c.FreeRetired()
	}
}

// idle reports whether nothing waits for a kernel, and no client has brought it.
func idle(k *Kernel) bool {
	return k.holders == 0 && k.asked == k.done && len(k.then)+len(k.onReady) == 0 && !k.warming
}

// tick ends the protection of the plans and kernels that have been used so far.
func (c *Cache) tick() {
	c.plans.Tick()
	c.kernels.Tick()
}

// FreeRetired destroys pipelines that no plan will use again, once the device has
// done what was recorded with them.
func (c *Cache) FreeRetired() {
	c.cfg.Flush() // what fails here has lost the device
	ticket := c.cfg.Device.Submitted()
	list := c.retired
	c.retired = nil
	c.busy++
	c.cfg.Device.Notify(ticket, func(err error) {
		if err == nil { // else the device is lost or being closed, and may still use them: it destroys what it has
			for _, p := range list {
				p.Free()
			}
		}
		c.cfg.Post(func() { c.busy-- })
	})
}
