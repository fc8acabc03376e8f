package scalar

import (
	"math"
	"math/cmplx"
	"math/rand/v2"
	"testing"
)

// complexFunctions are the functions of one complex number. The formulas, those of
// Elixir's Complex, say which branch is meant. The permitted error of f32 is in units
// in the last place of the magnitude of the result.
var complexFunctions = []struct {
	name string
	ulp  float64
	f    func(z complex128) complex128
}{
	{"csqrt", 2, upperRoot},
	{"crsqrt", 4, func(z complex128) complex128 { return 1 / upperRoot(z) }},
	{"cexp", 3, cmplx.Exp},
	{"cexpm1", 3, func(z complex128) complex128 { return cmplx.Exp(z) - 1 }},
	{"csigmoid", 5, func(z complex128) complex128 { return 1 / (1 + cmplx.Exp(-z)) }},
	{"clog", 3, cmplx.Log},
	{"clog1p", 4, func(z complex128) complex128 { return cmplx.Log(1 + z) }},
	{"csin", 3, cmplx.Sin}, {"ccos", 3, cmplx.Cos}, {"ctan", 4, cmplx.Tan},
	{"csinh", 3, cmplx.Sinh}, {"ccosh", 3, cmplx.Cosh}, {"ctanh", 4, cmplx.Tanh},
	{"casin", 4, func(z complex128) complex128 { return -1i * cmplx.Log(1i*z+upperRoot(1-z*z)) }},
	{"cacos", 4, func(z complex128) complex128 { return -1i * cmplx.Log(z+upperRoot(z*z-1)) }},
	{"catan", 4, func(z complex128) complex128 { return 0.5i * (cmplx.Log(1-1i*z) - cmplx.Log(1+1i*z)) }},
	{"casinh", 4, func(z complex128) complex128 { return cmplx.Log(z + upperRoot(z*z+1)) }},
	{"cacosh", 4, func(z complex128) complex128 { return cmplx.Log(z + upperRoot(z*z-1)) }},
	{"catanh", 4, func(z complex128) complex128 { return 0.5 * cmplx.Log((1+z)/(1-z)) }},
	{"ccbrt", 4, func(z complex128) complex128 { return cmplx.Rect(math.Cbrt(cmplx.Abs(z)), cmplx.Phase(z)/3) }},
}

// upperRoot is the principal root, the upper one on the negative axis.
func upperRoot(z complex128) complex128 {
	if imag(z) == 0 {
		z = complex(real(z), 0)
	}
	return cmplx.Sqrt(z)
}

// compiledComplex is an expression of so many complex numbers in a type.
func compiledComplex(t *testing.T, expression string, typ Type, arity int) func(z ...complex128) complex128 {
	t.Helper()
	return onDevice(t, expression, typ, arity, Env{PreciseDiv: true, Subnormals: true}, Model{})
}

// onDevice is the same on a device of a model.
func onDevice(t *testing.T, expression string, typ Type, arity int, env Env, m Model) func(z ...complex128) complex128 {
	t.Helper()
	var args []Arg
	for _, name := range []string{"x", "xi", "y", "yi"}[:2*arity] {
		args = append(args, Arg{name, typ})
	}
	f, err := Compile(expression, typ, args, env)
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	return func(z ...complex128) complex128 {
		var parts []uint64
		for _, x := range z {
			parts = append(parts, floatBits(real(x), typ), floatBits(imag(x), typ))
		}
		re, im := m.EvalPair(f, parts...)
		return complex(floatValue(typ, re), floatValue(typ, im))
	}
}

// drawn is a number of f32 parts: magnitudes from 2^-low to 2^high, often on an axis
// or near the unit circle.
func drawn(r *rand.Rand, low, high float64) complex128 {
	part := func() float64 {
		return float64(float32(math.Copysign(math.Exp2(-low+(low+high)*r.Float64()), r.Float64()-0.5)))
	}
	z := complex(part(), part())
	switch r.IntN(16) {
	case 0:
		return complex(real(z), 0)
	case 1:
		return complex(0, imag(z))
	case 2:
		s, c := math.Sincos(7 * r.Float64())
		return complex(float64(float32(s)), float64(float32(c)))
	case 3:
		return complex(1+math.Exp2(-23)*float64(r.IntN(99)-49), real(z)*0x1p-8)
	}
	return z
}

