package windowing

import (
	"fmt"
	"slices"

	"nxvk/ops"
	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
)

// MaxFold bounds the elements that a function is folded over for one result: one
// invocation does so, from the initial value on and in row-major order, as the
// meaning of a function of any kind demands.
const MaxFold = 1 << 20

// LowerReduction plans the fold of a function over axes: a single window, as long as the
// axes.
func LowerReduction(in *ops.Instr, types []ops.Type, t *lowering.Target) (*lowering.Plan, error) {
	s := types[0].Shape
	window, out := slices.Repeat([]int{1}, len(s)), slices.Clone(s)
	for _, a := range in.Attrs[0] {
		window[a], out[a] = s[a], 1
	}
	j := &Job{Op: in.Op}
	ones := slices.Repeat([]int{1}, len(s))
	j.Split(s, out, window, make([]int, 2*len(s)), ones, ones)
	return j.folding(in, types, t)
}

// LowerFunction plans the fold of a function over windows; padding counts as the
// initial value.
func LowerFunction(in *ops.Instr, types []ops.Type, t *lowering.Target) (*lowering.Plan, error) {
	j := &Job{Op: in.Op}
	j.Split(types[0].Shape, in.Outs[0].Type.Shape, in.Attrs[0], in.Attrs[1], in.Attrs[2], in.Attrs[3])
	return j.folding(in, types, t)
}

// folding plans a job whose windows are known and that folds the function of an
// instruction.
func (j *Job) folding(in *ops.Instr, types []ops.Type, t *lowering.Target) (*lowering.Plan, error) {
	if in.Ins[0].Lit != nil {
		return nil, lowering.Unsupported("windows of a literal")
	}
	var err error
	if j.fun, err = newFoldFun(in.Regions[0], t); err != nil {
		return nil, err
	}
	j.unroll()
	out := in.Outs[0].Type
	j.Elem, j.as, j.To, j.From = types[0].DType, types[1].DType, codegen.ResultBuffer(out.DType), codegen.BufferOf(lowering.Ref{Kind: lowering.Operand, Index: 0}, types[0].DType)
	j.From.Access, j.From.Bytes = lowering.Read, int64(types[0].Bytes())
	j.To.Access, j.To.Bytes = lowering.Write, int64(out.Bytes())
	if in.Ins[1].Lit != nil {
		j.starts = []codegen.Source{codegen.OperandSource(in, types, 1, nil, j.fun.acc.Wide()), codegen.OperandSource(in, types, 1, nil, j.fun.elem.Wide())}
	} else {
		j.starts = []codegen.Source{codegen.OperandSource(in, types, 1, nil, j.as)}
	}
	each, err := j.each()
	if err != nil {
		return nil, err
	}
	if each > MaxFold {
		return nil, lowering.Unsupported("a function over more than %d elements", MaxFold)
	}
	work := each * max(1, len(in.Regions[0].Body))
	return codegen.NewPlan(t, nil, inParts(out.Size(), work, func(first, end int) *codegen.Program {
		return j.Program(t, first, end, work)
	})...)
}

// describeFun is the part of the key of a program that is its function.
func (j *Job) describeFun() string {
	return fmt.Sprintf(" from %v literal=%v by %s", j.as, j.starts[0].Kind == codegen.FromLiteral, j.fun.key)
}

// foldWindow writes the fold of a function over the window of unit u.
func (w *writer) foldWindow(u, at, inside kernel.Value) error {
	fun := w.job.fun
	acc := w.begun(0, fun.acc)
	w.padding = w.begun(len(w.job.starts)-1, fun.elem)
	var err error
	acc = w.along(0, at, inside, acc, func(at, inside kernel.Value, acc []kernel.Value) []kernel.Value {
		xs, _ := w.Settle(fun.elem, w.ConvertParts(w.DecodeParts(w.job.Elem, w.Fetch(1, w.Select(inside, at, w.Index(0)), 1)), w.job.Elem, fun.elem))
		for i, x := range xs {
			xs[i] = w.Select(inside, x, w.padding[i])
		}
		next, failed := fun.apply(w.Emitter, xs, acc)
		if failed != nil {
			err = failed
			return acc
		}
		return next
	})
	if err == nil {
		w.Put(0, u, w.EncodeParts(fun.acc, acc)...)
	}
	return err
}

// begun gives the initial value as an element of type as: literal i, or what the
// third buffer has.
func (w *writer) begun(i int, as ops.DType) []kernel.Value {
	var xs []kernel.Value
	if w.job.starts[i].Kind == codegen.FromLiteral {
		xs = w.ConvertParts(w.NextLiteral(codegen.PartsOf(as)), as.Wide(), as)
	} else {
		xs = w.ConvertParts(w.DecodeParts(w.job.as, w.Fetch(2, w.Index(0), 1)), w.job.as, as)
	}
	xs, _ = w.Settle(as, xs)
	return xs
}
