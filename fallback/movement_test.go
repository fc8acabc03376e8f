package fallback

import (
	"math/rand/v2"
	"testing"

	"nxvk/fallback/dense"
	"nxvk/ops"
)

func TestCreate(t *testing.T) {
	want(t, run(t, ops.Iota, [][]int{{-1}}, typ(ops.F32, 2, 2)), 0, 1, 2, 3)
	want(t, run(t, ops.Iota, [][]int{{1}}, typ(ops.S64, 2, 3)), 0, 1, 2, 0, 1, 2)
	want(t, run(t, ops.Iota, [][]int{{0}}, typ(ops.U2, 2, 2, 1)), 0, 0, 1, 1)
	want(t, run(t, ops.Eye, nil, typ(ops.BF16, 2, 3)), 1, 0, 0, 0, 1, 0)
	want(t, run(t, ops.Eye, nil, typ(ops.C64, 2, 2, 2)), 1, 0, 0, 1, 1, 0, 0, 1)
	want(t, run(t, ops.Constant, nil, typ(ops.S8, 3), tensor(ops.F32, nil, 2.5)), 2, 2, 2)
	want(t, run(t, ops.Tensor, nil, typ(ops.F32, 2), vec(ops.F32, 1, 2)), 1, 2)
}

func TestMovement(t *testing.T) {
	m := tensor(ops.F32, ops.Shape{2, 3}, 1, 2, 3, 4, 5, 6)
	want(t, run(t, ops.Transpose, [][]int{{1, 0}}, typ(ops.F32, 3, 2), m), 1, 4, 2, 5, 3, 6)
	want(t, run(t, ops.Reverse, [][]int{{1}}, m.Type, m), 3, 2, 1, 6, 5, 4)
	want(t, run(t, ops.Reverse, [][]int{{0, 1}}, m.Type, m), 6, 5, 4, 3, 2, 1)
	want(t, run(t, ops.BroadcastTo, [][]int{{1}}, typ(ops.U8, 2, 3), vec(ops.U8, 1, 2, 3)), 1, 2, 3, 1, 2, 3)
	want(t, run(t, ops.BroadcastTo, [][]int{{0}}, typ(ops.U8, 2, 3), vec(ops.U8, 1, 2)), 1, 1, 1, 2, 2, 2)
	want(t, run(t, ops.Slice, [][]int{{0, 1}, {2, 2}, {1, 1}}, typ(ops.F32, 2, 2), m), 2, 3, 5, 6)
	want(t, run(t, ops.Slice, [][]int{{0, 0}, {2, 3}, {1, 2}}, typ(ops.F32, 2, 2), m), 1, 3, 4, 6)
	at := func(x float64) Value { return tensor(ops.S32, nil, x) }
	want(t, run(t, ops.Slice, [][]int{{}, {1, 2}, {1, 1}}, typ(ops.F32, 1, 2), m, at(9), at(-4)), 4, 5)
	want(t, run(t, ops.PutSlice, [][]int{{0, 2}}, m.Type, m, tensor(ops.S32, ops.Shape{1, 2}, 8, 9)), 1, 8, 9, 4, 5, 6)
	want(t, run(t, ops.PutSlice, [][]int{{}}, m.Type, m, tensor(ops.S32, ops.Shape{1, 2}, 8, 9), at(1), at(0)), 1, 2, 3, 8, 9, 6)
	want(t, run(t, ops.Concatenate, [][]int{{1}}, typ(ops.F32, 2, 4), m, tensor(ops.U8, ops.Shape{2, 1}, 7, 8)), 1, 2, 3, 7, 4, 5, 6, 8)
	want(t, run(t, ops.Stack, [][]int{{1}}, typ(ops.F32, 2, 2), vec(ops.F32, 1, 2), vec(ops.F32, 3, 4)), 1, 3, 2, 4)
	want(t, run(t, ops.Stack, [][]int{{0}}, typ(ops.F32, 2), tensor(ops.S8, nil, -1), tensor(ops.F32, nil, 2)), -1, 2)
	want(t, run(t, ops.Bitcast, nil, typ(ops.S32, 1), vec(ops.F32, 1)), 0x3F800000)
	want(t, run(t, ops.Bitcast, nil, typ(ops.S4, 2), vec(ops.U4, 15, 7)), -1, 7)
	want(t, run(t, ops.Squeeze, [][]int{{0}}, typ(ops.S8, 2), tensor(ops.S8, ops.Shape{1, 2}, 1, 2)), 1, 2)
}

