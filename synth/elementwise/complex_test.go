package elementwise_test

import (
	"math"
	"math/cmplx"
	"slices"
	"testing"

	"nxvk/ops"
	"nxvk/synth/lowering"
	"nxvk/synth/synthtest"
)

// Operations whose results are exact, on all pairs of shapes, mixed with real
// operands.
func TestComplex(t *testing.T) {
	operations := map[ops.Op]func(x, y complex128) complex128{
		ops.Add:      func(x, y complex128) complex128 { return x + y },
		ops.Multiply: func(x, y complex128) complex128 { return x * y },
	}
	synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
		for _, p := range synthtest.Pairs {
			for _, d := range [][3]ops.DType{{ops.C64, ops.C64, ops.C64}, {ops.C128, ops.C128, ops.C128},
				{ops.C64, ops.S32, ops.C64}, {ops.F16, ops.C64, ops.C64}, {ops.C64, ops.F64, ops.C128}} {
				space, err := ops.Broadcast(p[0], p[1])
				if err != nil {
					t.Fatal(err)
				}
				x, y := synthtest.Random(ops.Type{DType: d[0], Shape: p[0]}, 1), synthtest.Random(ops.Type{DType: d[1], Shape: p[1]}, 2)
				out := ops.Type{DType: d[2], Shape: space}
				for op, f := range operations {
					if len(space) != 2 && op == ops.Multiply {
						continue
					}
					var want []complex128
					synthtest.Each(space, func(_ int, c []int) {
						want = append(want, f(x.Number(synthtest.Flat(p[0], c)), y.Number(synthtest.Flat(p[1], c))))
					})
					synthtest.Same(t, synthtest.Describe(op, x.Typ, y.Typ), synthtest.Run(t, target, synthtest.Instr(op, out), x, y), synthtest.Numbers(out, want...))
				}
			}
		}
	})
}

// Results that are real, truth values, and conversions both ways.
func TestComplexAndReal(t *testing.T) {
	zs := []complex128{3 + 4i, -2, 5i, 0, complex(math.NaN(), 1), complex(1, math.Inf(-1)), -1.5 - 2.5i}
	n := len(zs)
	synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
		for _, d := range []ops.DType{ops.C64, ops.C128} {
			x := synthtest.Numbers(synthtest.Type(d, n), zs...)
			check := func(op ops.Op, out ops.DType, f func(z complex128) complex128) {
				t.Helper()
				var want []complex128
				for _, z := range zs {
					want = append(want, f(z))
				}
				o := synthtest.Type(out, n)
				w := synthtest.Numbers(o, want...)
				if out.IsInteger() {
					for _, v := range w.F {
						w.N = append(w.N, int64(v))
					}
					w.F = nil
				}
				synthtest.Same(t, synthtest.Describe(op, x.Typ, o), synthtest.Run(t, target, synthtest.Instr(op, o), x), w)
			}
			truth := func(f func(z complex128) bool) func(z complex128) complex128 {
				return func(z complex128) complex128 {
					if f(z) {
						return 1
					}
					return 0
				}
			}
			check(ops.RealPart, d.Real(), func(z complex128) complex128 { return complex(synthtest.Re(z), 0) })
			check(ops.Imag, d.Real(), func(z complex128) complex128 { return complex(imag(z), 0) })
			check(ops.Conjugate, d, cmplx.Conj)
			check(ops.Negate, d, func(z complex128) complex128 { return -z })
			//lint:ignore SA4000 NaN differs from itself
			check(ops.IsNaN, ops.U8, truth(func(z complex128) bool { return z != z }))
			check(ops.IsInfinity, ops.U8, truth(cmplx.IsInf))
			check(ops.LogicalNot, ops.U8, truth(func(z complex128) bool { return z == 0 }))
			check(ops.AsType, ops.S16, func(z complex128) complex128 {
				//lint:ignore SA4000 NaN differs from itself
				if z != z {
					return 0
				}
				return complex(math.Trunc(synthtest.Re(z)), 0)
			})
			check(ops.AsType, ops.BF16, func(z complex128) complex128 { return complex(synthtest.Re(z), 0) })
			equal := synthtest.Run(t, target, synthtest.Instr(ops.Equal, synthtest.Type(ops.U8, n)), x, x)
			synthtest.Same(t, "equal", equal, synthtest.Tensor{Typ: equal.Typ, N: []int64{1, 1, 1, 1, 0, 1, 1}})
		}
	})
}

