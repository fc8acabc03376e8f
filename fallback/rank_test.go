package fallback

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"nxvk/ops"
)

// lines are numbers with many equal ones, both zeros, infinities and NaN.
func lines(n int, seed uint64) []float64 {
	r := rand.New(rand.NewPCG(seed, 1))
	odd := []float64{0, math.Copysign(0, -1), nan, inf, -inf, 0x1p-149, -0x1p-149, math.MaxFloat32}
	xs := make([]float64, n)
	for i := range xs {
		switch r.IntN(4) {
		case 0:
			xs[i] = odd[r.IntN(len(odd))]
		case 1:
			xs[i] = float64(r.IntN(9) - 4)
		default:
			xs[i] = float64(float32(r.NormFloat64() * 1e3))
		}
	}
	return xs
}

// before is the order of Nx: NaN is larger than everything.
func before(x, y float64) int {
	if x != x || y != y {
		return cmp.Compare(truth[int64](x != x), truth[int64](y != y))
	}
	return cmp.Compare(x, y+0) // -0 and 0 are equal to both
}

// Sorting is a stable sort by comparison, whatever the length and the direction,
// to the sign of zeros.
func TestRanks(t *testing.T) {
	for _, n := range []int{1, 2, 7, 64, fewRanked - 1, fewRanked, 257, 5000} {
		xs := lines(n, uint64(n))
		for _, descending := range []bool{false, true} {
			want := ops.AllAxes(n)
			slices.SortStableFunc(want, func(i, j int) int {
				if descending {
					i, j = j, i
				}
				return before(xs[i], xs[j])
			})
			ranks(nil, xs, descending, func(items []ranked) {
				for i, x := range items {
					if x.at != want[i] {
						t.Fatalf("%d elements, descending %v: place %d has %v, want %v", n, descending, i, xs[x.at], xs[want[i]])
					}
				}
			})
		}
	}
}

func TestRanksIntegers(t *testing.T) {
	signed := []int64{3, math.MinInt64, -1, math.MaxInt64, 0, 3, -1 << 40}
	ranks(nil, signed, false, func(items []ranked) {
		got := []int{}
		for _, x := range items {
			got = append(got, x.at)
		}
		if want := []int{1, 6, 2, 4, 0, 5, 3}; !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
	unsigned := []uint64{1 << 63, 0, math.MaxUint64, 7}
	ranks(nil, unsigned, true, func(items []ranked) {
		if items[0].at != 2 || items[1].at != 0 || items[2].at != 3 || items[3].at != 1 {
			t.Errorf("got %v", items)
		}
	})
}

// The extreme of one long line, which is searched in parts, is that of a loop.
func TestLongArgReduce(t *testing.T) {
	for _, n := range []int{block - 1, block, 3*block + 17} {
		xs := lines(n, 5)
		for i := range xs {
			if xs[i] != xs[i] || math.IsInf(xs[i], 0) {
				xs[i] = 1
			}
		}
		xs[n/3], xs[n/2], xs[n-2], xs[5] = 1e300, 1e300, 1e300, -1e300
		v := vec(ops.F64, xs...)
		out := func(op ops.Op, last int) float64 {
			return numbers(run(t, op, [][]int{{-1}, {0}, {last}}, typ(ops.S64), v))[0]
		}
		for _, c := range []struct{ got, want float64 }{
			{out(ops.ArgMax, 0), float64(n / 3)}, {out(ops.ArgMax, 1), float64(n - 2)},
			{out(ops.ArgMin, 0), 5}, {out(ops.ArgMin, 1), 5},
		} {
			if c.got != c.want {
				t.Errorf("%d elements: got %v, want %v", n, c.got, c.want)
			}
		}
		v = vec(ops.F64, append(xs[:n-3:n-3], nan, 1, 2)...)
		if got := out(ops.ArgMin, 0); got != float64(n-3) {
			t.Errorf("the last NaN of %d elements: got %v, want %d", n, got, n-3)
		}
	}
}

// The typed loops give what the functions of the class give and storing rounds.
func TestUnaryLoops(t *testing.T) {
	values := append(lines(400, 9), 88.8, -104, 709.5, 0.3, 0x1p-11, -0x1p-9, 20, -20, 0, math.Copysign(0, -1), inf, -inf)
	for op := ops.Op(0); op < ops.Count; op++ {
		for _, d := range []ops.DType{ops.F32, ops.F64, ops.S32, ops.S64} {
			x := vec(d, values...)
			result := x.Type
			if op.Info().Result == ops.BoolType {
				result.DType = ops.U8
			}
			out := newValue(result)
			in := &ops.Instr{Op: op, Outs: []ops.Result{{Type: result}}}
			if op.Info().Arity != 1 || !fastOne(&call{Instr: in}, []Value{x}, &out) {
				continue
			}
			slow := newValue(result)
			byElement(t, in, []Value{x}, &slow)
			for i, want := range numbers(slow) {
				if got := numbers(out)[i]; math.Float64bits(got) != math.Float64bits(want) {
					t.Errorf("%v of %v %v: got %v, want %v", op, d, numbers(x)[i], got, want)
				}
			}
		}
	}
}

// A loop over many elements does to each what the function of one does.
func TestEach(t *testing.T) {
	values := append(lines(400, 9), 88.8, -104, 709.5, 0.3, 0x1p-11, -0x1p-9, 20, -20, 0x1p52+1, 0x1p51+0.5, -0x1.fffffffffffffp-2,
		0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.NaN(), 0x1p-1074, -math.MaxFloat64, 1e5, 1e9, 1e300)
	for op, f := range floatScalars {
		if f.one == nil || f.each == nil {
			continue
		}
		got := slices.Clone(values)
		f.each(got)
		for i, x := range values {
			if want := f.one(x); math.Float64bits(got[i]) != math.Float64bits(want) && (got[i] == got[i] || want == want) {
				t.Errorf("%v of %v is %v in a loop, %v alone", ops.Op(op), x, got[i], want)
			}
		}
	}
}

// Small divisions, which go another way, and all others are those of Go.
func TestIntegerDivision(t *testing.T) {
	numbers := []int64{0, 1, 2, 3, 7, 1000, 1<<31 - 1, 1 << 31, 1<<32 - 1, 1 << 32, 1<<62 + 1, math.MaxInt64, math.MinInt64}
	for _, x := range numbers {
		numbers = append(numbers, -x)
	}
	for _, x := range numbers {
		for _, y := range numbers {
			var q, r [1]int64
			quotLoop(q[:], []int64{x}, []int64{y})
			remLoop(r[:], []int64{x}, []int64{y})
			if q[0] != quotient(x, y) || r[0] != remainder(x, y) {
				t.Errorf("%d / %d is %d, %d left", x, y, q[0], r[0])
			}
		}
	}
}

// One element a place, in every width and with rows around it.
func TestTakeSingle(t *testing.T) {
	for _, d := range ops.DTypes() {
		m := tensor(d, ops.Shape{2, 3}, 0, 1, 2, 3, 2, 1)
		idx, n := vec(ops.S32, 2, 0, 0, 1), numbers(m)
		want(t, run(t, ops.Take, [][]int{{1}}, typ(d, 2, 4), m, idx), n[2], n[0], n[0], n[1], n[5], n[3], n[3], n[4])
		pairs := tensor(ops.S64, ops.Shape{3, 2}, 1, 0, 0, 2, 1, 2)
		want(t, run(t, ops.Gather, [][]int{{0, 1}}, typ(d, 3), m, pairs), n[3], n[2], n[5])
	}
}