func TestPad(t *testing.T) {
	zero := tensor(ops.S32, nil, 0)
	v := vec(ops.F32, 1, 2, 3)
	for _, c := range []struct {
		config []int
		want   []float64
	}{
		{[]int{1, 2, 0}, []float64{0, 1, 2, 3, 0, 0}},
		{[]int{0, 0, 1}, []float64{1, 0, 2, 0, 3}},
		{[]int{-1, 1, 0}, []float64{2, 3, 0}},
		{[]int{-1, -1, 2}, []float64{0, 0, 2, 0, 0}},
		{[]int{-2, 0, 1}, []float64{2, 0, 3}},
		{[]int{-3, 3, 0}, []float64{0, 0, 0}},
		{[]int{5, -6, 0}, []float64{0, 0}},
	} {
		want(t, run(t, ops.Pad, [][]int{c.config}, typ(ops.F32, len(c.want)), v, zero), c.want...)
	}
	m := tensor(ops.U8, ops.Shape{1, 2}, 1, 2)
	want(t, run(t, ops.Pad, [][]int{{1, 0, 0, 0, 1, 1}}, typ(ops.U8, 2, 4), m, tensor(ops.U8, nil, 9)), 9, 9, 9, 9, 1, 9, 2, 9)
	want(t, run(t, ops.Pad, [][]int{{}}, typ(ops.U8), tensor(ops.U8, nil, 5), tensor(ops.U8, nil, 9)), 5)
}

// TestTransposeAgainstIndices walks permutations of every element size, small
// and large enough for squares and goroutines.
func TestTransposeAgainstIndices(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for n := range 60 {
		rank, side := 1+r.IntN(5), 4
		if n%10 == 0 {
			rank, side = 3, 60
		}
		shape, out := make(ops.Shape, rank), make(ops.Shape, rank)
		for i := range shape {
			shape[i] = 1 + r.IntN(side)
		}
		axes := r.Perm(rank)
		for i, a := range axes {
			out[i] = shape[a]
		}
		d := []ops.DType{ops.U8, ops.S16, ops.F32, ops.F64, ops.C128}[n%5]
		x := dense.New(ops.Type{DType: d, Shape: shape})
		flat := make([]float64, shape.Size())
		for i := range flat {
			flat[i] = float64(i % 251 & 127)
		}
		if d.IsInteger() {
			is := make([]int64, len(flat))
			for i := range is {
				is[i] = int64(flat[i])
			}
			dense.StoreInt[d](x.Data, 0, is)
		} else {
			dense.StoreFloat[d](x.Data, 0, flat)
		}
		got := numbers(run(t, ops.Transpose, [][]int{axes}, ops.Type{DType: d, Shape: out}, x))
		strides := shape.Strides()
		for i, v := range got {
			at := 0
			for k, j := range unravel(i, out) {
				at += j * strides[axes[k]]
			}
			if v != flat[at] {
				t.Fatalf("%v by %v: element %d is %v, want %v", x.Type, axes, i, v, flat[at])
			}
		}
	}
}

// TestPadInvertsSlice: what padding adds, a slice takes away.
func TestPadInvertsSlice(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	for range 100 {
		rank := r.IntN(4)
		shape, padded := make(ops.Shape, rank), make(ops.Shape, rank)
		var config, starts, lengths, strides []int
		for i := range shape {
			shape[i] = 1 + r.IntN(4)
			lo, hi, in := r.IntN(3), r.IntN(3), r.IntN(3)
			config = append(config, lo, hi, in)
			padded[i] = lo + hi + shape[i] + (shape[i]-1)*in
			starts, lengths, strides = append(starts, lo), append(lengths, (shape[i]-1)*(in+1)+1), append(strides, in+1)
		}
		x := random(r, ops.Type{DType: ops.S16, Shape: shape})
		p := run(t, ops.Pad, [][]int{config}, ops.Type{DType: ops.S16, Shape: padded}, x, tensor(ops.S16, nil, 7))
		want(t, run(t, ops.Slice, [][]int{starts, lengths, strides}, x.Type, p), numbers(x)...)
	}
}
