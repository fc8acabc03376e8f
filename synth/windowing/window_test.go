package windowing_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"nxvk/ops"
	"nxvk/synth/codegen"
	"nxvk/synth/lowering"
	"nxvk/synth/synthtest"
	"nxvk/synth/windowing"
)

// folder is what a window or a scan does to elements, and where it begins.
type folder struct {
	init float64
	f    func(a, b float64) float64
}

var folders = map[ops.Op]folder{
	ops.WindowSum: {0, func(a, b float64) float64 { return a + b }}, ops.WindowProduct: {1, func(a, b float64) float64 { return a * b }},
	ops.WindowMax: {math.Inf(-1), math.Max}, ops.WindowMin: {math.Inf(1), math.Min},
	ops.CumulativeSum: {0, func(a, b float64) float64 { return a + b }}, ops.CumulativeProduct: {1, func(a, b float64) float64 { return a * b }},
	ops.CumulativeMax: {math.Inf(-1), math.Max}, ops.CumulativeMin: {math.Inf(1), math.Min},
}

var windowForms = []struct {
	shape                               ops.Shape
	window, padding, strides, dilations []int
}{
	{ops.Shape{}, []int{}, []int{}, []int{}, []int{}},
	{ops.Shape{9}, []int{3}, []int{0, 0}, []int{1}, []int{1}},
	{ops.Shape{9}, []int{1}, []int{0, 0}, []int{1}, []int{1}},
	{ops.Shape{100}, []int{4}, []int{3, 5}, []int{3}, []int{2}},
	{ops.Shape{100}, []int{4}, []int{-3, -5}, []int{2}, []int{3}},
	{ops.Shape{9}, []int{2}, []int{4, 7}, []int{1}, []int{1}},
	{ops.Shape{5, 40}, []int{1, 3}, []int{0, 0, 1, 1}, []int{1, 1}, []int{1, 1}},
	{ops.Shape{40, 5}, []int{3, 1}, []int{0, 0, 0, 0}, []int{2, 1}, []int{1, 1}},
	{ops.Shape{40, 5}, []int{3, 1}, []int{1, 1, 0, 0}, []int{1, 2}, []int{1, 1}},
	{ops.Shape{2, 3, 8, 9}, []int{1, 1, 2, 3}, []int{0, 0, 0, 0, 1, 0, 2, -1}, []int{1, 1, 2, 1}, []int{1, 1, 1, 2}},
	{ops.Shape{3, 4, 3, 4, 3, 4}, []int{2, 2, 2, 2, 2, 2}, []int{1, 0, 0, 1, 1, 1, 0, 0, -1, 0, 0, 0}, []int{1, 2, 1, 2, 1, 2}, []int{1, 1, 2, 1, 1, 2}},
}

func TestWindows(t *testing.T) {
	synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
		for _, form := range windowForms {
			for _, op := range []ops.Op{ops.WindowSum, ops.WindowProduct, ops.WindowMax, ops.WindowMin} {
				for _, d := range []ops.DType{ops.F32, ops.S8, ops.U64, ops.S4} {
					x := synthtest.Random(ops.Type{DType: d, Shape: form.shape}, 21)
					in := synthtest.Instr(op, ops.Type{DType: d}, form.window, form.padding, form.strides, form.dilations)
					in.Outs[0].Type.Shape = synthtest.Inferred(t, in, x.Typ)
					synthtest.Same(t, synthtest.Describe(op, x.Typ), synthtest.Run(t, target, in, x), windowRef(in, x))
				}
			}
		}
	})
}

