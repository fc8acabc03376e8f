package synthtest

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"nxvk/ops"
	"nxvk/synth/codegen"
)

// Tensor is a value in a test: each element as a float64, or an int64 for
// integer types; a complex element is two of f.
type Tensor struct {
	Typ ops.Type
	F   []float64
	N   []int64
	Lit bool
}

func (x Tensor) Bytes() []byte {
	d, out := x.Typ.DType, make([]byte, x.Typ.Bytes())
	for i := range x.Typ.Size() * codegen.PartsOf(d) {
		if d.IsInteger() {
			putInt(out, d.Size(), i, x.N[i])
		} else {
			PutFloat(out, d, i, x.F[i])
		}
	}
	return out
}

func putInt(b []byte, size, i int, n int64) {
	switch size {
	case 1:
		b[i] = byte(n)
	case 2:
		binary.LittleEndian.PutUint16(b[2*i:], uint16(n))
	case 4:
		binary.LittleEndian.PutUint32(b[4*i:], uint32(n))
	case 8:
		binary.LittleEndian.PutUint64(b[8*i:], uint64(n))
	}
}

func PutFloat(b []byte, d ops.DType, i int, x float64) {
	switch d.Real() {
	case ops.F64:
		putInt(b, 8, i, int64(math.Float64bits(x)))
	case ops.F32:
		putInt(b, 4, i, int64(math.Float32bits(float32(x))))
	default:
		putInt(b, d.Size(), i, int64(Nearest(d, x)))
	}
}

func getInt(b []byte, d ops.DType, i int) int64 {
	switch d.Size() {
	case 1:
		if d.Class() == ops.Signed {
			return int64(int8(b[i]))
		}
		return int64(b[i])
	case 2:
		x := binary.LittleEndian.Uint16(b[2*i:])
		if d.Class() == ops.Signed {
			return int64(int16(x))
		}
		return int64(x)
	case 4:
		x := binary.LittleEndian.Uint32(b[4*i:])
		if d.Class() == ops.Signed {
			return int64(int32(x))
		}
		return int64(x)
	}
	return int64(binary.LittleEndian.Uint64(b[8*i:]))
}

func GetFloat(b []byte, d ops.DType, i int) float64 {
	switch d.Real() {
	case ops.F64:
		return math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
	case ops.F32:
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:])))
	}
	u := ops.U8
	if d.Size() == 2 {
		u = ops.U16
	}
	return CodeValue(d, int(getInt(b, u, i)))
}

func FromBytes(t ops.Type, b []byte) Tensor {
	x := Tensor{Typ: t}
	for i := range t.Size() * codegen.PartsOf(t.DType) {
		if t.DType.IsInteger() {
			x.N = append(x.N, getInt(b, t.DType, i))
		} else {
			x.F = append(x.F, GetFloat(b, t.DType, i))
		}
	}
	return x
}

// CodeValue is the value of a code of a narrow float, by its definition.
func CodeValue(d ops.DType, code int) float64 {
	f := codegen.Formats[d]
	exp := code >> f.Mantissa & (1<<(f.Bits-1-f.Mantissa) - 1)
	man := code & (1<<f.Mantissa - 1)
	top := 1<<(f.Bits-1-f.Mantissa) - 1
	x := 0.0
	switch {
	case f.Infinities && exp == top && man == 0:
		x = math.Inf(1)
	case f.Infinities && exp == top, !f.Infinities && exp == top && man == 1<<f.Mantissa-1:
		return math.NaN()
	case exp == 0:
		x = math.Ldexp(float64(man), 1-f.Bias-f.Mantissa)
	default:
		x = math.Ldexp(float64(man+1<<f.Mantissa), exp-f.Bias-f.Mantissa)
	}
	if code>>(f.Bits-1) != 0 {
		return -x
	}
	return x
}

