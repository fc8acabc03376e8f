package linalg_test

import (
	"math"
	"testing"

	"nxvk/ops"
	"nxvk/synth/codegen"
	"nxvk/synth/dot"
	"nxvk/synth/linalg/factor"
	"nxvk/synth/linalg/qr"
	"nxvk/synth/lowering"
	"nxvk/synth/synthtest"
)

// T of a block is that of its reflectors one after the other.
func TestJoined(t *testing.T) {
	for _, c := range []struct {
		target            *lowering.Target
		d                 ops.DType
		count, rows, cols int
	}{{synthtest.GPU, ops.F32, 1, 300, 128}, {synthtest.GPU, ops.F64, 2, 70, 41}, {small, ops.F32, 2, 260, 64}, {small, ops.F64, 1, 3, 3}, {synthtest.GPU, ops.F32, 1, 5, 1}} {
		j := &factor.Job{Builder: &dot.Builder{Plan: &lowering.Plan{Alias: -1}, Target: c.target, Wide: c.d}, Typ: codegen.WideType(c.d), Count: c.count}
		j.Types = []ops.Type{synthtest.Type(c.d, c.count, c.rows, c.cols)}
		v, scales := gauss(j.Types[0], 1), synthtest.Tensor{Typ: synthtest.Type(c.d, c.count, c.cols, c.cols), F: make([]float64, c.count*c.cols*c.cols)}
		for b := range c.count {
			v, s := matrix(v, b, c.rows, c.cols), matrix(scales, b, c.cols, c.cols)
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
		v, scales = rounded(v), rounded(scales)
		f := &qr.QR{Job: j}
		to := f.JoinReflectors(j.Dense(lowering.Ref{Kind: lowering.Operand, Index: 0}, c.rows, c.cols), j.Dense(lowering.Ref{Kind: lowering.Operand, Index: 1}, c.cols, c.cols), c.rows, c.cols)
		j.Copy(j.Dense(lowering.Ref{Kind: lowering.Result, Index: 0}, c.cols, c.cols), to, c.cols, c.cols)
		if j.Err != nil {
			t.Fatal(j.Err)
		}
		got := synthtest.FromBytes(scales.Typ, synthtest.Execute(t, j.Plan, []int{scales.Typ.Bytes()}, [][]byte{v.Bytes(), scales.Bytes()}, nil)[0])
		for b := range c.count {
			want := triangleOf(matrix(v, b, c.rows, c.cols), matrix(scales, b, c.cols, c.cols))
			near(t, "T", c.d, matrix(got, b, c.cols, c.cols), want, want.norm())
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
	for _, target := range []*lowering.Target{synthtest.GPU, small} {
		for _, d := range []ops.DType{ops.F32, ops.F64} {
			x := synthtest.Type(d, 2, 2051, 2049)
			in := synthtest.Instr(ops.QR, synthtest.Type(d, 2, 2051, 2049), []int{0})
			in.Outs = append(in.Outs, ops.Result{ID: 100, Type: synthtest.Type(d, 2, 2049, 2049)})
			p, err := synthtest.Lower(t, target, in, x)
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
