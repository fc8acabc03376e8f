package synth

import (
	"math"
	"testing"

	"nxvk/ops"
)

// T of a block is that of its reflectors one after the other.
func TestJoined(t *testing.T) {
	for _, c := range []struct {
		target            *Target
		d                 ops.DType
		count, rows, cols int
	}{{gpu, ops.F32, 1, 300, 128}, {gpu, ops.F64, 2, 70, 41}, {small, ops.F32, 2, 260, 64}, {small, ops.F64, 1, 3, 3}, {gpu, ops.F32, 1, 5, 1}} {
		j := &linalg{dot: &dot{plan: &Plan{Alias: -1}, t: c.target, wide: c.d}, typ: wide(c.d), count: c.count}
		j.types = []ops.Type{typ(c.d, c.count, c.rows, c.cols)}
		v, scales := gauss(j.types[0], 1), tensor{typ: typ(c.d, c.count, c.cols, c.cols), f: make([]float64, c.count*c.cols*c.cols)}
		for b := range c.count {
			v, s := v.matrix(b, c.rows, c.cols), scales.matrix(b, c.cols, c.cols)
			for k := range c.cols {
				size := 1.0
				for i := range c.rows {
					v.set(i, k, v.at(i, k)/math.Sqrt(float64(c.rows)))
					if i <= k {
						v.set(i, k, identity(1+max(i, k)).at(i, k))
						continue
					}
					size += v.at(i, k) * v.at(i, k)
				}
				s.set(k, k, 2/size)
			}
		}
		v, scales = v.rounded(), scales.rounded()
		f := &reflections{linalg: j}
		to := f.joined(j.dense(Ref{Operand, 0}, c.rows, c.cols), j.dense(Ref{Operand, 1}, c.cols, c.cols), c.rows, c.cols)
		j.copy(j.dense(Ref{Result, 0}, c.cols, c.cols), to, c.cols, c.cols)
		if j.err != nil {
			t.Fatal(j.err)
		}
		got := fromBytes(scales.typ, execute(t, j.plan, []int{scales.typ.Bytes()}, [][]byte{v.bytes(), scales.bytes()}, nil)[0])
		for b := range c.count {
			want := triangleOf(v.matrix(b, c.rows, c.cols), scales.matrix(b, c.cols, c.cols))
			near(t, "T", c.d, got.matrix(b, c.cols, c.cols), want, want.norm())
		}
	}
}

// triangleOf extends T by a column at a time.
func triangleOf(v, scales mat) mat {
	products, t := v.transposed().times(v), newMat(v.n, v.n)
	for k := range v.n {
		t.set(k, k, scales.at(k, k))
		for i := range k {
			for d := i; d < k; d++ {
				t.set(i, k, t.at(i, k)-scales.at(k, k)*t.at(i, d)*products.at(d, k))
			}
		}
	}
	return t
}

// Products reach parts of q where memory can be bound.
func TestBlocksBegin(t *testing.T) {
	for _, target := range []*Target{gpu, small} {
		for _, d := range []ops.DType{ops.F32, ops.F64} {
			x := typ(d, 2, 2051, 2049)
			in := instr(ops.QR, typ(d, 2, 2051, 2049), []int{0})
			in.Outs = append(in.Outs, ops.Result{ID: 100, Type: typ(d, 2, 2049, 2049)})
			p, err := lower(t, target, in, x)
			if err != nil {
				t.Fatal(err)
			}
			parts := 0
			for _, s := range p.Steps {
				for _, a := range s.Args {
					if a.Offset > 0 {
						parts++
					}
					if a.Offset%256 != 0 {
						t.Errorf("%v: a step begins %d bytes into a buffer", d, a.Offset)
					}
				}
			}
			if parts == 0 {
				t.Errorf("%v: no step begins within a buffer", d)
			}
		}
	}
}
