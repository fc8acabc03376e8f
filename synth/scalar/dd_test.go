package scalar

import (
	"math"
	"math/big"
)

// dd is an unevaluated sum of two float64, good for about 104 bits: the
// oracle of the f64 functions, whose errors are a few parts in 2^53.
type dd struct{ hi, lo float64 }

func d(x float64) dd { return dd{x, 0} }

func twoSum(a, b float64) dd {
	s := a + b
	v := s - a
	return dd{s, (a - (s - v)) + (b - v)}
}

func norm(hi, lo float64) dd {
	s := hi + lo
	return dd{s, lo - (s - hi)}
}

func (a dd) add(b dd) dd {
	s, t := twoSum(a.hi, b.hi), twoSum(a.lo, b.lo)
	u := norm(s.hi, s.lo+t.hi)
	return norm(u.hi, u.lo+t.lo)
}
func (a dd) neg() dd     { return dd{-a.hi, -a.lo} }
func (a dd) sub(b dd) dd { return a.add(b.neg()) }
func (a dd) mul(b dd) dd {
	p := float64(a.hi * b.hi)
	return norm(p, math.FMA(a.hi, b.hi, -p)+(float64(a.hi*b.lo)+float64(a.lo*b.hi)))
}
func (a dd) scale(f float64) dd { return dd{a.hi * f, a.lo * f} } // f is a power of two
func (a dd) div(b dd) dd {
	q := a.hi / b.hi
	r := a.sub(b.mul(d(q)))
	s := r.hi / b.hi
	r = r.sub(b.mul(d(s)))
	return norm(q, s).add(d(r.hi / b.hi))
}
func (a dd) sqrt() dd {
	if a.hi == 0 {
		return a
	}
	s := math.Sqrt(a.hi)
	return d(s).add(a.sub(d(s).mul(d(s))).div(d(2 * s)))
}
func (a dd) abs() dd {
	if a.hi < 0 {
		return a.neg()
	}
	return a
}

var (
	ddLn2 = dd{0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56}
	ddPi  = dd{0x1.921fb54442d18p1, 0x1.1a62633145c07p-53}
	// ln2 in pieces whose products with exponents are exact.
	ln2Parts = []float64{0x1.62e42fefap-1, 0x1.cf79abc9ep-40, 0x1.d9cc0175817b3p-76}
	one      = d(1)
	two      = d(2)
)

// scaled is v times 2^n, for results that a float64 cannot hold.
type scaled struct {
	v dd
	n int
}

func (s scaled) dd() dd { return dd{math.Ldexp(s.v.hi, s.n), math.Ldexp(s.v.lo, s.n)} }

// expm1Small is a Taylor series, for |x| below 0.4.
func expm1Small(x dd) dd {
	sum, term := dd{}, x
	for k := 2; k < 40 && math.Abs(term.hi) > 1e-34*math.Abs(x.hi); k++ {
		sum = sum.add(term)
		term = term.mul(x).div(d(float64(k)))
	}
	return sum.add(term)
}

func ddExp(x dd) scaled {
	if math.Abs(x.hi) > 5000 {
		return scaled{one, int(math.Copysign(8000, x.hi))}
	}
	n := math.Round(x.hi / math.Ln2)
	r := x
	for _, p := range ln2Parts {
		r = r.sub(d(n).mul(d(p)))
	}
	return scaled{expm1Small(r).add(one), int(n)}
}

func ddExpm1(x dd) scaled {
	if math.Abs(x.hi) < 0.35 {
		return scaled{expm1Small(x), 0}
	}
	e := ddExp(x)
	if e.n > 120 {
		return e
	}
	return scaled{e.dd().sub(one), 0}
}

// ddLog1p takes one Newton step from a float64; it serves small x too.
func ddLog1p(x dd) dd {
	y := math.Log1p(x.hi)
	if math.IsInf(y, 0) || math.IsNaN(y) || x.hi == 0 {
		return d(y)
	}
	e := ddExpm1(d(y)).dd()
	step := x.sub(e).div(e.add(one))
	return d(y).add(step).sub(step.mul(step).scale(0.5))
}

func ddLog(x dd) dd {
	f, n := math.Frexp(x.hi)
	if f < math.Sqrt2/2 {
		f, n = f*2, n-1
	}
	m := dd{f, math.Ldexp(x.lo, -n)}
	r := ddLog1p(m.sub(one))
	for i := len(ln2Parts) - 1; i >= 0; i-- {
		r = d(float64(n)).mul(d(ln2Parts[i])).add(r)
	}
	return r
}

