package elementwise_test

import (
	"math"
	"testing"

	"nxvk/ops"
	"nxvk/synth/codegen"
	"nxvk/synth/lowering"
	"nxvk/synth/synthtest"
)

func TestBroadcastPairs(t *testing.T) {
	synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
		for _, p := range synthtest.Pairs {
			for _, d := range []ops.DType{ops.F32, ops.S64, ops.U8, ops.BF16} {
				space, err := ops.Broadcast(p[0], p[1])
				if err != nil {
					t.Fatal(err)
				}
				x, y := synthtest.Random(ops.Type{DType: d, Shape: p[0]}, 1), synthtest.Random(ops.Type{DType: d, Shape: p[1]}, 2)
				out := ops.Type{DType: d, Shape: space}
				got := synthtest.Run(t, target, synthtest.Instr(ops.Subtract, out), x, y)
				want := synthtest.Tensor{Typ: out}
				synthtest.Each(space, func(_ int, c []int) {
					v := x.At(synthtest.Flat(p[0], c)) - y.At(synthtest.Flat(p[1], c))
					if d.IsInteger() {
						want.N = append(want.N, synthtest.Wrap(d, int64(v)))
					} else {
						want.F = append(want.F, v)
					}
				})
				synthtest.Same(t, synthtest.Describe(ops.Subtract, x.Typ, y.Typ), got, want)
			}
		}
	})
}

// Every type computes by widening, and results wrap to their width.
func TestTypes(t *testing.T) {
	synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
		for _, d := range ops.DTypes() {
			if d.IsComplex() {
				continue // TestComplex
			}
			x, y := synthtest.Random(synthtest.Type(d, 9), 3), synthtest.Random(synthtest.Type(d, 9), 4)
			got := synthtest.Run(t, target, synthtest.Instr(ops.Multiply, x.Typ), x, y)
			want := synthtest.Tensor{Typ: x.Typ}
			for i := range 9 {
				v := x.At(i) * y.At(i)
				if d.IsInteger() {
					want.N = append(want.N, synthtest.Wrap(d, int64(v)))
				} else {
					want.F = append(want.F, codeOr(d, v))
				}
			}
			synthtest.Same(t, synthtest.Describe(ops.Multiply, x.Typ), got, want)
		}
	})
}

// codeOr rounds x to the type.
func codeOr(d ops.DType, x float64) float64 {
	switch d {
	case ops.F64:
		return x
	case ops.F32:
		return float64(float32(x))
	}
	return synthtest.CodeValue(d, synthtest.Nearest(d, x))
}

func TestCompareSelectClip(t *testing.T) {
	synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
		x := synthtest.Tensor{Typ: synthtest.Type(ops.F32, 5), F: []float64{-1, 0, 2, math.NaN(), math.Inf(1)}}
		y := synthtest.Tensor{Typ: synthtest.Type(ops.S32, 5), N: []int64{0, 0, 2, 1, 7}}
		b := synthtest.Type(ops.U8, 5)
		synthtest.Same(t, "less", synthtest.Run(t, target, synthtest.Instr(ops.Less, b), x, y), synthtest.Tensor{Typ: b, N: []int64{1, 0, 0, 0, 0}})
		synthtest.Same(t, "not_equal", synthtest.Run(t, target, synthtest.Instr(ops.NotEqual, b), x, y), synthtest.Tensor{Typ: b, N: []int64{1, 0, 0, 1, 1}})
		synthtest.Same(t, "and", synthtest.Run(t, target, synthtest.Instr(ops.LogicalAnd, b), x, y), synthtest.Tensor{Typ: b, N: []int64{0, 0, 1, 1, 1}})
		one := synthtest.Tensor{Typ: synthtest.Type(ops.F32), F: []float64{10}, Lit: true}
		synthtest.Same(t, "select", synthtest.Run(t, target, synthtest.Instr(ops.Select, x.Typ), y, x, one),
			synthtest.Tensor{Typ: x.Typ, F: []float64{10, 10, 2, math.NaN(), math.Inf(1)}})
		lo := synthtest.Tensor{Typ: synthtest.Type(ops.S32), N: []int64{0}, Lit: true}
		hi := synthtest.Tensor{Typ: synthtest.Type(ops.F32), F: []float64{1.5}}
		synthtest.Same(t, "clip", synthtest.Run(t, target, synthtest.Instr(ops.Clip, x.Typ), x, lo, hi),
			synthtest.Tensor{Typ: x.Typ, F: []float64{0, 0, 1.5, 0, 1.5}}) // NaN is the lower bound, as in Nx
	})
}

// Every code of the narrow floats reads as its value and is written back.
func TestNarrowFloats(t *testing.T) {
	for d := range codegen.Formats {
		n := 1 << codegen.Formats[d].Bits
		x := synthtest.Tensor{Typ: synthtest.Type(d, n)}
		for c := range n {
			x.F = append(x.F, synthtest.CodeValue(d, c))
		}
		wide := synthtest.Run(t, synthtest.GPU, synthtest.Instr(ops.AsType, synthtest.Type(ops.F32, n)), x)
		synthtest.Same(t, d.String()+" to f32", wide, x)
		synthtest.Same(t, "f32 to "+d.String(), synthtest.Run(t, synthtest.GPU, synthtest.Instr(ops.AsType, synthtest.Type(d, n)), wide), x)
	}
}

