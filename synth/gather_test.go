package synth

import (
	"math/rand/v2"
	"testing"

	"nxvk/ops"
)

// indices draws numbers below n.
func indices(d ops.DType, n int, dims ...int) tensor {
	x, r := tensor{typ: typ(d, dims...)}, rand.New(rand.NewPCG(3, uint64(n)))
	for range x.typ.Size() {
		x.n = append(x.n, r.Int64N(int64(n)))
	}
	return x
}

var gatherTypes = []ops.DType{ops.U8, ops.BF16, ops.F32, ops.F64}

func TestTake(t *testing.T) {
	forTargets(t, func(t *testing.T, target *Target) {
		for _, d := range gatherTypes {
			for _, it := range []ops.DType{ops.U8, ops.S16, ops.S32, ops.S64} {
				for _, s := range []ops.Shape{{11}, {11, 8}, {3, 11, 4}, {3, 11, 5}, {2, 11, 260}} {
					for _, idx := range []tensor{indices(it, 11), indices(it, 11, 1), indices(it, 11, 7), indices(it, 11, 4, 8)} {
						x, axis := random(ops.Type{DType: d, Shape: s}, 3), len(s)/3
						r := len(idx.typ.Shape)
						out := ops.Type{DType: d}
						out.Shape = append(append(append(ops.Shape{}, s[:axis]...), idx.typ.Shape...), s[axis+1:]...)
						got := run(t, target, instr(ops.Take, out, []int{axis}), x, idx)
						want := moved(out, x, 0, func(c []int) int {
							at := append([]int{}, c[:axis]...)
							if r == 0 {
								at = append(at, int(idx.n[0]))
							} else {
								at = append(at, int(idx.n[flat(idx.typ.Shape, c[axis:axis+r])]))
							}
							return flat(s, append(at, c[axis+r:]...))
						})
						same(t, describe(ops.Take, x.typ, idx.typ), got, want)
					}
				}
			}
		}
		x, idx := random(typ(ops.F32, 5, 3), 3), tensor{typ: typ(ops.S64), n: []int64{4}, lit: true}
		got := run(t, target, instr(ops.Take, typ(ops.F32, 3), []int{0}), x, idx)
		same(t, "literal index", got, tensor{typ: typ(ops.F32, 3), f: x.f[12:]})
	})
}

func TestTakeAlong(t *testing.T) {
	forTargets(t, func(t *testing.T, target *Target) {
		for _, d := range gatherTypes {
			for axis, s := range []ops.Shape{{9, 8, 5}, {3, 9, 4}, {3, 2, 9}} {
				x := random(ops.Type{DType: d, Shape: s}, 4)
				dims := append([]int{}, s...)
				dims[axis] = 13
				idx := indices(ops.S32, 9, dims...)
				out := typ(d, dims...)
				got := run(t, target, instr(ops.TakeAlongAxis, out, []int{axis}), x, idx)
				same(t, describe(ops.TakeAlongAxis, x.typ), got, moved(out, x, 0, func(c []int) int {
					at := append([]int{}, c...)
					at[axis] = int(idx.n[flat(dims, c)])
					return flat(s, at)
				}))
			}
		}
	})
}

func TestGather(t *testing.T) {
	forTargets(t, func(t *testing.T, target *Target) {
		for _, d := range gatherTypes {
			s := ops.Shape{5, 6, 8}
			x := random(ops.Type{DType: d, Shape: s}, 5)
			for _, axes := range [][]int{{0}, {2}, {0, 1}, {2, 0}, {0, 1, 2}} {
				idx := indices(ops.S64, 5, 3, 4, len(axes))
				out := ops.Type{DType: d, Shape: ops.Shape{3, 4}}
				for i, n := range s {
					if !in(axes, i) {
						out.Shape = append(out.Shape, n)
					}
				}
				got := run(t, target, instr(ops.Gather, out, axes), x, idx)
				same(t, describe(ops.Gather, x.typ, idx.typ), got, moved(out, x, 0, func(c []int) int {
					at, rest := make([]int, 3), c[2:]
					for i := range at {
						if !in(axes, i) {
							at[i], rest = rest[0], rest[1:]
						}
					}
					for k, a := range axes {
						at[a] = int(idx.n[(c[0]*4+c[1])*len(axes)+k])
					}
					return flat(s, at)
				}))
			}
		}
	})
}

// Indices that no check has seen stay within the tensor.
func TestIndicesAreBounded(t *testing.T) {
	forTargets(t, func(t *testing.T, target *Target) {
		x := random(typ(ops.F32, 5), 6)
		for _, d := range []ops.DType{ops.S8, ops.S32, ops.S64} {
			idx := tensor{typ: typ(d, 4), n: []int64{-1, 5, 3, 127}}
			got := run(t, target, instr(ops.Take, typ(ops.F32, 4), []int{0}), x, idx)
			same(t, "take", got, tensor{typ: got.typ, f: []float64{x.f[0], x.f[4], x.f[3], x.f[4]}})
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
