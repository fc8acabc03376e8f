package kernels

import (
	"fmt"
	"slices"
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

// What a dispatch may cost on the host, in elementary operations, before machine code pays. From
// there on the host interprets a kernel only until it is compiled (Cache.Overtake). Routines
// are machine code of the host, and the kernels of products take longest to compile.
const (
	longStep    = 2e7
	longRoutine = 4e9
	longestStep = 2e9 // that the host interprets at all
)

// Interprets reports whether the host interprets kernels in the device's stead.
func (c *Cache) Interprets() bool {
	t := &c.target
	return c.WarmUp && t.CPU && t.PreciseDiv && t.Subnormals && t.Rounds != synth.Unlike
}

// hostOf returns what interprets a kernel, nil where the device runs it from the first time
// on.
func (c *Cache) hostOf(k *synth.Kernel) synth.Host {
	if !c.Interprets() && !c.Stead {
		return nil
	}
	return c.target.OnHost(k)
}

// HasRoutines reports whether the host has a routine for all steps of a plan, which sum products or
// rows, or make the operands or the results of these ready. It may be called from any goroutine.
func (c *Cache) HasRoutines(p *synth.Plan) bool {
	return len(p.Steps) > 0 && !slices.ContainsFunc(p.Steps, func(s synth.Step) bool { return !c.target.HasRoutine(&s) })
}

// Routine returns what carries out a step on the host in place of its kernel, or nil.
func (c *Cache) Routine(s *synth.Step) *synth.Routine { return c.target.Routine(s) }

// interprets reports whether the host can carry out a step of a plan.
func (c *Cache) interprets(p *Plan, step int) bool {
	s := &p.Steps[step]
	return p.Kernels[step].host != nil || s.Covered || s.Does != nil || c.target.Routine(s) != nil
}

// RunsRoutines reports whether the host carries out a plan in a processor's stead for good: by
// routines that sum products or rows in the order of the kernels, quicker than a driver's code.
func (c *Cache) RunsRoutines(p *Plan) bool {
	if !c.Stead || !c.HasRoutines(p.Plan) {
		return false
	}
	for i := range p.Kernels {
		if !c.interprets(p, i) {
			return false
		}
	}
	return true
}

// Cold reports whether the host interprets a plan, since some of its kernels are
// not warm, or since others are being warmed and the device would answer late.
func (c *Cache) Cold(p *Plan) bool {
	if len(p.Kernels) == 0 {
		return false
	}
	if c.RunsRoutines(p) {
		return true
	}
	if !c.Interprets() {
		return false
	}
	warm := len(c.warming) == 0
	for i, k := range p.Kernels {
		if k.host == nil || !c.target.HasRoutine(&p.Steps[i]) && c.StepCost(&p.Steps[i]) > longestStep {
			return false
		}
		warm = warm && k.warm && !Refused(k.err)
	}
	return !warm
}

// Unready reports whether a routine of the host computes what a plan does, since the device has
// not run all of its kernels and would compile some first.
func (c *Cache) Unready(p *Plan) bool {
	return c.Interprets() && slices.ContainsFunc(p.Kernels, func(k *Kernel) bool { return !k.warm })
}

// StepCost estimates what a step costs on the host: what its kernel does for each
// element that it touches.
func (c *Cache) StepCost(s *synth.Step) float64 {
	switch {
	case s.Covered:
		return 0
	case s.Does != nil:
		return float64(s.Bytes) / 4
	case c.target.Routine(s) != nil:
		return float64(s.Bytes)/4 + float64(s.Flops)/4
	case c.target.HasRoutine(s):
		return float64(s.Flops) / 4
	}
	return float64(s.Bytes)/32*float64(s.Kernel.Size()) + float64(s.Flops)/4
}

// Overtake has the kernels of a plan compiled where the host takes long to interpret them, and
// calls then once the device is ready to run them at once.
func (c *Cache) Overtake(p *Plan, then func()) {
	if !c.Interprets() || c.RunsRoutines(p) || !c.takesLong(p) {
		return
	}
	left := 0
	one := func() {
		if left--; left == 0 && !c.Cold(p) {
			then()
		}
	}
	for _, k := range p.Kernels {
		if !k.warm {
			left++
			k.onWarm = append(k.onWarm, one)
		}
	}
	for _, k := range p.Kernels {
		if !k.asked {
			c.makeReady(k)
		}
	}
}

// takesLong reports whether the host takes longer for a step than compiling it.
func (c *Cache) takesLong(p *Plan) bool {
	for i := range p.Steps {
		limit := float64(longStep)
		if c.target.HasRoutine(&p.Steps[i]) {
			limit = longRoutine
		}
		if c.StepCost(&p.Steps[i]) > limit {
			return true
		}
	}
	return false
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
func (k *Kernel) Ran() {
	if !k.warm {
		k.isWarm()
	}
}

// isWarm notes that the device has machine code of a kernel.
func (k *Kernel) isWarm() {
	k.warm = true
	told := k.onWarm
	k.onWarm = nil
	for _, f := range told {
		f()
	}
}

// makeReady has a kernel compiled and its machine code made, once, while the host goes on.
func (c *Cache) makeReady(k *Kernel) {
	if k.warm || k.warming {
		return
	}
	k.warming = true
	c.Compile(k)
	warm := func() {
		if c.warming = append(c.warming, k); len(c.warming) == 1 {
			c.warmFirst()
		}
	}
	if k.done {
		warm()
		return
	}
	k.Then(warm)
}

// warmFirst has the device make machine code of the first kernel that waits for that:
// one after the other, since the device does nothing else meanwhile.
func (c *Cache) warmFirst() {
	k := c.warming[0]
	c.busy++
	made := false
	done := func() {
		c.busy--
		c.warming = c.warming[1:]
		k.warming = false
		k.ahead = made && !k.warm
		k.isWarm()
		c.noteReady(k)
		if len(c.warming) > 0 {
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
	made = true
	c.cfg.Device.Notify(ticket, func(error) { c.cfg.Post(done) })
}

// Ahead reports whether the device had made machine code of a kernel before it first ran it for somebody.
func (k *Kernel) Ahead() bool { return k.ahead }

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
				c.cfg.Log.Warn().Err(err).Msg("the pipeline cache was not written; later starts compile its kernels again")
			}
		})
	})
}
