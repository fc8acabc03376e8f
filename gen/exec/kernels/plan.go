package kernels

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"

	"nxvk/fallback/sched"
	"nxvk/gen/exec/lru"
	"nxvk/gen/wire"
	"nxvk/ops"
	"nxvk/synth"
)

// Plan is how the device carries out an instruction or a fusion, and the kernels of its
// steps.
type Plan struct {
	*synth.Plan
	lru.Use
	Err     error // ErrBeingMade, or why there is none
	Kernels []*Kernel
	waiting []func() // where it is being made
	soon    bool     // its kernels are wanted as soon as it is made
	Contest Contest  // between the host and a processor, see contest.go

	little      *Plan // see Little
	littleAsked bool
}

// ErrBeingMade is that of a plan that is being made.
var ErrBeingMade = errors.New("the plan is being made")

// Then has f called when a plan that is being made has been made.
func (p *Plan) Then(f func()) { p.waiting = append(p.waiting, f) }

// Awaited counts who waits for the plan.
func (p *Plan) Awaited() int { return len(p.waiting) }

// Soon reports whether kernels are wanted as soon as the plan is made.
func (p *Plan) Soon() bool { return p.soon }

// Instr is an instruction with the types of its operands.
type Instr struct {
	*ops.Instr
	Types []ops.Type
}

// Plan returns the plan of an instruction, and its error. Plans depend on the structure of
// an instruction alone and are made once. One that takes long to make is made apart from the
// goroutine of the Cache; made says that it was made here and now.
func (c *Cache) Plan(in Instr) (p *Plan, made bool, err error) {
	c.key = AppendInstr(c.key[:0], in)
	if p, ok := c.plans.Find(c.key); ok {
		c.plans.Touch(p)
		return p, false, p.Err
	}
	p = c.keep(string(c.key))
	if in.long() {
		c.makeApart([]unplanned{{p, in.detached()}})
		return p, false, p.Err
	}
	plan, err := c.lower(in, &c.target)
	c.give(p, plan, err)
	return p, true, p.Err
}

// PrefetchAll has the kernels of instructions made that will be needed soon. Plans that
// nobody has made are made apart from the goroutine of the Cache.
func (c *Cache) PrefetchAll(list []Instr) {
	var missing []unplanned
	for _, in := range list {
		c.key = AppendInstr(c.key[:0], in)
		p, ok := c.plans.Find(c.key)
		switch {
		case !ok:
			p = c.keep(string(c.key))
			p.soon = true
			missing = append(missing, unplanned{p, in.detached()})
		case p.Err == ErrBeingMade:
			p.soon = true
		case p.Err == nil: // an error is met again when its turn comes
			c.plans.Touch(p)
			c.Prefetch(p)
		}
	}
	if len(missing) > 0 {
		c.makeApart(missing)
	}
}

// Fusion returns the plan of a fusion, which lower makes apart from the goroutine of the
// Cache where nobody has asked for it before. Its kernels have been asked for when those hear
// of it that wait for the plan.
func (c *Cache) Fusion(key string, lower func(*synth.Target) (*synth.Plan, error)) *Plan {
	if p, ok := c.plans.Get(key); ok {
		c.plans.Touch(p)
		return p
	}
	p := c.keep(key)
	p.soon = true
	t, interprets := c.target, c.Interprets()
	var plan *synth.Plan
	var readied map[string]bool
	c.cfg.Aside(WorkPlan, func(*sched.Worker) (err error) {
		if plan, err = lower(&t); err == nil && interprets {
			for i := range plan.Steps {
				t.OnHost(plan.Steps[i].Kernel) // here it holds nobody up
			}
			readied = c.readied(plan)
		}
		return err
	}, func(err error) {
		c.set(p, plan, err)
		for _, k := range p.Kernels {
			if k.host != nil && !k.asked && readied[k.Name] {
				c.makeReady(k)
			}
		}
		p.tell()
	})
	return p
}

// keep remembers a plan that is about to be made.
func (c *Cache) keep(key string) *Plan {
	c.tick()
	c.plans.Evict(c.maxPlans, nil, nil)
	p := &Plan{Err: ErrBeingMade}
	c.plans.Add(key, p)
	return p
}

// long reports whether it may take milliseconds to plan an instruction. The plan of a
// decomposition has up to tens of thousands of steps (QR of 16384 × 16384: 0.7 s),
// functions of complex numbers are long.
func (in Instr) long() bool {
	switch in.Op.Info().Kind {
	case ops.LinAlg, ops.Order, ops.Transform, ops.Window, ops.Scan, ops.Contract:
		return true
	}
	complex := func(t ops.Type) bool { return t.DType.IsComplex() }
	return len(in.Regions) > 0 || slices.ContainsFunc(in.Types, complex) ||
		slices.ContainsFunc(in.Outs, func(r ops.Result) bool { return complex(r.Type) })
}