// Nearest is the code that Nx writes for x, found by trying all codes. bf16 and f8
// are the upper halves of f32 and f16. f16 is the nearest, ties to even. f8_e4m3fn
// is the nearest below the next power of two, ties away from zero.
func Nearest(d ops.DType, x float64) int {
	switch d {
	case ops.F8:
		return Nearest(ops.F16, x) >> 8
	case ops.BF16:
		x = float64(float32(x))
	}
	f := codegen.Formats[d]
	sign := 0
	if math.Signbit(x) {
		sign = 1 << (f.Bits - 1)
	}
	man := 1<<f.Mantissa - 1
	top := 1<<(f.Bits-1) - 1
	switch {
	case math.IsNaN(x) && f.Infinities:
		return top&^man | 1<<(f.Mantissa-1)
	case math.IsNaN(x):
		return top
	}
	x = math.Abs(x)
	limit := top - man // the code of infinity
	if !f.Infinities {
		limit = top - 1
	}
	lo, hi := 0, limit
	for lo < hi { // the last code that is not above x
		if mid := (lo + hi + 1) / 2; CodeValue(d, mid) <= x {
			lo = mid
		} else {
			hi = mid - 1
		}
	}
	if lo == limit {
		return lo | sign
	}
	below, above := CodeValue(d, lo), CodeValue(d, lo+1)
	if math.IsInf(above, 1) {
		above = 2*below - CodeValue(d, lo-1)
	}
	up := x-below > above-x || x-below == above-x && (lo&1 == 1 || d == ops.F8E4M3)
	if up && d != ops.BF16 && !(d == ops.F8E4M3 && lo&man == man) {
		lo++
	}
	return lo | sign
}

// Random is a tensor of small whole numbers, exact in every type.
func Random(t ops.Type, seed uint64) Tensor {
	r := rand.New(rand.NewPCG(seed, uint64(t.DType)))
	x := Tensor{Typ: t}
	for range t.Size() * codegen.PartsOf(t.DType) {
		n := r.Int64N(7)
		if t.DType.Class() != ops.Unsigned {
			n -= 3
		}
		n = Wrap(t.DType, n)
		x.N = append(x.N, n)
		x.F = append(x.F, float64(n))
	}
	if t.DType.IsInteger() {
		x.F = nil
	} else {
		x.N = nil
	}
	return x
}

// Wrap keeps the bits of an integer that the type has.
func Wrap(d ops.DType, n int64) int64 {
	if !d.IsInteger() {
		return n
	}
	s := 64 - d.Bits()
	if d.Class() == ops.Signed {
		return n << s >> s
	}
	return int64(uint64(n) << s >> s)
}

// At is element i as a float64.
func (x Tensor) At(i int) float64 {
	if x.N != nil {
		return float64(x.N[i])
	}
	return x.F[i]
}

// Same compares tensors; NaN equals NaN.
func Same(t *testing.T, what string, got, want Tensor) {
	t.Helper()
	for i := range want.Typ.Size() * codegen.PartsOf(want.Typ.DType) {
		if want.N != nil && got.N[i] != want.N[i] {
			t.Fatalf("%s: element %d: got %d, want %d", what, i, got.N[i], want.N[i])
		}
		if want.F != nil && got.F[i] != want.F[i] && !(got.F[i] != got.F[i] && want.F[i] != want.F[i]) {
			t.Fatalf("%s: element %d: got %v, want %v", what, i, got.F[i], want.F[i])
		}
	}
}

// Each walks the coordinates of a shape in row-major order.
func Each(s ops.Shape, f func(i int, c []int)) {
	c := make([]int, len(s))
	for i := range s.Size() {
		f(i, c)
		for d := len(s) - 1; d >= 0; d-- {
			if c[d]++; c[d] < s[d] {
				break
			}
			c[d] = 0
		}
	}
}

// Flat is the row-major index of coordinates, where dimensions of 1 repeat.
func Flat(s ops.Shape, c []int) int {
	n, c := 0, c[len(c)-len(s):]
	for d, size := range s {
		n = n*size + c[d]%size
	}
	return n
}
