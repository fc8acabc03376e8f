package kernel

import (
	"slices"

	"nxvk/synth/scalar"
)

// A Builder computes with complex numbers, too, of the types C64 and C128, so the
// same code writes a kernel for real and for complex numbers. A value of theirs
// is a name for two others, its parts, and exists for the Builder alone. The
// kernel has the operations on the parts; shared arrays are two.

// firstPair is the value of the first complex number; those after it count down.
const firstPair Value = -2

// Pair returns the complex number of two parts.
func (b *Builder) Pair(re, im Value) Value {
	b.pairs = append(b.pairs, [2]Value{re, im})
	return firstPair - Value(len(b.pairs)-1)
}

// IsPair reports whether a value is a complex number.
func IsPair(v Value) bool { return v <= firstPair }

// Parts returns the parts of a complex number; the second of a real one is 0.
func (b *Builder) Parts(v Value) (re, im Value) {
	if !IsPair(v) {
		return v, b.Float(b.Type(v), 0)
	}
	p := b.pairs[firstPair-v]
	return p[0], p[1]
}

// pairType is the type of a complex number whose parts are of type t.
func pairType(t scalar.Type) scalar.Type {
	if t == scalar.F64 {
		return scalar.C128
	}
	return scalar.C64
}

// apart replaces complex numbers by their parts.
func (b *Builder) apart(vs []Value) []Value {
	if !slices.ContainsFunc(vs, IsPair) {
		return vs
	}
	var parts []Value
	for _, v := range vs {
		if IsPair(v) {
			re, im := b.Parts(v)
			parts = append(parts, re, im)
		} else {
			parts = append(parts, v)
		}
	}
	return parts
}

// together makes numbers of parts, complex where those of like are.
func (b *Builder) together(like, parts []Value) []Value {
	if len(like) == len(parts) {
		return parts
	}
	var vs []Value
	for _, v := range like {
		if IsPair(v) {
			vs, parts = append(vs, b.Pair(parts[0], parts[1])), parts[2:]
		} else {
			vs, parts = append(vs, parts[0]), parts[1:]
		}
	}
	return vs
}

// complex applies a primitive operation to complex numbers, some of which may be
// real: the operations of a field, conversion from real numbers, and comparison
// for equality.
func (b *Builder) complex(op scalar.Op, t scalar.Type, args []Value) Value {
	part := t.Part()
	of := func(op scalar.Op, args ...Value) Value { return b.Prim(op, part, args...) }
	each := func(op scalar.Op, x, y Value) Value {
		xr, xi := b.Parts(x)
		yr, yi := b.Parts(y)
		return b.Pair(of(op, xr, yr), of(op, xi, yi))
	}
	switch op {
	case scalar.Add, scalar.Sub:
		return each(op, args[0], args[1])
	case scalar.Neg:
		re, im := b.Parts(args[0])
		return b.Pair(of(op, re), of(op, im))
	case scalar.Mul:
		return b.times(part, args[0], args[1])
	case scalar.Fma:
		return b.timesPlus(part, args[0], args[1], args[2])
	case scalar.Div:
		return b.quotient(part, args[0], args[1])
	case scalar.Convert:
		return b.Pair(b.Convert(args[0], part), b.Float(part, 0))
	case scalar.Select:
		xr, xi := b.Parts(args[1])
		yr, yi := b.Parts(args[2])
		return b.Pair(b.Select(args[0], xr, yr), b.Select(args[0], xi, yi))
	case scalar.Eq, scalar.Ne:
		return b.alike(op, args[0], args[1])
	}
	panic("BUG: an operation that complex numbers lack")
}

// times is x y. A real factor costs half.
func (b *Builder) times(t scalar.Type, x, y Value) Value {
	xr, xi := b.Parts(x)
	yr, yi := b.Parts(y)
	switch {
	case !IsPair(x):
		return b.Pair(b.Prim(scalar.Mul, t, xr, yr), b.Prim(scalar.Mul, t, xr, yi))
	case !IsPair(y):
		return b.times(t, y, x)
	}
	re, im := b.Prim(scalar.Mul, t, xi, yi), b.Prim(scalar.Mul, t, xi, yr)
	return b.Pair(b.Prim(scalar.Fma, t, xr, yr, b.Prim(scalar.Neg, t, re)), b.Prim(scalar.Fma, t, xr, yi, im))
}

// timesPlus is x y + z.
func (b *Builder) timesPlus(t scalar.Type, x, y, z Value) Value {
	if !IsPair(x) {
		x, y = y, x
	}
	xr, xi := b.Parts(x)
	yr, yi := b.Parts(y)
	re, im := b.Parts(z)
	if !IsPair(x) {
		return b.Pair(b.Prim(scalar.Fma, t, xr, yr, re), im)
	}
	if IsPair(y) {
		re = b.Prim(scalar.Fma, t, b.Prim(scalar.Neg, t, xi), yi, re)
		im = b.Prim(scalar.Fma, t, xr, yi, im)
	}
	return b.Pair(b.Prim(scalar.Fma, t, xr, yr, re), b.Prim(scalar.Fma, t, xi, yr, im))
}

// quotient is x / y as Smith (1962) has it: nothing on the way is out of range
// where the result is not near its ends.
func (b *Builder) quotient(t scalar.Type, x, y Value) Value {
	of := func(op scalar.Op, args ...Value) Value { return b.Prim(op, t, args...) }
	xr, xi := b.Parts(x)
	if !IsPair(y) {
		return b.Pair(of(scalar.Div, xr, y), of(scalar.Div, xi, y))
	}
	c, d := b.Parts(y)
	zero := b.Float(t, 0)
	size := func(v Value) Value {
		return b.Select(b.Compare(scalar.Lt, v, zero), of(scalar.Neg, v), v)
	}
	// With |c| < |d| divide by y / i, and x as well.
	turn := b.Compare(scalar.Lt, size(c), size(d))
	p, q := b.Select(turn, d, c), b.Select(turn, of(scalar.Neg, c), d)
	u, v := b.Select(turn, xi, xr), b.Select(turn, of(scalar.Neg, xr), xi)
	ratio := of(scalar.Div, q, p)
	over := of(scalar.Fma, q, ratio, p)
	return b.Pair(of(scalar.Div, of(scalar.Fma, v, ratio, u), over),
		of(scalar.Div, of(scalar.Fma, of(scalar.Neg, u), ratio, v), over))
}

// alike compares for equality.
func (b *Builder) alike(op scalar.Op, x, y Value) Value {
	xr, xi := b.Parts(x)
	yr, yi := b.Parts(y)
	join := scalar.AndB
	if op == scalar.Ne {
		join = scalar.OrB
	}
	return b.Prim(join, scalar.Bool, b.Prim(op, scalar.Bool, xr, yr), b.Prim(op, scalar.Bool, xi, yi))
}
