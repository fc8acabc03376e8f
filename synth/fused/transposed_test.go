package fused_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"nxvk/ops"
	"nxvk/synth/lowering"
	"nxvk/synth/synthtest"
	"nxvk/test/fewtest"
)

// Reductions of transposed tensors give the bits of one instruction after the other, however neighbours are laid out.
func TestTransposedReductions(t *testing.T) {
	synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
		r := rand.New(rand.NewPCG(28, 11))
		for range fewtest.Of(120, 40) {
			transposed(t, target, r)
		}
	})
}

func transposed(t *testing.T, target *lowering.Target, r *rand.Rand) {
	rank := 2 + r.IntN(3)
	s, left := make(ops.Shape, rank), 6000
	for i := range s {
		s[i] = 1 + int(r.Float64()*r.Float64()*float64(left))
		left = max(1, left/s[i])
	}
	axes := r.Perm(rank)
	reduced := r.Perm(rank)[:1+r.IntN(rank-1)]
	slices.Sort(reduced)
	d := []ops.DType{ops.F32, ops.F64, ops.BF16, ops.F16, ops.S32, ops.U8}[r.IntN(6)]
	op := []ops.Op{ops.Sum, ops.Sum, ops.ReduceMax, ops.ReduceMin}[r.IntN(4)]
	g := synthtest.NewSketch(t)
	x := g.Do(ops.Transpose, d, g.Param(d, s...), synthtest.Attrs{axes})
	list := []ops.Operand{g.Do(op, d, x, synthtest.Attrs{reduced, {0}})}
	if r.IntN(3) == 0 { // two results of one kernel
		list = append(list, g.Do(ops.ReduceMax, d, x, synthtest.Attrs{reduced, {r.IntN(2)}}))
	}
	g.Return(list...)
	g.Check(target, r.Uint64())
}

// A large tensor is reduced as it lies: no transposition is carried out, unless something else reads it too, or results are
// so few that they do not fill a device.
func TestTransposedOnce(t *testing.T) {
	for _, c := range []struct {
		name    string
		s       ops.Shape
		axes    []int
		reduced []int
		also    bool // something else reads it, too
		spreads bool // the result is spread over another tensor of that shape
		want    int
	}{
		{"rows of columns", ops.Shape{257, 1023}, []int{1, 0}, []int{1}, false, false, 1},
		{"columns of rows", ops.Shape{1023, 257}, []int{1, 0}, []int{0}, false, false, 1},
		{"rows in a batch", ops.Shape{3, 129, 160}, []int{0, 2, 1}, []int{2}, false, false, 1},
		{"also read", ops.Shape{257, 1023}, []int{1, 0}, []int{1}, true, false, 2},
		{"spread over rows", ops.Shape{257, 1023}, []int{1, 0}, []int{1}, false, true, 2},
		{"few rows", ops.Shape{1 << 14, 48}, []int{1, 0}, []int{1}, false, false, 2},
	} {
		g := synthtest.NewSketch(t)
		x := g.Do(ops.Transpose, ops.F32, g.Param(ops.F32, c.s...), synthtest.Attrs{c.axes})
		list := []ops.Operand{g.Do(ops.Sum, ops.F32, x, synthtest.Attrs{c.reduced, {1}})}
		if c.spreads {
			list[0] = g.Do(ops.Divide, ops.F32, g.Param(ops.F32, 1023, 257), list[0])
		}
		if c.also {
			list = append(list, x)
		}
		g.Return(list...)
		if fusions := len(g.Check(synthtest.GPU, 5)); fusions != c.want {
			t.Errorf("%s: %d fusions, want %d", c.name, fusions, c.want)
		}
	}
}
