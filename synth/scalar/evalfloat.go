package scalar

import "math"

const (
	sign32   = 0x80000000
	inf32    = 0x7f800000
	normal32 = 0x00800000 // least normal number
)

// flush returns zero, with the sign, for a subnormal of a flushing device.
func (m Model) flush(b uint32) uint32 {
	if m.Flush && b&^sign32 < normal32 {
		return b & sign32
	}
	return b
}

// loose moves a finite result of a device with inexact division, or exponential, by up
// to so many units, in a way that depends on its bits alone.
func loose(b, units uint32) uint32 {
	if a := b &^ sign32; a > normal32+units && a < inf32-units {
		return b + b*2654435761>>16%(2*units+1) - units
	}
	return b
}

// flushesReciprocal says whether 1 / x is subnormal, so that a device with
// inexact division divides by x as by infinity.
func (m Model) flushesReciprocal(x float32) bool {
	return m.LooseDiv && m.Flush && (x > 0x1p126 || x < -0x1p126)
}

func float(b uint64) float32 { return math.Float32frombits(uint32(b)) }

// compare computes an operation that compares floats; ok is false for any other.
func compare[T float32 | float64](op Op, x, y T) (truth, ok bool) {
	switch op {
	case Eq:
		return x == y, true
	case Ne:
		return x != y, true
	case Lt:
		return x < y, true
	case Le:
		return x <= y, true
	}
	return false, false
}

// apply32 computes an operation whose operands are F32.
func (m Model) apply32(op Op, a []uint64) uint64 {
	var v [3]float32
	for i := range a {
		v[i] = math.Float32frombits(m.flush(uint32(a[i])))
	}
	x, y := v[0], v[1]
	if truth, ok := compare(op, x, y); ok {
		return boolBits(truth)
	}
	r := math.Float32bits(m.arith32(op, x, y, v[2]))
	switch {
	case m.LooseDiv && (op == Div || op == Sqrt):
		r = loose(r, 2)
	case m.LooseExp2 && (op == Exp2 || op == InverseSqrt):
		r = loose(r, 1)
	}
	return uint64(m.flush(r))
}

// basic computes the operations that round once, in the type of their operands. It reports false for others.
func basic[T float32 | float64](op Op, x, y T) (T, bool) {
	switch op {
	case Add:
		return x + y, true
	case Sub:
		return x - y, true
	case Mul:
		return x * y, true
	case Div:
		return x / y, true
	case Neg:
		return -x, true
	}
	return 0, false
}

func (m Model) arith32(op Op, x, y, z float32) float32 {
	if op == Div && m.flushesReciprocal(y) {
		return x * float32(math.Copysign(0, float64(y)))
	}
	if r, ok := basic(op, x, y); ok {
		return r
	}
	if op == Fma {
		if m.SplitFma {
			p := x * y
			return p + z
		}
		return fma32(x, y, z)
	}
	return float32(round64(op, float64(x)))
}

// fma32 rounds x*y + z once. The product is exact in 53 bits; the sum is
// rounded to odd there, so that rounding it to 24 bits afterwards is right.
func fma32(x, y, z float32) float32 {
	p, c := float64(x)*float64(y), float64(z)
	s := p + c
	b := math.Float64bits(s)
	if math.IsNaN(s) || math.IsInf(s, 0) || b&1 != 0 {
		return float32(s)
	}
	t := s - p
	lost := (p - (s - t)) + (c - t)
	switch {
	case lost == 0:
	case (lost > 0) == (s > 0):
		b++
	default:
		b--
	}
	return float32(math.Float64frombits(b))
}

// apply64 computes an operation whose operands are F64.
func (m Model) apply64(op Op, a []uint64) uint64 {
	var v [3]float64
	for i := range a {
		v[i] = math.Float64frombits(a[i])
	}
	x, y := v[0], v[1]
	if truth, ok := compare(op, x, y); ok {
		return boolBits(truth)
	}
	return math.Float64bits(m.arith64(op, x, y, v[2]))
}

func (m Model) arith64(op Op, x, y, z float64) float64 {
	if r, ok := basic(op, x, y); ok {
		return r
	}
	if op == Fma {
		if m.SplitFma {
			return float64(x*y) + z
		}
		return math.FMA(x, y, z)
	}
	return round64(op, x)
}

// round64 computes the operations on one float that are the same in both
// types once their result is rounded to the narrower.
func round64(op Op, x float64) float64 {
	switch op {
	case Sqrt:
		return math.Sqrt(x)
	case Floor:
		return math.Floor(x)
	case Ceil:
		return math.Ceil(x)
	case Trunc:
		return math.Trunc(x)
	case RoundEven:
		return math.RoundToEven(x)
	case Exp2:
		return math.Exp2(x)
	case InverseSqrt:
		return 1 / math.Sqrt(x)
	}
	panic("BUG: operation without float form")
}

// convert changes a value of type from to type to.
func convert(to, from Type, x uint64) uint64 {
	switch {
	case from == to:
		return x
	case from == F32 && to == F64:
		return math.Float64bits(float64(float(x)))
	case from == F64 && to == F32:
		return uint64(math.Float32bits(float32(math.Float64frombits(x))))
	case from == F32:
		return truncate(to, float64(float(x)))
	case from == F64:
		return truncate(to, math.Float64frombits(x))
	case to == F32 && from == U64:
		return uint64(math.Float32bits(float32(x)))
	case to == F64 && from == U64:
		return math.Float64bits(float64(x))
	case to == F32 && from.Signed():
		return uint64(math.Float32bits(float32(signed(from, x))))
	case to == F64 && from.Signed():
		return math.Float64bits(float64(signed(from, x)))
	case to == F32:
		return uint64(math.Float32bits(float32(x)))
	case to == F64:
		return math.Float64bits(float64(x))
	case from.Signed():
		return uint64(signed(from, x)) & widthMask(to)
	}
	return x & widthMask(to)
}

// truncate converts a float in the range of an integer type.
func truncate(to Type, x float64) uint64 {
	if to == U64 && x >= 1<<63 {
		return uint64(x-1<<63) + 1<<63
	}
	return uint64(int64(x)) & widthMask(to)
}