// bigPi is pi to 1300 bits, by Machin's formula.
var bigPi = func() *big.Float {
	const prec = 1400
	arctan := func(inverse int64) *big.Float { // atan(1 / inverse)
		one := new(big.Int).Lsh(big.NewInt(1), prec)
		term := new(big.Int).Div(one, big.NewInt(inverse))
		sum := new(big.Int)
		for k := int64(1); term.Sign() != 0; k += 2 {
			t := new(big.Int).Div(term, big.NewInt(k))
			if k%4 == 3 {
				t.Neg(t)
			}
			sum.Add(sum, t)
			term.Div(term, big.NewInt(inverse*inverse))
		}
		f := new(big.Float).SetPrec(prec).SetInt(sum)
		return f.SetMantExp(f, -prec)
	}
	a, b := arctan(5), arctan(239)
	a.Mul(a, big.NewFloat(16))
	b.Mul(b, big.NewFloat(4))
	return a.Sub(a, b)
}()

// reduceAngle returns x minus the nearest multiple of pi/2, and the multiple
// modulo 4.
func reduceAngle(x float64) (dd, int) {
	if !(math.Abs(x) >= math.Pi/4) || math.IsInf(x, 0) {
		return d(x), 0
	}
	half := new(big.Float).SetPrec(1300).Quo(bigPi, big.NewFloat(2))
	f := new(big.Float).SetPrec(1300).SetFloat64(x)
	q := new(big.Float).SetPrec(1300).Quo(f, half)
	q.Add(q, big.NewFloat(math.Copysign(0.5, x)))
	n, _ := q.Int(nil)
	f.Sub(f, half.Mul(half, new(big.Float).SetPrec(1300).SetInt(n)))
	hi, _ := f.Float64()
	lo, _ := f.Sub(f, big.NewFloat(hi)).Float64()
	return dd{hi, lo}, int(new(big.Int).And(n, big.NewInt(3)).Int64())
}

// ddSinCos of an angle of at most pi/4, by Taylor series.
func ddSinCos(r dd) (sin, cos dd) {
	sin, cos = r, one
	z := r.mul(r).neg()
	ts, tc := r, one
	for k := 1.0; k < 30; k++ {
		tc = tc.mul(z).div(d((2*k - 1) * (2 * k)))
		ts = ts.mul(z).div(d((2 * k) * (2*k + 1)))
		sin, cos = sin.add(ts), cos.add(tc)
	}
	return sin, cos
}

func ddTrig(x float64) (sin, cos dd) {
	r, q := reduceAngle(x)
	s, c := ddSinCos(r)
	switch q {
	case 1:
		return c, s.neg()
	case 2:
		return s.neg(), c.neg()
	case 3:
		return c.neg(), s
	}
	return s, c
}

// ddAtan2 corrects the float64 angle by that between the two directions. Where
// y / x underflows, the sign of Go's angle is wrong.
func ddAtan2(y, x dd) dd {
	a := math.Copysign(math.Atan2(y.hi, x.hi), y.hi)
	s, c := ddTrig(a)
	t := y.mul(c).sub(x.mul(s)).div(x.mul(c).add(y.mul(s)))
	return d(a).add(t)
}

func ddErfSeries(x dd) dd {
	z := x.mul(x).neg()
	term, sum := x, x
	for k := 1.0; k < 200; k++ {
		term = term.mul(z).div(d(k))
		t := term.div(d(2*k + 1))
		sum = sum.add(t)
		if math.Abs(t.hi) < 1e-36*math.Abs(sum.hi) {
			break
		}
	}
	return sum.mul(two).div(ddPi.sqrt())
}

// ddErfc is 1 - erf for x below 2, a continued fraction beyond.
func ddErfc(x dd) scaled {
	if x.hi < 2 {
		return scaled{one.sub(ddErf(x)), 0}
	}
	f := x
	for k := 180; k >= 1; k-- {
		f = x.add(d(float64(k) / 2).div(f))
	}
	e := ddExp(x.mul(x).neg())
	return scaled{e.v.div(f).div(ddPi.sqrt()), e.n}
}

func ddErf(x dd) dd {
	switch {
	case x.hi > 2:
		return one.sub(ddErfc(x).dd())
	case x.hi < -2:
		return ddErfc(x.neg()).dd().sub(one)
	}
	return ddErfSeries(x)
}

func ddErfInv(x float64) dd {
	y := math.Erfinv(x)
	var e dd
	if math.Abs(x) < 0.5 {
		e = ddErf(d(y)).sub(d(x))
	} else {
		e = one.sub(d(math.Abs(x))).sub(ddErfc(d(math.Abs(y))).dd())
		e = e.mul(d(math.Copysign(1, x)))
	}
	g := ddExp(d(y).mul(d(y))).dd().mul(ddPi.sqrt()).scale(0.5)
	step := e.mul(g)
	return d(y).sub(step).add(step.mul(step).mul(d(y)))
}

func ddCbrt(x float64) dd {
	t := d(math.Cbrt(x))
	e := t.mul(t).sub(d(x).div(t))
	return t.sub(e.div(t.mul(d(3))))
}
