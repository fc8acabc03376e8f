package fallback

import "math"

// Functions of the exponential, within 1 unit in the last place: of its parts 2^(k/128)
// and exp(r) the result is put together, the larger terms last. Where that cancels,
// near 0, they are their series.

// expm1 is (s - 1) + s t with exp(x) = s (1 + t).
func expm1(x float64) float64 {
	if math.Abs(x) < 0x1p-5 {
		const c2, c3, c4, c5, c6, c7, c8, c9 = 1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040, 1.0 / 40320, 1.0 / 362880
		z := x * x
		z2 := z * z
		return math.Copysign(x+z*(c2+x*c3+z*(c4+x*c5)+z2*(c6+x*c7+z*(c8+x*c9))), x)
	}
	if !(math.Abs(x) < expNear) {
		return expFar(x) - 1
	}
	scale, t := expReduced(x)
	s := math.Float64frombits(scale)
	y := s - 1
	v := y - s
	return y + (s - (y - v) - (1 + v) + s*t)
}

// inverseSum is 1/(x + low) of a positive number, in two parts, of which the first is
// near to it by half its bits.
func inverseSum(x, low float64) (near, rest float64) {
	q := 1 / (x + low)
	near = halfPart(q)
	upper := halfPart(x)
	return near, (1 - near*upper - near*(x-upper+low)) * q
}

// sigmoid is 1/(1 + exp(-x)).
func sigmoid(x float64) float64 {
	if !(math.Abs(x) < expNear) {
		return sigmoidFar(x)
	}
	scale, t := expReduced(-x)
	s := math.Float64frombits(scale)
	d := 1 + s
	v := d - 1
	near, rest := inverseSum(d, 1-(d-v)+(s-v)+s*t)
	return near + rest
}

func sigmoidFar(x float64) float64 {
	if x > 0 {
		return 1
	}
	return expFar(x)
}

// tanh of |x| is 1 - 2/(1 + exp(2x)).
func tanh(x float64) float64 {
	a := math.Abs(x)
	if a < 0x1p-4 {
		const c3, c5, c7, c9, c11, c13 = -1.0 / 3, 2.0 / 15, -17.0 / 315, 62.0 / 2835, -1382.0 / 155925, 21844.0 / 6081075
		z := x * x
		z2 := z * z
		return math.Copysign(x+x*z*(c3+z*c5+z2*(c7+z*c9+z2*(c11+z*c13))), x)
	}
	if !(a < tanhOne) {
		return tanhFar(x)
	}
	scale, t := expReduced(2 * a)
	s := math.Float64frombits(scale)
	d := s + 1
	near, rest := inverseSum(d, s-d+1+s*t)
	y := 1 - 2*near
	return math.Copysign(y+(1-y-2*near-2*rest), x)
}

func tanhFar(x float64) float64 {
	if x != x {
		return x
	}
	return math.Copysign(1, x)
}

// cosh is exp(x)/2 + exp(-x)/2, which rise and fall are next to.
func cosh(x float64) float64 {
	a := math.Abs(x)
	if !(a < expNear) {
		return halfExpFar(a)
	}
	k, r := expPlace(a)
	p, q := &powers[k%expParts], &powers[-k%expParts]
	const half = 1 << 52
	rise := math.Float64frombits(p.bits + k<<(52-7) - half)
	fall := math.Float64frombits(q.bits + -k<<(52-7) - half)
	odd, even := expOddEven(r)
	sum := rise + fall
	return sum + (rise - sum + fall + rise*p.tail + fall*q.tail + sum*even + (rise-fall)*odd)
}

// sinh is their difference.
func sinh(x float64) float64 {
	a := math.Abs(x)
	if a < 0x1p-4 {
		const c3, c5, c7, c9 = 1.0 / 6, 1.0 / 120, 1.0 / 5040, 1.0 / 362880
		z := x * x
		return x + x*z*(c3+z*c5+z*z*(c7+z*c9))
	}
	if !(a < expNear) {
		return math.Copysign(halfExpFar(a), x)
	}
	k, r := expPlace(a)
	p, q := &powers[k%expParts], &powers[-k%expParts]
	const half = 1 << 52
	rise := math.Float64frombits(p.bits + k<<(52-7) - half)
	fall := math.Float64frombits(q.bits + -k<<(52-7) - half)
	odd, even := expOddEven(r)
	difference := rise - fall
	return math.Copysign(difference+(rise-difference-fall+rise*p.tail-fall*q.tail+difference*even+(rise+fall)*odd), x)
}

// expPlace splits x >= 0 into k ln 2/128 and r.
func expPlace(x float64) (k uint64, r float64) {
	z := x*expInvLn2 + expShift
	k = math.Float64bits(z)
	z -= expShift
	return k, x - z*expLn2High - z*expLn2Low
}

// expOddEven are sinh(r) and cosh(r) - 1.
func expOddEven(r float64) (odd, even float64) {
	const c2, c3, c4, c5 = 1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120
	z := r * r
	return r + r*z*(c3+z*c5), z * (c2 + z*c4)
}

// halfExpFar is exp(x)/2 of NaN and of x above expNear.
func halfExpFar(x float64) float64 {
	if !(x < 720) {
		return expFar(x)
	}
	scale, t := expReduced(x)
	s := math.Float64frombits(scale - 1009<<52)
	return 0x1p1008 * (s + s*t)
}
