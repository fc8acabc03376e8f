package kernels

import (
	"fmt"
	"time"

	"nxvk/fallback/sched"
	"nxvk/synth"
)

// The driver of a processor makes machine code of a kernel when that first runs, which
// takes as long as many runs do. So the host interprets a kernel at first
// (synth.Target.OnHost). Once that has cost about what compiling does, the kernel is
// compiled, while the host goes on. Both give the same bits, and values that the host makes
// so count as the device's, so that nothing else depends on when a kernel is ready.

// What compiling a kernel costs, in elementary operations of the host.
const (
	compileCost     = 2e7
	compileCostEach = 4e5 // for each of its instructions
)

// What the device does for a dispatch, however small, and for reading something back, in
// elementary operations of the host.
const (
	dispatchCost = 5e4
	ReadCost     = 5e5
)

// longestStep bounds what a dispatch may cost on the host: machine code pays from there on.
const longestStep = 2e7

// Interprets reports whether the host interprets kernels in the device's stead.
func (c *Cache) Interprets() bool {
	t := &c.target
	return c.WarmUp && t.CPU && t.PreciseDiv && t.Subnormals && t.Rounds != synth.Unlike
}

// hostOf returns what interprets a kernel, nil where the device runs it from the first time
// on.
func (c *Cache) hostOf(k *synth.Kernel) synth.Host {
	if !c.Interprets() {
		return nil
	}
	return c.target.OnHost(k)
}

// Cold reports whether the host interprets a plan, since some of its kernels are
// not warm, or since others are being warmed and the device would answer late.
func (c *Cache) Cold(p *Plan) bool {
	if p.Status != nil || len(p.Kernels) == 0 {
		return false
	}
	warm := len(c.warming) == 0
	for i, k := range p.Kernels {
		if k.host == nil || StepCost(&p.Steps[i]) > longestStep {
			return false
		}
		warm = warm && k.warm && !Refused(k.err)
	}
	return !warm
}

// StepCost estimates what a step costs on the host: what its kernel does for each
// element that it touches.
func StepCost(s *synth.Step) float64 {
	return float64(s.Bytes)/32*float64(s.Kernel.Size()) + float64(s.Flops)/4
}

// Interpret runs a kernel on the host, and gives what that cost in elementary operations.
func (k *Kernel) Interpret(by *sched.Worker, buffers [][]byte, push []byte, grid [3]uint32) int {
	return k.host(by, buffers, push, grid)
}

// Spend counts what the host has done for a kernel. Once that is enough, it is compiled.
func (c *Cache) Spend(k *Kernel, cost int) {
	k.spent += max(0, cost-dispatchCost)
	if !k.asked && float64(k.spent) >= compileCost+compileCostEach*float64(k.Size()) {
		c.makeReady(k)
	}
}

// Charge counts what the host has done on account of a kernel.
func (k *Kernel) Charge(cost int) { k.spent += cost }

// Ran notes that the device runs a kernel.
func (k *Kernel) Ran() { k.warm = true }

// makeReady has a kernel compiled and its machine code made, while the host goes on.
func (c *Cache) makeReady(k *Kernel) {
	c.Compile(k)
	k.Then(func() {
		k.warming = true
		if c.warming = append(c.warming, k); len(c.warming) == 1 {
			c.warmFirst()
		}
	})
}

// warmFirst has the device make machine code of the first kernel that waits for that:
// one after the other, since the device does nothing else meanwhile.
func (c *Cache) warmFirst() {
	k := c.warming[0]
	c.busy++
	done := func() {
		c.busy--
		k.warm, k.warming = true, false
		c.noteReady(k)
		if c.warming = c.warming[1:]; len(c.warming) > 0 {
			c.warmFirst()
		}
	}
	if k.err != nil {
		c.cfg.Post(done) // who runs the kernel meets the error
		return
	}
	ticket, err := c.cfg.Warm(k)
	if err != nil {
		c.cfg.Post(done)
		return
	}
	c.cfg.Device.Notify(ticket, func(error) { c.cfg.Post(done) })
}

// Kernels of which the driver has made machine code in an earlier life of the node, and so
// has it on disk, are made ready at once when a program is compiled again.

// readyMark is the name in the archive of that the driver has made machine code of a
// kernel.
func (c *Cache) readyMark(k *synth.Kernel) string {
	i := c.cfg.Device.Info()
	return fmt.Sprintf("ready %s %s %s %s", i.UUID, i.Driver, i.DriverInfo, k.Name)
}

// noteReady archives that the driver has made machine code of a kernel.
func (c *Cache) noteReady(k *Kernel) {
	if c.archive != nil && k.Kernel != nil && k.err == nil {
		c.archive.Put(c.readyMark(k.Kernel), []byte{1})
	}
}

// readied lists the kernels of a plan of which the driver has made machine code in an
// earlier life. It may be called from any goroutine.
func (c *Cache) readied(p *synth.Plan) (names map[string]bool) {
	if c.archive == nil {
		return nil
	}
	names = make(map[string]bool)
	for i := range p.Steps {
		if k := p.Steps[i].Kernel; c.archive.Get(c.readyMark(k)) != nil {
			names[k.Name] = true
		}
	}
	return names
}

// saveDelay is how long after a program has been compiled the driver's cache is
// saved: programs come in company.
const saveDelay = 2 * time.Second

// Save has the driver's cache saved, so that it is there for the next life of the node
// however this one ends.
func (c *Cache) Save() {
	if c.saving {
		return
	}
	c.saving = true
	time.AfterFunc(saveDelay, func() {
		err := c.cfg.Device.SaveCache()
		c.cfg.Post(func() {
			c.saving = false
			if err != nil {
				c.cfg.Log.Warn().Err(err).Msg("pipelines are not kept")
			}
		})
	})
}
