package exec

import (
	"slices"
	"unsafe"

	"nxvk/fallback/sched"
	"nxvk/gen/exec/queue"
	"nxvk/gen/store"
	"nxvk/gen/wire"
	"nxvk/synth"
	"nxvk/vulkan"
)

// The driver of a processor makes machine code of a kernel when that first runs, which
// takes as long as many runs do. So the host carries a kernel out itself at first
// (synth.Target.OnHost). Once that has cost about what compiling does, the kernel is
// compiled, which therefore at most doubles what the better choice would have cost; the
// host goes on meanwhile. Both give the same bits, and values that the host makes so
// count as the device's, so that nothing else depends on when a kernel is ready.

// What compiling a kernel costs, in elementary operations of the host.
const (
	compileCost     = 2e7
	compileCostEach = 4e5 // for each of its instructions
)

const (
	dispatchCost = 5e4 // of what the device does for a dispatch, however small
	readCost     = 5e5 // of reading something back
)

// longestPrompt bounds what a dispatch may cost on the host: machine code pays from there
// on.
const longestPrompt = 2e7

// standsIn reports whether the host carries out new kernels in the device's stead.
func (e *Executor) standsIn() bool {
	t := &e.target
	return e.cfg.Prompt && t.CPU && t.PreciseDiv && t.Subnormals && t.Rounds != synth.Unlike
}

// hostOf returns what carries a kernel out on the host, nil where the device does from
// the first time on.
func (e *Executor) hostOf(k *synth.Kernel) synth.Host {
	if !e.standsIn() {
		return nil
	}
	return e.target.OnHost(k)
}

// carryOut carries out work by a plan, on the device or in its stead.
func (e *Executor) carryOut(l *Lane, w *work, p *planned) (wait queue.Wait, err error) {
	e.refresh(p)
	if e.prompts(p) {
		return e.prompt(l, w, p)
	}
	return e.device(l, w, p)
}

// prompts reports whether the host carries out a plan, since some of its kernels are
// not warm, or since others are being warmed and the device would answer late.
func (e *Executor) prompts(p *planned) bool {
	if p.Status != nil || len(p.pipes) == 0 {
		return false
	}
	warm := len(e.warming) == 0
	for i, c := range p.pipes {
		if c.host == nil || promptCost(&p.Steps[i]) > longestPrompt {
			return false
		}
		warm = warm && c.warm && !Refused(c.err)
	}
	return !warm
}

// promptCost estimates what a step costs on the host: what its kernel does for each
// element that it touches.
func promptCost(s *synth.Step) float64 {
	return float64(s.Bytes)/32*float64(s.Kernel.Size()) + float64(s.Flops)/4
}

// worth is what the host may spend on a kernel.
func worth(k *synth.Kernel) float64 { return compileCost + compileCostEach*float64(k.Size()) }

// prompt carries out work by a plan on the host. What only the device has is read first,
// at the expense of the kernels.
func (e *Executor) prompt(l *Lane, w *work, p *planned) (wait queue.Wait, err error) {
	for i, m := range w.args {
		if m != nil && m.Host == nil {
			m.Shadow = true
			for _, c := range p.pipes {
				c.spent += readCost
			}
			return e.readBack(l, m, w.types[i])
		}
	}
	outs, wait, err := e.hostResults(l, w)
	defer dropAll(outs)
	switch {
	case wire.KindOf(err) == wire.OutOfMemory:
		return e.device(l, w, p) // which may have some
	case wait != 0 || err != nil:
		return wait, err
	}
	temps := make([]*store.Storage, len(p.Temps))
	for i, n := range p.Temps {
		temps[i] = &store.Storage{Host: make([]byte, (n+7)/8*8)}
	}
	steps, cost := make([]hostStep, len(p.Steps)), 0.0
	for i := range p.Steps {
		s := &p.Steps[i]
		push, err := e.pushed(w, s)
		if err != nil {
			return 0, err
		}
		steps[i] = hostStep{c: p.pipes[i], push: slices.Clone(push), grid: s.Grid, buffers: make([][]byte, len(s.Args))}
		for k, a := range s.Args {
			steps[i].buffers[k] = whole(resolve(a.Ref, w.args, outs, temps).Host)[a.Offset:]
		}
		cost += promptCost(s)
	}
	give := func() error {
		for i := range steps {
			e.Counters.Prompt++
			steps[i].c.spent += max(0, steps[i].ran-dispatchCost)
			e.earned(steps[i].c)
		}
		for i, m := range outs {
			m.Shadow = true
			e.keep(l, w.in.Outs[i], m)
		}
		return nil
	}
	if cost > inlineCost {
		e.apart(l, w, workKernel, outs, func(by *sched.Worker) error { return sched.Caught(func() error { return runSteps(by, steps) }) }, give)
		return queue.ForHost, nil
	}
	e.turns.steps += int(cost) >> 12
	runSteps(nil, steps)
	return 0, give()
}

// hostStep is a step that the host carries out.
type hostStep struct {
	c       *Kernel
	buffers [][]byte
	push    []byte
	grid    [3]uint32
	ran     int // what it cost, in elementary operations
}

func runSteps(by *sched.Worker, steps []hostStep) error {
	for i := range steps {
		s := &steps[i]
		s.ran = s.c.host(by, s.buffers, s.push, s.grid)
		if err := by.Yield(); err != nil {
			return err
		}
	}
	return nil
}

// earned has a kernel compiled, and its machine code made, once the host has spent
// enough on it.
func (e *Executor) earned(c *Kernel) {
	if !c.asked && float64(c.spent) >= worth(c.kernel) {
		e.makeReady(c)
	}
}

// makeReady has a kernel compiled and its machine code made, while the host goes on.
func (e *Executor) makeReady(c *Kernel) {
	e.compile(c)
	c.then = append(c.then, func() {
		if e.warming = append(e.warming, c); len(e.warming) == 1 {
			e.warmFirst()
		}
	})
}

// warmFirst has the device make machine code of the first kernel that waits for that:
// one after the other, since the device does nothing else meanwhile.
func (e *Executor) warmFirst() {
	c := e.warming[0]
	e.building++
	done := func() {
		e.building--
		c.warm = true
		e.noteReady(c)
		if e.warming = e.warming[1:]; len(e.warming) > 0 {
			e.warmFirst()
		}
	}
	ticket, err := e.warm(c)
	if err != nil {
		e.cfg.Post(done) // who runs the kernel meets the error
		return
	}
	e.dev.Notify(ticket, func(error) { e.cfg.Post(done) })
}

// warm submits a kernel without work.
func (e *Executor) warm(c *Kernel) (vulkan.Ticket, error) {
	if c.err != nil {
		return vulkan.Ticket{}, c.err
	}
	b, err := e.own.stream.Alloc(16)
	if err != nil {
		return vulkan.Ticket{}, err
	}
	defer b.Free()
	if err := e.own.stream.Warm(c.pipe, b); err != nil {
		return vulkan.Ticket{}, err
	}
	return e.submit(e.own)
}

// whole is memory that begins at a multiple of 8 bytes and ends at a whole word: the
// same where it does, or else a copy.
func whole(b []byte) []byte {
	n := (len(b) + 3) / 4 * 4
	if n <= cap(b) && uintptr(unsafe.Pointer(unsafe.SliceData(b)))%8 == 0 {
		return b[:n]
	}
	return append(make([]byte, 0, n+8), b...)[:n]
}
