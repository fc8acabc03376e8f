package fallback

import (
	"bufio"
	"fmt"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"os"
	"testing"

	"nxvk/fallback/dense"
	"nxvk/ops"
)

// ofComplex is a function of one complex number.
func ofComplex(t *testing.T, op ops.Op, z complex128) complex128 {
	x := dense.New(typ(ops.C128))
	dense.View[complex128](x.Data)[0] = z
	return dense.View[complex128](run(t, op, nil, x.Type, x).Data)[0]
}

// principalRoot is the square root whose cut sees no sign of a zero imaginary part.
func principalRoot(z complex128) complex128 {
	if imag(z) == 0 {
		z = complex(real(z), 0)
	}
	return cmplx.Sqrt(z)
}

// TestComplexDigits compares with testdata/arc.txt, in units in the last place of
// the magnitude of the result.
func TestComplexDigits(t *testing.T) {
	f, err := os.Open("testdata/arc.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	worst, cases := 0.0, 0
	for lines := bufio.NewScanner(f); lines.Scan(); cases++ {
		var name string
		var x, y, u, v float64
		if _, err := fmt.Sscan(lines.Text(), &name, &x, &y, &u, &v); err != nil {
			t.Fatalf("%q: %v", lines.Text(), err)
		}
		op, _ := ops.Lookup(name)
		want := complex(u, v)
		got := ofComplex(t, op, complex(x, y))
		size := max(math.Abs(u), math.Abs(v))
		d := cmplx.Abs(got-want) / (math.Nextafter(size, math.Inf(1)) - size)
		if worst = max(worst, d); !(d <= 4) {
			t.Errorf("%s(%v) is %v, want %v: %.3g ULP", name, complex(x, y), got, want, d)
		}
	}
	t.Logf("%d cases, at worst %.2f ULP", cases, worst)
	if cases < 1000 {
		t.Errorf("only %d cases", cases)
	}
}

// formulas are those of Elixir's Complex, which say which branch is meant.
var formulas = map[ops.Op]func(z complex128) complex128{
	ops.Log:   cmplx.Log,
	ops.Log1p: func(z complex128) complex128 { return cmplx.Log(1 + z) },
	ops.Expm1: func(z complex128) complex128 { return cmplx.Exp(z) - 1 },
	ops.Asin:  func(z complex128) complex128 { return -1i * cmplx.Log(1i*z+principalRoot(1-z*z)) },
	ops.Acos:  func(z complex128) complex128 { return -1i * cmplx.Log(z+principalRoot(z*z-1)) },
	ops.Atan:  func(z complex128) complex128 { return 0.5i * (cmplx.Log(1-1i*z) - cmplx.Log(1+1i*z)) },
	ops.Asinh: func(z complex128) complex128 { return cmplx.Log(z + principalRoot(z*z+1)) },
	ops.Acosh: func(z complex128) complex128 { return cmplx.Log(z + principalRoot(z*z-1)) },
	ops.Atanh: func(z complex128) complex128 { return 0.5 * cmplx.Log((1+z)/(1-z)) },
}

// Of numbers everywhere, on the axes with zeros of either sign, the branch is the
// formula's.
func TestComplexBranches(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	part := func() float64 {
		x := math.Copysign(math.Exp2(8*r.Float64()-4), r.Float64()-0.5)
		if r.IntN(4) == 0 {
			x = math.Copysign(0, x)
		}
		return x
	}
	for range 20000 {
		z := complex(part(), part())
		for op, f := range formulas {
			got, want := ofComplex(t, op, z), f(z)
			if cmplx.IsInf(want) || cmplx.IsNaN(want) {
				continue
			}
			if !(cmplx.Abs(got-want) <= 1e-9*(1+cmplx.Abs(want))) {
				t.Fatalf("%v of %v is %v, by its formula %v", op, z, got, want)
			}
		}
	}
}
