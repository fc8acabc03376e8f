package synth

import (
	"math"
	"math/cmplx"
	"slices"
	"testing"
	"unsafe"

	"nxvk/ops"
)

// number is element i as a complex number.
func (x tensor) number(i int) complex128 {
	if x.typ.DType.IsComplex() {
		return complex(x.f[2*i], x.f[2*i+1])
	}
	return complex(x.at(i), 0)
}

// numbers makes a tensor of a type of complex numbers, or of their real parts.
func numbers(t ops.Type, zs ...complex128) tensor {
	x := tensor{typ: t}
	for _, z := range zs {
		if t.DType.IsInteger() {
			x.n = append(x.n, int64(re(z)))
			continue
		}
		x.f = append(x.f, re(z))
		if t.DType.IsComplex() {
			x.f = append(x.f, imag(z))
		}
	}
	return x
}

// Operations whose results are exact, on all pairs of shapes, mixed with real
// operands.
func TestComplex(t *testing.T) {
	operations := map[ops.Op]func(x, y complex128) complex128{
		ops.Add:      func(x, y complex128) complex128 { return x + y },
		ops.Multiply: func(x, y complex128) complex128 { return x * y },
	}
	forTargets(t, func(t *testing.T, target *Target) {
		for _, p := range pairs {
			for _, d := range [][3]ops.DType{{ops.C64, ops.C64, ops.C64}, {ops.C128, ops.C128, ops.C128},
				{ops.C64, ops.S32, ops.C64}, {ops.F16, ops.C64, ops.C64}, {ops.C64, ops.F64, ops.C128}} {
				space, err := ops.Broadcast(p[0], p[1])
				if err != nil {
					t.Fatal(err)
				}
				x, y := random(ops.Type{DType: d[0], Shape: p[0]}, 1), random(ops.Type{DType: d[1], Shape: p[1]}, 2)
				out := ops.Type{DType: d[2], Shape: space}
				for op, f := range operations {
					if len(space) != 2 && op == ops.Multiply {
						continue
					}
					var want []complex128
					each(space, func(_ int, c []int) {
						want = append(want, f(x.number(flat(p[0], c)), y.number(flat(p[1], c))))
					})
					same(t, describe(op, x.typ, y.typ), run(t, target, instr(op, out), x, y), numbers(out, want...))
				}
			}
		}
	})
}

// Results that are real, truth values, and conversions both ways.
func TestComplexAndReal(t *testing.T) {
	zs := []complex128{3 + 4i, -2, 5i, 0, complex(math.NaN(), 1), complex(1, math.Inf(-1)), -1.5 - 2.5i}
	n := len(zs)
	forTargets(t, func(t *testing.T, target *Target) {
		for _, d := range []ops.DType{ops.C64, ops.C128} {
			x := numbers(typ(d, n), zs...)
			check := func(op ops.Op, out ops.DType, f func(z complex128) complex128) {
				t.Helper()
				var want []complex128
				for _, z := range zs {
					want = append(want, f(z))
				}
				o := typ(out, n)
				w := numbers(o, want...)
				if out.IsInteger() {
					for _, v := range w.f {
						w.n = append(w.n, int64(v))
					}
					w.f = nil
				}
				same(t, describe(op, x.typ, o), run(t, target, instr(op, o), x), w)
			}
			truth := func(f func(z complex128) bool) func(z complex128) complex128 {
				return func(z complex128) complex128 {
					if f(z) {
						return 1
					}
					return 0
				}
			}
			check(ops.RealPart, d.Real(), func(z complex128) complex128 { return complex(re(z), 0) })
			check(ops.Imag, d.Real(), func(z complex128) complex128 { return complex(imag(z), 0) })
			check(ops.Conjugate, d, cmplx.Conj)
			check(ops.Negate, d, func(z complex128) complex128 { return -z })
			check(ops.IsNaN, ops.U8, truth(func(z complex128) bool { return z != z }))
			check(ops.IsInfinity, ops.U8, truth(cmplx.IsInf))
			check(ops.LogicalNot, ops.U8, truth(func(z complex128) bool { return z == 0 }))
			check(ops.AsType, ops.S16, func(z complex128) complex128 {
				if z != z {
					return 0
				}
				return complex(math.Trunc(re(z)), 0)
			})
			check(ops.AsType, ops.BF16, func(z complex128) complex128 { return complex(re(z), 0) })
			equal := run(t, target, instr(ops.Equal, typ(ops.U8, n)), x, x)
			same(t, "equal", equal, tensor{typ: equal.typ, n: []int64{1, 1, 1, 1, 0, 1, 1}})
		}
	})
}

