package kerneltest

import (
	"encoding/binary"
	"math"
	"testing"

	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// What a Builder makes of complex numbers: x, y and a real number r.
func TestComplex(t *testing.T) {
	x, y, r := complex(3, -2), complex(0.5, 4), 0.25
	for name, c := range map[string]struct {
		body func(b *kernel.Builder, x, y, r kernel.Value) kernel.Value
		want complex128
	}{
		"sum":           {func(b *kernel.Builder, x, y, r kernel.Value) kernel.Value { return b.Add(x, y) }, x + y},
		"sum, real":     {func(b *kernel.Builder, x, y, r kernel.Value) kernel.Value { return b.Sub(r, x) }, complex(r, 0) - x},
		"negative":      {func(b *kernel.Builder, x, y, r kernel.Value) kernel.Value { return b.Prim(scalar.Neg, scalar.C128, x) }, -x},
		"product":       {func(b *kernel.Builder, x, y, r kernel.Value) kernel.Value { return b.Mul(x, y) }, x * y},
		"product, real": {func(b *kernel.Builder, x, y, r kernel.Value) kernel.Value { return b.Mul(r, y) }, complex(r, 0) * y},
		"fma": {func(b *kernel.Builder, x, y, r kernel.Value) kernel.Value {
			return b.Prim(scalar.Fma, scalar.C128, x, y, x)
		}, x*y + x},
		"fma, real": {func(b *kernel.Builder, x, y, r kernel.Value) kernel.Value {
			return b.Prim(scalar.Fma, scalar.C128, r, y, x)
		}, complex(r, 0)*y + x},
		"fma of reals": {func(b *kernel.Builder, x, y, r kernel.Value) kernel.Value {
			return b.Prim(scalar.Fma, scalar.C128, r, r, x)
		}, complex(r*r, 0) + x},
		"fma, real sum": {func(b *kernel.Builder, x, y, r kernel.Value) kernel.Value {
			return b.Prim(scalar.Fma, scalar.C128, x, y, r)
		}, x*y + complex(r, 0)},
		"quotient": {func(b *kernel.Builder, x, y, r kernel.Value) kernel.Value {
			return b.Prim(scalar.Div, scalar.C128, y, x)
		}, y / x},
		"quotient, other": {func(b *kernel.Builder, x, y, r kernel.Value) kernel.Value {
			return b.Prim(scalar.Div, scalar.C128, x, y)
		}, x / y},
		"quotient, real": {func(b *kernel.Builder, x, y, r kernel.Value) kernel.Value {
			return b.Prim(scalar.Div, scalar.C128, x, r)
		}, x / complex(r, 0)},
		"inverse": {func(b *kernel.Builder, x, y, r kernel.Value) kernel.Value {
			return b.Prim(scalar.Div, scalar.C128, r, x)
		}, complex(r, 0) / x},
		"constant": {func(b *kernel.Builder, x, y, r kernel.Value) kernel.Value { return b.Add(x, b.Float(scalar.C128, 5)) }, x + 5},
		"converted": {func(b *kernel.Builder, x, y, r kernel.Value) kernel.Value {
			return b.Convert(b.Int(scalar.U32, 7), scalar.C128)
		}, 7},
		"equal": {func(b *kernel.Builder, x, y, r kernel.Value) kernel.Value {
			return b.Select(b.Compare(scalar.Eq, x, y), x, y)
		}, y},
		"other": {func(b *kernel.Builder, x, y, r kernel.Value) kernel.Value {
			re, _ := b.Parts(x)
			return b.Select(b.Compare(scalar.Ne, x, b.Pair(re, re)), x, y)
		}, x},
		"select, real": {func(b *kernel.Builder, x, y, r kernel.Value) kernel.Value {
			return b.Select(b.Compare(scalar.Lt, r, r), x, r)
		}, complex(r, 0)},
		"branch": {func(b *kernel.Builder, x, y, r kernel.Value) kernel.Value {
			return b.If(b.Compare(scalar.Eq, x, x), func() []kernel.Value { return []kernel.Value{r, b.Mul(x, x), y} },
				func() []kernel.Value { return []kernel.Value{r, y, x} })[1]
		}, x * x},
		"loop": {func(b *kernel.Builder, x, y, r kernel.Value) kernel.Value {
			n := func(n int) kernel.Value { return b.Int(scalar.U32, n) }
			return b.Loop(n(0), n(3), n(1), []kernel.Value{r, x}, func(_ kernel.Value, v []kernel.Value) []kernel.Value {
				return []kernel.Value{b.Add(v[0], v[0]), b.Mul(v[1], v[0])}
			})[1]
		}, x * complex(r*2*r*4*r, 0)},
		"shared": {func(b *kernel.Builder, x, y, r kernel.Value) kernel.Value {
			a, c := b.Shared(scalar.C128, 2), b.Shared(scalar.F64, 1)
			n := func(n int) kernel.Value { return b.Int(scalar.U32, n) }
			b.StoreShared(a, n(0), x)
			b.StoreShared(a, n(1), r) // which has no second part
			b.StoreShared(c, n(0), r)
			return b.Add(b.Mul(b.LoadShared(a, n(0)), b.LoadShared(c, n(0))), b.LoadShared(a, n(1)))
		}, x*complex(r, 0) + complex(r, 0)},
	} {
		t.Run(name, func(t *testing.T) {
			b := kernel.NewBuilder(name, [3]uint32{1, 1, 1})
			buf := b.Buffer(kernel.F64, true, true)
			zero := b.Int(scalar.U32, 0)
			in := b.Load(buf, zero, 4)
			b.Barrier()
			re, im := b.Parts(c.body(b, b.Pair(in[0], in[1]), b.Pair(in[2], in[3]), b.Load(buf, b.Int(scalar.U32, 4), 1)[0]))
			b.Store(buf, zero, re, im)
			if err := kernel.Verify(b.Kernel()); err != nil {
				t.Fatal(err)
			}
			var data []byte
			for _, v := range []float64{real(x), imag(x), real(y), imag(y), r} {
				data = binary.LittleEndian.AppendUint64(data, math.Float64bits(v))
			}
			Run(b.Kernel(), [][]byte{data}, nil, [3]uint32{1, 1, 1})
			got := complex(math.Float64frombits(binary.LittleEndian.Uint64(data)), math.Float64frombits(binary.LittleEndian.Uint64(data[8:])))
			if d := got - c.want; math.Hypot(real(d), imag(d)) > 0x1p-50 {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}
