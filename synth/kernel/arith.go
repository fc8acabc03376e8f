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
	return b.InlineEach(f, [][]Value{args})[0]
}

// InlineEach copies a scalar function into the kernel for each list of
// arguments, step by step for all of them. The rare case has one branch
// for all, so that a device need not take one branch after the other.
func (b *Builder) InlineEach(f *scalar.Func, args [][]Value) [][]Value {
	vals := lists(len(args), len(f.Nodes))
	for i := range f.Nodes {
		n := &f.Nodes[i]
		switch n.Op {
		case scalar.Rare:
			b.rare(n, i, vals)
			continue
		case scalar.Const:
			v := b.Const(n.Type, n.Bits)
			for p := range vals {
				vals[p][i] = v
			}
			continue
		}
		for p := range vals {
			vals[p][i] = b.node(n, vals[p], args[p])
		}
	}
	outs := lists(len(args), len(f.Outs()))
	for p := range outs {
		for k, n := range f.Outs() {
			outs[p][k] = vals[p][n]
		}
	}
	return outs
}

// lists are some lists of n values each.
func lists(count, n int) [][]Value {
	vs, room := make([][]Value, count), make([]Value, count*n)
	for i := range vs {
		vs[i] = room[i*n : (i+1)*n : (i+1)*n]
	}
	return vs
}

// node is the value of a node that is neither a constant nor rare, whose operands
// are in vals.
func (b *Builder) node(n *scalar.Node, vals, args []Value) Value {
	var room [4]Value
	in := room[:0]
	for _, a := range n.Args {
		in = append(in, vals[a])
	}
	switch n.Op {
	case scalar.Param:
		return args[n.Index]
	case scalar.Lookup:
		return b.emit(Inst{Op: Lookup, Index: b.table(n.Table), Args: b.list(in...)}, n.Type)[0]
	}
	return b.Prim(n.Op, n.Type, in...)
}

// rare gives node i of every list of values the result of the slow function
// where its condition holds.
func (b *Builder) rare(n *scalar.Node, i int, vals [][]Value) {
	slow := lists(len(vals), len(n.Args)-2)
	conds, fast := make([]Value, len(vals)), make([]Value, len(vals))
	for p, v := range vals {
		conds[p], fast[p] = v[n.Args[0]], v[n.Args[1]]
		for k, a := range n.Args[2:] {
			slow[p][k] = v[a]
		}
	}
	some := conds[0]
	for _, c := range conds[1:] {
		if c != conds[0] {
			some = b.Prim(scalar.OrB, scalar.Bool, some, c)
		}
	}
	out := b.If(some, func() []Value {
		outs := make([]Value, len(vals))
		for p, vs := range b.InlineEach(n.Slow, slow) {
			if outs[p] = vs[0]; len(vals) > 1 {
				outs[p] = b.Select(conds[p], vs[0], fast[p])
			}
		}
		return outs
	}, func() []Value { return fast })
	for p := range vals {
		vals[p][i] = out[p]
	}
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
