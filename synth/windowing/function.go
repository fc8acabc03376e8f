package windowing

import (
	"encoding/binary"
	"fmt"
	"strings"

	"nxvk/ops"
	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
	"nxvk/synth/scalar"
)

// foldFun is a function of an element and an accumulator that a kernel can compute:
// straight-line code of pointwise operations on scalars. The result of each
// instruction is rounded as if it were stored, so the results are those of the
// instructions one by one.
type foldFun struct {
	region    *ops.Region
	elem, acc ops.DType
	types     map[ops.ID]ops.Type
	key       string // the code, whatever its ids are
}

// newFoldFun takes the function of an instruction that has passed Check.
func newFoldFun(r *ops.Region, t *lowering.Target) (*foldFun, error) {
	f := &foldFun{region: r, elem: r.Params[0].Type.DType, acc: r.Params[1].Type.DType, types: map[ops.ID]ops.Type{}}
	number := map[ops.ID]int{}
	var key strings.Builder
	define := func(o ops.Result) {
		number[o.ID], f.types[o.ID] = len(number), o.Type
		fmt.Fprintf(&key, " %v", o.Type.DType)
	}
	use := func(list []ops.Operand) {
		for _, o := range list {
			if o.Lit != nil {
				fmt.Fprintf(&key, " %v=%x", o.Lit.Type, o.Lit.Data[:o.Lit.Type.Bytes()])
			} else {
				fmt.Fprintf(&key, " $%d", number[o.ID])
			}
		}
	}
	for _, p := range r.Params {
		define(p)
	}
	for i := range r.Body {
		in := &r.Body[i]
		if err := f.admits(in, t); err != nil {
			return nil, err
		}
		fmt.Fprintf(&key, "; %v", in.Op)
		use(in.Ins)
		define(in.Outs[0])
	}
	key.WriteString(" gives")
	use(r.Values)
	f.key = key.String()
	return f, nil
}

// admits reports whether a kernel can compute an instruction of the function.
func (f *foldFun) admits(in *ops.Instr, t *lowering.Target) error {
	info := in.Op.Info()
	if info.Kind != ops.Pointwise {
		return lowering.Unsupported("a function with %v", in.Op)
	}
	if len(in.Outs[0].Type.Shape) != 0 {
		return lowering.Unsupported("a function with results of %v", in.Outs[0].Type)
	}
	types := f.typesOf(in)
	if c := codegen.ComputeType(t, in, types); codegen.CodeFor(in, types).For(c.Class()) == "" {
		return lowering.Unsupported("%v has no code for %v", in.Op, c)
	}
	for _, typ := range append(types, in.Outs[0].Type) {
		switch w := codegen.WideType(typ.DType); {
		case w == scalar.F64 && !t.Float64, kernel.Is64(w) && w != scalar.F64 && !t.Int64:
			return lowering.Unsupported("a function of %v", typ.DType)
		}
	}
	return nil
}

func (f *foldFun) typesOf(in *ops.Instr) []ops.Type {
	types := make([]ops.Type, len(in.Ins))
	for i, o := range in.Ins {
		types[i] = f.types[o.ID]
		if o.Lit != nil {
			types[i] = o.Lit.Type
		}
	}
	return types
}

// apply writes a call: the parts of the element and of the accumulator to those
// of the next accumulator.
func (f *foldFun) apply(e *codegen.Emitter, elem, acc []kernel.Value) ([]kernel.Value, error) {
	known := map[ops.ID][]kernel.Value{f.region.Params[0].ID: elem, f.region.Params[1].ID: acc}
	value := func(o ops.Operand) []kernel.Value {
		if o.Lit != nil {
			return constant(e, o.Lit)
		}
		return known[o.ID]
	}
	for i := range f.region.Body {
		in := &f.region.Body[i]
		args := make([][]kernel.Value, len(in.Ins))
		for k, o := range in.Ins {
			args[k] = value(o)
		}
		xs, err := applyOp(e, in, f.typesOf(in), args)
		if err != nil {
			return nil, err
		}
		known[in.Outs[0].ID], _ = e.Settle(in.Outs[0].Type.DType, xs)
	}
	return value(f.region.Values[0]), nil
}

// applyOp gives what a pointwise instruction gives for elements of its operands,
// in the type that computes the result.
func applyOp(e *codegen.Emitter, in *ops.Instr, types []ops.Type, args [][]kernel.Value) ([]kernel.Value, error) {
	info, out := in.Op.Info(), in.Outs[0].Type.DType
	if in.Op == ops.AsType {
		return e.ConvertParts(args[0], types[0].DType, out), nil
	}
	truths, c := codegen.Conditions(info), codegen.ComputeType(e.Target, in, types)
	f, err := codegen.Expression(e.Target, codegen.CodeFor(in, types), c, len(types), truths)
	if err != nil {
		return nil, err
	}
	var xs []kernel.Value
	for i, x := range args {
		if i < truths {
			xs = append(xs, e.IsNonzero(x))
		} else {
			xs = append(xs, e.ConvertParts(x, types[i].DType, c)...)
		}
	}
	return e.ConvertResult(e.InlineAll(f, xs), c, out), nil
}

// constant gives the parts of a literal scalar, in the type that computes its own.
func constant(e *codegen.Emitter, lit *ops.Literal) []kernel.Value {
	d := lit.Type.DType
	elem := lowering.ElemOf[d]
	out := make([]kernel.Value, codegen.PartsOf(d))
	for i := range out {
		var word [8]byte
		copy(word[:], lit.Data[i*elem.Size():][:elem.Size()])
		bits := binary.LittleEndian.Uint64(word[:])
		if kernel.IsSigned(elem.Type()) && elem.Size() < 4 { // as a load gives it
			shift := 64 - 8*elem.Size()
			bits = uint64(int64(bits<<shift) >> shift)
		}
		out[i] = e.Decode(d.Real(), e.Const(elem.Type(), bits))
	}
	return out
}
