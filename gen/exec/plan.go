package exec

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"

	"nxvk/fallback/sched"
	"nxvk/gen/exec/queue"
	"nxvk/gen/wire"
	"nxvk/ops"
	"nxvk/synth"
	"nxvk/vulkan"
)

// planned is a plan and the pipelines of its steps.
type planned struct {
	*synth.Plan
	used
	err     error
	pipes   []*Kernel
	waiting []*Lane // where it is being made
	soon    bool    // its kernels are wanted as soon as it is made
}

// errBeingMade is that of a plan that is being made.
var errBeingMade = errors.New("the plan is being made")

// compiled is the pipeline of a kernel, which is asked for, being made or made.
type Kernel struct {
	used
	kernel  *synth.Kernel // nil for code that clients brought
	gone    bool          // it has made room for others; see forget.go
	holders int           // shaders of sessions that are it
	asked   bool
	pipe    *vulkan.Pipeline
	err     error
	done    bool
	waiting []*Lane
	then    []func()

	// See prompt.go.
	host  synth.Host // carries the kernel out meanwhile; nil where nothing does
	spent int        // what that has cost, in elementary operations
	warm  bool       // the device has run it
}

// plan returns how the device carries out work. Plans depend on the structure of an
// instruction alone and are made once. One that takes long to make is made apart from the
// goroutine of the Executor: its error is errBeingMade meanwhile.
func (e *Executor) plan(w *work) (*planned, error) {
	e.key = planKey(e.key[:0], w)
	if p, ok := e.plans[string(e.key)]; ok {
		p.at = e.clock
		return p, p.err
	}
	p := &planned{err: errBeingMade}
	e.keepPlan(string(e.key), p)
	if w.manyKernels() {
		e.planApart([]unplanned{{p, w.detached()}})
		return p, p.err
	}
	plan, err := e.lower(w, &e.target)
	e.planMade(p, plan, err)
	e.turns.steps += lookEvery
	return p, p.err
}

// manyKernels reports whether it may take milliseconds to plan an instruction. The plan of
// a decomposition has up to tens of thousands of steps (QR of 16384 × 16384: 0.7 s),
// functions of complex numbers are long.
func (w *work) manyKernels() bool {
	switch w.in.Op.Info().Kind {
	case ops.LinAlg, ops.Order, ops.Transform, ops.Window, ops.Scan, ops.Contract:
		return true
	}
	complex := func(t ops.Type) bool { return t.DType.IsComplex() }
	return len(w.in.Regions) > 0 || slices.ContainsFunc(w.types, complex) ||
		slices.ContainsFunc(w.in.Outs, func(r ops.Result) bool { return complex(r.Type) })
}

// detached is the work as its plan depends on it, with memory of its own.
func (w *work) detached() *work {
	in := *w.in
	in.Ins, in.Outs = slices.Clone(in.Ins), slices.Clone(in.Outs)
	return &work{in: &in, types: slices.Clone(w.types)}
}

// unplanned is a plan that is to be made.
type unplanned struct {
	plan *planned
	of   *work
}

// planApart makes plans apart from the goroutine of the Executor, one after the other.
// Lanes that wait for one go on when it is there.
func (e *Executor) planApart(list []unplanned) {
	target, next := e.target, 0
	e.Aside(nil, workPlan, func(w *sched.Worker) error {
		for i, u := range list {
			plan, err := e.lower(u.of, &target)
			e.cfg.Post(func() {
				next = i + 1
				e.planMade(u.plan, plan, err)
			})
			if err := w.Yield(); err != nil {
				return err
			}
		}
		return nil
	}, func(err error) {
		for _, u := range list[next:] { // what ended this is no matter of theirs
			e.planMade(u.plan, nil, &wire.Fault{Kind: wire.Internal, Err: err})
		}
	})
}

// lower plans an instruction. It may be called from any goroutine.
func (e *Executor) lower(w *work, t *synth.Target) (p *synth.Plan, err error) {
	defer func() {
		if r := recover(); r != nil {
			e.cfg.Log.Error().Str("op", w.in.Op.String()).Bytes("stack", debug.Stack()).Msgf("plan an instruction: %v", r)
			err = &wire.Fault{Kind: wire.Internal, Err: fmt.Errorf("%v", r)}
		}
	}()
	return synth.Lower(w.in, w.types, t)
}

// planMade gives a plan what has been made, and has those go on that wait for it.
func (e *Executor) planMade(p *planned, plan *synth.Plan, err error) {
	if p.Plan, p.err = plan, err; err == nil {
		e.tick()
		p.pipes = make([]*Kernel, len(p.Steps))
		for i := range p.Steps {
			p.pipes[i] = e.wanted(p.Steps[i].Kernel)
		}
		if p.soon {
			e.ahead(p)
		}
	}
	waiting := p.waiting
	p.waiting = nil
	for _, l := range waiting {
		e.Resume(l)
	}
}

// keepPlan remembers a plan.
func (e *Executor) keepPlan(key string, p *planned) {
	e.tick()
	evict(e.plans, e.room.plans, e.clock, nil, nil)
	p.at = e.clock
	e.plans[key] = p
}

