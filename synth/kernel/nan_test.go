package kernel

import (
	"testing"

	"nxvk/synth/scalar"
)

// A value keeps its NaNs without its lower half if it was made by arithmetic, or of a bf16; one from memory may not.
func TestKeepsNaN(t *testing.T) {
	b := NewBuilder("nan", [3]uint32{1, 1, 1})
	f, h := b.Buffer(F32, true, false), b.Buffer(U16, true, false)
	load := func() Value { return b.Load(f, b.Int(scalar.U32, 0), 1)[0] }
	x, y, one := load(), load(), b.Float(scalar.F32, 1)
	short := b.Bitcast(b.Shl(b.Load(h, b.Int(scalar.U32, 0), 1)[0], 16), scalar.F32)
	prim := func(op scalar.Op, args ...Value) Value { return b.Prim(op, scalar.F32, args...) }
	abs := func(x Value) Value { return b.Bitcast(b.And(b.Bitcast(x, scalar.U32), 1<<31-1), scalar.F32) }
	signed := func(x Value) Value {
		sign := b.And(b.Bitcast(y, scalar.U32), 1<<31)
		return b.Bitcast(b.Or(b.Bitcast(x, scalar.U32), sign), scalar.F32)
	}
	branch := func(then, els Value) Value {
		return b.If(b.Compare(scalar.Lt, x, y), func() []Value { return []Value{then} }, func() []Value { return []Value{els} })[0]
	}
	less := b.Compare(scalar.Lt, x, y)
	for name, c := range map[string]struct {
		v    Value
		want bool
	}{
		"of memory":                {x, false},
		"bf16":                     {short, true},
		"sum":                      {prim(scalar.Add, x, y), true},
		"sum with a constant":      {prim(scalar.Add, x, one), false},
		"bf16 with a constant":     {prim(scalar.Mul, short, one), true},
		"fma with a constant":      {prim(scalar.Fma, x, one, y), false},
		"root":                     {prim(scalar.Sqrt, x), true},
		"negation":                 {prim(scalar.Neg, x), false},
		"negated bf16":             {prim(scalar.Neg, short), true},
		"rounded":                  {prim(scalar.Floor, x), false},
		"magnitude":                {abs(x), false},
		"magnitude of bf16":        {abs(short), true},
		"sign":                     {signed(x), false},
		"sign of bf16":             {signed(abs(short)), true},
		"choice":                   {b.Select(less, short, prim(scalar.Sub, x, y)), true},
		"choice of memory":         {b.Select(less, short, x), false},
		"branch":                   {branch(short, one), true},
		"branch of memory":         {branch(short, x), false},
		"of an integer":            {b.Convert(b.Bitcast(x, scalar.I32), scalar.F32), true},
		"bits":                     {b.Bitcast(b.Add(b.Bitcast(short, scalar.U32), b.Bitcast(short, scalar.U32)), scalar.F32), false},
		"a NaN":                    {b.Const(scalar.F32, 0x7fc00000), true},
		"a NaN in the lower half":  {b.Const(scalar.F32, 0x7f800001), false},
		"a number with lower bits": {b.Const(scalar.F32, 0x3f800001), true},
	} {
		if got := b.KeepsNaN(c.v); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
