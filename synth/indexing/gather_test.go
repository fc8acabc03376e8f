package indexing_test

import (
	"math/rand/v2"
	"testing"

	"nxvk/ops"
	"nxvk/synth/lowering"
	"nxvk/synth/synthtest"
)

// indices draws numbers below n.
func indices(d ops.DType, n int, dims ...int) synthtest.Tensor {
	x, r := synthtest.Tensor{Typ: synthtest.Type(d, dims...)}, rand.New(rand.NewPCG(3, uint64(n)))
	for range x.Typ.Size() {
		x.N = append(x.N, r.Int64N(int64(n)))
	}
	return x
}

var gatherTypes = []ops.DType{ops.U8, ops.BF16, ops.F32, ops.F64}

func TestTake(t *testing.T) {
	synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
		for _, d := range gatherTypes {
			for _, it := range []ops.DType{ops.U8, ops.S16, ops.S32, ops.S64} {
				for _, s := range []ops.Shape{{11}, {11, 8}, {3, 11, 4}, {3, 11, 5}, {2, 11, 260}} {
					for _, idx := range []synthtest.Tensor{indices(it, 11), indices(it, 11, 1), indices(it, 11, 7), indices(it, 11, 4, 8)} {
						x, axis := synthtest.Random(ops.Type{DType: d, Shape: s}, 3), len(s)/3
						r := len(idx.Typ.Shape)
						out := ops.Type{DType: d}
						out.Shape = append(append(append(ops.Shape{}, s[:axis]...), idx.Typ.Shape...), s[axis+1:]...)
						got := synthtest.Run(t, target, synthtest.Instr(ops.Take, out, []int{axis}), x, idx)
						want := synthtest.Moved(out, x, 0, func(c []int) int {
							at := append([]int{}, c[:axis]...)
							if r == 0 {
								at = append(at, int(idx.N[0]))
							} else {
								at = append(at, int(idx.N[synthtest.Flat(idx.Typ.Shape, c[axis:axis+r])]))
							}
							return synthtest.Flat(s, append(at, c[axis+r:]...))
						})
						synthtest.Same(t, synthtest.Describe(ops.Take, x.Typ, idx.Typ), got, want)
					}
				}
			}
		}
		x, idx := synthtest.Random(synthtest.Type(ops.F32, 5, 3), 3), synthtest.Tensor{Typ: synthtest.Type(ops.S64), N: []int64{4}, Lit: true}
		got := synthtest.Run(t, target, synthtest.Instr(ops.Take, synthtest.Type(ops.F32, 3), []int{0}), x, idx)
		synthtest.Same(t, "literal index", got, synthtest.Tensor{Typ: synthtest.Type(ops.F32, 3), F: x.F[12:]})
	})
}

func TestTakeAlong(t *testing.T) {
	synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
		for _, d := range gatherTypes {
			for axis, s := range []ops.Shape{{9, 8, 5}, {3, 9, 4}, {3, 2, 9}} {
				x := synthtest.Random(ops.Type{DType: d, Shape: s}, 4)
				dims := append([]int{}, s...)
				dims[axis] = 13
				idx := indices(ops.S32, 9, dims...)
				out := synthtest.Type(d, dims...)
				got := synthtest.Run(t, target, synthtest.Instr(ops.TakeAlongAxis, out, []int{axis}), x, idx)
				synthtest.Same(t, synthtest.Describe(ops.TakeAlongAxis, x.Typ), got, synthtest.Moved(out, x, 0, func(c []int) int {
					at := append([]int{}, c...)
					at[axis] = int(idx.N[synthtest.Flat(dims, c)])
					return synthtest.Flat(s, at)
				}))
			}
		}
	})
}

func TestGather(t *testing.T) {
	synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
		for _, d := range gatherTypes {
			s := ops.Shape{5, 6, 8}
			x := synthtest.Random(ops.Type{DType: d, Shape: s}, 5)
			for _, axes := range [][]int{{0}, {2}, {0, 1}, {2, 0}, {0, 1, 2}} {
				idx := indices(ops.S64, 5, 3, 4, len(axes))
				out := ops.Type{DType: d, Shape: ops.Shape{3, 4}}
				for i, n := range s {
					if !in(axes, i) {
						out.Shape = append(out.Shape, n)
					}
				}
				got := synthtest.Run(t, target, synthtest.Instr(ops.Gather, out, axes), x, idx)
				synthtest.Same(t, synthtest.Describe(ops.Gather, x.Typ, idx.Typ), got, synthtest.Moved(out, x, 0, func(c []int) int {
					at, rest := make([]int, 3), c[2:]
					for i := range at {
						if !in(axes, i) {
							at[i], rest = rest[0], rest[1:]
						}
					}
					for k, a := range axes {
						at[a] = int(idx.N[(c[0]*4+c[1])*len(axes)+k])
					}
					return synthtest.Flat(s, at)
				}))
			}
		}
	})
}

// Indices that no check has seen stay within the tensor.
func TestIndicesAreBounded(t *testing.T) {
	synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
		x := synthtest.Random(synthtest.Type(ops.F32, 5), 6)
		for _, d := range []ops.DType{ops.S8, ops.S32, ops.S64} {
			idx := synthtest.Tensor{Typ: synthtest.Type(d, 4), N: []int64{-1, 5, 3, 127}}
			got := synthtest.Run(t, target, synthtest.Instr(ops.Take, synthtest.Type(ops.F32, 4), []int{0}), x, idx)
			synthtest.Same(t, "take", got, synthtest.Tensor{Typ: got.Typ, F: []float64{x.F[0], x.F[4], x.F[3], x.F[4]}})
		}
	})
}

func in(axes []int, a int) bool {
	for _, b := range axes {
		if a == b {
			return true
		}
	}
	return false
}
