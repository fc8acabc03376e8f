package synth

import (
	"testing"

	"nxvk/ops"
)

// polynomial is a chain of operations on complex and real numbers, and what is
// real of it: all that a number of either kind may become.
func (g *sketch) polynomial(z, x ops.Operand) (value, modulus ops.Operand) {
	d := g.typeOf(z).DType
	f := func(op ops.Op, args ...any) ops.Operand { return g.do(op, d, args...) }
	w := f(ops.Add, x, f(ops.Multiply, g.complex(0, 1), x)) // as Nx makes a complex number of real ones
	w = f(ops.Divide, f(ops.Multiply, w, f(ops.Conjugate, z)), g.complex(2, 1))
	w = f(ops.Subtract, f(ops.Multiply, w, w), f(ops.AsType, x))
	im, re := g.do(ops.Imag, d.Real(), w), g.do(ops.RealPart, d.Real(), w)
	w = f(ops.Select, g.do(ops.Less, ops.U8, re, im), w, z)
	return w, g.do(ops.Abs, d.Real(), f(ops.Multiply, w, g.num(ops.F32, 0.5)))
}

// A chain of operations on complex numbers, and of those between them and real ones,
// is one kernel, with broadcasts and views.
func TestFuseComplex(t *testing.T) {
	forTargets(t, func(t *testing.T, target *Target) {
		for _, d := range []ops.DType{ops.C64, ops.C128} {
			for _, shape := range []ops.Shape{{6, 8}, {5, 7}, {3, 1, 4}} {
				g := newSketch(t)
				z := g.do(ops.Reverse, d, g.param(d, shape...), attrs{{0}})
				w, abs := g.polynomial(z, g.param(d.Real(), shape[len(shape)-1]))
				g.keep(g.do(ops.Transpose, d, w, attrs{[]int{1, 0, 2}[:len(shape)]}), abs)
				wantUnits(t, g.check(target, 1), 2) // the transposition is kept

				g = newSketch(t)
				w, abs = g.polynomial(g.param(d, shape...), g.param(d.Real(), shape...))
				g.keep(w, abs)
				wantUnits(t, g.check(target, 2), 1)
			}
		}
	})
}

// Sums of complex numbers take in what they fold and what becomes of them, and rows
// are loaded once.
func TestFuseComplexReduction(t *testing.T) {
	forTargets(t, func(t *testing.T, target *Target) {
		for _, d := range []ops.DType{ops.C64, ops.C128} {
			for _, shape := range []ops.Shape{{5, 256}, {3, 1030}, {3, 7}, {8, 24}, {70, 4}} {
				for axis := range shape {
					g := newSketch(t)
					z, x := g.param(d, shape...), g.param(d.Real(), shape...)
					e := g.do(ops.Multiply, d, g.do(ops.Conjugate, d, z), g.do(ops.Tanh, d.Real(), x))
					over := attrs{{axis}, {0}}
					s, n := g.do(ops.Sum, d, e, over), g.do(ops.Sum, d.Real(), x, over)
					g.keep(g.do(ops.Abs, d.Real(), g.do(ops.Add, d, s, n)), s)
					wantUnits(t, g.check(target, 3), 1)
				}
			}
			for _, n := range []int{3, 12, 130, 515} {
				g := newSketch(t)
				z := g.param(d, 12, n)
				mean := g.do(ops.Multiply, d, g.do(ops.Sum, d, z, attrs{{1}, {1}}), g.num(ops.F32, 1/float64(n)))
				c := g.do(ops.Subtract, d, z, mean)
				g.keep(g.do(ops.Add, d, c, g.do(ops.Product, d, c, attrs{{1}, {1}})))
				wantUnits(t, g.check(target, 4), 1)
			}
		}
	})
}
