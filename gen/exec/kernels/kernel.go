package kernels

import (
	"errors"
	"fmt"

	"nxvk/fallback/sched"
	"nxvk/gen/exec/lru"
	"nxvk/gen/exec/target"
	"nxvk/gen/wire"
	"nxvk/synth"
	"nxvk/vulkan"
)

// Kernel is the pipeline of a kernel: it is asked for, being made or made.
type Kernel struct {
	lru.Use
	*synth.Kernel      // nil for code that clients brought
	gone          bool // it has made room for others
	holders       int  // clients that brought it
	asked         bool // for the pipeline
	pipe          *vulkan.Pipeline
	err           error
	done          bool
	then          []func() // called when it is
	activity      Activity

	// See starter.go.
	starter *Kernel  // stands for it until it is made; nil where nothing does
	onReady []func() // called when it or its starter is made

	// See warmup.go.
	host    synth.Host // interprets the kernel meanwhile; nil where nothing does
	spent   int        // what that has cost, in elementary operations
	warm    bool       // the device has run it
	warming bool       // the device is to make machine code of it
	ahead   bool       // it did before it first ran it
	onWarm  []func()   // called when it has
}

// Activity is what the device has done with a kernel.
type Activity struct {
	Op         string // the operation or fusion that first had the device run it
	Dispatches uint64
	Seconds    float64 // estimated of each dispatch, times the measured rate of the kernel
}

// Activity returns what the device has done with the kernel so far.
func (k *Kernel) Activity() Activity { return k.activity }

// Count counts a dispatch that is estimated to take so many seconds.
func (k *Kernel) Count(seconds float64) {
	k.activity.Dispatches++
	if k.pipe != nil {
		seconds *= k.pipe.Rate.Value()
	}
	k.activity.Seconds += seconds
}

// NameOp says which operation has the device run the kernel, unless that is known.
func (k *Kernel) NameOp(op func() string) {
	if k.activity.Op == "" {
		k.activity.Op = op()
	}
}

// Pipeline returns the pipeline, which is made, or that of a starter.
func (k *Kernel) Pipeline() *vulkan.Pipeline {
	if k.pipe == nil && k.starts() {
		return k.starter.pipe
	}
	return k.pipe
}

// Done reports whether the pipeline has been made, or could not be.
func (k *Kernel) Done() bool { return k.done }

// Err returns why the pipeline could not be made.
func (k *Kernel) Err() error { return k.err }

// Asked reports whether the pipeline has been asked for.
func (k *Kernel) Asked() bool { return k.asked }

// Gone reports whether the kernel has made room for others.
func (k *Kernel) Gone() bool { return k.gone }

// Then has f called when the pipeline has been made.
func (k *Kernel) Then(f func()) { k.then = append(k.then, f) }

// WhenReady has f called when more of what Cache.Ready waits for is there: the pipeline or a starter or, where that is made
// already, the machine code.
func (k *Kernel) WhenReady(f func()) {
	if k.done {
		k.onWarm = append(k.onWarm, f)
		return
	}
	k.onReady = append(k.onReady, f)
}

// Release lets go of code that a client brought.
func (k *Kernel) Release() { k.holders-- }

// Refused reports whether an error says that the driver does not compile a kernel. No
// program fails for that: a fusion goes one instruction at a time, an instruction is the
// host's, and so are the steps of a density. Where the host interprets it goes on.
func Refused(err error) bool { return errors.Is(err, vulkan.ErrRefused) }

// Wanted returns the kernel of a plan. Nobody asks for its pipeline yet.
func (c *Cache) Wanted(s *synth.Kernel) *Kernel {
	k, ok := c.kernels.Get(s.Name)
	if ok {
		c.kernels.Touch(k)
		return k
	}
	c.roomForKernel()
	k = &Kernel{Kernel: s, host: c.hostOf(s)}
	c.kernels.Add(s.Name, k)
	return k
}

// Kernel returns a kernel whose pipeline is made or being made.
func (c *Cache) Kernel(s *synth.Kernel) *Kernel {
	c.tick()
	k := c.Wanted(s)
	c.Compile(k)
	return k
}

