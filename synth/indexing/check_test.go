package indexing_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"nxvk/ops"
	"nxvk/synth/lowering"
	"nxvk/synth/synthtest"
)

// A drawn instruction with indices, some of which may lie outside of their dimensions. The
// check of the plan says whether one does, and the result is that of the nearest indices
// within bounds. The interpreter ends the test where a kernel leaves a buffer.
func TestChecks(t *testing.T) {
	all := []ops.Op{ops.Take, ops.TakeAlongAxis, ops.Gather, ops.IndexedAdd, ops.IndexedPut}
	synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
		r := rand.New(rand.NewPCG(14, 1))
		for range 600 {
			narrow := *target
			if r.IntN(5) == 0 {
				narrow.Storage8, narrow.Storage16, narrow.Int64 = false, false, r.IntN(2) == 0
			}
			d := []ops.DType{ops.U8, ops.BF16, ops.F32, ops.S64, ops.F64, ops.S4}[r.IntN(6)]
			it := []ops.DType{ops.U8, ops.S8, ops.U16, ops.S32, ops.U32, ops.S64, ops.U64}[r.IntN(7)]
			op := all[r.IntN(len(all))]
			if !narrow.Int64 && (it.Size() == 8 || d.Size() == 8) || !narrow.Storage8 && d.Size() < 4 {
				continue
			}
			c := draw(r, op, d, it)
			wrong := false
			if r.IntN(2) == 0 {
				wrong = c.spoil(r)
			}
			got, failed := synthtest.RunChecked(t, &narrow, c.in, c.args...)
			if len(failed) != 1 || failed[0] != wrong {
				t.Fatalf("%s with indices %v: the check gives %v, want %v", synthtest.Describe(op, c.args[0].Typ, c.args[1].Typ), c.args[1].N, failed, wrong)
			}
			synthtest.Same(t, synthtest.Describe(op, c.args[0].Typ, c.args[1].Typ), got, c.want())
		}
	})
}

// drawn is an instruction on a tensor and indices into some of its axes.
type drawn struct {
	in   *ops.Instr
	args []synthtest.Tensor
	s    ops.Shape
	axes []int
}

// draw makes an instruction whose indices are within the tensor.
func draw(r *rand.Rand, op ops.Op, d, it ops.DType) *drawn {
	c := &drawn{}
	for range 1 + r.IntN(3) {
		c.s = append(c.s, []int{1, 2, 3, 5, 8, 16, 33}[r.IntN(7)])
	}
	c.axes = []int{r.IntN(len(c.s))}
	n := 1 + r.IntN(40)
	out, idx := ops.Type{DType: d}, ops.Type{DType: it, Shape: ops.Shape{n}}
	switch op {
	case ops.Take:
		if r.IntN(3) == 0 {
			idx.Shape = append(idx.Shape, 1+r.IntN(4))
		}
		out.Shape = slices.Concat(c.s[:c.axes[0]], idx.Shape, c.s[c.axes[0]+1:])
	case ops.TakeAlongAxis:
		idx.Shape = slices.Clone(c.s)
		idx.Shape[c.axes[0]] = n
		out.Shape = idx.Shape
	default:
		c.axes = r.Perm(len(c.s))[:1+r.IntN(len(c.s))]
		if r.IntN(2) == 0 {
			slices.Sort(c.axes)
		}
		idx.Shape = append(idx.Shape, len(c.axes))
		out.Shape = ops.Shape{n}
		for i, size := range c.s {
			if !in(c.axes, i) {
				out.Shape = append(out.Shape, size)
			}
		}
	}
	x := synthtest.Random(ops.Type{DType: d, Shape: c.s}, 5)
	at := synthtest.Tensor{Typ: idx}
	for i := range idx.Shape.Size() {
		at.N = append(at.N, r.Int64N(int64(c.s[c.axes[i%len(c.axes)]])))
	}
	c.args = []synthtest.Tensor{x, at}
	if op == ops.IndexedAdd || op == ops.IndexedPut {
		c.args = append(c.args, synthtest.Random(out, 6))
		out = x.Typ
	}
	c.in = synthtest.Instr(op, out, c.axes)
	return c
}

// spoil puts an index outside of its dimension, and reports whether the type has one.
func (c *drawn) spoil(r *rand.Rand) bool {
	d, i := c.args[1].Typ.DType, r.IntN(len(c.args[1].N))
	size := int64(c.s[c.axes[i%len(c.axes)]])
	most := int64(math.MaxInt64)
	if d.Bits() < 64 {
		most = 1<<d.Bits() - 1
		if d.Class() == ops.Signed {
			most = 1<<(d.Bits()-1) - 1
		}
	}
	values := []int64{size, most}
	if most > 1<<32 {
		values = append(values, 1<<32, 1<<32+size-1, 1<<31)
	}
	if d.Class() == ops.Signed {
		values = append(values, -1, -most-1, -size)
	}
	if d == ops.U64 {
		values = append(values, -1) // 2^64 - 1
	}
	c.args[1].N[i] = values[r.IntN(len(values))]
	return true
}

// nearest is the index i of a tensor of indices, within its dimension.
func (c *drawn) nearest(i int) int {
	x, last := c.args[1].N[i], int64(c.s[c.axes[i%len(c.axes)]]-1)
	if c.args[1].Typ.DType == ops.U64 && x < 0 {
		return int(last)
	}
	return int(max(0, min(x, last)))
}

// want is the result of the nearest indices.
func (c *drawn) want() synthtest.Tensor {
	x, idx := c.args[0], c.args[1]
	out, axis := c.in.Outs[0].Type, c.axes[0]
	r := len(idx.Typ.Shape)
	switch c.in.Op {
	case ops.Take:
		return synthtest.Moved(out, x, 0, func(at []int) int {
			i := c.nearest(synthtest.Flat(idx.Typ.Shape, at[axis:axis+r]))
			return synthtest.Flat(c.s, slices.Concat(at[:axis], []int{i}, at[axis+r:]))
		})
	case ops.TakeAlongAxis:
		return synthtest.Moved(out, x, 0, func(at []int) int {
			from := slices.Clone(at)
			from[axis] = c.nearest(synthtest.Flat(idx.Typ.Shape, at))
			return synthtest.Flat(c.s, from)
		})
	case ops.Gather:
		return synthtest.Moved(out, x, 0, func(at []int) int {
			from, rest := make([]int, len(c.s)), at[1:]
			for i := range from {
				if !in(c.axes, i) {
					from[i], rest = rest[0], rest[1:]
				}
			}
			for k, a := range c.axes {
				from[a] = c.nearest(at[0]*len(c.axes) + k)
			}
			return synthtest.Flat(c.s, from)
		})
	}
	near := synthtest.Tensor{Typ: idx.Typ}
	for i := range idx.N {
		near.N = append(near.N, int64(c.nearest(i)))
	}
	return indexedRef(c.in, x, near, c.args[2])
}
