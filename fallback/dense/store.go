package dense

import (
	"math"

	"nxvk/ops"
)

// Storer writes elements to positions at, at+1, ... of a stored tensor,
// rounding or wrapping once.
type Storer[C Class] func(dst []byte, at int, src []C)

type storers[C Class] [ops.C128 + 1]Storer[C]

// store writes by Go's conversion: integers wrap, floats round.
func store[C RealClass, T Stored](dst []byte, at int, src []C) {
	d := View[T](dst)[at : at+len(src)]
	for i, x := range src {
		d[i] = T(x)
	}
}

// storeQuiet writes floats; every NaN is the one that Nx writes.
func storeQuiet[T float32 | float64](dst []byte, at int, src []float64) {
	d := View[T](dst)[at : at+len(src)]
	for i, x := range src {
		d[i] = Quiet(T(x))
	}
}

// storeVia32 rounds an integer to float64 first, as Erlang does before it
// writes 32 bits.
func storeVia32[C int64 | uint64](dst []byte, at int, src []C) {
	d := View[float32](dst)[at : at+len(src)]
	for i, x := range src {
		d[i] = float32(float64(x))
	}
}

// storeSaturated writes floats as integers: it rounds toward zero and wraps. NaN becomes 0,
// and infinities become the extremes of the type.
func storeSaturated[T Stored](lo, hi T) Storer[float64] {
	return func(dst []byte, at int, src []float64) {
		d := View[T](dst)[at : at+len(src)]
		for i, x := range src {
			switch {
			case x > -(1<<63) && x < 1<<63:
				d[i] = T(int64(x))
			case math.IsInf(x, 1):
				d[i] = hi
			case math.IsInf(x, -1):
				d[i] = lo
			default:
				d[i] = T(truncate(x))
			}
		}
	}
}

func storeNarrow[C RealClass, T e5m2 | e4m3](dst []byte, at int, src []C) {
	d, encode := View[T](dst)[at:at+len(src)], encoder[T]()
	for i, x := range src {
		d[i] = encode(float64(x))
	}
}

// storeBF16 and storeF16 write floats without a call for each.
func storeBF16(dst []byte, at int, src []float64) {
	d := View[uint16](dst)[at : at+len(src)]
	for i, x := range src {
		d[i] = encodeBF16(x)
	}
}

func storeF16(dst []byte, at int, src []float64) {
	d := View[uint16](dst)[at : at+len(src)]
	for i, x := range src {
		switch size := math.Abs(x); {
		case size < f16Normal:
			d[i] = encodeSmallF16(x)
		case size < f16Beyond:
			d[i] = encodeNormalF16(x)
		default:
			d[i] = formatF16.encode(x)
		}
	}
}

// through makes a storer of floats one of another class, which floats converts.
func through[C Class](store Storer[float64], floats func(dst []float64, src []C)) Storer[C] {
	return func(dst []byte, at int, src []C) {
		var buf [64]float64
		for len(src) > 0 {
			n := min(len(src), len(buf))
			floats(buf[:n], src)
			store(dst, at, buf[:n])
			src, at = src[n:], at+n
		}
	}
}

// asFloat writes integers through a storer of floats.
func asFloat[C int64 | uint64](store Storer[float64]) Storer[C] {
	return through(store, func(dst []float64, src []C) {
		for i := range dst {
			dst[i] = float64(src[i])
		}
	})
}

// cut wraps bytes of a type of less than a byte, and extends the sign of signed ones.
func cut[C Class](store Storer[C], bits int, signed bool) Storer[C] {
	up := 8 - bits
	return func(dst []byte, at int, src []C) {
		store(dst, at, src)
		for i, x := range dst[at : at+len(src)] {
			if signed {
				dst[at+i] = byte(int8(x<<up) >> up)
			} else {
				dst[at+i] = x << up >> up
			}
		}
	}
}

