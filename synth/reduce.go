package synth

import (
	"fmt"
	"slices"

	"nxvk/ops"
	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// reduceJob folds elements of a tensor along axes with an operator.
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
	key      string
	compute  ops.DType // the type that folds
	truth    bool      // folds whether elements are zero, as Bool
	operator ops.Code
	identity ops.Code

	from      buffer
	fromType  ops.DType
	kept      []int // sizes of the dimensions of the result
	keptAt    view
	reduced   []int
	reducedAt view
	to        buffer
	toType    ops.DType

	order schedule
	group int  // neighbouring outputs that an invocation computes: 1 or 4
	quad  bool // the fours are loaded at once
}

// lowerReduce plans a reduction over axes.
func lowerReduce(in *ops.Instr, types []ops.Type, t *Target) (*Plan, error) {
	ds := dtypes(in, types)
	if in.Ins[0].Lit != nil {
		return nil, unsupported("reduction of a literal")
	}
	info, out, s := in.Op.Info(), in.Outs[0].Type, types[0].Shape
	j := &reduceJob{key: in.Op.String(), compute: computes(in, types), truth: info.Compare,
		operator: info.Code, identity: info.Identity, fromType: ds[0], toType: out.DType,
		from: bufferOf(Ref{Operand, 0}, ds[0]), to: result(out.DType)}
	if j.operator.For(j.compute.Class()) == "" {
		return nil, unsupported("no code for %v", j.compute)
	}
	j.split(s, in.Attrs[0])
	var programs []*program
	var temps []int64
	for {
		p, rest := j.pass(t, len(temps))
		programs = append(programs, p)
		if rest == nil {
			return t.plan(temps, programs...)
		}
		temps = append(temps, int64(rest.elements()*rest.fromType.Size()))
		j = rest
	}
}

// split divides the dimensions of the operand into kept and reduced ones.
func (j *reduceJob) split(s ops.Shape, axes []int) {
	strides := s.Strides()
	for i, d := range s {
		if slices.Contains(axes, i) {
			j.reduced = append(j.reduced, d)
			j.reducedAt.strides = append(j.reducedAt.strides, strides[i])
		} else {
			j.kept = append(j.kept, d)
			j.keptAt.strides = append(j.keptAt.strides, strides[i])
		}
	}
}

func (j *reduceJob) elements() int { return product(j.kept) * product(j.reduced) }

// pass plans the next kernel, and gives the job that is left: the reduction of
// its partial results, in temporary number temp.
func (j *reduceJob) pass(t *Target, temp int) (*program, *reduceJob) {
	j.kept = collapse(j.kept, []*view{&j.keptAt})
	j.reduced = collapse(j.reduced, []*view{&j.reducedAt})
	j.group = j.columns()
	j.order = t.schedule(j)
	j.quad = j.group == 1 && j.quads()
	n, k := j.order.partials(), product(j.kept)
	var rest *reduceJob
	if n > 1 {
		next := *j
		rest = &next
		rest.fromType = j.partialType()
		rest.from = bufferOf(Ref{Temp, temp}, rest.fromType)
		rest.kept, rest.reduced = []int{k}, []int{n}
		rest.keptAt, rest.reducedAt = view{strides: []int{n}}, view{strides: []int{1}}
		if j.group > 1 {
			rest.keptAt, rest.reducedAt = view{strides: []int{1}}, view{strides: []int{k}}
		}
		j.to, j.toType = rest.from, rest.fromType
	}
	return j.program(t), rest
}

// partialType is the type of partial results: the one that folds.
func (j *reduceJob) partialType() ops.DType {
	if j.truth {
		return ops.U32
	}
	return j.compute.Wide()
}

// columns returns 4 where four neighbouring outputs fold neighbouring elements.
func (j *reduceJob) columns() int {
	r := len(j.kept) - 1
	if j.kept[r]%4 != 0 || !vectored(&j.keptAt, r, 4) {
		return 1
	}
	for _, s := range j.reducedAt.strides {
		if s%4 != 0 {
			return 1
		}
	}
	return 4
}

// rows reports whether the elements of an output are neighbours.
func (j *reduceJob) rows() bool {
	return len(j.reduced) == 1 && j.reducedAt.strides[0] == 1
}

// quads reports whether the fours of a row begin at multiples of four.
func (j *reduceJob) quads() bool {
	for i, s := range j.keptAt.strides {
		if s%4 != 0 && j.kept[i] > 1 {
			return false
		}
	}
	return j.rows()
}

func (j *reduceJob) program(t *Target) *program {
	o := &j.order
	j.from.access, j.to.access = Read, Write
	k := product(j.kept)
	j.from.bytes = int64(j.elements() * j.from.size())
	j.to.bytes = int64(k * o.partials() * j.to.size())
	units := k / j.group * o.partials()
	p := &program{index: indexType(max(j.elements(), units)), bufs: []buffer{j.from, j.to}, body: j.write,
		flops: int64(j.elements()), bytes: j.from.bytes + j.to.bytes, local: uint32(o.local)}
	perGroup := o.local
	if o.tree {
		perGroup = o.local / o.parts
	}
	p.groups = (units + perGroup - 1) / perGroup
	p.nums = j.numbers(units)
	p.key = fmt.Sprintf("reduce %s in %v of %v to %v kept=%d reduced=%d group=%d quad=%v rest=%v tree=%v",
		j.key, j.compute, j.fromType, j.toType, len(j.kept), len(j.reduced), j.group, j.quad,
		product(j.reduced)%4 != 0, o.tree)
	if o.tree {
		p.key += fmt.Sprintf(" parts=%d", o.parts)
	}
	return p
}

// numbers lists the parameters in the order in which write takes them.
func (j *reduceJob) numbers(units int) []int {
	o, n := &j.order, product(j.reduced)
	nums := []int{units, o.chunks, o.length / 4, n / 4, n}
	if !o.tree {
		nums[1] = o.parts
	}
	unit := j.group
	if j.quad {
		unit = 4
	}
	kept := slices.Clone(j.kept)
	kept[len(kept)-1] /= j.group
	for i := range kept {
		stride := j.keptAt.strides[i] / unit
		if j.group > 1 && i == len(kept)-1 {
			stride = 1 // counts in fours already
		}
		nums = append(nums, kept[i], stride)
	}
	for i, d := range j.reduced {
		nums = append(nums, d, j.reducedAt.strides[i]/j.group)
	}
	return nums
}

// functions compiles the operator and the identity.
func (j *reduceJob) functions(t *Target) (operator, identity *scalar.Func, err error) {
	truths := 0
	if j.truth {
		truths = 2
	}
	if operator, err = t.expression(j.operator, j.compute, 2, truths); err != nil {
		return nil, nil, err
	}
	identity, err = t.expression(j.identity, j.compute, 0, 0)
	return operator, identity, err
}

// parts is how many values an element that folds is.
func (j *reduceJob) parts() int {
	if j.truth {
		return 1
	}
	return partsOf(j.compute)
}

// element gives a loaded element as the operator takes it.
func (j *reduceJob) element(e *emitter, xs []kernel.Value) []kernel.Value {
	xs = e.decoded(j.fromType, xs)
	if j.truth {
		return []kernel.Value{e.nonzero(xs)}
	}
	return e.recast(xs, j.fromType, j.compute)
}
