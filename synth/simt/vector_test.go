package simt

import (
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// The loops that a processor has for columns give the bits of those in Go, for any number of invocations.
func TestVector(t *testing.T) {
	for typ, list := range map[scalar.Type]map[scalar.Op]binder{
		scalar.F32: floats[float32](), scalar.F64: floats[float64](), scalar.I32: wholes[int32](), scalar.U32: wholes[uint32](),
		scalar.I64: wholes[int64](), scalar.U64: wholes[uint64](),
	} {
		for op, loop := range list {
			if mulHigh := op == scalar.MulHi && typ != scalar.U32; !mulHigh {
				sameLoops(t, typ, typ, op, arithmetic[typ][op], loop)
			}
		}
	}
	for typ, list := range map[scalar.Type]map[scalar.Op]binder{
		scalar.Bool: compares[uint32](), scalar.F32: compares[float32](), scalar.F64: compares[float64](),
		scalar.I32: compares[int32](), scalar.U32: compares[uint32](), scalar.I64: compares[int64](), scalar.U64: compares[uint64](),
	} {
		for op, loop := range list {
			sameLoops(t, typ, scalar.U32, op, comparisons[typ][op], loop)
		}
	}
	sameLoops(t, scalar.Bool, scalar.Bool, scalar.AndB, special[scalar.AndB], two(and[uint32]))
	sameLoops(t, scalar.Bool, scalar.Bool, scalar.OrB, special[scalar.OrB], two(or[uint32]))
	sameLoops(t, scalar.Bool, scalar.Bool, scalar.NotB, special[scalar.NotB], one(notBool))
	sameLoops(t, scalar.I32, scalar.F32, scalar.Convert, convertInt32, one(cast[float32, int32]))
	sameLoops(t, scalar.F32, scalar.F32, scalar.Fma, mulAdd32, three(mulAdd[float32]))
	sameLoops(t, scalar.F64, scalar.F64, scalar.Fma, mulAdd64, three(mulAdd[float64]))
	sameLoops(t, scalar.U32, scalar.U32, scalar.Select, choose32, choosing[uint32]())
	sameLoops(t, scalar.U64, scalar.U64, scalar.Select, choose64, choosing[uint64]())
	sameLoops(t, scalar.U32, scalar.U32, scalar.Bitcast, copy32, one(same[uint32]))
	sameLoops(t, scalar.U64, scalar.U64, scalar.Bitcast, copy64, one(same[uint64]))
}

// sameLoops compares two loops of columns of a type, whose results are of another one.
func sameLoops(t *testing.T, typ, to scalar.Type, op scalar.Op, got, want binder) {
	t.Helper()
	const x, y, z, a, b = 0, 1, 2, 3, 4 // the operands and two results
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, uint64(op)))
		m := &machine{Code: &Code{k: &kernel.Kernel{}, at: make([]int, 5)}, n: 1 + r.IntN(Width), columns: make([]uint64, 5*Width)}
		for v := range m.at {
			m.at[v] = v * Width
		}
		for v := range 3 {
			drawColumn(r, m, kernel.Value(v), typ)
		}
		switch {
		case op == scalar.Shl || op == scalar.Shr:
			for i, c := 0, column[uint32](m, y); i < m.n; i++ {
				c[i] = r.Uint32N(70)
			}
		case op == scalar.Select:
			for i, c := 0, column[uint32](m, x); i < m.n; i++ {
				c[i] = r.Uint32N(2)
			}
		}
		got(a, []kernel.Value{x, y, z})(m)
		want(b, []kernel.Value{x, y, z})(m)
		p, q := m.columns[a*Width:][:Width], m.columns[b*Width:][:Width]
		for i := range m.n {
			if !alikeAt(to, p, q, i) {
				t.Errorf("%v of %v, seed %d: element %d of %d is %x, want %x", op, typ, seed, i, m.n, p, q)
				return
			}
		}
	}
}

// alikeAt reports whether two columns have the same bits at a place, or both NaN.
func alikeAt(t scalar.Type, p, q []uint64, i int) bool {
	if kernel.Is64(t) {
		nan := t == scalar.F64 && math.IsNaN(math.Float64frombits(p[i])) && math.IsNaN(math.Float64frombits(q[i]))
		return p[i] == q[i] || nan
	}
	x, y := view[uint32](p)[i], view[uint32](q)[i]
	f, g := *(*float32)(unsafe.Pointer(&x)), *(*float32)(unsafe.Pointer(&y))
	return x == y || t == scalar.F32 && f != f && g != g
}

// drawColumn fills a column with elements of all magnitudes, among them equal ones and extremes.
func drawColumn(r *rand.Rand, m *machine, v kernel.Value, t scalar.Type) {
	specials := []float64{0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.NaN(), 0.5, -0.5, 1.5, -2.5, 1e-310, 1e-40}
	for i := range m.n {
		x := math.Ldexp(r.NormFloat64(), r.IntN(80)-40)
		if r.IntN(4) == 0 {
			x = specials[r.IntN(len(specials))]
		}
		bits := r.Uint64() >> (r.IntN(8) * r.IntN(8))
		switch t {
		case scalar.F32:
			column[float32](m, v)[i] = float32(x)
		case scalar.F64:
			column[float64](m, v)[i] = x
		case scalar.Bool:
			column[uint32](m, v)[i] = uint32(bits & 1)
		case scalar.I32, scalar.U32:
			column[uint32](m, v)[i] = uint32(bits) >> (r.IntN(2) * r.IntN(32))
		default:
			column[uint64](m, v)[i] = bits
		}
	}
}