// apart is the distance of two numbers in units in the last place of the
// second's magnitude.
func apart(got, want complex128, digits int) float64 {
	if got == want || cmplx.IsNaN(got) && cmplx.IsNaN(want) {
		return 0
	}
	size := max(math.Abs(real(want)), math.Abs(imag(want)))
	return cmplx.Abs(got-want) / math.Exp2(math.Floor(math.Log2(size))-float64(digits-1))
}

// Functions in f64 take the branches of the formulas, which are exact to some
// digits where nothing cancels; those in f32 are as exact as promised, on all
// models of devices.
func TestComplexFunctions(t *testing.T) {
	for _, c := range complexFunctions {
		double := compiledComplex(t, c.name+"(x, xi)", F64, 1)
		var zs, want []complex128
		for r := rand.New(rand.NewPCG(1, 2)); len(zs) < 1<<12; {
			z := drawn(r, 6, 4)
			zs, want = append(zs, z), append(want, double(z))
			if formula := c.f(z); !(cmplx.Abs(double(z)-formula) <= 1e-9*(1+cmplx.Abs(formula))) {
				t.Fatalf("%s(%v) of f64 is %v, by its formula %v", c.name, z, double(z), formula)
			}
		}
		for _, dev := range devices {
			single := onDevice(t, c.name+"(x, xi)", F32, 1, dev.env, dev.model)
			worst, at := 0.0, 0
			for i, z := range zs {
				if d := apart(single(z), want[i], 24); !(d <= worst) {
					worst, at = d, i
				}
			}
			t.Logf("%s on %s: %.2f ULP at %v", c.name, dev.name, worst, zs[at])
			if !(worst <= c.ulp) {
				t.Errorf("%s(%v) of f32 on %s is %v, want %v: %.2f ULP", c.name, zs[at], dev.name, single(zs[at]), want[at], worst)
			}
		}
	}
}

// Operations on two numbers, whose operands may be as large or as small as they
// are; that of pow grows with the exponent.
func TestComplexOperations(t *testing.T) {
	for _, c := range []struct {
		expression string
		ulp        float64
		low, high  float64
		f          func(x, y complex128) complex128
	}{
		{"cmul(x, xi, y, yi)", 2, 50, 50, func(x, y complex128) complex128 { return x * y }},
		{"cdiv(x, xi, y, yi)", 4, 60, 60, func(x, y complex128) complex128 { return x / y }},
		{"cdiv(x, xi, y, yi)", 4, 140, 126, func(x, y complex128) complex128 { return x / y }},
		{"cpow(x, xi, y, yi)", 64, 3, 3, cmplx.Pow},
	} {
		single, double := compiledComplex(t, c.expression, F32, 2), compiledComplex(t, c.expression, F64, 2)
		r := rand.New(rand.NewPCG(3, 4))
		worst, atX, atY := 0.0, complex128(0), complex128(0)
		for range 1 << 13 {
			x, y := drawn(r, c.low, c.high), drawn(r, c.low, c.high)
			want := double(x, y)
			if formula := c.f(x, y); !(cmplx.Abs(want-formula) <= 1e-12*cmplx.Abs(formula)) {
				t.Errorf("%s of %v and %v in f64 is %v, by its formula %v", c.expression, x, y, want, formula)
				break
			}
			if size := cmplx.Abs(want); size < 0x1p-120 || size > 0x1p127 {
				continue // not a normal number of f32
			}
			if d := apart(single(x, y), want, 24); !(d <= worst) {
				worst, atX, atY = d, x, y
			}
		}
		t.Logf("%s: %.2f ULP at %v and %v", c.expression, worst, atX, atY)
		if !(worst <= c.ulp) {
			t.Errorf("%s of %v and %v in f32 is %v, want %v: %.2f ULP", c.expression, atX, atY,
				single(atX, atY), double(atX, atY), worst)
		}
	}
}