// Numbers between the codes, and beyond them, round from f32 and from f64 as Nx
// rounds them.
func TestNarrowFloatRounding(t *testing.T) {
	xs := []float64{0, math.Copysign(0, -1), 1e-45, 1e-30, 448, 464, 465, 479, 480, 1e6, 65504, 65519, 65520, 1e30, math.Inf(1), math.Inf(-1), math.NaN(),
		3.3895e38, math.MaxFloat32, math.SmallestNonzeroFloat32}
	for d := range codegen.Formats {
		for c := 0; c < 1<<(codegen.Formats[d].Bits-1)-2; c += 1 + 7*(codegen.Formats[d].Bits/16) {
			a, b := synthtest.CodeValue(d, c), synthtest.CodeValue(d, c+1)
			if b == b && !math.IsInf(b, 0) {
				m := (a + b) / 2
				xs = append(xs, m, -m, math.Nextafter(m, 0), math.Nextafter(m, math.Inf(1)),
					float64(math.Nextafter32(float32(m), 0)), a)
			}
		}
	}
	for d := range codegen.Formats {
		for _, from := range []ops.DType{ops.F32, ops.F64} {
			x, want := synthtest.Tensor{Typ: synthtest.Type(from, len(xs))}, synthtest.Tensor{Typ: synthtest.Type(d, len(xs))}
			for _, v := range xs {
				v = codeOr(from, v)
				x.F = append(x.F, v)
				want.F = append(want.F, codeOr(d, v))
			}
			synthtest.Same(t, from.String()+" to "+d.String(), synthtest.Run(t, synthtest.GPU, synthtest.Instr(ops.AsType, want.Typ), x), want)
		}
	}
}

// Floats truncate and wrap, NaN is 0, infinities are the extremes.
func TestFloatToInt(t *testing.T) {
	xs := []float64{0, 0.9, -0.9, 1.5, -2.5, 127.9, 128, 255, 256, 300, -1, -129, 32768, 65536, 65537,
		1 << 30, 1 << 31, 1<<31 + 4096, -(1 << 31), 1 << 32, 3 << 40, 1 << 62, 1 << 63, -(1 << 63), 1e-40, 5e9, -5e9}
	synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
		for _, from := range []ops.DType{ops.F32, ops.F64, ops.BF16} {
			for _, to := range ops.DTypes() {
				if !to.IsInteger() {
					continue
				}
				n := len(xs) + 3
				x, want := synthtest.Tensor{Typ: synthtest.Type(from, n)}, synthtest.Tensor{Typ: synthtest.Type(to, n)}
				for _, v := range xs {
					v = codeOr(from, v)
					x.F = append(x.F, v)
					i := int64(0)
					if math.Abs(v) < 1<<63 {
						i = int64(v)
					} else {
						i = math.MinInt64 // 2^63 and -2^63 have the same low bits
					}
					want.N = append(want.N, synthtest.Wrap(to, i))
				}
				lo, hi := codegen.IntegerLimits(to)
				x.F = append(x.F, math.NaN(), math.Inf(-1), math.Inf(1))
				want.N = append(want.N, 0, synthtest.Wrap(to, int64(lo)), synthtest.Wrap(to, int64(hi)))
				synthtest.Same(t, from.String()+" to "+to.String(), synthtest.Run(t, target, synthtest.Instr(ops.AsType, want.Typ), x), want)
			}
		}
	})
}

func TestCreate(t *testing.T) {
	synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
		for _, d := range []ops.DType{ops.F32, ops.S8, ops.U64, ops.F16} {
			out := synthtest.Type(d, 3, 4, 5)
			want := synthtest.Tensor{Typ: out}
			eye := synthtest.Tensor{Typ: out}
			flatIdx := synthtest.Tensor{Typ: out}
			put := func(x *synthtest.Tensor, v int) {
				if d.IsInteger() {
					x.N = append(x.N, synthtest.Wrap(d, int64(v)))
				} else {
					x.F = append(x.F, float64(v))
				}
			}
			synthtest.Each(out.Shape, func(i int, c []int) {
				put(&want, c[1])
				put(&flatIdx, i)
				put(&eye, map[bool]int{true: 1}[c[1] == c[2]])
			})
			synthtest.Same(t, "iota", synthtest.Run(t, target, synthtest.Instr(ops.Iota, out, []int{1})), want)
			synthtest.Same(t, "flat iota", synthtest.Run(t, target, synthtest.Instr(ops.Iota, out, []int{-1})), flatIdx)
			synthtest.Same(t, "eye", synthtest.Run(t, target, synthtest.Instr(ops.Eye, out)), eye)
			seven := synthtest.Tensor{Typ: synthtest.Type(d), F: []float64{7}, Lit: true}
			if d.IsInteger() {
				seven.F, seven.N = nil, []int64{7}
			}
			for _, v := range synthtest.Run(t, target, synthtest.Instr(ops.Constant, out), seven).N {
				if v != 7 {
					t.Errorf("constant: got %d, want 7", v)
				}
			}
		}
	})
}
