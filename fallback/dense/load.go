package dense

import (
	"math"

	"nxvk/ops"
)

// Class is a type that elements are computed in, whatever type they are stored in.
type Class interface {
	float64 | int64 | uint64 | complex128
}

// Stored are the types whose elements Go can read.
type Stored interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 | float32 | float64
}

// RealClass are the classes without complex numbers.
type RealClass interface {
	float64 | int64 | uint64
}

// Loader reads elements at, at+step, ... of a stored tensor into dst. The step
// may be 0 or negative.
type Loader[C Class] func(dst []C, src []byte, at, step int)

type loaders[C Class] [ops.C128 + 1]Loader[C]

// gatherInto calls get for each element. It is the slow path: types that Go has are read
// by loops without a call.
func gatherInto[C Class, T any](dst []C, src []T, at, step int, get func(T) C) {
	switch step {
	case 0:
		x := get(src[at])
		for i := range dst {
			dst[i] = x
		}
	case 1:
		for i, x := range src[at : at+len(dst)] {
			dst[i] = get(x)
		}
	default:
		for i := range dst {
			dst[i] = get(src[at+i*step])
		}
	}
}

// load reads stored numbers as a wider type by Go's conversion, which wraps
// between integers.
func load[C RealClass, T Stored](dst []C, src []byte, at, step int) {
	s := View[T](src)
	switch step {
	case 0:
		x := C(s[at])
		for i := range dst {
			dst[i] = x
		}
	case 1:
		s = s[at : at+len(dst)]
		for i, x := range s {
			dst[i] = C(x)
		}
	default:
		for i := range dst {
			dst[i] = C(s[at+i*step])
		}
	}
}

// loadTrunc reads floats as integers: it rounds toward zero and wraps.
func loadTrunc[C int64 | uint64, T float32 | float64](dst []C, src []byte, at, step int) {
	gatherInto(dst, View[T](src), at, step, func(x T) C { return C(truncate(float64(x))) })
}

func loadNarrow[T narrow](dst []float64, src []byte, at, step int) {
	gatherInto(dst, View[T](src), at, step, decoder[T]())
}

// loadBF16 and loadF16 read dense elements without a call for each.
func loadBF16(dst []float64, src []byte, at, step int) {
	if step != 1 {
		loadNarrow[bf16](dst, src, at, step)
		return
	}
	for i, p := range View[uint16](src)[at : at+len(dst)] {
		dst[i] = decodeBF16(p)
	}
}

func loadF16(dst []float64, src []byte, at, step int) {
	if step != 1 {
		loadNarrow[f16](dst, src, at, step)
		return
	}
	for i, p := range View[uint16](src)[at : at+len(dst)] {
		if p&f16Exponent != f16Exponent {
			dst[i] = decodeFiniteF16(p)
		} else {
			dst[i] = formatF16.decode(p)
		}
	}
}

func loadNarrowTrunc[C int64 | uint64, T narrow](dst []C, src []byte, at, step int) {
	get := decoder[T]()
	gatherInto(dst, View[T](src), at, step, func(x T) C { return C(truncate(get(x))) })
}

// loadSigned and loadUnsigned read types of less than a byte. Only the low
// bits count: whether the sign was extended does not matter.
func loadSigned[C RealClass](bits int) Loader[C] {
	up := 8 - bits
	return func(dst []C, src []byte, at, step int) {
		gatherInto(dst, src, at, step, func(x byte) C { return C(int8(x<<up) >> up) })
	}
}

func loadUnsigned[C RealClass](bits int) Loader[C] {
	mask := byte(1<<bits - 1)
	return func(dst []C, src []byte, at, step int) {
		gatherInto(dst, src, at, step, func(x byte) C { return C(x & mask) })
	}
}

