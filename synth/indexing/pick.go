package indexing

import (
	"fmt"

	"nxvk/ops"
	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
	"nxvk/synth/scalar"
	"nxvk/synth/strided"
)

// pickJob copies runs of consecutive elements to a dense result. Each run begins
// where indices say: a row of take or gather, or one element of take_along_axis. Elements
// travel in units, the largest power of two up to 16 bytes that divides a run:
//
//	wide    a unit is 16 bytes
//	narrow  units that are shorter than a word are gathered until they are one, and joined
//	        in registers; they may be of several runs
//
// An invocation copies some of these, which lie apart by the size of the workgroup, so that
// neighbours load neighbouring indices and store neighbouring words. It loads all before it
// stores the first. An index costs one load, of as many indices as are consecutive.
type pickJob struct {
	indices codegen.Buffer

	unit   int             // bytes
	per    int             // units of a run
	runs   int             // of the result
	count  int             // runs for each position before the axes
	before int             // units between two such positions, in the operand
	inner  int             // elements behind the axis, of take_along_axis; 0 of others
	tuple  []codegen.Shift // one for each index of a run, in units
	extent int             // units of the operand
	local  int             // invocations of a workgroup
	steps  int             // groups of an invocation
}

// wideUnit is the number of bytes that a GPU loads and stores at once.
const wideUnit = 16

// pickSteps is how many groups of units an invocation of a GPU copies where there are manyGroups.
const (
	pickSteps  = 8
	manyGroups = 1 << 19
)

// pickOf returns the job of a take, gather or take_along_axis, or nil if the elements that
// an index stands for are not consecutive, or are converted.
func pickOf(in *ops.Instr, types []ops.Type, t *lowering.Target) *pickJob {
	d, s, axes := types[0].DType, types[0].Shape, in.Attrs[0]
	if d != in.Outs[0].Type.DType || in.Ins[0].Lit != nil || in.Ins[1].Lit != nil {
		return nil
	}
	j := &pickJob{indices: codegen.IndexOperand(in, types, 1, strided.View{}).Buffer}
	first, last := axes[0], axes[len(axes)-1]
	after := ops.Shape(s[last+1:]).Size()
	run := after * d.Size() // bytes
	switch in.Op {
	case ops.Gather:
		for k, a := range axes {
			if a != k {
				return nil
			}
		}
		j.count = types[1].Shape.Size() / len(axes)
	case ops.Take:
		j.count = types[1].Shape.Size()
	case ops.TakeAlongAxis:
		run, j.inner = d.Size(), after
		j.count = types[1].Shape[first:].Size()
	}
	j.unit = unitOf(run, t)
	j.per = run / j.unit
	j.runs = in.Outs[0].Type.Shape.Size() * d.Size() / run
	own := s.Strides()
	inUnits := func(elements int) int { return elements * d.Size() / j.unit }
	j.before = inUnits(ops.Shape(s[first:]).Size())
	for _, a := range axes {
		j.tuple = append(j.tuple, codegen.Shift{Limit: s[a] - 1, Stride: inUnits(own[a])})
	}
	j.extent = inUnits(s.Size())
	j.local, j.steps = codegen.GPULocal, 1
	switch {
	case t.CPU:
		j.local, j.steps = codegen.CPULocal, codegen.CPUSteps
	case j.groups() >= manyGroups:
		j.steps = pickSteps
	}
	return j
}

// unitOf is the unit of runs of so many bytes.
func unitOf(run int, t *lowering.Target) int {
	unit := run & -run
	switch {
	case unit >= wideUnit:
		return wideUnit
	case unit == 8 && !t.Int64:
		return 4
	}
	return unit
}

// elem is the type in which the operand is loaded; a wide unit is several of them.
func (j *pickJob) elem() kernel.Elem {
	return map[int]kernel.Elem{1: kernel.U8, 2: kernel.U16, 4: kernel.U32, 8: kernel.U64, wideUnit: kernel.U32}[j.unit]
}

// group is how many units are stored at once.
func (j *pickJob) group() int { return max(1, 4/j.unit) }

