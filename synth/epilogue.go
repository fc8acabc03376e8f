package synth

import (
	"slices"

	"nxvk/ops"
	"nxvk/shaders"
	"nxvk/synth/gemm"
	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
	"nxvk/synth/spirv"
)

// epilogue is what becomes of the results of a product of matrices, or of a
// convolution, before they are stored: operations on elements, in the kernel that
// has the sums, where other code takes the place of the function that stores one
// (see spirv.Splice). Where that kernel has no room for it, it is a kernel of its
// own. The bits are the same.
type epilogue struct {
	unit  *Unit
	tr    *trace // of unit, in which the product is a source
	typ   ops.DType
	taken bool // by the kernels of the product
}

// contraction is the product of a unit, which is no operation on elements; nil where
// there is none.
func (u *Unit) contraction() *ops.Instr {
	for i := range u.Body {
		if op := u.Body[i].Op; op == ops.Dot || op == ops.Conv {
			return &u.Body[i]
		}
	}
	return nil
}

// The operands of the product come first among those of a plan with an epilogue,
// whose own follow.
const contracted = 2

// lowerContraction plans a unit that is a product and operations on its elements.
func lowerContraction(u *Unit, tr *trace, types func(ops.ID) ops.Type, t *Target) (*Plan, error) {
	in := u.contraction()
	ts, places := u.operands(in, types)
	for i := range len(u.Ins) + len(u.Lits) {
		places = append(places, i)
	}
	e := &epilogue{unit: u, tr: tr, typ: in.Outs[0].Type.DType}
	p, err := lowerProductThen(in, ts, t, e)
	if err != nil {
		return nil, err
	}
	if !e.taken {
		if p, err = e.apart(p, in.Outs[0].Type, t); err != nil {
			return nil, err
		}
	}
	return p.renumbered(places), nil
}

// lowerProductThen plans a product whose results go through an epilogue, if that is not
// nil and the kernels take it.
func lowerProductThen(in *ops.Instr, types []ops.Type, t *Target, after storing) (*Plan, error) {
	if in.Op == ops.Conv {
		return lowerConv(in, types, t, after)
	}
	return lowerDot(in, types, t, after)
}

// lowerProduct plans a product by itself. Where its sums are of another type than its
// results, a GPU rounds them in the kernel that has them.
func lowerProduct(in *ops.Instr, types []ops.Type, t *Target) (*Plan, error) {
	if d := in.Outs[0].Type.DType; d != d.Wide() && !t.CPU {
		return lowerProductThen(in, types, t, rounding(in))
	}
	return lowerProductThen(in, types, t, nil)
}

// carried is told whether the kernels of the product have the epilogue.
func (e *epilogue) carried(all bool) { e.taken = all }

// rounding is the epilogue of a product by itself, whose sums are of another type.
func rounding(in *ops.Instr) *epilogue {
	out := in.Outs[0]
	u := &Unit{Body: []ops.Instr{*in}, Outs: []ops.Result{out}}
	tr, err := fusedTrace(u, func(ops.ID) ops.Type { return out.Type })
	if err != nil {
		panic("BUG: a result that is not where it lies: " + err.Error())
	}
	return &epilogue{unit: u, tr: tr, typ: out.Type.DType}
}

// apart is the plan of a product with its epilogue as a kernel that reads the
// results.
func (e *epilogue) apart(p *Plan, typ ops.Type, t *Target) (*Plan, error) {
	d := &dot{plan: &Plan{Alias: -1}, t: t}
	ins := make([]Ref, contracted+len(e.unit.Ins)+len(e.unit.Lits))
	for i := range ins {
		ins[i] = Ref{Operand, i}
	}
	product := d.temp(typ.Bytes())
	d.include(p, ins, product)
	j := e.job(t)
	for i := range j.ins {
		if s := &j.ins[i]; s.kind == fromProduct {
			s.kind, s.buffer = fromBuffer, bufferOf(product, e.typ)
		}
	}
	return d.plan, d.run(j.programs(t)...)
}

// job is the map of the epilogue, on operands as a plan with an epilogue has them.
func (e *epilogue) job(t *Target) *mapJob {
	j := e.tr.mapJob(e.unit, t)
	j.ins = slices.Clone(j.ins)
	for i := range j.ins {
		switch s := &j.ins[i]; s.kind {
		case fromBuffer:
			s.buffer.ref.Index += contracted
		case fromLiteral:
			s.lit.operand += contracted
		}
	}
	return j
}