// Magnitudes neither overflow nor vanish on the way, and roots of all numbers
// have roots.
func TestComplexRange(t *testing.T) {
	size := compiledComplex(t, "hypot(x, xi)", F32, 1)
	root := compiledComplex(t, "csqrt(x, xi)", F32, 1)
	r := rand.New(rand.NewPCG(5, 6))
	for range 1 << 12 {
		z := drawn(r, 148, 126)
		if got, want := real(size(z)), cmplx.Abs(z); math.Abs(got-want) > 2*math.Max(want*0x1p-24, 0x1p-149) {
			t.Fatalf("|%v| is %v, want %v", z, got, want)
		}
		if got, want := root(z), upperRoot(z); apart(got, want, 24) > 2 {
			t.Fatalf("the root of %v is %v, want %v", z, got, want)
		}
	}
	inf := math.Inf(1)
	for _, z := range []complex128{complex(inf, 1), complex(1, -inf), complex(inf, inf)} {
		if got := real(size(z)); got != inf {
			t.Errorf("|%v| is %v", z, got)
		}
	}
}

// The functions that Elixir's Complex makes NaN of infinities and NaN, and what it
// says of those that it leaves to the arithmetic of its formula.
var complexBeyond = map[string]func(z complex128) complex128{
	"ctan": nowhere, "ctanh": nowhere, "casin": nowhere, "cacos": nowhere, "catan": nowhere, "catanh": nowhere,
	"casinh": func(z complex128) complex128 { return logBeyond(z + rootBeyond(z*z+1)) },
	"cacosh": func(z complex128) complex128 { return logBeyond(z + rootBeyond(z*z-1)) },
	"crsqrt": func(z complex128) complex128 {
		if w := rootBeyond(z); imag(w) == 0 && math.IsInf(real(w), 1) {
			return 0 // a case of its own in the division, whose products are NaN
		}
		return cmplx.NaN()
	},
}

func nowhere(complex128) complex128 { return cmplx.NaN() }

// rootBeyond is the root that Elixir's Complex has of a number that is not finite, or
// is 0.
func rootBeyond(z complex128) complex128 {
	switch x, y := real(z), imag(z); {
	case math.IsNaN(x) || math.IsNaN(y):
		return cmplx.NaN()
	case math.IsInf(y, 0):
		return complex(math.Inf(1), y)
	case math.IsInf(x, -1):
		return complex(0, math.Inf(1))
	default:
		return complex(x, 0)
	}
}

// logBeyond is its logarithm of a number that is not finite.
func logBeyond(z complex128) complex128 {
	if math.IsNaN(real(z)) && math.IsNaN(imag(z)) {
		return z
	}
	return complex(math.Inf(1), math.Atan2(imag(z), real(z)))
}

// Functions of numbers with an infinite or NaN part, and rsqrt of 0, are what
// Elixir's Complex computes, on all models of devices.
func TestComplexBeyond(t *testing.T) {
	parts := []float64{math.Inf(-1), -3, -0x1p-140, math.Copysign(0, -1), 0, 0x1p-140, 0.5, math.Inf(1), math.NaN()}
	for name, f := range complexBeyond {
		for _, dev := range devices {
			for typ, digits := range map[Type]int{F32: 24, F64: 53} {
				compiled := onDevice(t, name+"(x, xi)", typ, 1, dev.env, dev.model)
				for i := range len(parts) * len(parts) {
					z := complex(parts[i/len(parts)], parts[i%len(parts)])
					//lint:ignore SA4000 infinities and NaN are not 0
					if z-z == 0 && (name != "crsqrt" || z != 0) {
						continue
					}
					got, want := compiled(z), f(z)
					if !limit(real(got), real(want), digits) || !limit(imag(got), imag(want), digits) {
						t.Errorf("%s(%v) of %v on %s is %v, want %v", name, z, typ, dev.name, got, want)
					}
				}
			}
		}
	}
}

// limit reports whether a part equals its limit to a number of digits.
func limit(got, want float64, digits int) bool {
	return got == want || math.IsNaN(got) && math.IsNaN(want) ||
		math.Abs(got-want) <= 2*math.Abs(want)*math.Exp2(-float64(digits))
}
