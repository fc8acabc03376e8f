package simt

import (
	"math"

	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// prim readies a primitive operation.
func (c *Code) prim(in *kernel.Inst) op {
	d, t := in.Res[0], c.k.Types[in.Res[0]]
	from := c.k.Types[in.Args[0]]
	switch in.Prim {
	case scalar.Convert:
		if from == scalar.I32 && t == scalar.F32 {
			return convertInt32(d, in.Args)
		}
		return conversions[from](t, d, in.Args[0])
	case scalar.Eq, scalar.Ne, scalar.Lt, scalar.Le:
		return comparisons[from][in.Prim](d, in.Args)
	case scalar.Fma:
		return c.mulAdd(in, t)
	case scalar.Select, scalar.Bitcast:
		return move(in, is32(t))
	case scalar.FindMSB, scalar.BitCount, scalar.Lo, scalar.Hi, scalar.Pack, scalar.PackHalf, scalar.UnpackHalf, scalar.RoundHalf, scalar.AndB, scalar.OrB, scalar.NotB:
		return special[in.Prim](d, in.Args)
	}
	return arithmetic[t][in.Prim](d, in.Args)
}

// binder makes an operation of a result and operands.
type binder func(d kernel.Value, args []kernel.Value) op

// one, two and shift are binders of loops over columns.
func one[T, F any](loop func(d []T, x []F)) binder {
	return func(d kernel.Value, args []kernel.Value) op {
		x := args[0]
		return func(m *machine) { loop(column[T](m, d), column[F](m, x)) }
	}
}

func two[T, F any](loop func(d []T, x, y []F)) binder {
	return func(d kernel.Value, args []kernel.Value) op {
		x, y := args[0], args[1]
		return func(m *machine) { loop(column[T](m, d), column[F](m, x), column[F](m, y)) }
	}
}

func shift[T any](loop func(d, x []T, y []uint32)) binder {
	return func(d kernel.Value, args []kernel.Value) op {
		x, y := args[0], args[1]
		return func(m *machine) { loop(column[T](m, d), column[T](m, x), column[uint32](m, y)) }
	}
}

// Operations that are not by type. A processor may have others, see vector_amd64.go.
var (
	copy32, copy64     = one(same[uint32]), one(same[uint64])
	choose32, choose64 = choosing[uint32](), choosing[uint64]()
	mulAdd32, mulAdd64 = three(mulAdd[float32]), three(mulAdd[float64])
	convertInt32       = one(cast[float32, int32])
)

// move readies what moves bits of a width.
func move(in *kernel.Inst, is32 bool) op {
	bind := choose64
	switch {
	case in.Prim == scalar.Bitcast && is32:
		bind = copy32
	case in.Prim == scalar.Bitcast:
		bind = copy64
	case is32:
		bind = choose32
	}
	return bind(in.Res[0], in.Args)
}

func choosing[T word]() binder {
	return func(d kernel.Value, args []kernel.Value) op {
		where, x, y := args[0], args[1], args[2]
		return func(m *machine) { choose(column[T](m, d), column[uint32](m, where), column[T](m, x), column[T](m, y)) }
	}
}

// mulAdd readies a multiply-add, which rounds as the device's does.
func (c *Code) mulAdd(in *kernel.Inst, t scalar.Type) op {
	bind := mulAdd64
	switch {
	case t == scalar.F32 && c.fused:
		bind = three(fused32)
	case t == scalar.F32:
		bind = mulAdd32
	case c.fused:
		bind = three(fused64)
	}
	return bind(in.Res[0], in.Args)
}

func three[T any](loop func(d, x, y, z []T)) binder {
	return func(d kernel.Value, args []kernel.Value) op {
		x, y, z := args[0], args[1], args[2]
		return func(m *machine) { loop(column[T](m, d), column[T](m, x), column[T](m, y), column[T](m, z)) }
	}
}

func fused32(d, x, y, z []float32) {
	for i := range d {
		d[i] = kernel.MulAdd32(x[i], y[i], z[i])
	}
}

func fused64(d, x, y, z []float64) {
	for i := range d {
		d[i] = math.FMA(x[i], y[i], z[i])
	}
}

func packHalves(d []uint32, x []float32) {
	for i := range d {
		d[i] = uint32(kernel.PackHalf(x[i]))
	}
}

func unpackHalves(d []float32, x []uint32) {
	for i := range d {
		d[i] = kernel.UnpackHalf(uint16(x[i]))
	}
}

func roundHalves(d, x []float32) {
	for i := range d {
		d[i] = kernel.UnpackHalf(kernel.PackHalf(x[i]))
	}
}

var special = map[scalar.Op]binder{
	scalar.FindMSB:  one(highest),
	scalar.BitCount: one(ones),
	scalar.Lo:       one(low),
	scalar.Hi:       one(high),
	scalar.Pack:     two(pack),

	scalar.PackHalf:   one(packHalves),
	scalar.UnpackHalf: one(unpackHalves),
	scalar.RoundHalf:  one(roundHalves),

	scalar.AndB: two(and[uint32]),
	scalar.OrB:  two(or[uint32]),
	scalar.NotB: one(notBool),
}

// arithmetic is by the type of operands and result.
var arithmetic = map[scalar.Type]map[scalar.Op]binder{
	scalar.F32: floats[float32](),
	scalar.F64: floats[float64](),
	scalar.I32: wholes[int32](),
	scalar.U32: wholes[uint32](),
	scalar.I64: wholes[int64](),
	scalar.U64: wholes[uint64](),
}

func floats[T float]() map[scalar.Op]binder {
	return map[scalar.Op]binder{
		scalar.Add: two(add[T]), scalar.Sub: two(sub[T]), scalar.Mul: two(mul[T]), scalar.Div: two(div[T]),
		scalar.Neg: one(neg[T]), scalar.Sqrt: one(sqrt[T]),
		scalar.Floor: one(each[T](math.Floor)), scalar.Ceil: one(each[T](math.Ceil)),
		scalar.Trunc: one(each[T](math.Trunc)), scalar.RoundEven: one(each[T](math.RoundToEven)), scalar.Exp2: one(each[T](math.Exp2)),
		scalar.InverseSqrt: one(each[T](func(x float64) float64 { return 1 / math.Sqrt(x) })),
	}
}

func wholes[T whole]() map[scalar.Op]binder {
	return map[scalar.Op]binder{
		scalar.Add: two(add[T]), scalar.Sub: two(sub[T]), scalar.Mul: two(mul[T]), scalar.Neg: one(neg[T]),
		scalar.Div: two(quotient[T]), scalar.Rem: two(remainder[T]),
		scalar.And: two(and[T]), scalar.Or: two(or[T]), scalar.Xor: two(xor[T]), scalar.Not: one(not[T]),
		scalar.Shl: shift(shl[T]), scalar.Shr: shift(shr[T]), scalar.MulHi: two(mulHigh),
	}
}

// comparisons are by the type of the operands.
var comparisons = map[scalar.Type]map[scalar.Op]binder{
	scalar.Bool: compares[uint32](),
	scalar.F32:  compares[float32](),
	scalar.F64:  compares[float64](),
	scalar.I32:  compares[int32](),
	scalar.U32:  compares[uint32](),
	scalar.I64:  compares[int64](),
	scalar.U64:  compares[uint64](),
}

func compares[T number]() map[scalar.Op]binder {
	return map[scalar.Op]binder{
		scalar.Eq: two(equal[T]), scalar.Ne: two(unequal[T]), scalar.Lt: two(less[T]), scalar.Le: two(atMost[T]),
	}
}

// conversions are by the type of the operand.
var conversions = map[scalar.Type]func(to scalar.Type, d, x kernel.Value) op{
	scalar.Bool: converting[uint32],
	scalar.F32:  converting[float32],
	scalar.F64:  converting[float64],
	scalar.I32:  converting[int32],
	scalar.U32:  converting[uint32],
	scalar.I64:  converting[int64],
	scalar.U64:  converting[uint64],
}

func converting[F number](to scalar.Type, d, x kernel.Value) op {
	binders := map[scalar.Type]binder{
		scalar.Bool: one(nonzero[F]),
		scalar.F32:  one(cast[float32, F]),
		scalar.F64:  one(cast[float64, F]),
		scalar.I32:  one(cast[int32, F]),
		scalar.U32:  one(cast[uint32, F]),
		scalar.I64:  one(cast[int64, F]),
		scalar.U64:  one(cast[uint64, F]),
	}
	return binders[to](d, []kernel.Value{x})
}