// carry makes s, step i of a planned product, one that has the epilogue. It reports
// false where the kernel has no room.
func (e *epilogue) carry(plan *gemm.Plan, i int, s *Step, d *dot) (bool, error) {
	g, t := plan.Steps[i], d.t
	p, j, body := e.program(t, d.wide)
	if !e.placed(j, g.Kernel.Places(), 16/d.wide.Size(), d.wide, t) {
		g.Kernel = g.Kernel.Staged()
	}
	if p.index != scalar.U32 || t.check(p) != nil || contracted+len(p.bufs) > maxBuffers {
		return false, nil
	}
	head := len(g.Push)
	if t.Addresses {
		head += 8 * (contracted + len(p.bufs))
	}
	head = (head + 7) / 8 * 8
	fixed := false
	size := func() int { return head + t.pushBytes(p, fixed) - t.base(p) }
	if fixed = size() > t.maxPush(); fixed && size() > t.maxPush() {
		return false, nil
	}
	k, err := t.spliced(&g, p, body, head, size(), fixed)
	if err != nil {
		return false, err
	}
	s.Kernel, s.Push, s.Args = k, make([]byte, k.PushBytes), s.Args[:contracted:contracted]
	for _, b := range p.bufs {
		s.Args = append(s.Args, Arg{Ref: b.ref, Access: b.access})
	}
	from := 0
	if t.Addresses {
		from = 8 * len(s.Args)
	}
	copy(s.Push[from:], g.Push)
	s.Lits = p.fill(s.Push, head, fixed)
	of := float64(g.Flops) / float64(flopsOf(plan))
	s.Bytes, s.Flops = s.Bytes+int64(of*float64(p.bytes-int64(d.in.Outs[0].Type.Bytes()))), s.Flops+int64(of*float64(p.flops))
	return true, nil
}

// maxPlaced is how many operations on elements the code of a kernel has at most where it
// stores results at many places.
const maxPlaced = 512

// placed reports whether an epilogue is so short that a kernel may have it for each of
// some results, which it stores v at a time. Dozens of stores of single elements take a
// driver minutes.
func (e *epilogue) placed(j *mapJob, places, v int, wide ops.DType, t *Target) bool {
	cost := e.tr.cost(t)
	if wide != e.typ {
		cost += roundingCost
	}
	return places*cost <= maxPlaced && j.fits(v)
}

// roundingCost is about how many operations it takes to round to a narrow type.
const roundingCost = 8

// spliced returns the kernel of a step of a product with a program, of which body
// writes the code for n results, in place of what stores them.
func (t *Target) spliced(g *gemm.Step, p *program, body func(n int) func(*emitter) error, at, push int, fixed bool) (*Kernel, error) {
	name := handName(&g.Kernel)
	key := name + " " + t.fullKey(p, fixed)
	if k, ok := kernels.get(key); ok {
		return k, nil
	}
	if k := t.archived(key); k != nil {
		k.Name += " " + name
		return kernels.put(key, k), nil
	}
	code, irs, err := t.splice(g.Kernel.Shader, p, body, at, fixed)
	if err != nil {
		return nil, err
	}
	k := &Kernel{Name: contentName(code) + " " + name, Code: code, Buffers: contracted + len(p.bufs), PushBytes: push,
		Addresses: t.Addresses, Spec: g.Kernel.Spec, Local: g.Kernel.Local}
	dump(k, irs...)
	t.keep(key, k)
	return kernels.put(key, k), nil
}

// splice writes the code of spliced, and gives what it puts in the place of functions.
func (t *Target) splice(shader string, p *program, body func(n int) func(*emitter) error, at int, fixed bool) (
	code []uint32, irs []*kernel.Kernel, err error) {
	if code, err = shaders.Code(shader); err != nil {
		return nil, nil, err
	}
	byCount := map[int]*kernel.Kernel{}
	for _, n := range spirv.Stores(code) {
		q := *p
		q.body = body(n)
		if byCount[n], err = t.build(&q, fixed); err != nil {
			return nil, nil, err
		}
		irs = append(irs, byCount[n])
	}
	return spirv.Splice(code, func(n int) *kernel.Kernel { return byCount[n] }, at, t.options()), irs, nil
}

// flopsOf counts what the steps that store results compute.
func flopsOf(p *gemm.Plan) int64 {
	n := int64(0)
	for i := range p.Steps {
		if p.Steps[i].Out == gemm.C {
			n += p.Steps[i].Flops
		}
	}
	return n
}
