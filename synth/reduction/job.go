package reduction

import (
	"fmt"

	"nxvk/ops"
	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
	"nxvk/synth/scalar"
	"nxvk/synth/strided"
)

// Job folds elements of a tensor along axes, with one operator or with several. The elements
// are loaded, or computed from loaded values. A four is a vector of four neighbouring
// elements, which one load brings.
//
// # Order
//
// Floating-point results depend on the order, so it is a function of the shape, the axes and
// the profile of the device, and every kernel with a reduction keeps to it. The R elements
// that make one output, in row-major order of the reduced axes, are cut into chunks; each
// chunk is dealt out in fours to parts, round after round; element 0..3 of a four goes to component
// 0..3 of its part. That is
//
//	chunk c has elements [c*length, (c+1)*length)
//	part  p has the fours p, p+parts, p+2*parts, … of its chunk
//
// Where the schedule has components apart, the elements of a round are dealt out one by one
// instead: component l of part p has element l*parts + p of each round.
//
// A component folds its elements one after the other, beginning with the identity. The components of a
// part join as (0 + 1) + (2 + 3). The parts of a chunk join by halves within a workgroup (p
// with p+parts/2, and so on), where there are workgroups; else they are a tensor that is
// reduced in the same manner, and so are the chunks. strided.ScheduleOf chooses the numbers.
type Job struct {
	Key    string // the text of what Point and Finish compute
	Folds  []Operator
	Layout strided.Reduction // of the elements, as they lie in memory or would
	Finish Finish
	Last   bool // of the passes

	Kept, Reduced []int // dimensions of the space that the sources have
	Ins           []Source
	// Point returns, for an output, the function that computes the element of each fold from
	// the values of the sources. kept has the values that are the same for all elements of the
	// output; the function gets the others.
	Point func(e *codegen.Emitter, kept []kernel.Value) ElementFunc

	Order strided.Schedule
	Group int // neighbouring outputs that an invocation computes: 1 or 4

	beside beside

	onHost *hostSum // what the host can carry out; nil where that is nothing
}

// ElementFunc computes, from the values that are loaded for some elements, the elements that
// each fold takes.
type ElementFunc func(full [][]kernel.Value) ([][]kernel.Value, error)

// byElement is an ElementFunc that computes one element after the other.
func byElement(f func(full []kernel.Value) []kernel.Value) ElementFunc {
	return func(full [][]kernel.Value) ([][]kernel.Value, error) {
		out := make([][]kernel.Value, len(full))
		for i, vs := range full {
			out[i] = f(vs)
		}
		return out, nil
	}
}

// Operator is an operator and the type that it folds.
type Operator struct {
	Op      ops.Op
	Compute ops.DType
	arg     *argOperator // of elements with their indices; nil where elements alone fold
}

// Finish computes results from totals.
type Finish struct {
	Outs []codegen.Buffer
	Dims []int            // of the results
	Ins  []codegen.Source // the sources that it loads besides the totals
	Make func(e *codegen.Emitter, totals, loaded []kernel.Value) ([]kernel.Value, error)
}

// truth reports whether the operator folds truth values: whether elements are zero.
func (f *Operator) truth() bool { return f.Op.Info().Compare }

// partials lists the types of partial results, one for each buffer: the types in which the
// operator computes.
func (f *Operator) partials() []ops.DType {
	switch {
	case f.arg != nil:
		return []ops.DType{f.Compute.Wide(), f.arg.index}
	case f.truth():
		return []ops.DType{ops.U32}
	}
	return []ops.DType{f.Compute.Wide()}
}

// functions compiles the operator and the identity, which are nil where elements have indices.
func (f *Operator) functions(t *lowering.Target) (operator, identity *scalar.Func, err error) {
	if f.arg != nil {
		return nil, nil, nil
	}
	truths := 0
	if f.truth() {
		truths = 2
	}
	if operator, err = codegen.Expression(t, f.Op.Info().Code, f.Compute, 2, truths); err != nil {
		return nil, nil, err
	}
	identity, err = codegen.Expression(t, f.Op.Info().Identity, f.Compute, 0, 0)
	return operator, identity, err
}

// Parts is the number of values that represent an element: 2 for an element with its index.
func (f *Operator) Parts() int {
	switch {
	case f.arg != nil:
		return 2
	case f.truth():
		return 1
	}
	return codegen.PartsOf(f.Compute)
}

// Convert converts an element to the type of the operator.
func (f *Operator) Convert(e *codegen.Emitter, xs []kernel.Value, from ops.DType) []kernel.Value {
	if f.truth() {
		return []kernel.Value{e.IsNonzero(xs)}
	}
	return e.ConvertParts(xs, from, f.Compute)
}

