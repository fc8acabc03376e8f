package synth

import (
	"fmt"

	"nxvk/ops"
	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// operand is the source of operand i in an iteration space. A scalar literal is
// a parameter, converted to the type as.
func operand(in *ops.Instr, types []ops.Type, i int, space ops.Shape, as ops.DType) source {
	if in.Ins[i].Lit != nil && len(types[i].Shape) == 0 {
		return source{kind: fromLiteral, lit: literal{i, as}}
	}
	return source{view: stretched(types[i].Shape, space),
		buffer: buffer{ref: Ref{Operand, i}, elem: storage[types[i].DType]}}
}

// result is the buffer of the result.
func result(d ops.DType) buffer { return buffer{ref: Ref{Result, 0}, elem: storage[d]} }

// value gives what a source loaded as an element of type as.
func (e *emitter) value(s *source, from, as ops.DType, x kernel.Value) kernel.Value {
	if s.kind == fromLiteral {
		return x // converted before it came
	}
	return e.convert(e.decode(from, x), from, as)
}

// dtypes lists the element types of an instruction.
func dtypes(in *ops.Instr, types []ops.Type) []ops.DType {
	var ds []ops.DType
	for _, t := range types {
		ds = append(ds, t.DType)
	}
	return append(ds, in.Outs[0].Type.DType)
}

// env is what the scalar language must know of a device and a type.
func (t *Target) env(d ops.DType) scalar.Env {
	return scalar.Env{Bits: d.Bits(), PreciseDiv: t.PreciseDiv, Subnormals: t.Subnormals}
}

var operandNames = [...]string{"x", "y", "z"}

// expression compiles the code of an operation in type c. The first truths
// operands are Bool.
func (t *Target) expression(code ops.Code, c ops.DType, arity, truths int) (*scalar.Func, error) {
	expr := code.For(c.Class())
	if expr == "" {
		return nil, unsupported("no code for %v", c)
	}
	args := make([]scalar.Arg, arity)
	for i := range args {
		args[i] = scalar.Arg{Name: operandNames[i], Type: wide(c)}
		if i < truths {
			args[i].Type = scalar.Bool
		}
	}
	f, err := scalar.Compile(expr, wide(c), args, t.env(c))
	if err != nil {
		return nil, fmt.Errorf("compile %q for %v: %w", expr, c, err)
	}
	return f, nil
}

// lowerPointwise plans an operation whose every output element depends on the
// elements at its place.
func lowerPointwise(in *ops.Instr, types []ops.Type, t *Target) (*Plan, error) {
	ds := dtypes(in, types)
	if err := real(ds...); err != nil {
		return nil, err
	}
	info, out := in.Op.Info(), in.Outs[0].Type
	c := in.ComputeType(types)
	truths := 0
	if info.Flags&ops.Predicate != 0 {
		truths = 1
	}
	if info.Code.For(c.Class()) == "" {
		return nil, unsupported("no code for %v", c)
	}
	j := &mapJob{key: fmt.Sprintf("%v in %v of %v", in.Op, c, ds), dims: out.Shape,
		out: dense(out.Shape), to: result(out.DType), flops: 1}
	for i := range types {
		as := c.Wide()
		if i < truths {
			as = types[i].DType.Wide()
		}
		j.ins = append(j.ins, operand(in, types, i, out.Shape, as))
	}
	var f *scalar.Func
	j.body = func(e *emitter, xs []kernel.Value) (kernel.Value, error) {
		var err error
		if f == nil {
			if f, err = t.expression(info.Code, c, len(types), truths); err != nil {
				return 0, err
			}
		}
		for i, x := range xs {
			if i < truths {
				x = e.truth(e.value(&j.ins[i], ds[i], ds[i], x))
			} else {
				x = e.value(&j.ins[i], ds[i], c, x)
			}
			xs[i] = x
		}
		return e.encode(out.DType, e.asBits(e.Inline(f, xs), wide(out.DType))), nil
	}
	return t.plan(nil, j.programs(t)...)
}

// lowerAsType plans a conversion.
func lowerAsType(in *ops.Instr, types []ops.Type, t *Target) (*Plan, error) {
	from, out := types[0].DType, in.Outs[0].Type
	if from == out.DType && in.Ins[0].Lit == nil {
		return alias(0), nil
	}
	if err := real(from, out.DType); err != nil {
		return nil, err
	}
	j := &mapJob{key: fmt.Sprintf("as_type %v to %v", from, out.DType), dims: out.Shape,
		ins: []source{operand(in, types, 0, out.Shape, out.DType.Wide())},
		out: dense(out.Shape), to: result(out.DType), flops: 1}
	j.body = func(e *emitter, xs []kernel.Value) (kernel.Value, error) {
		return e.encode(out.DType, e.value(&j.ins[0], from, out.DType, xs[0])), nil
	}
	return t.plan(nil, j.programs(t)...)
}
