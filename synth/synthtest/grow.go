package synthtest

import (
	"math/rand/v2"
	"slices"
	"testing"

	"nxvk/ops"
)

// grower makes random graphs: every instruction takes values of any kind that
// are there, and gives one more.
type grower struct {
	*Sketch
	r    *rand.Rand
	pool []ops.Operand
	all  []ops.DType
	from ops.Operand // where slices begin

	gathers bool // some instructions read at indices
}

var growDims = []int{1, 2, 3, 4, 4, 6, 8, 12}

// Grow makes a graph of n instructions.
func Grow(t *testing.T, seed uint64, n int, folds bool) *Sketch {
	return grow(t, seed, n, folds, false)
}

// GrowGathers makes a graph some of whose instructions read at indices, also at such outside
// of their dimensions.
func GrowGathers(t *testing.T, seed uint64, n int, folds bool) *Sketch {
	return grow(t, seed, n, folds, true)
}

func grow(t *testing.T, seed uint64, n int, folds, gathers bool) *Sketch {
	g := &grower{gathers: gathers, Sketch: NewSketch(t), r: rand.New(rand.NewPCG(seed, 7)),
		all: []ops.DType{ops.F32, ops.F32, ops.F32, ops.S32, ops.U8, ops.BF16, ops.F64, ops.S8, ops.C64, ops.C64, ops.C128}}
	shape := g.shape(1 + g.r.IntN(3))
	for range 2 + g.r.IntN(3) {
		s := shape[g.r.IntN(len(shape)):]
		g.pool = append(g.pool, g.Param(g.all[g.r.IntN(len(g.all))], s...))
	}
	g.from = g.Param(ops.S32)
	for range n {
		if v, ok := g.step(folds); ok && g.Types[v.ID].Size() < 4000 {
			g.pool = append(g.pool, v)
		}
	}
	for _, v := range g.pool[max(0, len(g.pool)-2):] {
		g.Return(v)
	}
	g.Return(g.pool[g.r.IntN(len(g.pool))])
	return g.Sketch
}

func (g *grower) shape(rank int) []int {
	var s []int
	for range rank {
		s = append(s, growDims[g.r.IntN(len(growDims))])
	}
	return s
}

// pick prefers late values.
func (g *grower) pick() ops.Operand {
	n := len(g.pool)
	return g.pool[max(g.r.IntN(n), g.r.IntN(n))]
}

func (g *grower) step(folds bool) (ops.Operand, bool) {
	x := g.pick()
	typ := g.TypeOf(x)
	kinds := 4
	if folds {
		kinds = 6
	}
	if g.gathers && len(typ.Shape) > 0 && g.r.IntN(4) == 0 {
		return g.gather(x, typ), true
	}
	switch g.r.IntN(kinds) {
	case 0:
		return g.unary(x, typ), true
	case 1, 2:
		return g.binary(x, typ)
	case 3:
		return g.look(x, typ), true
	}
	return g.fold(x, typ)
}

func (g *grower) unary(x ops.Operand, typ ops.Type) ops.Operand {
	d := typ.DType
	switch g.r.IntN(6) {
	case 0:
		return g.Do(ops.AsType, g.all[g.r.IntN(len(g.all))], x)
	case 1:
		return g.Do(ops.Negate, d, x)
	case 2:
		return g.Do(ops.Abs, d.Real(), x)
	case 3:
		return g.parts(x, d)
	case 4:
		if d.IsInteger() {
			return g.Do(ops.BitwiseNot, d, x)
		}
		if d.IsComplex() {
			return g.Do(ops.Exp, d, g.Do(ops.Divide, d, x, g.complex(3, 1)))
		}
		return g.Do(ops.Exp, d, g.Do(ops.Min, d, x, g.Num(ops.F32, 2)))
	}
	return g.Do(ops.LogicalNot, ops.U8, x)
}

// parts takes a complex number apart, or makes one.
func (g *grower) parts(x ops.Operand, d ops.DType) ops.Operand {
	c := ops.C64
	if d.Real() == ops.F64 {
		c = ops.C128
	}
	switch g.r.IntN(4) {
	case 0:
		return g.Do(ops.Conjugate, c, x)
	case 1:
		return g.Do(ops.RealPart, d.Real(), x)
	case 2:
		if !d.IsInteger() {
			return g.Do(ops.Imag, d.Real(), x)
		}
	}
	return g.Do(ops.Add, c, x, g.Do(ops.Multiply, c, g.complex(0, 1), x))
}