// Windows of random shapes, with windows of one element along some axes, padding of any sign, strides and
// dilations along all.
func TestRandomWindows(t *testing.T) {
	synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
		r := rand.New(rand.NewPCG(12, 1))
		for range 300 {
			var shape, window, strides, dilations []int
			var padding []int
			fits := true
			for range 1 + r.IntN(4) {
				n, w, dilation := 1+r.IntN(7), 1+r.IntN(3)*r.IntN(2), 1+r.IntN(2)
				lo, hi := r.IntN(5)-1, r.IntN(5)-1
				fits = fits && n+lo+hi > (w-1)*dilation
				shape, window, padding = append(shape, n), append(window, w), append(padding, lo, hi)
				strides, dilations = append(strides, 1+r.IntN(3)), append(dilations, dilation)
			}
			if !fits {
				continue
			}
			op := []ops.Op{ops.WindowSum, ops.WindowMax, ops.WindowMin, ops.WindowProduct}[r.IntN(4)]
			d := []ops.DType{ops.S32, ops.U8, ops.S64}[r.IntN(3)]
			x := synthtest.Random(ops.Type{DType: d, Shape: shape}, r.Uint64())
			in := synthtest.Instr(op, ops.Type{DType: d}, window, padding, strides, dilations)
			in.Outs[0].Type.Shape = synthtest.Inferred(t, in, x.Typ)
			what := fmt.Sprintf("%v %v padding %v strides %v dilations %v", synthtest.Describe(op, x.Typ), window, padding, strides, dilations)
			synthtest.Same(t, what, synthtest.Run(t, target, in, x), windowRef(in, x))
		}
	})
}

func windowRef(in *ops.Instr, x synthtest.Tensor) synthtest.Tensor {
	out := in.Outs[0].Type
	var v []float64
	synthtest.Each(out.Shape, func(_ int, o []int) {
		acc := folders[in.Op].init
		synthtest.Each(ops.Shape(in.Attrs[0]), func(_ int, w []int) {
			p, inside := make([]int, len(o)), true
			for i := range p {
				p[i] = o[i]*in.Attrs[2][i] + w[i]*in.Attrs[3][i] - in.Attrs[1][2*i]
				inside = inside && p[i] >= 0 && p[i] < x.Typ.Shape[i]
			}
			if inside {
				acc = folders[in.Op].f(x.At(synthtest.Flat(x.Typ.Shape, p)), acc)
			}
		})
		v = append(v, acc)
	})
	return synthtest.Collect(out, v)
}

// Windows in several dispatches are those of one.
func TestWindowsInParts(t *testing.T) {
	x := synthtest.Random(synthtest.Type(ops.F32, 50), 22)
	in := synthtest.Instr(ops.WindowSum, synthtest.Type(ops.F32, 48), []int{3}, []int{0, 0}, []int{1}, []int{1})
	p := onePass(t, synthtest.GPU, in, x.Typ, 20)
	out := in.Outs[0].Type
	synthtest.Same(t, "window_sum", synthtest.FromBytes(out, synthtest.Execute(t, p, []int{out.Bytes()}, [][]byte{x.Bytes()}, nil)[0]), windowRef(in, x))
}

// onePass is the plan that reduces windows along all axes at once, in dispatches that end
// at some outputs and at the last one.
func onePass(t *testing.T, target *lowering.Target, in *ops.Instr, from ops.Type, ends ...int) *lowering.Plan {
	t.Helper()
	d, out := from.DType, in.Outs[0].Type
	j := &windowing.Job{Op: in.Op, Elem: d, Stored: d, Result: d, To: codegen.ResultBuffer(d),
		From: codegen.Buffer{Ref: lowering.Ref{Kind: lowering.Operand, Index: 0}, Elem: lowering.ElemOf[d], Access: lowering.Read}}
	j.To.Access = lowering.Write
	j.Split(from.Shape, out.Shape, in.Attrs[0], in.Attrs[1], in.Attrs[2], in.Attrs[3])
	first, each := 0, ops.Shape(in.Attrs[0]).Size()
	var programs []*codegen.Program
	for _, end := range append(ends, j.Units()) {
		programs = append(programs, j.Program(target, first, end, each))
		first = end
	}
	p, err := codegen.NewPlan(target, nil, programs...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestScans(t *testing.T) {
	synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
		for _, form := range []struct {
			shape ops.Shape
			axis  int
		}{{ops.Shape{1}, 0}, {ops.Shape{31}, 0}, {ops.Shape{3000}, 0}, {ops.Shape{20000}, 0}, {ops.Shape{3, 200}, 1},
			{ops.Shape{200, 3}, 0}, {ops.Shape{2, 4101}, 1}, {ops.Shape{2, 500, 4}, 1}, {ops.Shape{4, 3, 2}, 0}, {ops.Shape{4, 3, 2}, 2}, {ops.Shape{5000, 2}, 0}} {
			for _, op := range []ops.Op{ops.CumulativeSum, ops.CumulativeProduct, ops.CumulativeMax, ops.CumulativeMin} {
				for _, d := range []ops.DType{ops.F32, ops.S8, ops.BF16, ops.U64} {
					big := form.shape.Size() > 10000
					if (d == ops.BF16 || big) && (op == ops.CumulativeSum || op == ops.CumulativeProduct) && d != ops.S8 ||
						d == ops.F32 && op == ops.CumulativeProduct || d == ops.U64 && op == ops.CumulativeProduct {
						continue // not exact in any order
					}
					x := synthtest.Random(ops.Type{DType: d, Shape: form.shape}, 23)
					for reverse := range 2 {
						in := synthtest.Instr(op, x.Typ, []int{form.axis}, []int{reverse})
						synthtest.Same(t, synthtest.Describe(op, x.Typ), synthtest.Run(t, target, in, x), scanRef(in, x))
					}
				}
			}
		}
	})
}

