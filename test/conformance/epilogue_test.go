package conformance

import (
	"bytes"
	"fmt"
	"math"
	"testing"

	"nxvk/gen/exec/exectest"
	"nxvk/ops"
	"nxvk/test/draw"
)

// The kernels of a product execute its epilogue, with the same bits as separate
// instructions: a bias, an activation, a residual, and further values that are kept.
func TestEpilogues(t *testing.T) {
	modes(t, func(t *testing.T, d, host *exectest.Driver, gpu bool) {
		if target.CPU && !gpu {
			t.Skip("the products of a processor take nothing in")
		}
		fused := 0
		try := func(seed int, c instr, of int) {
			if rarely(of, &c) {
				fused += inEpilogue(t, d, uint64(seed), &c)
			}
		}
		for i := range dots {
			for _, types := range products {
				of := 48
				if types == products[0] {
					of = 3
				}
				try(i, contraction(t, i, types), of)
			}
		}
		for i := range convolutions {
			for _, types := range filterings {
				of := 36
				if types == filterings[0] {
					of = 6
				}
				try(i, convolutions[i].instr(t, types), of)
			}
		}
		if fused == 0 {
			t.Error("nothing came into a product")
		}
	})
}

// inEpilogue runs a program of a product and what becomes of its results, first one
// instruction at a time and then in fusions. It tells by how many dispatches these are
// fewer.
func inEpilogue(t *testing.T, d *exectest.Driver, seed uint64, c *instr) int {
	t.Helper()
	return inFusions(t, d, seed, c, afterwards(c, seed%2 == 0))
}

// inFusions runs a program until it is carried out in fusions, which give the same bits, and
// tells how many dispatches that spares. name is what errors call it.
func inFusions(t *testing.T, d *exectest.Driver, seed uint64, name fmt.Stringer, p *ops.Region) int {
	t.Helper()
	types, err := p.CheckProgram()
	if err != nil {
		t.Fatalf("%v: %v", name, err)
	}
	s := newSampler(seed)
	var data [][]byte
	for _, param := range p.Params {
		data = append(data, s.draw(param.Type, ops.Real, false))
	}
	var first [][]byte
	var alone, last uint64
	for i := range d.Exec.Services().Enough() + 1 {
		got, dispatches, err := results(d, p, types, data)
		if err != nil {
			t.Fatalf("%v: %v", name, err)
		}
		if i == 0 {
			first, alone = got, dispatches
		}
		for k := range got {
			if err := sameBits(got[k], first[k], types[k]); err != nil {
				t.Errorf("%v: result %d of run %d: %v", name, k, i, err)
				return 0
			}
		}
		last = dispatches
		if err := d.Built(); err != nil {
			t.Fatal(err)
		}
	}
	return int(alone - last)
}

// sameBits reports an element that has other bits than the one wanted. A NaN that a
// product makes may be any.
func sameBits(got, want []byte, t ops.Type) error {
	size := t.DType.Size()
	g, w := draw.Decode(got, t), draw.Decode(want, t)
	for i := range g {
		a, b := got[i*size:(i+1)*size], want[i*size:(i+1)*size]
		if !bytes.Equal(a, b) && !(math.IsNaN(g[i]) && math.IsNaN(w[i])) {
			return fmt.Errorf("element %d is %v (%x), want %v (%x)", i, g[i], a, w[i], b)
		}
	}
	return nil
}

// afterwards is a program of an instruction and operations on its result, which is
// kept too or not.
func afterwards(c *instr, kept bool) *ops.Region {
	p := draw.NewBuilder()
	last := c.out.Shape[max(0, len(c.out.Shape)-1):]
	bias, residual := p.Param(ops.Type{DType: ops.F32, Shape: last}), p.Param(ops.Type{DType: ops.BF16, Shape: c.out.Shape})
	z := p.Do(c.op, c.out, c.attrs, p.Param(c.types[0]), p.Param(c.types[1]))
	wide := ops.Type{DType: ops.Merge(c.out.DType, ops.F32), Shape: c.out.Shape}
	sum := p.Do(ops.Add, wide, nil, z, bias)
	y := p.Do(ops.Subtract, wide, nil, residual, p.Do(ops.Tanh, wide, nil, sum))
	more := p.Do(ops.Greater, ops.Type{DType: ops.U8, Shape: c.out.Shape}, nil, sum, draw.Number(ops.F32, 1))
	rotated := rotated(p, sum, residual)
	values := []ops.Operand{y, more, rotated}
	if kept {
		values = append(values, z, sum)
	}
	return p.Region(values...)
}

// rotated takes x and y for the parts of a complex number, rotates that, and adds to its
// real part the neighbour in y, or padding.
func rotated(p *draw.Builder, x, y ops.Operand) ops.Operand {
	wide, near := p.TypeOf(x), p.TypeOf(y)
	c := ops.Type{DType: ops.Merge(wide.DType, ops.C64), Shape: wide.Shape}
	z := p.Do(ops.Add, c, nil, x, p.Do(ops.Multiply, c, nil, draw.Complex(ops.C64, 0, 1), y))
	re := p.Do(ops.RealPart, wide, nil, p.Do(ops.Multiply, c, nil, z, z))
	cfg := make([]int, 3*len(near.Shape))
	if n := len(cfg); n > 0 {
		cfg[n-3], cfg[n-2] = 1, -1
	}
	return p.Do(ops.Add, wide, nil, re, p.Do(ops.Pad, near, [][]int{cfg}, y, draw.Number(ops.F32, 3)))
}