// Truth values of complex numbers choose; literals are complex and real.
func TestComplexSelect(t *testing.T) {
	synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
		p := synthtest.Numbers(synthtest.Type(ops.C64, 4), 0, 1i, 2, 0)
		x := synthtest.Numbers(synthtest.Type(ops.C64, 4), 1+2i, 3+4i, 5+6i, 7+8i)
		y := synthtest.Numbers(synthtest.Type(ops.C64), -1-1i)
		y.Lit = true
		got := synthtest.Run(t, target, synthtest.Instr(ops.Select, x.Typ), p, x, y)
		synthtest.Same(t, "select", got, synthtest.Numbers(x.Typ, -1-1i, 3+4i, 5+6i, -1-1i))
		got = synthtest.Run(t, target, synthtest.Instr(ops.Constant, x.Typ), y)
		synthtest.Same(t, "constant", got, synthtest.Numbers(x.Typ, -1-1i, -1-1i, -1-1i, -1-1i))
		wide := synthtest.Type(ops.C128, 2, 3)
		synthtest.Same(t, "iota", synthtest.Run(t, target, synthtest.Instr(ops.Iota, wide, []int{1})), synthtest.Numbers(wide, 0, 1, 2, 0, 1, 2))
		synthtest.Same(t, "eye", synthtest.Run(t, target, synthtest.Instr(ops.Eye, synthtest.Type(ops.C64, 2, 2))), synthtest.Numbers(synthtest.Type(ops.C64, 2, 2), 1, 0, 0, 1))
		padded := synthtest.Type(ops.C64, 6)
		synthtest.Same(t, "pad", synthtest.Run(t, target, synthtest.Instr(ops.Pad, padded, []int{1, 1, 0}), x, y),
			synthtest.Numbers(padded, -1-1i, 1+2i, 3+4i, 5+6i, 7+8i, -1-1i))
	})
}

// Sums and products of whole numbers, whose order does not matter, along every
// kind of axes; and truth values.
func TestComplexReduce(t *testing.T) {
	shapes := []struct {
		s    ops.Shape
		axes []int
	}{{ops.Shape{7}, []int{0}}, {ops.Shape{300}, []int{0}}, {ops.Shape{3, 70}, []int{1}}, {ops.Shape{70, 4}, []int{0}},
		{ops.Shape{9, 3, 5}, []int{0, 2}}, {ops.Shape{2, 3000}, []int{1}}}
	synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
		for _, c := range shapes {
			for _, d := range []ops.DType{ops.C64, ops.C128} {
				x := synthtest.Random(ops.Type{DType: d, Shape: c.s}, 5)
				unit := synthtest.Tensor{Typ: x.Typ}
				for i := range x.Typ.Size() { // of powers of i the product is exact
					z := [...]complex128{1, 1i, -1, -1i}[int(math.Abs(x.F[2*i]))%4]
					unit.F = append(unit.F, synthtest.Re(z), imag(z))
				}
				out := synthtest.Type(d)
				for i, n := range c.s {
					if !slices.Contains(c.axes, i) {
						out.Shape = append(out.Shape, n)
					}
				}
				sums := make([]complex128, out.Size())
				products := slices.Repeat([]complex128{1}, out.Size())
				synthtest.Each(c.s, func(i int, at []int) {
					var kept []int
					for k, v := range at {
						if !slices.Contains(c.axes, k) {
							kept = append(kept, v)
						}
					}
					o := synthtest.Flat(out.Shape, kept)
					sums[o] += x.Number(i)
					products[o] *= unit.Number(i)
				})
				attrs := [][]int{c.axes, {0}}
				synthtest.Same(t, synthtest.Describe(ops.Sum, x.Typ), synthtest.Run(t, target, synthtest.Instr(ops.Sum, out, attrs...), x), synthtest.Numbers(out, sums...))
				synthtest.Same(t, synthtest.Describe(ops.Product, x.Typ), synthtest.Run(t, target, synthtest.Instr(ops.Product, out, attrs...), unit),
					synthtest.Numbers(out, products...))
				truth := out
				truth.DType = ops.U8
				whole := synthtest.Run(t, target, synthtest.Instr(ops.All, truth, attrs...), unit)
				for i, b := range whole.N {
					if b != 1 {
						t.Errorf("all of %v: element %d is %d", x.Typ, i, b)
					}
				}
				none := synthtest.Tensor{Typ: x.Typ, F: make([]float64, len(x.F))}
				none.F[len(none.F)-1] = 2
				some := synthtest.Run(t, target, synthtest.Instr(ops.Any, truth, attrs...), none)
				for i, b := range some.N {
					if (b != 0) != (i == len(some.N)-1) {
						t.Errorf("any of %v: element %d is %d", x.Typ, i, b)
					}
				}
			}
		}
	})
}
