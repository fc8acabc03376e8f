package gemm

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"

	"nxvk/gen/exec/target"
	"nxvk/ops"
	"nxvk/synth/gemm"
	"nxvk/vulkan"
)

// MatrixTarget is the target of products on matrix hardware, whatever the device prefers.
func MatrixTarget(i vulkan.Info) gemm.Target {
	t := Target(i)
	t.CPU, t.Addresses, t.Matrices = false, true, target.Matrices(i)
	return t
}

// NarrowProduct is a product of operands of 16 or 8 bits with wide sums.
type NarrowProduct struct {
	gemm.Problem
	a, b []byte
}

// repeated is how many numbers of large operands are drawn, which is no multiple of a row.
const repeated = 1<<20 - 3

// Random fills the operands of a problem with numbers in [-1, 1), or with integers.
func Random(p gemm.Problem, seed uint64) *NarrowProduct {
	r := rand.New(rand.NewPCG(seed, uint64(p.M*p.N+p.K)))
	extent := func(s gemm.Strides, rows, cols int) []byte {
		n := (rows-1)*s.Row + (cols-1)*s.Col + (p.Batch-1)*s.Batch + 1
		out := make([]byte, 0, n*p.Operands.Size())
		for len(out) < min(n, repeated)*p.Operands.Size() {
			x := float32(int32(r.Uint32())) * 0x1p-31
			switch p.Operands {
			case ops.BF16:
				out = binary.LittleEndian.AppendUint16(out, uint16(math.Float32bits(x)>>16))
			case ops.F16:
				b := math.Float32bits(x)
				if max(x, -x) < 0x1p-14 {
					b = 0x3f800000
				}
				out = binary.LittleEndian.AppendUint16(out, uint16(b>>16&0x8000|(b>>13-112<<10)&0x7fff))
			default:
				out = append(out, byte(r.Uint32()))
			}
		}
		for len(out) < cap(out) {
			out = append(out, out[:min(len(out), cap(out)-len(out))]...)
		}
		return out
	}
	return &NarrowProduct{p, extent(p.A, p.M, p.K), extent(p.B, p.K, p.N)}
}

func (p *NarrowProduct) value(b []byte, i int) float64 {
	switch p.Operands {
	case ops.BF16:
		return float64(math.Float32frombits(uint32(binary.LittleEndian.Uint16(b[2*i:])) << 16))
	case ops.F16:
		h := uint32(binary.LittleEndian.Uint16(b[2*i:]))
		return float64(math.Float32frombits(h&0x8000<<16 | (h&0x7fff)<<13 + 112<<23))
	case ops.S8:
		return float64(int8(b[i]))
	}
	return float64(b[i])
}

// Upload puts the operands on the device, and makes a result full of garbage.
func (p *NarrowProduct) Upload(r *Runner) (*Operands, error) {
	o := &Operands{}
	s := r.Device.Stream()
	garbage := make([]byte, 4*p.Batch*p.M*p.N)
	for i := range garbage {
		garbage[i] = 0xff // NaN
	}
	for _, x := range []struct {
		b    **vulkan.Buffer
		data []byte
	}{{&o.A, p.a}, {&o.B, p.b}, {&o.C, garbage}} {
		var err error
		if *x.b, err = r.Device.Alloc((len(x.data) + 15) / 16 * 16); err != nil {
			return nil, err
		}
		if err := s.Upload(*x.b, 0, x.data); err != nil {
			return nil, err
		}
	}
	return o, r.Finish(s)
}

// MatrixBound is the error of a sum on matrix hardware, in units of f32's 2^-24 times the sum
// of the magnitudes of k products: each addition may round, toward zero too.
func MatrixBound(k int) float64 { return 2 * float64(k+8) }

// Check compares some results, or all where that is few, with sums in double precision.
func (p *NarrowProduct) Check(got []byte, most int) error {
	all := p.Batch * p.M * p.N
	r := rand.New(rand.NewPCG(1, uint64(all)))
	for i := range min(all, most) {
		at := i
		switch {
		case all > most && i%4 == 0:
			at = all - 1 - i
		case all > most && i%4 == 1:
			at = (i%p.Batch+1)*p.M*p.N - 1 - r.IntN(p.N)
		case all > most:
			at = r.IntN(all)
		}
		z, m, n := at/(p.M*p.N), at/p.N%p.M, at%p.N
		sum, scale := 0.0, 0.0
		for k := range p.K {
			t := p.value(p.a, z*p.A.Batch+m*p.A.Row+k*p.A.Col) * p.value(p.b, z*p.B.Batch+k*p.B.Row+n*p.B.Col)
			sum, scale = sum+t, scale+math.Abs(t)
		}
		bits := binary.LittleEndian.Uint32(got[4*at:])
		have, bound := float64(math.Float32frombits(bits)), MatrixBound(p.K)*0x1p-24*scale
		switch p.Type {
		case ops.S32:
			have, bound = float64(int32(bits)), 0
		case ops.U32:
			have, bound = float64(bits), 0
		}
		if !(math.Abs(have-sum) <= bound) {
			return fmt.Errorf("result [%d,%d,%d] is %v, want %v within %g", z, m, n, have, sum, bound)
		}
	}
	return nil
}

// Widened has an operand in the type of the sums, as that of the few vectors beside a large matrix on a processor.
func (p *NarrowProduct) Widened(b gemm.Buffer) *NarrowProduct {
	q := *p
	data := &q.a
	if b == gemm.B {
		data = &q.b
	}
	narrow := *data
	*data = nil
	for i := range len(narrow) / p.Operands.Size() {
		bits := uint32(int32(p.value(narrow, i)))
		if p.Type == ops.F32 {
			bits = math.Float32bits(float32(p.value(narrow, i)))
		}
		*data = binary.LittleEndian.AppendUint32(*data, bits)
	}
	return &q
}

// Buffers are the operands as they are uploaded.
func (p *NarrowProduct) Buffers() (a, b []byte) { return p.a, p.b }