// planKey is the structure of an instruction: operation, attributes, types,
// functions, and which operands are literals.
func planKey(key []byte, w *work) []byte {
	key = binary.AppendUvarint(key, uint64(w.in.Op))
	for i, t := range w.types {
		literal := byte(0)
		if w.in.Ins[i].Lit != nil {
			literal = 1
		}
		key = appendType(append(key, literal), t)
	}
	for _, r := range w.in.Outs {
		key = appendType(key, r.Type)
	}
	key = appendAttrs(key, w.in.Attrs)
	for _, r := range w.in.Regions {
		key = append(key, RegionKey(r)...)
	}
	return key
}

func appendAttrs(key []byte, attrs [][]int) []byte {
	for _, a := range attrs {
		key = binary.AppendUvarint(key, uint64(len(a)))
		for _, v := range a {
			key = binary.AppendVarint(key, int64(v))
		}
	}
	return key
}

func appendType(key []byte, t ops.Type) []byte {
	key = append(key, byte(t.DType), byte(len(t.Shape)))
	for _, d := range t.Shape {
		key = binary.AppendUvarint(key, uint64(d))
	}
	return key
}

// wanted is kernel for one that is not needed yet: nobody asks for its pipeline.
func (e *Executor) wanted(k *synth.Kernel) *Kernel {
	c, ok := e.kernels[k.Name]
	if !ok {
		e.roomForKernel()
		c = &Kernel{kernel: k, host: e.hostOf(k)}
		e.kernels[k.Name] = c
	}
	c.at = e.clock
	return c
}

// ahead asks for the pipelines of a plan that will be needed soon, but for those that
// the host does without.
func (e *Executor) ahead(p *planned) {
	for _, c := range p.pipes {
		if c.host == nil {
			e.compile(c)
		}
	}
}

// kernel returns the pipeline of a kernel. It is compiled apart from the
// goroutine of the Executor; lanes that need it wait for it.
func (e *Executor) kernel(k *synth.Kernel) *Kernel {
	c := e.wanted(k)
	e.compile(c)
	return c
}

// compile has the pipeline of a kernel made, once.
func (e *Executor) compile(c *Kernel) {
	if !c.asked {
		e.compileAs(c, c.kernel.Name, c.kernel.Code, layoutOf(c.kernel, e.dev.Info()))
	}
}

// pipeline returns the pipeline of code that a client brought.
func (e *Executor) pipeline(name string, code []uint32, layout vulkan.Layout) *Kernel {
	if c, ok := e.kernels[name]; ok {
		return c
	}
	e.roomForKernel()
	c := &Kernel{}
	c.at = e.clock
	e.kernels[name] = c
	e.compileAs(c, name, code, layout)
	return c
}

func (e *Executor) compileAs(c *Kernel, name string, code []uint32, layout vulkan.Layout) {
	c.asked = true
	var pipe *vulkan.Pipeline
	e.Aside(nil, workPipeline, func(*sched.Worker) (err error) {
		pipe, err = e.dev.Pipeline(name, code, layout)
		return err
	}, func(err error) {
		c.pipe, c.err, c.done = pipe, err, true
		e.noteRefused(c)
		waiting := c.waiting
		c.waiting = nil
		for _, l := range waiting {
			e.Resume(l)
		}
		then := c.then
		c.then = nil
		for _, f := range then {
			f()
		}
	})
}

// ready reports whether all pipelines of a plan are made; the lane waits for
// the first that is not.
func (e *Executor) ready(l *Lane, p *planned) (wait queue.Wait, err error) {
	e.refresh(p)
	for _, c := range p.pipes {
		e.compile(c)
	}
	for i, c := range p.pipes {
		if !c.done {
			c.waiting = append(c.waiting, l)
			return queue.ForKernel, nil
		}
		if Refused(c.err) {
			return 0, c.err
		}
		if c.err != nil {
			return 0, &wire.Fault{Kind: wire.Internal,
				Err: fmt.Errorf("make the pipeline of kernel %s: %w", p.Steps[i].Kernel.Name, c.err)}
		}
	}
	return 0, nil
}

// RegionKey is the structure of a region, with its literals.
func RegionKey(r *ops.Region) []byte {
	var key []byte
	results := func(list []ops.Result) {
		key = binary.AppendUvarint(key, uint64(len(list)))
		for _, o := range list {
			key = appendType(binary.AppendUvarint(key, uint64(o.ID)), o.Type)
		}
	}
	operands := func(list []ops.Operand) {
		key = binary.AppendUvarint(key, uint64(len(list)))
		for _, o := range list {
			if key = binary.AppendUvarint(key, uint64(o.ID)); o.Lit != nil {
				key = append(appendType(key, o.Lit.Type), o.Lit.Data...)
			}
		}
	}
	results(r.Params)
	for i := range r.Body {
		in := &r.Body[i]
		key = binary.AppendUvarint(key, uint64(in.Op))
		operands(in.Ins)
		results(in.Outs)
		key = appendAttrs(key, in.Attrs)
		for _, inner := range in.Regions {
			key = append(key, RegionKey(inner)...)
		}
	}
	operands(r.Values)
	return key
}