func scanRef(in *ops.Instr, x synthtest.Tensor) synthtest.Tensor {
	s, axis := x.Typ.Shape, in.Attrs[0][0]
	v := make([]float64, s.Size())
	stride := s.Strides()[axis]
	synthtest.Each(s, func(i int, c []int) {
		if c[axis] > 0 {
			return
		}
		acc := folders[in.Op].init
		for k := range s[axis] {
			at := i + k*stride
			if in.Attrs[1][0] != 0 {
				at = i + (s[axis]-1-k)*stride
			}
			acc = folders[in.Op].f(acc, x.At(at))
			if d := x.Typ.DType; d.IsInteger() {
				acc = float64(synthtest.Wrap(d, int64(acc)))
			}
			v[at] = acc
		}
	})
	return synthtest.Collect(x.Typ, v)
}

func TestWindowScatter(t *testing.T) {
	synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
		for _, form := range windowForms {
			for _, op := range []ops.Op{ops.WindowScatterMax, ops.WindowScatterMin} {
				for _, d := range []ops.DType{ops.F32, ops.S8, ops.U64, ops.BF16} {
					x := synthtest.Random(ops.Type{DType: d, Shape: form.shape}, 24)
					in := synthtest.Instr(op, x.Typ, form.window, form.padding, form.strides)
					ones := slices.Repeat([]int{1}, len(form.window))
					windows := synthtest.Instr(ops.WindowMax, synthtest.Type(d), form.window, form.padding, form.strides, ones)
					y := synthtest.Random(ops.Type{DType: d, Shape: synthtest.Inferred(t, windows, x.Typ)}, 25)
					z := synthtest.Collect(synthtest.Type(d), []float64{1})
					z.Lit = len(form.shape)%2 == 0
					synthtest.Same(t, synthtest.Describe(op, x.Typ), synthtest.Run(t, target, in, x, y, z), spreadRef(in, x, y, z))
				}
			}
		}
	})
}

func spreadRef(in *ops.Instr, x, y, z synthtest.Tensor) synthtest.Tensor {
	v := slices.Repeat([]float64{z.At(0)}, x.Typ.Size())
	synthtest.Each(y.Typ.Shape, func(i int, o []int) {
		best, place, seen := 0.0, -1, false
		synthtest.Each(ops.Shape(in.Attrs[0]), func(_ int, w []int) {
			p, inside := make([]int, len(o)), true
			for k := range p {
				p[k] = o[k]*in.Attrs[2][k] + w[k] - in.Attrs[1][2*k]
				inside = inside && p[k] >= 0 && p[k] < x.Typ.Shape[k]
			}
			e, at := z.At(0), -1
			if inside {
				at = synthtest.Flat(x.Typ.Shape, p)
				e = x.At(at)
			}
			if !seen || in.Op == ops.WindowScatterMax && e >= best || in.Op == ops.WindowScatterMin && e <= best {
				best, place, seen = e, at, true
			}
		})
		if place >= 0 {
			v[place] += y.At(i)
		}
	})
	return synthtest.Collect(in.Outs[0].Type, v)
}

