package synth

import (
	"fmt"
	"slices"

	"nxvk/ops"
	"nxvk/synth/kernel"
)

// maxFold bounds the elements that a function is folded over for one result: one
// invocation does so, from the initial value on and in row-major order, as the
// meaning of a function of any kind demands.
const maxFold = 1 << 20

// lowerReduceFun plans the fold of a function over axes: windows as long as the
// axes, of which there is one.
func lowerReduceFun(in *ops.Instr, types []ops.Type, t *Target) (*Plan, error) {
	s := types[0].Shape
	window, out := slices.Repeat([]int{1}, len(s)), slices.Clone(s)
	for _, a := range in.Attrs[0] {
		window[a], out[a] = s[a], 1
	}
	j := &windowJob{op: in.Op}
	ones := slices.Repeat([]int{1}, len(s))
	j.split(s, out, window, make([]int, 2*len(s)), ones, ones)
	return j.folding(in, types, t)
}

// lowerWindowFun plans the fold of a function over windows; padding counts as the
// initial value.
func lowerWindowFun(in *ops.Instr, types []ops.Type, t *Target) (*Plan, error) {
	j := &windowJob{op: in.Op}
	j.split(types[0].Shape, in.Outs[0].Type.Shape, in.Attrs[0], in.Attrs[1], in.Attrs[2], in.Attrs[3])
	return j.folding(in, types, t)
}

// folding plans a job whose windows are known and that folds the function of an
// instruction.
func (j *windowJob) folding(in *ops.Instr, types []ops.Type, t *Target) (*Plan, error) {
	if in.Ins[0].Lit != nil {
		return nil, unsupported("windows of a literal")
	}
	var err error
	if j.fun, err = newFoldFun(in.Regions[0], t); err != nil {
		return nil, err
	}
	out := in.Outs[0].Type
	j.elem, j.as, j.to, j.from = types[0].DType, types[1].DType, result(out.DType), bufferOf(Ref{Operand, 0}, types[0].DType)
	j.from.access, j.from.bytes = Read, int64(types[0].Bytes())
	j.to.access, j.to.bytes = Write, int64(out.Bytes())
	if in.Ins[1].Lit != nil {
		j.starts = []source{operand(in, types, 1, nil, j.fun.acc.Wide()), operand(in, types, 1, nil, j.fun.elem.Wide())}
	} else {
		j.starts = []source{operand(in, types, 1, nil, j.as)}
	}
	each, err := j.each()
	if err != nil {
		return nil, err
	}
	if each > maxFold {
		return nil, unsupported("a function over more than %d elements", maxFold)
	}
	work := each * max(1, len(in.Regions[0].Body))
	return t.plan(nil, inParts(out.Size(), work, func(first, end int) *program {
		return j.program(t, first, end, work)
	})...)
}

// describeFun is the part of the key of a program that is its function.
func (j *windowJob) describeFun() string {
	return fmt.Sprintf(" from %v literal=%v by %s", j.as, j.starts[0].kind == fromLiteral, j.fun.key)
}

// folded writes the fold of a function over the window of unit u.
func (w *windowWriter) folded(u, at, inside kernel.Value) error {
	fun := w.job.fun
	acc := w.begun(0, fun.acc)
	w.padding = w.begun(len(w.job.starts)-1, fun.elem)
	var err error
	acc = w.along(0, at, inside, acc, func(at, inside kernel.Value, acc []kernel.Value) []kernel.Value {
		xs := w.settled(fun.elem, w.recast(w.decoded(w.job.elem, w.fetch(1, w.Select(inside, at, w.int(0)), 1)), w.job.elem, fun.elem))
		for i, x := range xs {
			xs[i] = w.Select(inside, x, w.padding[i])
		}
		next, failed := fun.apply(w.emitter, xs, acc)
		if failed != nil {
			err = failed
			return acc
		}
		return next
	})
	if err == nil {
		w.put(0, u, w.encoded(fun.acc, acc)...)
	}
	return err
}

// begun gives the initial value as an element of type as: literal i, or what the
// third buffer has.
func (w *windowWriter) begun(i int, as ops.DType) []kernel.Value {
	s := &w.job.starts[i]
	if s.kind == fromLiteral {
		return w.settled(as, w.recast(w.lit(partsOf(as)), as.Wide(), as))
	}
	xs := w.decoded(w.job.as, w.fetch(2, w.int(0), 1))
	return w.settled(as, w.recast(xs, w.job.as, as))
}