// detached is the instruction with memory of its own.
func (in Instr) detached() Instr {
	own := *in.Instr
	own.Ins, own.Outs = slices.Clone(own.Ins), slices.Clone(own.Outs)
	return Instr{&own, slices.Clone(in.Types)}
}

// unplanned is a plan that is to be made.
type unplanned struct {
	plan *Plan
	of   Instr
}

// makeApart makes plans apart from the goroutine of the Cache, one after the other.
func (c *Cache) makeApart(list []unplanned) {
	t, next := c.target, 0
	c.cfg.Aside(WorkPlan, func(w *sched.Worker) error {
		for i, u := range list {
			plan, err := c.lower(u.of, &t)
			c.cfg.Post(func() {
				next = i + 1
				c.give(u.plan, plan, err)
			})
			if err := w.Yield(); err != nil {
				return err
			}
		}
		return nil
	}, func(err error) {
		for _, u := range list[next:] { // what ended this is no matter of theirs
			c.give(u.plan, nil, &wire.Fault{Kind: wire.Internal, Err: err})
		}
	})
}

// lower plans an instruction. It may be called from any goroutine.
func (c *Cache) lower(in Instr, t *synth.Target) (p *synth.Plan, err error) {
	defer func() {
		if r := recover(); r != nil {
			c.cfg.Log.Error().Str("op", in.Op.String()).Bytes("stack", debug.Stack()).Msgf("planning an instruction caused a panic, so the instruction fails; please report this as a bug: %v", r)
			err = &wire.Fault{Kind: wire.Internal, Err: fmt.Errorf("%v", r)}
		}
	}()
	return synth.Lower(in.Instr, in.Types, t)
}

// give gives a plan what has been made, and has those go on that wait for it.
func (c *Cache) give(p *Plan, plan *synth.Plan, err error) {
	c.set(p, plan, err)
	p.tell()
}

// set gives a plan what has been made.
func (c *Cache) set(p *Plan, plan *synth.Plan, err error) {
	if p.Plan, p.Err = plan, err; err != nil {
		return
	}
	c.tick()
	p.Kernels = make([]*Kernel, len(p.Steps))
	for i := range p.Steps {
		p.Kernels[i] = c.Wanted(p.Steps[i].Kernel)
	}
	if p.soon {
		c.Prefetch(p)
	}
}

// tell has those go on that wait for a plan.
func (p *Plan) tell() {
	waiting := p.waiting
	p.waiting = nil
	for _, f := range waiting {
		f()
	}
}

// AppendInstr appends the signature of an instruction, on which its plan depends:
// operation, attributes, types, functions, and which operands are literals.
func AppendInstr(key []byte, in Instr) []byte {
	key = binary.AppendUvarint(key, uint64(in.Op))
	for i, t := range in.Types {
		literal := byte(0)
		if in.Ins[i].Lit != nil {
			literal = 1
		}
		key = AppendType(append(key, literal), t)
	}
	for _, r := range in.Outs {
		key = AppendType(key, r.Type)
	}
	key = AppendAttrs(key, in.Attrs)
	for _, r := range in.Regions {
		key = append(key, RegionKey(r)...)
	}
	return key
}

// AppendAttrs appends attributes to a key.
func AppendAttrs(key []byte, attrs [][]int) []byte {
	for _, a := range attrs {
		key = binary.AppendUvarint(key, uint64(len(a)))
		for _, v := range a {
			key = binary.AppendVarint(key, int64(v))
		}
	}
	return key
}

// AppendType appends a type to a key.
func AppendType(key []byte, t ops.Type) []byte {
	key = append(key, byte(t.DType), byte(len(t.Shape)))
	for _, d := range t.Shape {
		key = binary.AppendUvarint(key, uint64(d))
	}
	return key
}

// RegionKey is the structure of a region, with its literals.
func RegionKey(r *ops.Region) []byte {
	var key []byte
	results := func(list []ops.Result) {
		key = binary.AppendUvarint(key, uint64(len(list)))
		for _, o := range list {
			key = AppendType(binary.AppendUvarint(key, uint64(o.ID)), o.Type)
		}
	}
	operands := func(list []ops.Operand) {
		key = binary.AppendUvarint(key, uint64(len(list)))
		for _, o := range list {
			if key = binary.AppendUvarint(key, uint64(o.ID)); o.Lit != nil {
				key = append(AppendType(key, o.Lit.Type), o.Lit.Data...)
			}
		}
	}
	results(r.Params)
	for i := range r.Body {
		in := &r.Body[i]
		key = binary.AppendUvarint(key, uint64(in.Op))
		operands(in.Ins)
		results(in.Outs)
		key = AppendAttrs(key, in.Attrs)
		for _, inner := range in.Regions {
			key = append(key, RegionKey(inner)...)
		}
	}
	operands(r.Values)
	return key
}