// Windows of random shapes that are reduced axis by axis or in groups give the bits of one
// pass: extremes with zeros of both signs, and integers that wrap.
func TestSeparateWindows(t *testing.T) {
	synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
		r := rand.New(rand.NewPCG(31, 7))
		several := 0
		for range 60 {
			n := 1 + r.IntN(3)
			shape, window, padding := make(ops.Shape, n), make([]int, n), make([]int, 2*n)
			strides, dilations := make([]int, n), make([]int, n)
			for i := range n {
				window[i], strides[i], dilations[i] = 1+r.IntN(9), 1+r.IntN(4), 1+r.IntN(2)
				if n == 1 {
					window[i] = []int{64, 72, 97, 120}[r.IntN(4)]
					strides[i] = []int{1, 3, window[i], 2 * window[i]}[r.IntN(4)]
				}
				shape[i] = window[i]*dilations[i] + r.IntN(12)
				padding[2*i], padding[2*i+1] = r.IntN(2*window[i])-1, r.IntN(12)-1
			}
			op := []ops.Op{ops.WindowSum, ops.WindowProduct, ops.WindowMax, ops.WindowMin}[r.IntN(4)]
			d := []ops.DType{ops.F32, ops.S8, ops.U8, ops.S64, ops.BF16, ops.U4}[r.IntN(6)]
			if op == ops.WindowProduct && d.IsFloat() {
				continue // not exact in groups
			}
			x := synthtest.Random(ops.Type{DType: d, Shape: shape}, r.Uint64())
			if d.IsFloat() {
				for i := range x.F {
					if x.F[i] == 0 && r.IntN(2) == 0 {
						x.F[i] = math.Copysign(0, -1)
					}
				}
			}
			in := synthtest.Instr(op, ops.Type{DType: d}, window, padding, strides, dilations)
			in.Outs[0].Type.Shape = synthtest.Inferred(t, in, x.Typ)
			p, err := synthtest.Lower(t, target, in, x.Typ)
			if err != nil {
				t.Fatal(err)
			}
			if len(p.Temps) > 0 {
				several++
			}
			out := in.Outs[0].Type
			got := synthtest.Execute(t, p, []int{out.Bytes()}, [][]byte{x.Bytes()}, nil)[0]
			want := synthtest.Execute(t, onePass(t, target, in, x.Typ), []int{out.Bytes()}, [][]byte{x.Bytes()}, nil)[0]
			what := fmt.Sprint(synthtest.Describe(op, x.Typ), in.Attrs)
			if !bytes.Equal(got, want) {
				t.Errorf("%s: passes and one pass differ", what)
			}
			synthtest.Same(t, what, synthtest.FromBytes(out, got), windowRef(in, x))
		}
		if several < 10 {
			t.Errorf("%d of the windows had several passes", several)
		}
	})
}

// Invocations with several windows give what those with one give, also where the last ones
// overlap: along the first axis and others, with padding, strides and dilations.
func TestTiledWindows(t *testing.T) {
	for _, form := range []struct {
		shape                               ops.Shape
		window, padding, strides, dilations []int
		d                                   ops.DType
	}{
		{ops.Shape{3, 151, 170}, []int{1, 3, 3}, []int{0, 0, 1, 1, 1, 1}, []int{1, 1, 1}, []int{1, 1, 1}, ops.F32},
		{ops.Shape{302, 340}, []int{3, 2}, []int{1, 0, 0, 0}, []int{2, 1}, []int{1, 2}, ops.S8},
		{ops.Shape{2, 91, 60, 8}, []int{1, 3, 3, 1}, []int{0, 0, 0, 0, 0, 2, 0, 0}, []int{1, 1, 1, 1}, []int{1, 2, 1, 1}, ops.F32},
		{ops.Shape{90000, 2}, []int{4, 1}, []int{3, 0, 0, 0}, []int{1, 1}, []int{1, 1}, ops.F64},
	} {
		for _, op := range []ops.Op{ops.WindowSum, ops.WindowMax, ops.WindowProduct} {
			x := synthtest.Random(ops.Type{DType: form.d, Shape: form.shape}, 77)
			in := synthtest.Instr(op, ops.Type{DType: form.d}, form.window, form.padding, form.strides, form.dilations)
			in.Outs[0].Type.Shape = synthtest.Inferred(t, in, x.Typ)
			p, err := synthtest.Lower(t, synthtest.GPU, in, x.Typ)
			if err != nil {
				t.Fatal(err)
			}
			if s := p.Steps[0]; int(s.Grid[0]*s.Grid[1]*s.Kernel.Local[0]) > in.Outs[0].Type.Size()*2/3 {
				t.Errorf("%v of %v: %v workgroups of %v, want fewer invocations than outputs", op, x.Typ, s.Grid, s.Kernel.Local)
			}
			synthtest.Same(t, synthtest.Describe(op, x.Typ), synthtest.Run(t, synthtest.GPU, in, x), windowRef(in, x))
		}
	}
}