// Truth values of complex numbers choose; literals are complex and real.
func TestComplexSelect(t *testing.T) {
	forTargets(t, func(t *testing.T, target *Target) {
		p := numbers(typ(ops.C64, 4), 0, 1i, 2, 0)
		x := numbers(typ(ops.C64, 4), 1+2i, 3+4i, 5+6i, 7+8i)
		y := numbers(typ(ops.C64), -1-1i)
		y.lit = true
		got := run(t, target, instr(ops.Select, x.typ), p, x, y)
		same(t, "select", got, numbers(x.typ, -1-1i, 3+4i, 5+6i, -1-1i))
		got = run(t, target, instr(ops.Constant, x.typ), y)
		same(t, "constant", got, numbers(x.typ, -1-1i, -1-1i, -1-1i, -1-1i))
		wide := typ(ops.C128, 2, 3)
		same(t, "iota", run(t, target, instr(ops.Iota, wide, []int{1})), numbers(wide, 0, 1, 2, 0, 1, 2))
		same(t, "eye", run(t, target, instr(ops.Eye, typ(ops.C64, 2, 2))), numbers(typ(ops.C64, 2, 2), 1, 0, 0, 1))
		padded := typ(ops.C64, 6)
		same(t, "pad", run(t, target, instr(ops.Pad, padded, []int{1, 1, 0}), x, y),
			numbers(padded, -1-1i, 1+2i, 3+4i, 5+6i, 7+8i, -1-1i))
	})
}

// re is the real part. The package has a function called real.
func re(z complex128) float64 { return (*[2]float64)(unsafe.Pointer(&z))[0] }

// Sums and products of whole numbers, whose order does not matter, along every
// kind of axes; and truth values.
func TestComplexReduce(t *testing.T) {
	shapes := []struct {
		s    ops.Shape
		axes []int
	}{{ops.Shape{7}, []int{0}}, {ops.Shape{300}, []int{0}}, {ops.Shape{3, 70}, []int{1}}, {ops.Shape{70, 4}, []int{0}},
		{ops.Shape{9, 3, 5}, []int{0, 2}}, {ops.Shape{2, 3000}, []int{1}}}
	forTargets(t, func(t *testing.T, target *Target) {
		for _, c := range shapes {
			for _, d := range []ops.DType{ops.C64, ops.C128} {
				x := random(ops.Type{DType: d, Shape: c.s}, 5)
				unit := tensor{typ: x.typ}
				for i := range x.typ.Size() { // of powers of i the product is exact
					z := [...]complex128{1, 1i, -1, -1i}[int(math.Abs(x.f[2*i]))%4]
					unit.f = append(unit.f, re(z), imag(z))
				}
				out := typ(d)
				for i, n := range c.s {
					if !slices.Contains(c.axes, i) {
						out.Shape = append(out.Shape, n)
					}
				}
				sums := make([]complex128, out.Size())
				products := slices.Repeat([]complex128{1}, out.Size())
				each(c.s, func(i int, at []int) {
					var kept []int
					for k, v := range at {
						if !slices.Contains(c.axes, k) {
							kept = append(kept, v)
						}
					}
					o := flat(out.Shape, kept)
					sums[o] += x.number(i)
					products[o] *= unit.number(i)
				})
				attrs := [][]int{c.axes, {0}}
				same(t, describe(ops.Sum, x.typ), run(t, target, instr(ops.Sum, out, attrs...), x), numbers(out, sums...))
				same(t, describe(ops.Product, x.typ), run(t, target, instr(ops.Product, out, attrs...), unit),
					numbers(out, products...))
				truth := out
				truth.DType = ops.U8
				whole := run(t, target, instr(ops.All, truth, attrs...), unit)
				for i, b := range whole.n {
					if b != 1 {
						t.Errorf("all of %v: element %d is %d", x.typ, i, b)
					}
				}
				none := tensor{typ: x.typ, f: make([]float64, len(x.f))}
				none.f[len(none.f)-1] = 2
				some := run(t, target, instr(ops.Any, truth, attrs...), none)
				for i, b := range some.n {
					if (b != 0) != (i == len(some.n)-1) {
						t.Errorf("any of %v: element %d is %d", x.typ, i, b)
					}
				}
			}
		}
	})
}
