package codegen

import (
	"fmt"
	"sync"

	"nxvk/ops"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
	"nxvk/synth/scalar"
)

// Conditions is how many of the first operands of an operation are truth values.
func Conditions(info *ops.Info) int {
	if info.Flags&ops.Predicate != 0 {
		return 1
	}
	return 0
}

// DTypes lists the element types of the operands and the result of an instruction.
func DTypes(in *ops.Instr, types []ops.Type) []ops.DType {
	var ds []ops.DType
	for _, t := range types {
		ds = append(ds, t.DType)
	}
	return append(ds, in.Outs[0].Type.DType)
}

// env describes a device and a type to the scalar compiler.
func env(t *lowering.Target, d ops.DType) scalar.Env {
	return scalar.Env{Bits: d.Real().Bits(), PreciseDiv: t.PreciseDiv, Subnormals: t.Subnormals, NaNs: t.Preserve32, Exp2: t.Exp2}
}

var operandNames = [...]string{"x", "y", "z"}

// Expression compiles the code of an operation in type c. A complex operand is two arguments;
// the first truths operands are Bool.
func Expression(t *lowering.Target, code ops.Code, c ops.DType, arity, truths int) (*scalar.Func, error) {
	expr := code.For(c.Class())
	if expr == "" {
		return nil, lowering.Unsupported("no code for %v", c)
	}
	key := exprKey{expr, c, arity, truths, env(t, c)}
	if f, ok := expressions.Load(key); ok {
		return f.(*scalar.Func), nil
	}
	var args []scalar.Arg
	for i, name := range operandNames[:arity] {
		if i < truths {
			args = append(args, scalar.Arg{Name: name, Type: scalar.Bool})
			continue
		}
		args = append(args, scalar.Arg{Name: name, Type: WideType(c)})
		if c.IsComplex() {
			args = append(args, scalar.Arg{Name: name + "i", Type: WideType(c)})
		}
	}
	f, err := scalar.Compile(expr, WideType(c), args, env(t, c))
	if err != nil {
		return nil, fmt.Errorf("compile %q for %v: %w", expr, c, err)
	}
	expressions.Store(key, f)
	return f, nil
}

// expressions caches compiled code by exprKey. It is bounded by the codes of the table times the types.
var expressions sync.Map

type exprKey struct {
	expr          string
	compute       ops.DType
	arity, truths int
	env           scalar.Env
}

// ComputeClass is the type in which an instruction computes; it is complex if an operand is.
func ComputeClass(in *ops.Instr, types []ops.Type) ops.DType {
	c := in.ComputeType(types)
	for _, t := range types {
		if t.DType.IsComplex() {
			c = ops.Merge(c, t.DType)
		}
	}
	return c
}

// ComputeType is the type in which a pointwise instruction computes on a device. It is
// ComputeClass, except that integers of more than 24 bits and floats compute in f64, as on the
// host, which does not round integers first. Literals are rounded first, so that x + 1 does not
// need f64, and so are all integers on a device without f64, and the operands of functions that
// take the rounding.
func ComputeType(t *lowering.Target, in *ops.Instr, types []ops.Type) ops.DType {
	info := in.Op.Info()
	c := ComputeClass(in, types[Conditions(info):])
	if info.Kind != ops.Pointwise || info.Flags&ops.Predicate != 0 || !t.Float64 || takesRounding(info) {
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

// takesRounding reports whether an operation is a function of one number that is within its
// error if an integer is rounded to f32 first. f32 has all integers up to 2^24. Beyond them, the
// relative error of f(x) is |x f'(x) / f(x)| times that of x, which is at most 1/2 for roots,
// less for logarithms and inverse functions, and nothing where f is constant, infinite or NaN.
// Periodic functions are the others.
func takesRounding(info *ops.Info) bool {
	return info.Arity == 1 && info.Result == ops.FloatType && info.Flags&ops.Periodic == 0
}

// ConvertResult converts the result of an expression that was computed in type c to the type that
// computes out: a truth value, an element, or the real part of one.
func (e *Emitter) ConvertResult(xs []kernel.Value, c, out ops.DType) []kernel.Value {
	if e.Type(xs[0]) == scalar.Bool {
		return e.Complete([]kernel.Value{e.Convert(xs[0], WideType(out))}, out)
	}
	return e.ConvertParts(xs, c, out)
}

// EncodeResult is the stored form of ConvertResult.
func (e *Emitter) EncodeResult(xs []kernel.Value, c, out ops.DType) []kernel.Value {
	return e.EncodeParts(out, e.ConvertResult(xs, c, out))
}
