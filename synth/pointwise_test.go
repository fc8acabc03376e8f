package synth

import (
	"math"
	"testing"

	"nxvk/ops"
)

// Shapes of pairs of operands: contiguous with and without a tail, scalars,
// rows, columns, strides that four does not divide, many dimensions.
var pairs = [][2]ops.Shape{
	{{}, {}}, {{1}, {1}}, {{3}, {3}}, {{4}, {4}}, {{257}, {257}}, {{1024}, {}}, {{}, {7}},
	{{5, 8}, {8}}, {{5, 8}, {5, 1}}, {{5, 7}, {7}}, {{5, 7}, {5, 1}}, {{1, 8}, {5, 1}},
	{{2, 1, 8}, {3, 1}}, {{2, 3, 4, 8}, {2, 1, 4, 1}}, {{2, 1, 3, 1, 5}, {4, 1, 2, 1}},
	{{2, 1, 2, 1, 2, 1, 2}, {1, 2, 1, 2, 1, 2, 1}},
}

func TestBroadcastPairs(t *testing.T) {
	forTargets(t, func(t *testing.T, target *Target) {
		for _, p := range pairs {
			for _, d := range []ops.DType{ops.F32, ops.S64, ops.U8, ops.BF16} {
				space, err := ops.Broadcast(p[0], p[1])
				if err != nil {
					t.Fatal(err)
				}
				x, y := random(ops.Type{DType: d, Shape: p[0]}, 1), random(ops.Type{DType: d, Shape: p[1]}, 2)
				out := ops.Type{DType: d, Shape: space}
				got := run(t, target, instr(ops.Subtract, out), x, y)
				want := tensor{typ: out}
				each(space, func(_ int, c []int) {
					v := x.at(flat(p[0], c)) - y.at(flat(p[1], c))
					if d.IsInteger() {
						want.n = append(want.n, wrap(d, int64(v)))
					} else {
						want.f = append(want.f, v)
					}
				})
				same(t, describe(ops.Subtract, x.typ, y.typ), got, want)
			}
		}
	})
}