// loadRealPart reads complex numbers as real ones.
func loadRealPart[C RealClass, T complex64 | complex128](dst []C, src []byte, at, step int) {
	gatherInto(dst, View[T](src), at, step, func(x T) C {
		re := real(complex128(x))
		if r, ok := any(re).(C); ok {
			return r
		}
		return C(truncate(re))
	})
}

func loadComplex[T complex64 | complex128](dst []complex128, src []byte, at, step int) {
	gatherInto(dst, View[T](src), at, step, func(x T) complex128 { return complex128(x) })
}

// asComplex reads through a loader of floats.
func asComplex(load Loader[float64]) Loader[complex128] {
	return func(dst []complex128, src []byte, at, step int) {
		var buf [64]float64
		for len(dst) > 0 {
			n := min(len(dst), len(buf))
			load(buf[:n], src, at, step)
			for i, x := range buf[:n] {
				dst[i] = complex(x, 0)
			}
			dst, at = dst[n:], at+n*step
		}
	}
}

// truncate converts toward zero and wraps at 64 bits; NaN and infinities,
// which have no integer, give 0.
func truncate(x float64) int64 {
	if x >= -(1<<63) && x < 1<<63 {
		return int64(x)
	}
	b := math.Float64bits(x)
	shift := int(b>>52&0x7FF) - 1075
	if shift >= 64 {
		return 0
	}
	v := int64(b&(1<<52-1)|1<<52) << shift
	if x < 0 {
		return -v
	}
	return v
}

// integerLoaders returns the loaders that floats and integers share.
func integerLoaders[C RealClass]() loaders[C] {
	return loaders[C]{
		ops.U2: loadUnsigned[C](2), ops.U4: loadUnsigned[C](4),
		ops.U8: load[C, uint8], ops.U16: load[C, uint16], ops.U32: load[C, uint32], ops.U64: load[C, uint64],
		ops.S2: loadSigned[C](2), ops.S4: loadSigned[C](4),
		ops.S8: load[C, int8], ops.S16: load[C, int16], ops.S32: load[C, int32], ops.S64: load[C, int64],
		ops.C64: loadRealPart[C, complex64], ops.C128: loadRealPart[C, complex128],
	}
}

func truncLoaders[C int64 | uint64]() loaders[C] {
	t := integerLoaders[C]()
	t[ops.F8], t[ops.F8E4M3] = loadNarrowTrunc[C, e5m2], loadNarrowTrunc[C, e4m3]
	t[ops.BF16], t[ops.F16] = loadNarrowTrunc[C, bf16], loadNarrowTrunc[C, f16]
	t[ops.F32], t[ops.F64] = loadTrunc[C, float32], loadTrunc[C, float64]
	return t
}

func floatLoaders() loaders[float64] {
	t := integerLoaders[float64]()
	t[ops.F8], t[ops.F8E4M3] = loadNarrow[e5m2], loadNarrow[e4m3]
	t[ops.BF16], t[ops.F16] = loadBF16, loadF16
	t[ops.F32], t[ops.F64] = load[float64, float32], load[float64, float64]
	return t
}

func complexLoaders() (t loaders[complex128]) {
	for d, l := range LoadFloat {
		if l != nil {
			t[d] = asComplex(l)
		}
	}
	t[ops.C64], t[ops.C128] = loadComplex[complex64], loadComplex[complex128]
	return t
}

// The loaders of each class, by stored type.
var (
	LoadFloat = floatLoaders()
	LoadInt   = truncLoaders[int64]()
	LoadUint  = truncLoaders[uint64]()
	LoadCplx  = complexLoaders()
)

// LoadAs returns the loader of a type for a class.
func LoadAs[C Class](d ops.DType) Loader[C] {
	var c C
	switch any(c).(type) {
	case float64:
		return any(LoadFloat[d]).(Loader[C])
	case int64:
		return any(LoadInt[d]).(Loader[C])
	case uint64:
		return any(LoadUint[d]).(Loader[C])
	}
	return any(LoadCplx[d]).(Loader[C])
}
