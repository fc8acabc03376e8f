package synth

import (
	"fmt"
	"sync"

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
		buffer: bufferOf(Ref{Operand, i}, types[i].DType)}
}

// result is the buffer of the result.
func result(d ops.DType) buffer { return bufferOf(Ref{Result, 0}, d) }

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
	return scalar.Env{Bits: d.Real().Bits(), PreciseDiv: t.PreciseDiv, Subnormals: t.Subnormals, Exp2: t.Exp2}
}

var operandNames = [...]string{"x", "y", "z"}

// expression compiles the code of an operation in type c, whose operands are
// two arguments each where it is complex. The first truths operands are Bool.
func (t *Target) expression(code ops.Code, c ops.DType, arity, truths int) (*scalar.Func, error) {
	expr := code.For(c.Class())
	if expr == "" {
		return nil, unsupported("no code for %v", c)
	}
	key := exprKey{expr, c, arity, truths, t.env(c)}
	if f, ok := expressions.Load(key); ok {
		return f.(*scalar.Func), nil
	}
	var args []scalar.Arg
	for i, name := range operandNames[:arity] {
		if i < truths {
			args = append(args, scalar.Arg{Name: name, Type: scalar.Bool})
			continue
		}
		args = append(args, scalar.Arg{Name: name, Type: wide(c)})
		if c.IsComplex() {
			args = append(args, scalar.Arg{Name: name + "i", Type: wide(c)})
		}
	}
	f, err := scalar.Compile(expr, wide(c), args, t.env(c))
	if err != nil {
		return nil, fmt.Errorf("compile %q for %v: %w", expr, c, err)
	}
	expressions.Store(key, f)
	return f, nil
}

// expressions keeps what has been compiled, by exprKey. There are as many as the
// table has codes, times the types.
var expressions sync.Map

type exprKey struct {
	expr          string
	compute       ops.DType
	arity, truths int
	env           scalar.Env
}

// lowerPointwise plans an operation whose every output element depends on the
// elements at its place.
func lowerPointwise(in *ops.Instr, types []ops.Type, t *Target) (*Plan, error) {
	ds := dtypes(in, types)
	info, out := in.Op.Info(), in.Outs[0].Type
	truths, c := truthsOf(info), t.computeType(in, types)
	code := codeOf(in, types)
	if code.For(c.Class()) == "" {
		return nil, unsupported("no code for %v", c)
	}
	j := &mapJob{key: fmt.Sprintf("%v in %v of %v", in.Op, c, ds), dims: out.Shape,
		out: dense(out.Shape), to: result(out.DType), flops: 1}
	as := computes(in, types[truths:]).Wide() // of literals
	for i := range types {
		if i < truths {
			j.ins = append(j.ins, operand(in, types, i, out.Shape, ds[i].Wide()))
		} else {
			j.ins = append(j.ins, operand(in, types, i, out.Shape, as))
		}
	}
	j.groups = func(e *emitter, points [][]kernel.Value) ([][]kernel.Value, error) {
		f, err := t.expression(code, c, len(types), truths)
		if err != nil {
			return nil, err
		}
		args := make([][]kernel.Value, len(points))
		for p, xs := range points {
			for i := range j.ins {
				s, n := &j.ins[i], j.ins[i].parts()
				switch {
				case i < truths:
					args[p] = append(args[p], e.nonzero(e.number(s, ds[i], ds[i], xs[:n])))
				case s.kind == fromLiteral:
					args[p] = append(args[p], e.recast(xs[:n], as, c)...)
				default:
					args[p] = append(args[p], e.number(s, ds[i], c, xs[:n])...)
				}
				xs = xs[n:]
			}
		}
		results := e.InlineEach(f, args)
		for p := range results {
			results[p] = e.finished(results[p], c, out.DType)
		}
		return results, nil
	}
	return t.plan(nil, j.programs(t)...)
}

// computes is the type in which an instruction on operands of the given types
// computes; it is complex where one of them is.
func computes(in *ops.Instr, types []ops.Type) ops.DType {
	c := in.ComputeType(types)
	for _, t := range types {
		if t.DType.IsComplex() {
			c = ops.Merge(c, t.DType)
		}
	}
	return c
}

// computeType is the type in which a pointwise instruction computes on a
// device. It is that of computes, but where integers of more bits than an f32 has
// digits meet floats, f64: an integer is not rounded before it is computed with, as the
// host does not. Literals are, so that x + 1 is no matter of f64, and so are all
// integers on a device that has none.
func (t *Target) computeType(in *ops.Instr, types []ops.Type) ops.DType {
	info := in.Op.Info()
	c := computes(in, types[truthsOf(info):])
	if info.Kind != ops.Pointwise || info.Flags&ops.Predicate != 0 || !t.Float64 {
		return c
	}
	for i, typ := range types {
		if in.Ins[i].Lit != nil || !typ.DType.IsInteger() || typ.DType.Bits() <= 24 {
			continue
		}
		switch c.Wide() {
		case ops.F32:
			return ops.F64
		case ops.C64:
			return ops.C128
		}
	}
	return c
}

// outcome gives, in the type that computes out, what an expression gave that was
// computed in c: a truth value, an element of c, or the real part of one.
func (e *emitter) outcome(xs []kernel.Value, c, out ops.DType) []kernel.Value {
	if e.Type(xs[0]) == scalar.Bool {
		return e.completed([]kernel.Value{e.Convert(xs[0], wide(out))}, out)
	}
	return e.recast(xs, c, out)
}

// finished is the stored form of an outcome.
func (e *emitter) finished(xs []kernel.Value, c, out ops.DType) []kernel.Value {
	return e.encoded(out, e.outcome(xs, c, out))
}

// lowerAsType plans a conversion.
func lowerAsType(in *ops.Instr, types []ops.Type, t *Target) (*Plan, error) {
	from, out := types[0].DType, in.Outs[0].Type
	if from == out.DType && in.Ins[0].Lit == nil {
		return alias(0), nil
	}
	j := &mapJob{key: fmt.Sprintf("as_type %v to %v", from, out.DType), dims: out.Shape,
		ins: []source{operand(in, types, 0, out.Shape, out.DType.Wide())},
		out: dense(out.Shape), to: result(out.DType), flops: 1}
	j.bodies = func(e *emitter, xs []kernel.Value) ([]kernel.Value, error) {
		return e.encoded(out.DType, e.number(&j.ins[0], from, out.DType, xs)), nil
	}
	return t.plan(nil, j.programs(t)...)
}