// Every type computes by widening, and results wrap to their width.
func TestTypes(t *testing.T) {
	forTargets(t, func(t *testing.T, target *Target) {
		for _, d := range ops.DTypes() {
			if d.IsComplex() {
				continue // TestComplex
			}
			x, y := random(typ(d, 9), 3), random(typ(d, 9), 4)
			got := run(t, target, instr(ops.Multiply, x.typ), x, y)
			want := tensor{typ: x.typ}
			for i := range 9 {
				v := x.at(i) * y.at(i)
				if d.IsInteger() {
					want.n = append(want.n, wrap(d, int64(v)))
				} else {
					want.f = append(want.f, codeOr(d, v))
				}
			}
			same(t, describe(ops.Multiply, x.typ), got, want)
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
	return codeValue(d, nearest(d, x))
}

func TestCompareSelectClip(t *testing.T) {
	forTargets(t, func(t *testing.T, target *Target) {
		x := tensor{typ: typ(ops.F32, 5), f: []float64{-1, 0, 2, math.NaN(), math.Inf(1)}}
		y := tensor{typ: typ(ops.S32, 5), n: []int64{0, 0, 2, 1, 7}}
		b := typ(ops.U8, 5)
		same(t, "less", run(t, target, instr(ops.Less, b), x, y), tensor{typ: b, n: []int64{1, 0, 0, 0, 0}})
		same(t, "not_equal", run(t, target, instr(ops.NotEqual, b), x, y), tensor{typ: b, n: []int64{1, 0, 0, 1, 1}})
		same(t, "and", run(t, target, instr(ops.LogicalAnd, b), x, y), tensor{typ: b, n: []int64{0, 0, 1, 1, 1}})
		one := tensor{typ: typ(ops.F32), f: []float64{10}, lit: true}
		same(t, "select", run(t, target, instr(ops.Select, x.typ), y, x, one),
			tensor{typ: x.typ, f: []float64{10, 10, 2, math.NaN(), math.Inf(1)}})
		lo := tensor{typ: typ(ops.S32), n: []int64{0}, lit: true}
		hi := tensor{typ: typ(ops.F32), f: []float64{1.5}}
		same(t, "clip", run(t, target, instr(ops.Clip, x.typ), x, lo, hi),
			tensor{typ: x.typ, f: []float64{0, 0, 1.5, 0, 1.5}}) // NaN is the lower bound, as in Nx
	})
}

// Every code of the narrow floats reads as its value and is written back.
func TestNarrowFloats(t *testing.T) {
	for d := range formats {
		n := 1 << formats[d].bits
		x := tensor{typ: typ(d, n)}
		for c := range n {
			x.f = append(x.f, codeValue(d, c))
		}
		wide := run(t, gpu, instr(ops.AsType, typ(ops.F32, n)), x)
		same(t, d.String()+" to f32", wide, x)
		same(t, "f32 to "+d.String(), run(t, gpu, instr(ops.AsType, typ(d, n)), wide), x)
	}
}

// Numbers between the codes, and beyond them, round from f32 and from f64 as Nx
// rounds them.
func TestNarrowFloatRounding(t *testing.T) {
	xs := []float64{0, math.Copysign(0, -1), 1e-45, 1e-30, 448, 464, 465, 479, 480, 1e6, 65504, 65519, 65520, 1e30, math.Inf(1), math.Inf(-1), math.NaN(),
		3.3895e38, math.MaxFloat32, math.SmallestNonzeroFloat32}
	for d := range formats {
		for c := 0; c < 1<<(formats[d].bits-1)-2; c += 1 + 7*(formats[d].bits/16) {
			a, b := codeValue(d, c), codeValue(d, c+1)
			if b == b && !math.IsInf(b, 0) {
				m := (a + b) / 2
				xs = append(xs, m, -m, math.Nextafter(m, 0), math.Nextafter(m, math.Inf(1)),
					float64(math.Nextafter32(float32(m), 0)), a)
			}
		}
	}
	for d := range formats {
		for _, from := range []ops.DType{ops.F32, ops.F64} {
			x, want := tensor{typ: typ(from, len(xs))}, tensor{typ: typ(d, len(xs))}
			for _, v := range xs {
				v = codeOr(from, v)
				x.f = append(x.f, v)
				want.f = append(want.f, codeOr(d, v))
			}
			same(t, from.String()+" to "+d.String(), run(t, gpu, instr(ops.AsType, want.typ), x), want)
		}
	}
}

// Floats truncate and wrap, NaN is 0, infinities are the extremes.
func TestFloatToInt(t *testing.T) {
	xs := []float64{0, 0.9, -0.9, 1.5, -2.5, 127.9, 128, 255, 256, 300, -1, -129, 32768, 65536, 65537,
		1 << 30, 1 << 31, 1<<31 + 4096, -(1 << 31), 1 << 32, 3 << 40, 1 << 62, 1 << 63, -(1 << 63), 1e-40, 5e9, -5e9}
	forTargets(t, func(t *testing.T, target *Target) {
		for _, from := range []ops.DType{ops.F32, ops.F64, ops.BF16} {
			for _, to := range ops.DTypes() {
				if !to.IsInteger() {
					continue
				}
				n := len(xs) + 3
				x, want := tensor{typ: typ(from, n)}, tensor{typ: typ(to, n)}
				for _, v := range xs {
					v = codeOr(from, v)
					x.f = append(x.f, v)
					i := int64(0)
					if math.Abs(v) < 1<<63 {
						i = int64(v)
					} else {
						i = math.MinInt64 // 2^63 and -2^63 have the same low bits
					}
					want.n = append(want.n, wrap(to, i))
				}
				lo, hi := limits(to)
				x.f = append(x.f, math.NaN(), math.Inf(-1), math.Inf(1))
				want.n = append(want.n, 0, wrap(to, int64(lo)), wrap(to, int64(hi)))
				same(t, from.String()+" to "+to.String(), run(t, target, instr(ops.AsType, want.typ), x), want)
			}
		}
	})
}

func TestCreate(t *testing.T) {
	forTargets(t, func(t *testing.T, target *Target) {
		for _, d := range []ops.DType{ops.F32, ops.S8, ops.U64, ops.F16} {
			out := typ(d, 3, 4, 5)
			want := tensor{typ: out}
			eye := tensor{typ: out}
			flatIdx := tensor{typ: out}
			put := func(x *tensor, v int) {
				if d.IsInteger() {
					x.n = append(x.n, wrap(d, int64(v)))
				} else {
					x.f = append(x.f, float64(v))
				}
			}
			each(out.Shape, func(i int, c []int) {
				put(&want, c[1])
				put(&flatIdx, i)
				put(&eye, map[bool]int{true: 1}[c[1] == c[2]])
			})
			same(t, "iota", run(t, target, instr(ops.Iota, out, []int{1})), want)
			same(t, "flat iota", run(t, target, instr(ops.Iota, out, []int{-1})), flatIdx)
			same(t, "eye", run(t, target, instr(ops.Eye, out)), eye)
			seven := tensor{typ: typ(d), f: []float64{7}, lit: true}
			if d.IsInteger() {
				seven.f, seven.n = nil, []int64{7}
			}
			for _, v := range run(t, target, instr(ops.Constant, out), seven).n {
				if v != 7 {
					t.Errorf("constant: got %d, want 7", v)
				}
			}
		}
	})
}