// Invocations with several units give what those with one give, where the last ones have
// fewer.
func TestManyWindows(t *testing.T) {
	x := synthtest.Random(synthtest.Type(ops.S8, 300_001), 78)
	in := synthtest.Instr(ops.WindowSum, synthtest.Type(ops.S8), []int{3}, []int{1, 2}, []int{1}, []int{1})
	in.Outs[0].Type.Shape = synthtest.Inferred(t, in, x.Typ)
	synthtest.Same(t, "window_sum", synthtest.Run(t, synthtest.GPU, in, x), windowRef(in, x))

	x = synthtest.Random(synthtest.Type(ops.F32, 2, 371, 373), 79)
	in = synthtest.Instr(ops.WindowScatterMax, x.Typ, []int{1, 3, 2}, []int{0, 0, 1, 0, 0, 0}, []int{1, 2, 2})
	windows := synthtest.Instr(ops.WindowMax, synthtest.Type(ops.F32), in.Attrs[0], in.Attrs[1], in.Attrs[2], []int{1, 1, 1})
	y := synthtest.Random(ops.Type{DType: ops.F32, Shape: synthtest.Inferred(t, windows, x.Typ)}, 80)
	z := synthtest.Collect(synthtest.Type(ops.F32), []float64{1})
	synthtest.Same(t, "window_scatter_max", synthtest.Run(t, synthtest.GPU, in, x, y, z), spreadRef(in, x, y, z))
}

// Windows that are whole axes are reductions of those.
func TestWholeAxes(t *testing.T) {
	synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
		for _, form := range []struct {
			shape  ops.Shape
			window []int
		}{{ops.Shape{3, 5, 7, 7}, []int{1, 1, 7, 7}}, {ops.Shape{4, 40, 3}, []int{1, 40, 1}}, {ops.Shape{50}, []int{50}}, {ops.Shape{5, 6}, []int{5, 6}}} {
			for _, op := range []ops.Op{ops.WindowSum, ops.WindowProduct, ops.WindowMax, ops.WindowMin} {
				for _, d := range []ops.DType{ops.F32, ops.S8, ops.U64, ops.U4, ops.BF16} {
					if d.IsFloat() && op == ops.WindowProduct || d == ops.BF16 && op == ops.WindowSum {
						continue // not exact in any order
					}
					x := synthtest.Random(ops.Type{DType: d, Shape: form.shape}, 81)
					n := len(form.shape)
					in := synthtest.Instr(op, ops.Type{DType: d}, form.window, make([]int, 2*n), slices.Repeat([]int{1}, n), slices.Repeat([]int{1}, n))
					in.Outs[0].Type.Shape = synthtest.Inferred(t, in, x.Typ)
					synthtest.Same(t, synthtest.Describe(op, x.Typ), synthtest.Run(t, target, in, x), windowRef(in, x))
				}
			}
		}
	})
}

// Windows that are too large for constants of a kernel are reduced axis by axis even if no two of them share an
// element: loops wait for their loads.
func TestLargeWindowsApart(t *testing.T) {
	for _, c := range []struct{ side, window, passes int }{{224, 31, 2}, {224, 11, 2}, {2048, 31, 2}, {224, 8, 1}, {224, 7, 1}} {
		x := synthtest.Type(ops.F32, c.side, c.side)
		size := []int{c.window, c.window}
		in := synthtest.Instr(ops.WindowSum, ops.Type{DType: ops.F32}, size, []int{0, 0, 0, 0}, size, []int{1, 1})
		in.Outs[0].Type.Shape = synthtest.Inferred(t, in, x)
		p, err := synthtest.Lower(t, synthtest.GPU, in, x)
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Steps) != c.passes {
			t.Errorf("windows of %d in %d elements have %d passes, want %d", c.window, c.side, len(p.Steps), c.passes)
		}
	}
}