func (g *grower) binary(x ops.Operand, typ ops.Type) (ops.Operand, bool) {
	y := g.pick()
	if g.r.IntN(4) == 0 {
		y = g.Num(ops.S32, float64(g.r.IntN(5)))
	}
	s, err := ops.Broadcast(typ.Shape, g.TypeOf(y).Shape)
	if err != nil {
		return y, false
	}
	d := ops.Merge(typ.DType, g.TypeOf(y).DType)
	if d.IsComplex() {
		return g.binaryComplex(d, x, y), true
	}
	switch g.r.IntN(6) {
	case 0:
		return g.Do(ops.Add, d, x, y), true
	case 1:
		return g.Do(ops.Multiply, d, x, y), true
	case 2:
		return g.Do(ops.Less, ops.U8, x, y), true
	case 3:
		return g.Do(ops.Select, d, g.Do(ops.Equal, ops.U8, x, y), x, y), true
	case 4:
		i := g.Do(ops.Iota, ops.S32, ops.Shape(s), Attrs{{g.r.IntN(len(s)+1) - 1}})
		return g.Do(ops.Max, ops.Merge(typ.DType, ops.S32), x, i), true
	}
	return g.Do(ops.Subtract, d, y, x), true
}

// binaryComplex is one of the operations that complex numbers have.
func (g *grower) binaryComplex(d ops.DType, x, y ops.Operand) ops.Operand {
	switch g.r.IntN(5) {
	case 0:
		return g.Do(ops.Multiply, d, x, y)
	case 1:
		return g.Do(ops.Subtract, d, y, x)
	case 2:
		return g.Do(ops.Divide, d, x, g.Do(ops.Add, d, y, g.complex(8, 1)))
	case 3:
		return g.Do(ops.Select, d, g.Do(ops.NotEqual, ops.U8, x, y), x, y)
	}
	return g.Do(ops.Add, d, x, y)
}

// look is a view of x.
func (g *grower) look(x ops.Operand, typ ops.Type) ops.Operand {
	s, d := typ.Shape, typ.DType
	switch g.r.IntN(11) {
	case 0:
		return g.Do(ops.Transpose, d, x, Attrs{g.r.Perm(len(s))})
	case 1:
		return g.Do(ops.Reverse, d, x, Attrs{g.r.Perm(len(s))[:g.r.IntN(len(s)+1)]})
	case 2:
		at, length, step := make([]int, len(s)), make([]int, len(s)), make([]int, len(s))
		for i, n := range s {
			step[i] = 1 + g.r.IntN(2)
			length[i] = 1 + g.r.IntN((n+step[i]-1)/step[i])
			at[i] = g.r.IntN(n - (length[i]-1)*step[i])
		}
		return g.Do(ops.Slice, d, x, Attrs{at, length, step})
	case 3:
		wide := append(g.shape(1), s...)
		axes := make([]int, len(s))
		for i := range s {
			axes[i] = i + 1
		}
		return g.Do(ops.BroadcastTo, d, x, ops.Shape(wide), Attrs{axes})
	case 4:
		if n := typ.Size(); n%2 == 0 {
			return g.Do(ops.Reshape, d, x, ops.Shape{2, n / 2})
		}
	case 5, 6:
		return g.padded(x, typ)
	case 7:
		return g.slide(x, typ)
	case 8:
		return g.joined(x, typ)
	case 9:
		return g.put(x, typ)
	}
	return g.Do(ops.Reshape, d, x, ops.Shape(append([]int{1}, s...)))
}

// padded is x with padding, and without some of its elements.
func (g *grower) padded(x ops.Operand, typ ops.Type) ops.Operand {
	var cfg []int
	for _, n := range typ.Shape {
		low, high, between := g.r.IntN(5)-2, g.r.IntN(5)-2, max(0, g.r.IntN(5)-2)
		if n+low+high+(n-1)*between < 1 {
			low, high = 0, 1
		}
		cfg = append(cfg, low, high, between)
	}
	if g.r.IntN(2) == 0 {
		return g.Do(ops.Pad, typ.DType, x, g.Num(ops.S32, float64(g.r.IntN(5))), Attrs{cfg})
	}
	value := g.Do(ops.AsType, typ.DType, g.from)
	return g.Do(ops.Pad, typ.DType, x, value, Attrs{cfg})
}

// joined is x beside something of its own elements, or of another value of its type.
func (g *grower) joined(x ops.Operand, typ ops.Type) ops.Operand {
	s, args := typ.Shape, []any{x}
	if len(s) == 0 || g.r.IntN(3) == 0 {
		return g.Do(ops.Stack, typ.DType, x, g.Do(ops.Negate, typ.DType, x), Attrs{{g.r.IntN(len(s) + 1)}})
	}
	axis := g.r.IntN(len(s))
	for range 1 + g.r.IntN(4) {
		at, length, step := make([]int, len(s)), slices.Clone(s), slices.Repeat([]int{1}, len(s))
		length[axis] = 1 + g.r.IntN(s[axis])
		at[axis] = g.r.IntN(s[axis] - length[axis] + 1)
		y := g.Do(ops.Slice, typ.DType, x, Attrs{at, []int(length), step})
		if g.r.IntN(2) == 0 {
			y = g.Do(ops.Negate, typ.DType, y)
		}
		args = append(args, y)
	}
	if other := g.pick(); g.TypeOf(other).Equal(typ) {
		args = append(args, other)
	}
	return g.Do(ops.Concatenate, typ.DType, append(args, Attrs{{axis}})...)
}