// Foreign returns the pipeline of code that a client brought. It is kept until Release.
func (c *Cache) Foreign(name string, code []uint32, layout vulkan.Layout) *Kernel {
	k, ok := c.kernels.Get(name)
	if !ok {
		c.tick()
		c.roomForKernel()
		k = &Kernel{}
		c.kernels.Add(name, k)
		c.compile(k, name, code, layout)
	}
	k.holders++
	return k
}

// Compile has the pipeline of a kernel made, once.
func (c *Cache) Compile(k *Kernel) {
	if !k.asked {
		c.compile(k, k.Name, k.Code, target.Layout(k.Kernel, c.cfg.Device.Info()))
	}
}

func (c *Cache) compile(k *Kernel, name string, code []uint32, layout vulkan.Layout) {
	k.asked = true
	var pipe *vulkan.Pipeline
	compile := func() {
		c.cfg.Aside(WorkPipeline, func(*sched.Worker) (err error) {
			pipe, err = c.cfg.Device.Pipeline(name, code, layout)
			return err
		}, func(err error) { c.made(k, pipe, err) })
	}
	if k.Kernel == nil || k.Kernel.Starter == nil {
		compile()
		return
	}
	c.cfg.Aside(WorkPipeline, func(*sched.Worker) (err error) {
		pipe, err = c.cfg.Device.CachedPipeline(name, code, layout)
		return err
	}, func(err error) {
		if errors.Is(err, vulkan.ErrNotCached) {
			c.start(k, compile)
			return
		}
		c.made(k, pipe, err)
	})
}

// made notes the pipeline of a kernel, or why there is none.
func (c *Cache) made(k *Kernel, pipe *vulkan.Pipeline, err error) {
	k.pipe, k.err, k.done = pipe, err, true
	if Refused(err) && k.Kernel != nil { // who brought code of their own are told themselves
		c.cfg.Refused(k)
	}
	if Refused(err) && k.starts() {
		k.err = nil // the starter stays
	} else {
		c.dismiss(k)
	}
	then := k.then
	k.then = nil
	for _, f := range then {
		f()
	}
	k.tellReady()
}

// Ready returns the first kernel of a plan that the device cannot run at once, nil where it can run all. All are asked
// for. The driver of a processor makes machine code of a kernel on the queue of the device, which takes seconds while
// the processor is busy. So that is made first, and other sessions are answered by the host meanwhile (Cold).
func (c *Cache) Ready(p *Plan) (waits *Kernel, err error) {
	c.Refresh(p)
	warms := c.Interprets()
	for _, k := range p.Kernels {
		if warms {
			c.makeReady(k)
		} else {
			c.Compile(k)
		}
	}
	for i, k := range p.Kernels {
		switch {
		case !k.done && k.starts():
		case !k.done || warms && !k.warm && k.err == nil:
			return k, nil
		case Refused(k.err):
			return nil, k.err
		case k.err != nil:
			return nil, &wire.Fault{Kind: wire.Internal, Err: fmt.Errorf("make the pipeline of kernel %s: %w", p.Steps[i].Kernel.Name, k.err)}
		}
	}
	return nil, nil
}

// Refresh replaces the kernels of a plan that have gone since, and counts the plan as used.
// It reports whether there were any.
func (c *Cache) Refresh(p *Plan) (changed bool) {
	c.tick()
	for _, k := range p.Kernels {
		c.kernels.Touch(k)
	}
	for i, k := range p.Kernels {
		if k.gone {
			p.Kernels[i] = c.Wanted(k.Kernel)
			changed = true
		}
	}
	return changed
}

// Made reports whether all pipelines of a plan are there, or the host does without. Those
// that have gone since are asked for again.
func (c *Cache) Made(p *Plan) bool {
	if p.Err != nil {
		return false
	}
	if c.Refresh(p) {
		c.Prefetch(p)
	}
	for _, k := range p.Kernels {
		if k.err != nil || !k.done && k.host == nil {
			return false
		}
	}
	return true
}

// Prefetch asks for the pipelines of a plan that will be needed soon, but for those that the
// host interprets.
func (c *Cache) Prefetch(p *Plan) {
	for _, k := range p.Kernels {
		if k.host == nil {
			c.Compile(k)
		}
	}
}
