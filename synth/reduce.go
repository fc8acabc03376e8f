package synth

import (
	"fmt"

	"nxvk/ops"
	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// reduceJob folds elements of a tensor along axes, with one operator or with
// several. The elements are loaded, or made of what is loaded.
//
// # Order
//
// Floating-point results depend on the order, so it is a function of the shape,
// the axes and the profile of the device, and every kernel that carries a
// reduction keeps to it. The R elements that make one output, in row-major order
// of the reduced axes, are cut into chunks; each chunk is dealt out in fours to
// parts, round after round; element 0..3 of a four goes to lane 0..3 of its
// part. That is
//
//	chunk c has elements [c*length, (c+1)*length)
//	part  p has the fours p, p+parts, p+2*parts, … of its chunk
//
// A lane folds its elements one after the other, beginning with the identity.
// The lanes of a part join as (0 + 1) + (2 + 3). The parts of a chunk join by
// halves within a workgroup (p with p+parts/2, and so on), where there are
// workgroups; else they are a tensor that is reduced in the same manner, as the
// chunks are. schedule has the numbers.
type reduceJob struct {
	key    string // what point and finish compute
	folds  []fold
	lie    reduceShape // of the elements, as they lie in memory or would
	finish finish
	last   bool // of the passes

	kept, reduced []int // dimensions of the space that the sources have
	ins           []reduceSource
	// point gives, for an output, the function that makes of what the sources
	// give the element that each fold takes. kept is what those give that are
	// the same for all elements of the output, full what the others do.
	point func(e *emitter, kept []kernel.Value) elementFunc

	order schedule
	group int // neighbouring outputs that an invocation computes: 1 or 4
}

// elementFunc gives the elements that each fold takes of what is loaded for some.
type elementFunc func(full [][]kernel.Value) ([][]kernel.Value, error)

// byElement is an elementFunc that makes one after the other.
func byElement(f func(full []kernel.Value) []kernel.Value) elementFunc {
	return func(full [][]kernel.Value) ([][]kernel.Value, error) {
		out := make([][]kernel.Value, len(full))
		for i, vs := range full {
			out[i] = f(vs)
		}
		return out, nil
	}
}

// fold is an operator and the type that it folds.
type fold struct {
	op      ops.Op
	compute ops.DType
}

// finish makes results of totals.
type finish struct {
	outs []buffer
	dims []int    // of the results
	ins  []source // what it takes besides
	make func(e *emitter, totals, loaded []kernel.Value) ([]kernel.Value, error)
}

// truth says that elements fold as whether they are zero.
func (f *fold) truth() bool { return f.op.Info().Compare }

// partial is the type of partial results: the one that folds.
func (f *fold) partial() ops.DType {
	if f.truth() {
		return ops.U32
	}
	return f.compute.Wide()
}

// functions compiles the operator and the identity.
func (f *fold) functions(t *Target) (operator, identity *scalar.Func, err error) {
	truths := 0
	if f.truth() {
		truths = 2
	}
	if operator, err = t.expression(f.op.Info().Code, f.compute, 2, truths); err != nil {
		return nil, nil, err
	}
	identity, err = t.expression(f.op.Info().Identity, f.compute, 0, 0)
	return operator, identity, err
}

// parts is how many values an element that folds is.
func (f *fold) parts() int {
	if f.truth() {
		return 1
	}
	return partsOf(f.compute)
}

// element gives an element of a type as the operator takes it.
func (f *fold) element(e *emitter, xs []kernel.Value, from ops.DType) []kernel.Value {
	if f.truth() {
		return []kernel.Value{e.nonzero(xs)}
	}
	return e.recast(xs, from, f.compute)
}

// lowerReduce plans a reduction over axes.
func lowerReduce(in *ops.Instr, types []ops.Type, t *Target) (*Plan, error) {
	if in.Ins[0].Lit != nil {
		return nil, unsupported("reduction of a literal")
	}
	from, to := types[0].DType, in.Outs[0].Type.DType
	f := fold{in.Op, computes(in, types)}
	if in.Op.Info().Code.For(f.compute.Class()) == "" {
		return nil, unsupported("no code for %v", f.compute)
	}
	j := &reduceJob{key: fmt.Sprintf("%v in %v of %v to %v", in.Op, f.compute, from, to), folds: []fold{f},
		lie: reduceShapeOf(types[0].Shape, in.Attrs[0])}
	j.kept, j.reduced = j.lie.kept, j.lie.reduced
	j.ins = []reduceSource{j.lie.source(bufferOf(Ref{Operand, 0}, from))}
	j.point = func(e *emitter, _ []kernel.Value) elementFunc {
		return byElement(func(full []kernel.Value) []kernel.Value { return f.element(e, e.decoded(from, full), from) })
	}
	j.finish = finish{outs: []buffer{result(to)}, make: func(e *emitter, totals, _ []kernel.Value) ([]kernel.Value, error) {
		return e.finished(totals, f.compute, to), nil
	}}
	return j.plan(t)
}

// plan plans the passes.
func (j *reduceJob) plan(t *Target) (*Plan, error) {
	var programs []*program
	var temps []int64
	for j != nil {
		p, rest := j.pass(t, len(temps))
		programs = append(programs, p)
		if rest != nil {
			for _, f := range j.folds {
				temps = append(temps, int64(rest.lie.elements()*f.partial().Size()))
			}
		}
		j = rest
	}
	return t.plan(temps, programs...)
}

// pass plans the next kernel, and gives the job that is left: the reduction of
// its partial results, in temporaries from number temp on.
func (j *reduceJob) pass(t *Target, temp int) (*program, *reduceJob) {
	j.group = j.lie.columns()
	j.order = t.schedule(&j.lie)
	j.arrange()
	n, k := j.order.partials(), product(j.kept)
	j.last = n == 1
	if j.last {
		return j.program(t), nil
	}
	rest := &reduceJob{key: j.key, folds: j.folds, finish: j.finish}
	rest.lie = reduceShape{[]int{k}, []int{n}, view{strides: []int{n}}, view{strides: []int{1}}}
	if j.group > 1 {
		rest.lie.keptAt, rest.lie.reducedAt = view{strides: []int{1}}, view{strides: []int{k}}
	}
	rest.kept, rest.reduced = rest.lie.kept, rest.lie.reduced
	j.finish = finish{}
	for i, f := range j.folds {
		b := bufferOf(Ref{Temp, temp + i}, f.partial())
		j.finish.outs = append(j.finish.outs, b)
		rest.ins = append(rest.ins, rest.lie.source(b))
	}
	rest.key += " of partials"
	rest.point, j.finish.make = j.takePartials, j.givePartials
	return j.program(t), rest
}

// givePartials stores totals as they are.
func (j *reduceJob) givePartials(e *emitter, totals, _ []kernel.Value) ([]kernel.Value, error) {
	var vs []kernel.Value
	for i := range j.folds {
		f := &j.folds[i]
		vs = append(vs, e.finished(totals[:f.parts()], f.compute, f.partial())...)
		totals = totals[f.parts():]
	}
	return vs, nil
}

// takePartials takes what givePartials has stored.
func (j *reduceJob) takePartials(e *emitter, _ []kernel.Value) elementFunc {
	return byElement(func(full []kernel.Value) []kernel.Value {
		var vs []kernel.Value
		for i := range j.folds {
			f := &j.folds[i]
			vs = append(vs, f.element(e, e.decoded(f.partial(), full[:f.parts()]), f.partial())...)
			full = full[f.parts():]
		}
		return vs
	})
}

func (j *reduceJob) program(t *Target) *program {
	o, k := &j.order, product(j.kept)
	units := k / j.group * o.partials()
	p := &program{index: indexType(max(j.reach(), units)), body: j.write, local: uint32(o.local),
		flops: int64(j.lie.elements() * len(j.folds))}
	for i := range j.ins {
		if s := &j.ins[i]; s.kind == fromBuffer {
			p.addBuffer(s.buffer, s.extent(j), j.lie.elements())
		} else if s.kind == fromLiteral {
			p.lits = append(p.lits, s.lit)
		}
	}
	for i := range j.finish.ins {
		if s := &j.finish.ins[i]; s.kind == fromBuffer {
			p.addBuffer(s.buffer, s.extent(j.finish.dims), k)
		} else if s.kind == fromLiteral {
			p.lits = append(p.lits, s.lit)
		}
	}
	for _, b := range j.finish.outs {
		b.access, b.bytes = Write, int64(k*o.partials()*b.size())
		p.bufs, p.bytes = append(p.bufs, b), p.bytes+b.bytes
	}
	perGroup := o.local
	if o.tree {
		perGroup = o.local / o.parts
	}
	p.groups = (units + perGroup - 1) / perGroup
	p.nums = j.numbers(units)
	p.key = j.describe()
	return p
}

// addBuffer adds a buffer that is read as far as extent, at so many points.
func (p *program) addBuffer(b buffer, extent, points int) {
	b.access, b.bytes = Read, int64(extent*b.size())
	p.bufs = append(p.bufs, b)
	p.bytes += min(b.bytes, int64(points*b.size()))
}

// reach is one more than the greatest index in any buffer.
func (j *reduceJob) reach() int {
	n := j.lie.elements()
	for i := range j.ins {
		if j.ins[i].kind != fromLiteral {
			n = max(n, j.ins[i].extent(j))
		}
	}
	for i := range j.finish.ins {
		if s := &j.finish.ins[i]; s.kind != fromLiteral {
			n = max(n, s.extent(j.finish.dims))
		}
	}
	return n
}

// describe is the key of the program.
func (j *reduceJob) describe() string {
	key := fmt.Sprintf("reduce %s kept=%d reduced=%d group=%d rest=%v tree=%v last=%v", j.key, len(j.kept), len(j.reduced),
		j.group, product(j.reduced)%lanes != 0, j.order.tree, j.last)
	if j.order.tree {
		key += fmt.Sprintf(" parts=%d", j.order.parts)
	}
	for i := range j.ins {
		s := &j.ins[i]
		key += fmt.Sprintf(" %d%d%v", s.kind, s.way, s.offset != 0)
	}
	if j.last {
		for i := range j.finish.ins {
			key += fmt.Sprintf(" after%d", j.finish.ins[i].kind)
		}
		key += fmt.Sprintf(" dims=%d", len(j.finish.dims))
	}
	return key
}

// numbers lists the parameters in the order in which write takes them.
func (j *reduceJob) numbers(units int) []int {
	o, n := &j.order, product(j.reduced)
	nums := []int{units, o.chunks, o.length / lanes, n / lanes, n}
	if !o.tree {
		nums[1] = o.parts
	}
	nums = append(append(nums, j.kept...), j.reduced...)
	for i := range j.ins {
		if s := &j.ins[i]; s.kind != fromLiteral {
			nums = append(nums, s.numbers()...)
		}
	}
	for i := range j.finish.ins {
		if s := &j.finish.ins[i]; s.kind != fromLiteral {
			nums = append(append(nums, s.offset), s.strides...)
		}
	}
	if len(j.finish.ins) > 0 {
		nums = append(nums, j.finish.dims...)
	}
	return nums
}