// groups is how many times units are stored.
func (j *pickJob) groups() int { return (j.runs*j.per + j.group() - 1) / j.group() }

// outElem is the type in which the result is stored.
func (j *pickJob) outElem() kernel.Elem {
	if j.unit == 8 {
		return kernel.U64
	}
	return kernel.U32
}

// The buffers of the kernel, in order.
const (
	pickIndices = iota
	pickFrom
	pickCheck
	pickTo
)

func (j *pickJob) program() *codegen.Program {
	units := j.runs * j.per
	groups := j.groups()
	from := codegen.Buffer{Ref: lowering.Ref{Kind: lowering.Operand, Index: 0}, Elem: j.elem(), Access: lowering.Read, Bytes: int64(j.extent * j.unit)}
	to := codegen.Buffer{Ref: lowering.Ref{Kind: lowering.Result, Index: 0}, Elem: j.outElem(), Access: lowering.Write, Bytes: int64(units * j.unit)}
	idx := j.indices
	indices := j.count * len(j.tuple)
	if j.inner > 0 {
		indices = j.runs
	}
	idx.Access, idx.Bytes = lowering.Read, int64(indices*idx.Elem.Size())
	p := &codegen.Program{Index: codegen.IndexType(max(units, j.extent, indices)), Local: uint32(j.local), Body: j.write,
		Buffers: []codegen.Buffer{idx, from, codegen.CheckBuffer(0), to},
		Numbers: []int{groups, units, j.per, j.runs, j.count, j.before, j.inner},
		Bytes:   min(from.Bytes, to.Bytes) + to.Bytes + idx.Bytes}
	p.Groups = (groups + j.local*j.steps - 1) / (j.local * j.steps)
	for _, h := range j.tuple {
		p.Numbers = append(p.Numbers, h.Limit, h.Stride)
	}
	p.Key = fmt.Sprintf("pick unit=%d scalars=%v before=%v even=%v inner=%d tuple=%d steps=%d", j.unit, j.per == 1,
		j.runs > j.count, j.even(), min(j.inner, 2), len(j.tuple), j.steps)
	return p
}

// even reports whether the indices of a group are consecutive, and behind the same position before the axes.
func (j *pickJob) even() bool {
	return j.per == 1 && len(j.tuple) == 1 && (j.runs == j.count || j.count%j.group() == 0)
}

// pickWriter writes the kernel of a pickJob.
type pickWriter struct {
	*codegen.Emitter
	job                        *pickJob
	groups, units, per         kernel.Value
	runs, count, before, inner kernel.Value
	limits, strides            []kernel.Value
	wrong                      *kernel.Value // whether an index is not within its dimension
}

func (j *pickJob) write(e *codegen.Emitter) error {
	w := &pickWriter{Emitter: e, job: j}
	for _, v := range []*kernel.Value{&w.groups, &w.units, &w.per, &w.runs, &w.count, &w.before, &w.inner} {
		*v = e.NextNumber()
	}
	for range j.tuple {
		w.limits, w.strides = append(w.limits, e.NextNumber()), append(w.strides, e.NextNumber())
	}
	first := e.Add(e.Mul(e.Group(), e.Index(e.Local*j.steps)), e.Invocation())
	at, from := make([]kernel.Value, j.steps), make([][]kernel.Value, j.steps)
	for i := range at {
		at[i] = e.Add(first, e.Index(i*e.Local))
		from[i] = w.places(e.Min(at[i], e.Sub(w.groups, e.Index(1)))) // behind the end, the last group is loaded again
	}
	vs := make([][]kernel.Value, j.steps)
	for i := range vs {
		vs[i] = w.load(from[i])
	}
	for i := range vs {
		e.IfThen(e.IsLess(at[i], w.groups), func() { e.Store(pickTo, at[i], vs[i]...) })
	}
	e.Fail(pickCheck, *w.wrong)
	return nil
}