// storePair writes real numbers as complex ones.
func storePair[C RealClass, T complex64 | complex128](dst []byte, at int, src []C) {
	d := View[T](dst)[at : at+len(src)]
	for i, x := range src {
		d[i] = T(complex(Quiet(float64(x)), 0))
	}
}

func storeComplex[T complex64 | complex128](dst []byte, at int, src []complex128) {
	d := View[T](dst)[at : at+len(src)]
	for i, x := range src {
		d[i] = T(complex(Quiet(real(x)), Quiet(imag(x))))
	}
}

// realPart writes the real parts of complex numbers through a storer of floats.
func realPart(store Storer[float64]) Storer[complex128] {
	return through(store, func(dst []float64, src []complex128) {
		for i := range dst {
			dst[i] = real(src[i])
		}
	})
}

func integerStorers[C int64 | uint64]() storers[C] {
	return storers[C]{
		ops.U2: cut(store[C, uint8], 2, false), ops.U4: cut(store[C, uint8], 4, false),
		ops.U8: store[C, uint8], ops.U16: store[C, uint16], ops.U32: store[C, uint32], ops.U64: store[C, uint64],
		ops.S2: cut(store[C, int8], 2, true), ops.S4: cut(store[C, int8], 4, true),
		ops.S8: store[C, int8], ops.S16: store[C, int16], ops.S32: store[C, int32], ops.S64: store[C, int64],
		ops.F8: storeNarrow[C, e5m2], ops.F8E4M3: storeNarrow[C, e4m3],
		ops.BF16: asFloat[C](storeBF16), ops.F16: asFloat[C](storeF16),
		ops.F32: storeVia32[C], ops.F64: store[C, float64],
		ops.C64: storePair[C, complex64], ops.C128: storePair[C, complex128],
	}
}

func floatStorers() storers[float64] {
	return storers[float64]{
		ops.U2: cut(storeSaturated[uint8](0, 3), 2, false), ops.U4: cut(storeSaturated[uint8](0, 15), 4, false),
		ops.U8: storeSaturated[uint8](0, math.MaxUint8), ops.U16: storeSaturated[uint16](0, math.MaxUint16),
		ops.U32: storeSaturated[uint32](0, math.MaxUint32), ops.U64: storeSaturated[uint64](0, math.MaxUint64),
		ops.S2: cut(storeSaturated[int8](-2, 1), 2, true), ops.S4: cut(storeSaturated[int8](-8, 7), 4, true),
		ops.S8: storeSaturated[int8](math.MinInt8, math.MaxInt8), ops.S16: storeSaturated[int16](math.MinInt16, math.MaxInt16),
		ops.S32: storeSaturated[int32](math.MinInt32, math.MaxInt32), ops.S64: storeSaturated[int64](math.MinInt64, math.MaxInt64),
		ops.F8: storeNarrow[float64, e5m2], ops.F8E4M3: storeNarrow[float64, e4m3],
		ops.BF16: storeBF16, ops.F16: storeF16,
		ops.F32: storeQuiet[float32], ops.F64: storeQuiet[float64],
		ops.C64: storePair[float64, complex64], ops.C128: storePair[float64, complex128],
	}
}

func complexStorers() (t storers[complex128]) {
	for d, s := range StoreFloat {
		if s != nil {
			t[d] = realPart(s)
		}
	}
	t[ops.C64], t[ops.C128] = storeComplex[complex64], storeComplex[complex128]
	return t
}

// The storers of each class, by stored type.
var (
	StoreFloat = floatStorers()
	StoreInt   = integerStorers[int64]()
	StoreUint  = integerStorers[uint64]()
	StoreCplx  = complexStorers()
)

// StoreAs returns the storer of a type for a class.
func StoreAs[C Class](d ops.DType) Storer[C] {
	var c C
	switch any(c).(type) {
	case float64:
		return any(StoreFloat[d]).(Storer[C])
	case int64:
		return any(StoreInt[d]).(Storer[C])
	case uint64:
		return any(StoreUint[d]).(Storer[C])
	}
	return any(StoreCplx[d]).(Storer[C])
}
