package synth

import (
	"math"
	"slices"
	"testing"

	"nxvk/ops"
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

// collect makes a tensor of numbers; an infinity is the extreme of an integer
// type.
func collect(t ops.Type, v []float64) tensor {
	x := tensor{typ: t}
	for _, y := range v {
		if !t.DType.IsInteger() {
			x.f = append(x.f, y)
			continue
		}
		lowest, highest := limits(t.DType)
		switch {
		case math.IsInf(y, -1):
			x.n = append(x.n, wrap(t.DType, int64(lowest)))
		case math.IsInf(y, 1):
			x.n = append(x.n, wrap(t.DType, int64(highest)))
		default:
			x.n = append(x.n, wrap(t.DType, int64(y)))
		}
	}
	return x
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
	forTargets(t, func(t *testing.T, target *Target) {
		for _, form := range windowForms {
			for _, op := range []ops.Op{ops.WindowSum, ops.WindowProduct, ops.WindowMax, ops.WindowMin} {
				for _, d := range []ops.DType{ops.F32, ops.S8, ops.U64, ops.S4} {
					x := random(ops.Type{DType: d, Shape: form.shape}, 21)
					in := instr(op, ops.Type{DType: d}, form.window, form.padding, form.strides, form.dilations)
					in.Outs[0].Type.Shape = inferred(t, in, x.typ)
					same(t, describe(op, x.typ), run(t, target, in, x), windowRef(in, x))
				}
			}
		}
	})
}

func inferred(t *testing.T, in *ops.Instr, types ...ops.Type) ops.Shape {
	t.Helper()
	shapes, err := in.Op.Info().Infer(in, types)
	if err != nil {
		t.Fatal(err)
	}
	return shapes[0]
}

func windowRef(in *ops.Instr, x tensor) tensor {
	out := in.Outs[0].Type
	var v []float64
	each(out.Shape, func(_ int, o []int) {
		acc := folders[in.Op].init
		each(ops.Shape(in.Attrs[0]), func(_ int, w []int) {
			p, inside := make([]int, len(o)), true
			for i := range p {
				p[i] = o[i]*in.Attrs[2][i] + w[i]*in.Attrs[3][i] - in.Attrs[1][2*i]
				inside = inside && p[i] >= 0 && p[i] < x.typ.Shape[i]
			}
			if inside {
				acc = folders[in.Op].f(x.at(flat(x.typ.Shape, p)), acc)
			}
		})
		v = append(v, acc)
	})
	return collect(out, v)
}

// Windows in several dispatches are those of one.
func TestWindowsInParts(t *testing.T) {
	x := random(typ(ops.F32, 50), 22)
	j := &windowJob{op: ops.WindowSum, elem: ops.F32, to: result(ops.F32),
		from: buffer{ref: Ref{Operand, 0}, elem: storage[ops.F32], access: Read}}
	j.to.access = Write
	in := instr(ops.WindowSum, typ(ops.F32, 48), []int{3}, []int{0, 0}, []int{1}, []int{1})
	j.split(x.typ.Shape, in.Outs[0].Type.Shape, in.Attrs[0], in.Attrs[1], in.Attrs[2], in.Attrs[3])
	p, err := gpu.plan(nil, j.program(gpu, 0, 20, 3), j.program(gpu, 20, 48, 3))
	if err != nil {
		t.Fatal(err)
	}
	out := in.Outs[0].Type
	same(t, "window_sum", fromBytes(out, execute(t, p, []int{out.Bytes()}, [][]byte{x.bytes()}, nil)[0]), windowRef(in, x))
}

func TestScans(t *testing.T) {
	forTargets(t, func(t *testing.T, target *Target) {
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
					x := random(ops.Type{DType: d, Shape: form.shape}, 23)
					for reverse := range 2 {
						in := instr(op, x.typ, []int{form.axis}, []int{reverse})
						same(t, describe(op, x.typ), run(t, target, in, x), scanRef(in, x))
					}
				}
			}
		}
	})
}

func scanRef(in *ops.Instr, x tensor) tensor {
	s, axis := x.typ.Shape, in.Attrs[0][0]
	v := make([]float64, s.Size())
	stride := s.Strides()[axis]
	each(s, func(i int, c []int) {
		if c[axis] > 0 {
			return
		}
		acc := folders[in.Op].init
		for k := range s[axis] {
			at := i + k*stride
			if in.Attrs[1][0] != 0 {
				at = i + (s[axis]-1-k)*stride
			}
			acc = folders[in.Op].f(acc, x.at(at))
			if d := x.typ.DType; d.IsInteger() {
				acc = float64(wrap(d, int64(acc)))
			}
			v[at] = acc
		}
	})
	return collect(x.typ, v)
}

func TestWindowScatter(t *testing.T) {
	forTargets(t, func(t *testing.T, target *Target) {
		for _, form := range windowForms {
			for _, op := range []ops.Op{ops.WindowScatterMax, ops.WindowScatterMin} {
				for _, d := range []ops.DType{ops.F32, ops.S8, ops.U64, ops.BF16} {
					x := random(ops.Type{DType: d, Shape: form.shape}, 24)
					in := instr(op, x.typ, form.window, form.padding, form.strides)
					ones := slices.Repeat([]int{1}, len(form.window))
					windows := instr(ops.WindowMax, typ(d), form.window, form.padding, form.strides, ones)
					y := random(ops.Type{DType: d, Shape: inferred(t, windows, x.typ)}, 25)
					z := collect(typ(d), []float64{1})
					z.lit = len(form.shape)%2 == 0
					same(t, describe(op, x.typ), run(t, target, in, x, y, z), spreadRef(in, x, y, z))
				}
			}
		}
	})
}

func spreadRef(in *ops.Instr, x, y, z tensor) tensor {
	v := slices.Repeat([]float64{z.at(0)}, x.typ.Size())
	each(y.typ.Shape, func(i int, o []int) {
		best, place, seen := 0.0, -1, false
		each(ops.Shape(in.Attrs[0]), func(_ int, w []int) {
			p, inside := make([]int, len(o)), true
			for k := range p {
				p[k] = o[k]*in.Attrs[2][k] + w[k] - in.Attrs[1][2*k]
				inside = inside && p[k] >= 0 && p[k] < x.typ.Shape[k]
			}
			e, at := z.at(0), -1
			if inside {
				at = flat(x.typ.Shape, p)
				e = x.at(at)
			}
			if !seen || in.Op == ops.WindowScatterMax && e >= best || in.Op == ops.WindowScatterMin && e <= best {
				best, place, seen = e, at, true
			}
		})
		if place >= 0 {
			v[place] += y.at(i)
		}
	})
	return collect(in.Outs[0].Type, v)
}