// places is where the units of group g lie in the operand. Memory ends at a whole word, so the
// last group is whole: behind the end, its last unit repeats.
func (w *pickWriter) places(g kernel.Value) []kernel.Value {
	n := w.job.group()
	first := w.Mul(g, w.Index(n))
	last := w.Sub(w.units, w.Index(1))
	var indices []kernel.Value
	if n > 1 && w.job.even() {
		indices = w.consecutive(first, last)
	}
	run, within := first, w.Index(0)
	if w.job.per > 1 {
		run, within = w.DivMod(first, w.per)
	}
	at := make([]kernel.Value, n)
	for k := range at {
		index := kernel.Value(0)
		switch {
		case w.job.per == 1 && n > 1:
			run = w.Min(w.Add(first, w.Index(k)), last)
		case k > 0:
			within = w.Add(within, w.Index(1))
			next := w.IsEqual(within, w.per)
			run, within = w.Select(next, w.Add(run, w.Index(1)), run), w.Select(next, w.Index(0), within)
			run = w.Min(run, w.Sub(w.runs, w.Index(1)))
		}
		if indices != nil {
			index = indices[k]
		}
		at[k] = w.Add(w.place(run, indices != nil, index), within)
	}
	return at
}

// load loads the units of a group, as they are stored.
func (w *pickWriter) load(at []kernel.Value) []kernel.Value {
	if w.job.unit == wideUnit {
		return w.Load(pickFrom, at[0], 4)
	}
	var units []kernel.Value
	for _, a := range at {
		units = append(units, w.Fetch(pickFrom, a, 1)...)
	}
	return w.joined(units)
}

// consecutive loads the indices of a group, or those that there are.
func (w *pickWriter) consecutive(first, last kernel.Value) []kernel.Value {
	n := w.job.group()
	full := w.Compare(scalar.Le, w.Add(first, w.Index(n)), w.units)
	_, at := w.position(first)
	width := n
	if width*w.job.indices.Elem.Size() < 4 {
		width = 1
	}
	return w.If(full, func() (vs []kernel.Value) {
		for k := 0; k < n; k += width {
			vs = append(vs, w.Fetch(pickIndices, w.Div(w.Add(at, w.Index(k)), w.Index(width)), width)...)
		}
		return vs
	}, func() (vs []kernel.Value) {
		for k := range n {
			_, at := w.position(w.Min(w.Add(first, w.Index(k)), last))
			vs = append(vs, w.Fetch(pickIndices, at, 1)...)
		}
		return vs
	})
}

// position returns which position before the axes a run has, and which of the indices.
func (w *pickWriter) position(run kernel.Value) (before, index kernel.Value) {
	switch {
	case w.job.runs == w.job.count:
		return w.Index(0), run
	case w.job.inner > 0:
		return w.Div(run, w.count), run
	}
	return w.DivMod(run, w.count)
}

// place is where a run begins in the operand. index is its index, if that is known.
func (w *pickWriter) place(run kernel.Value, known bool, index kernel.Value) kernel.Value {
	before, i := w.position(run)
	at := w.Index(0)
	if w.job.runs != w.job.count {
		at = w.Mul(before, w.before)
	}
	if w.job.inner > 1 {
		_, behind := w.DivMod(run, w.inner) // the dimensions before the axis add multiples of inner
		at = w.Add(at, w.Mul(behind, w.per))
	}
	for k := range w.job.tuple {
		x := index
		if !known {
			x = w.Fetch(pickIndices, w.Add(w.Mul(i, w.Index(len(w.job.tuple))), w.Index(k)), 1)[0]
		}
		wrong := w.Outside(x, w.limits[k])
		if w.wrong != nil {
			wrong = w.Or2(*w.wrong, wrong)
		}
		w.wrong = &wrong
		at = w.Add(at, w.Mul(w.Clamp(x, w.limits[k]), w.strides[k]))
	}
	return at
}

// joined makes a word of units that are shorter.
func (w *pickWriter) joined(units []kernel.Value) []kernel.Value {
	v := units[0]
	for k := 1; k < len(units); k++ {
		v = w.Or(v, w.Shl(units[k], 8*w.job.unit*k))
	}
	return []kernel.Value{v}
}
