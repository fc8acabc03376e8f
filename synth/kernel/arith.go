package kernel

import (
	"slices"

	"nxvk/synth/scalar"
)

// The arithmetic of indices and accumulators. Identities with constants are
// applied, so that a kernel for a simple shape is a simple kernel.

// Add returns x + y.
func (b *Builder) Add(x, y Value) Value {
	if !IsFloat(b.Type(x)) {
		if n, ok := b.IsConst(x); ok && n == 0 {
			return y
		}
		if n, ok := b.IsConst(y); ok && n == 0 {
			return x
		}
	}
	return b.Prim(scalar.Add, b.Type(x), x, y)
}

// Sub returns x - y.
func (b *Builder) Sub(x, y Value) Value { return b.Prim(scalar.Sub, b.Type(x), x, y) }

// Mul returns x * y.
func (b *Builder) Mul(x, y Value) Value {
	if !IsFloat(b.Type(x)) {
		for _, p := range [][2]Value{{x, y}, {y, x}} {
			if n, ok := b.IsConst(p[0]); ok && n < 2 {
				return []Value{p[0], p[1]}[n]
			}
		}
	}
	return b.Prim(scalar.Mul, b.Type(x), x, y)
}

// Div returns the quotient of integers.
func (b *Builder) Div(x, y Value) Value {
	if n, ok := b.IsConst(y); ok && n == 1 {
		return x
	}
	return b.Prim(scalar.Div, b.Type(x), x, y)
}

// And returns x & y; Or, Xor and the shifts likewise, with constants.
func (b *Builder) And(x Value, n uint64) Value {
	return b.Prim(scalar.And, b.Type(x), x, b.Const(b.Type(x), n))
}

// Or returns x | y.
func (b *Builder) Or(x, y Value) Value { return b.Prim(scalar.Or, b.Type(x), x, y) }

// Shl returns x << n.
func (b *Builder) Shl(x Value, n int) Value {
	if n == 0 {
		return x
	}
	return b.Prim(scalar.Shl, b.Type(x), x, b.Int(scalar.U32, n))
}

// Shr returns x >> n, with the sign of a signed type.
func (b *Builder) Shr(x Value, n int) Value {
	if n == 0 {
		return x
	}
	return b.Prim(scalar.Shr, b.Type(x), x, b.Int(scalar.U32, n))
}

// Compare returns whether op, one of Eq, Ne, Lt and Le, holds.
func (b *Builder) Compare(op scalar.Op, x, y Value) Value { return b.Prim(op, scalar.Bool, x, y) }

// Select returns x where c holds, else y.
func (b *Builder) Select(c, x, y Value) Value { return b.Prim(scalar.Select, b.Type(x), c, x, y) }

// Convert returns the value in another type, as scalar.Convert does.
func (b *Builder) Convert(x Value, t scalar.Type) Value {
	if b.Type(x) == t {
		return x
	}
	return b.Prim(scalar.Convert, t, x)
}

// Bitcast returns the bits of the value as another type of its width.
func (b *Builder) Bitcast(x Value, t scalar.Type) Value {
	if b.Type(x) == t {
		return x
	}
	return b.Prim(scalar.Bitcast, t, x)
}

// Inline copies a scalar function into the kernel and gives its result, the
// first where there are two.
func (b *Builder) Inline(f *scalar.Func, args []Value) Value { return b.InlineAll(f, args)[0] }

// InlineAll copies a scalar function into the kernel and gives its results.
func (b *Builder) InlineAll(f *scalar.Func, args []Value) []Value {
	vals := make([]Value, len(f.Nodes))
	var room [8]Value
	for i := range f.Nodes {
		n := &f.Nodes[i]
		in := room[:0]
		for _, a := range n.Args {
			in = append(in, vals[a])
		}
		switch n.Op {
		case scalar.Const:
			vals[i] = b.Const(n.Type, n.Bits)
		case scalar.Param:
			vals[i] = args[n.Index]
		case scalar.Lookup:
			vals[i] = b.emit(Inst{Op: Lookup, Index: b.table(n.Table), Args: b.list(in...)}, n.Type)[0]
		case scalar.Rare:
			in = b.list(in...)
			vals[i] = b.If(in[0],
				func() []Value { return []Value{b.Inline(n.Slow, in[2:])} },
				func() []Value { return in[1:2] })[0]
		default:
			vals[i] = b.Prim(n.Op, n.Type, in...)
		}
	}
	var outs []Value
	for _, n := range f.Outs() {
		outs = append(outs, vals[n])
	}
	return outs
}

// table returns the index of a constant table. Functions that are inlined more
// than once share theirs.
func (b *Builder) table(t []uint64) int {
	for i, have := range b.k.Tables {
		if slices.Equal(have, t) {
			return i
		}
	}
	b.k.Tables = append(b.k.Tables, t)
	return len(b.k.Tables) - 1
}