// Lower plans a reduction over axes.
func Lower(in *ops.Instr, types []ops.Type, t *lowering.Target) (*lowering.Plan, error) {
	if in.Ins[0].Lit != nil {
		return nil, lowering.Unsupported("reduction of a literal")
	}
	from, to := types[0].DType, in.Outs[0].Type.DType
	f := Operator{Op: in.Op, Compute: codegen.ComputeClass(in, types)}
	if in.Op.Info().Code.For(f.Compute.Class()) == "" {
		return nil, lowering.Unsupported("no code for %v", f.Compute)
	}
	j := &Job{Key: fmt.Sprintf("%v in %v of %v to %v", in.Op, f.Compute, from, to), Folds: []Operator{f},
		Layout: strided.NewReduction(types[0].Shape, in.Attrs[0]), onHost: hostSumOf(in, from, f.Compute, to)}
	j.Kept, j.Reduced = j.Layout.Kept, j.Layout.Reduced
	j.Ins = []Source{source(&j.Layout, codegen.BufferOf(lowering.Ref{Kind: lowering.Operand, Index: 0}, from))}
	j.Point = func(e *codegen.Emitter, _ []kernel.Value) ElementFunc {
		return byElement(func(full []kernel.Value) []kernel.Value { return f.Convert(e, e.DecodeParts(from, full), from) })
	}
	j.Finish = Finish{Outs: []codegen.Buffer{codegen.ResultBuffer(to)}, Make: func(e *codegen.Emitter, totals, _ []kernel.Value) ([]kernel.Value, error) {
		return e.EncodeResult(totals, f.Compute, to), nil
	}}
	return j.Plan(t)
}

// Plan plans the passes.
func (j *Job) Plan(t *lowering.Target) (*lowering.Plan, error) {
	var programs []*codegen.Program
	var temps []int64
	for j != nil {
		p, rest := j.pass(t, len(temps))
		programs = append(programs, p)
		if rest != nil {
			for i := range rest.Ins {
				temps = append(temps, int64(rest.Layout.Elements()*rest.Ins[i].Buffer.Size()))
			}
		}
		j = rest
	}
	return codegen.NewPlan(t, temps, programs...)
}

// fullColumns is how many invocations with columns keep a device busy. Fewer have one column each, and load several rounds of
// it before they fold the first: four columns of one round are as many bytes, but of a quarter of the invocations.
const fullColumns = 1 << 16

// pass plans the next kernel. It also returns the job that remains: the reduction of the
// kernel's partial results, in temporaries from number temp on.
func (j *Job) pass(t *lowering.Target, temp int) (*codegen.Program, *Job) {
	if j.Group = j.Layout.Columns(); t.CPU && j.Folds[0].arg != nil {
		j.Group = 1 // a processor has no room for as many pairs
	}
	j.Order = strided.ScheduleOf(t, &j.Layout)
	if o := &j.Order; o.Ahead && strided.Product(j.Kept)/j.Group*o.Parts < fullColumns {
		j.Group = 1
	}
	j.layOut(t)
	j.Arrange()
	n, k := j.Order.Partials(), strided.Product(j.Kept)
	j.Last = n == 1
	if j.Last {
		return j.Program(t), nil
	}
	rest := &Job{Key: j.Key, Folds: j.Folds, Finish: j.Finish}
	if h := j.onHost; h != nil {
		rest.onHost = &hostSum{h.compute, h.compute, h.to, h.times}
	}
	rest.Layout = strided.Reduction{Kept: []int{k}, Reduced: []int{n}, KeptAt: strided.View{Strides: []int{n}}, ReducedAt: strided.View{Strides: []int{1}}}
	rest.Kept, rest.Reduced = rest.Layout.Kept, rest.Layout.Reduced
	j.Finish = Finish{}
	for i := range j.Folds {
		for _, d := range j.Folds[i].partials() {
			b := codegen.BufferOf(lowering.Ref{Kind: lowering.Temp, Index: temp + len(rest.Ins)}, d)
			j.Finish.Outs = append(j.Finish.Outs, b)
			rest.Ins = append(rest.Ins, source(&rest.Layout, b))
		}
	}
	rest.Key += " of partials"
	rest.Point, j.Finish.Make = j.takePartials, j.givePartials
	return j.Program(t), rest
}

// givePartials stores totals as they are.
func (j *Job) givePartials(e *codegen.Emitter, totals, _ []kernel.Value) ([]kernel.Value, error) {
	var vs []kernel.Value
	for i := range j.Folds {
		f := &j.Folds[i]
		n := f.Parts()
		if f.arg != nil {
			vs = append(vs, totals[:n]...)
		} else {
			vs = append(vs, e.EncodeResult(totals[:n], f.Compute, f.partials()[0])...)
		}
		totals = totals[n:]
	}
	return vs, nil
}

// takePartials loads the partial results that givePartials has stored.
func (j *Job) takePartials(e *codegen.Emitter, _ []kernel.Value) ElementFunc {
	return byElement(func(full []kernel.Value) []kernel.Value {
		var vs []kernel.Value
		for i := range j.Folds {
			f := &j.Folds[i]
			n := f.Parts()
			if f.arg != nil {
				vs = append(vs, full[:n]...)
			} else {
				d := f.partials()[0]
				vs = append(vs, f.Convert(e, e.DecodeParts(d, full[:n]), d)...)
			}
			full = full[n:]
		}
		return vs
	})
}