// put is x with a part of its own elements, or of another value of its type, elsewhere.
func (g *grower) put(x ops.Operand, typ ops.Type) ops.Operand {
	y := x
	if other := g.pick(); g.TypeOf(other).Equal(typ) {
		y = other
	}
	at, length, step := make([]int, len(typ.Shape)), slices.Clone(typ.Shape), slices.Repeat([]int{1}, len(typ.Shape))
	for i, n := range typ.Shape {
		length[i] = 1 + g.r.IntN(n)
		at[i] = g.r.IntN(n - length[i] + 1)
	}
	y = g.Do(ops.Slice, typ.DType, y, Attrs{at, []int(length), step})
	if g.r.IntN(3) > 0 {
		y = g.Do(ops.Negate, typ.DType, y)
	}
	if g.r.IntN(2) == 0 {
		for i := range at {
			at[i] = g.r.IntN(5)
		}
		return g.Do(ops.PutSlice, typ.DType, x, y, Attrs{at})
	}
	args := []any{x, y, Attrs{{}}}
	for range typ.Shape {
		if g.r.IntN(2) == 0 {
			args = append(args, g.from)
		} else {
			args = append(args, g.Num(ops.S32, float64(g.r.IntN(5))))
		}
	}
	return g.Do(ops.PutSlice, typ.DType, args...)
}

// slide is a part of x that begins where operands say.
func (g *grower) slide(x ops.Operand, typ ops.Type) ops.Operand {
	args := []any{x}
	var lengths, steps []int
	for _, n := range typ.Shape {
		lengths, steps = append(lengths, 1+g.r.IntN(n)), append(steps, 1+g.r.IntN(2))
		switch g.r.IntN(3) {
		case 0:
			args = append(args, g.Num(ops.U8, float64(g.r.IntN(9))))
		case 1:
			args = append(args, g.from)
		default:
			args = append(args, g.Do(ops.Add, ops.S32, g.from, g.Num(ops.S32, 2)))
		}
	}
	return g.Do(ops.Slice, typ.DType, append(args, Attrs{{}, lengths, steps})...)
}

func (g *grower) fold(x ops.Operand, typ ops.Type) (ops.Operand, bool) {
	if len(typ.Shape) == 0 {
		return x, false
	}
	axes := g.r.Perm(len(typ.Shape))[:1+g.r.IntN(len(typ.Shape))]
	if g.r.IntN(2) == 0 {
		axes = []int{len(typ.Shape) - 1}
	}
	d := typ.DType
	folds := []ops.Op{ops.Sum, ops.Any, ops.Product, ops.ReduceMax, ops.ReduceMin}
	if d.IsComplex() {
		folds = folds[:3]
	}
	op := folds[g.r.IntN(len(folds))]
	if op == ops.Any {
		d = ops.U8
	}
	return g.Do(op, d, x, Attrs{axes, {g.r.IntN(2)}}), true
}

// gather reads x at indices, of which many are outside of their dimensions unless they are computed.
func (g *grower) gather(x ops.Operand, typ ops.Type) ops.Operand {
	d, s := []ops.DType{ops.S32, ops.S64, ops.U8}[g.r.IntN(3)], typ.Shape
	axis := g.r.IntN(len(s))
	op := []ops.Op{ops.Take, ops.TakeAlongAxis, ops.Gather}[g.r.IntN(3)]
	at, axes := ops.Shape(g.shape(1)), []int{axis}
	switch op {
	case ops.TakeAlongAxis:
		at = slices.Clone(s)
		at[axis] = growDims[g.r.IntN(4)]
	case ops.Gather:
		axes = g.r.Perm(len(s))[:1+g.r.IntN(len(s))]
		at = append(at, len(axes))
	}
	idx := g.Param(d, at...)
	switch g.r.IntN(4) {
	case 0, 1: // within all dimensions
		least := s[axes[0]]
		for _, a := range axes {
			least = min(least, s[a])
		}
		idx = g.Do(ops.BitwiseAnd, d, idx, g.Num(d, 3))
		idx = g.Do(ops.Min, d, idx, g.Num(d, float64(least-1)))
	case 2:
		if op == ops.Take {
			idx = g.Do(ops.Reshape, d, idx, append(ops.Shape{1}, at...))
		}
	}
	return g.Do(op, typ.DType, x, idx, Attrs{axes})
}
