package scan_test

import (
	"math/rand/v2"
	"testing"

	"nxvk/ops"
	"nxvk/synth/lowering"
	"nxvk/synth/synthtest"
)

// Running sums and extremes of random shapes along a random axis, either way, are those of
// plain loops.
func TestRandomScans(t *testing.T) {
	synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
		r := rand.New(rand.NewPCG(14, 8))
		for range 60 {
			s := make(ops.Shape, 1+r.IntN(3))
			for i := range s {
				s[i] = 1 + r.IntN(9)
			}
			axis := r.IntN(len(s))
			s[axis] = 1 + r.IntN([]int{8, 128, 128, 3000}[r.IntN(4)])
			typ := ops.Type{DType: []ops.DType{ops.S32, ops.U8, ops.S64}[r.IntN(3)], Shape: s}
			op, reverse := []ops.Op{ops.CumulativeSum, ops.CumulativeMax}[r.IntN(2)], r.IntN(2)
			x := synthtest.Random(typ, r.Uint64())
			got := synthtest.Run(t, target, synthtest.Instr(op, typ, []int{axis}, []int{reverse}), x)
			synthtest.Same(t, synthtest.Describe(op, typ), got, scanned(x, op, axis, reverse == 1))
		}
	})
}

// Invocations scan groups of lines of narrow elements, whether the elements of a group begin at a word or not,
// and where the last group of a row overlaps the one before it.
func TestGroupedLines(t *testing.T) {
	r := rand.New(rand.NewPCG(14, 10))
	grouped := 0
	for range 5 {
		n, across := 2+r.IntN(6), 4+r.IntN(40)
		typ := ops.Type{DType: []ops.DType{ops.U8, ops.S8, ops.S16, ops.U16}[r.IntN(4)], Shape: ops.Shape{(1<<18+across-1)/across + r.IntN(9), n, across}}
		if r.IntN(2) == 0 {
			typ.Shape = ops.Shape{2 + r.IntN(3), typ.Shape[0], across}
		}
		axis, op, reverse := len(typ.Shape)-2, []ops.Op{ops.CumulativeSum, ops.CumulativeMax}[r.IntN(2)], r.IntN(2)
		if typ.Shape[0] < 5 {
			axis = 0
		}
		x := synthtest.Random(typ, r.Uint64())
		in := synthtest.Instr(op, typ, []int{axis}, []int{reverse})
		p, err := synthtest.Lower(t, synthtest.GPU, in, typ)
		if err != nil {
			t.Fatal(err)
		}
		g, local := p.Steps[0].Grid, p.Steps[0].Kernel.Local[0]
		if lines := typ.Size() / typ.Shape[axis]; int(g[0]*g[1]*g[2]*local) < lines/2 {
			grouped++
		}
		synthtest.Same(t, synthtest.Describe(op, typ), synthtest.Run(t, synthtest.GPU, in, x), scanned(x, op, axis, reverse == 1))
	}
	if grouped < 3 {
		t.Errorf("%d of 5 scans have groups of lines", grouped)
	}
}

// scanned is the scan of x in a plain loop.
func scanned(x synthtest.Tensor, op ops.Op, axis int, backward bool) synthtest.Tensor {
	out := synthtest.Tensor{Typ: x.Typ, N: make([]int64, len(x.N))}
	stride := x.Typ.Shape.Strides()[axis]
	n := x.Typ.Shape[axis]
	for i := range x.N {
		at := i / stride % n
		first, last, step := i-at*stride, i, stride
		if backward {
			first, step = i+(n-1-at)*stride, -stride
		}
		v := x.N[first]
		for k := first; k != last; {
			k += step
			if op == ops.CumulativeMax {
				v = max(v, x.N[k])
			} else {
				v += x.N[k]
			}
		}
		switch {
		case x.Typ.DType == ops.U8:
			v = int64(uint8(v))
		case x.Typ.DType == ops.S32:
			v = int64(int32(v))
		case x.Typ.DType == ops.S8:
			v = int64(int8(v))
		case x.Typ.DType == ops.U16:
			v = int64(uint16(v))
		case x.Typ.DType == ops.S16:
			v = int64(int16(v))
		}
		out.N[i] = v
	}
	return out
}

// Many lines take one pass, and few invocations that have no element, whatever their length.
func TestManyLines(t *testing.T) {
	r := rand.New(rand.NewPCG(14, 9))
	for range 200 {
		typ := ops.Type{DType: ops.F32, Shape: ops.Shape{4096, 5 + r.IntN(1<<(3+r.IntN(12)))}}
		in := synthtest.Instr(ops.CumulativeSum, typ, []int{1}, []int{0})
		p, err := synthtest.Lower(t, synthtest.GPU, in, typ)
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Steps) != 1 {
			t.Fatalf("%v takes %d kernels", typ, len(p.Steps))
		}
		s := p.Steps[0]
		invocations := int(s.Grid[0]*s.Grid[1]*s.Grid[2]) * int(s.Kernel.Local[0])
		if typ.Shape[1] <= 4096 && invocations > 2*typ.Size()/4+typ.Shape[0]*8 {
			t.Errorf("%v has %d invocations", typ, invocations)
		}
	}
}