// Program is one pass of the reduction.
func (j *Job) Program(t *lowering.Target) *codegen.Program {
	o, k := &j.Order, strided.Product(j.Kept)
	units := k / j.Group * o.Partials()
	p := &codegen.Program{Index: codegen.IndexType(max(j.extent(), units)), Body: j.write, Local: uint32(o.Local),
		Flops: int64(j.Layout.Elements() * len(j.Folds))}
	for i := range j.Ins {
		if s := &j.Ins[i]; s.Kind == codegen.FromBuffer {
			p.AddBuffer(s.Buffer, s.extent(j), j.Layout.Elements())
		} else if s.Kind == codegen.FromLiteral {
			p.Literals = append(p.Literals, s.Lit)
		}
	}
	for i := range j.Finish.Ins {
		if s := &j.Finish.Ins[i]; s.Kind == codegen.FromBuffer {
			p.AddBuffer(s.Buffer, s.Extent(j.Finish.Dims), k)
		} else if s.Kind == codegen.FromLiteral {
			p.Literals = append(p.Literals, s.Lit)
		}
	}
	for _, b := range j.Finish.Outs {
		b.Access, b.Bytes = lowering.Write, int64(k*o.Partials()*b.Size())
		p.Buffers, p.Bytes = append(p.Buffers, b), p.Bytes+b.Bytes
	}
	perGroup := o.Local
	switch {
	case j.beside.outputs > 0:
		perGroup = j.beside.outputs
	case o.Tree:
		perGroup = o.Local / o.Parts
	}
	p.Groups = (units + perGroup - 1) / perGroup
	p.Numbers = j.numbers(units)
	p.Key = j.describe()
	if t.CPU {
		host, what := j.routine(p)
		p.Host, p.Key = host, p.Key+what
	}
	return p
}

// ahead reports whether parts load several rounds before they fold the first. The parts of several columns load
// enough at a time.
func (j *Job) ahead() bool {
	if !j.Order.Tree {
		return j.Order.Ahead && j.Group == 1
	}
	return j.Order.Length >= strided.RoundsAhead*strided.Components*j.Order.Parts
}

// extent is one more than the greatest index in any buffer.
func (j *Job) extent() int {
	n := j.Layout.Elements()
	for i := range j.Ins {
		if j.Ins[i].Kind != codegen.FromLiteral {
			n = max(n, j.Ins[i].extent(j))
		}
	}
	for i := range j.Finish.Ins {
		if s := &j.Finish.Ins[i]; s.Kind != codegen.FromLiteral {
			n = max(n, s.Extent(j.Finish.Dims))
		}
	}
	return n
}

// describe is the key of the program.
func (j *Job) describe() string {
	key := fmt.Sprintf("reduce %s kept=%d reduced=%d group=%d rest=%v tree=%v across=%v last=%v", j.Key, len(j.Kept), len(j.Reduced),
		j.Group, strided.Product(j.Reduced)%strided.Components != 0, j.Order.Tree, j.Order.Across, j.Last)
	if j.Order.Tree {
		key += fmt.Sprintf(" parts=%d apart=%v chunks=%v beside=%d", j.Order.Parts, j.Order.Apart, j.Order.Chunks > 1, j.beside)
	}
	key += fmt.Sprintf(" ahead=%v", j.ahead())
	for i := range j.Ins {
		s := &j.Ins[i]
		key += fmt.Sprintf(" %d%d%v", s.Kind, s.Way, s.Offset != 0)
	}
	if j.Last {
		for i := range j.Finish.Ins {
			key += fmt.Sprintf(" after%d", j.Finish.Ins[i].Kind)
		}
		key += fmt.Sprintf(" dims=%d", len(j.Finish.Dims))
	}
	return key
}

// numbers lists the parameters in the order in which write takes them.
func (j *Job) numbers(units int) []int {
	o, n := &j.Order, strided.Product(j.Reduced)
	nums := []int{units, o.Chunks, o.Length / strided.Components, n / strided.Components, n}
	if !o.Tree {
		nums[1] = o.Parts
	}
	if o.Apart { // those of rounds in which all parts have four
		nums[3] = n / (strided.Components * o.Parts) * o.Parts
	}
	nums = append(append(nums, j.Kept...), j.Reduced...)
	for i := range j.Ins {
		if s := &j.Ins[i]; s.Kind != codegen.FromLiteral {
			nums = append(nums, s.numbers()...)
		}
	}
	for i := range j.Finish.Ins {
		if s := &j.Finish.Ins[i]; s.Kind != codegen.FromLiteral {
			nums = append(append(nums, s.Offset), s.Strides...)
		}
	}
	if len(j.Finish.Ins) > 0 {
		nums = append(nums, j.Finish.Dims...)
	}
	return nums
}
