package synth

import (
	"errors"
	"slices"
	"testing"

	"nxvk/ops"
)

// alternating is the function (x > acc ? x : acc) - 2 * x + 1 of one type, whose
// order matters.
func alternating(d ops.DType) *ops.Region {
	s := ops.Type{DType: d}
	lit := func(n int64) ops.Operand {
		x := tensor{typ: s, n: []int64{n}}
		if !d.IsInteger() {
			x = tensor{typ: s, f: []float64{float64(n), 0}}
		}
		return ops.Operand{Lit: &ops.Literal{Type: s, Data: x.bytes()}}
	}
	step := func(op ops.Op, id ops.ID, t ops.Type, ins ...ops.Operand) ops.Instr {
		return ops.Instr{Op: op, Ins: ins, Outs: []ops.Result{{ID: id, Type: t}}}
	}
	x, acc := ops.Operand{ID: 1}, ops.Operand{ID: 2}
	return &ops.Region{
		Params: []ops.Result{{ID: 1, Type: s}, {ID: 2, Type: s}},
		Body: []ops.Instr{
			step(ops.Greater, 3, ops.Type{DType: ops.U8}, x, acc),
			step(ops.Select, 4, s, ops.Operand{ID: 3}, x, acc),
			step(ops.Multiply, 5, s, lit(2), x),
			step(ops.Subtract, 6, s, ops.Operand{ID: 4}, ops.Operand{ID: 5}),
			step(ops.Add, 7, s, ops.Operand{ID: 6}, lit(1)),
		},
		Values: []ops.Operand{{ID: 7}},
	}
}

func alternate(d ops.DType, x, acc float64) float64 {
	next := max(x, acc) - 2*x + 1
	if d.IsInteger() {
		return float64(wrap(d, int64(next)))
	}
	return codeRounded(d, next)
}

// codeRounded is a number as it comes back from memory.
func codeRounded(d ops.DType, x float64) float64 {
	b := make([]byte, 8)
	putFloat(b, d, 0, x)
	return getFloat(b, d, 0)
}

func foldRef(in *ops.Instr, x, start tensor) tensor {
	out, d := in.Outs[0].Type, x.typ.DType
	var v []float64
	each(out.Shape, func(_ int, o []int) {
		acc := start.at(0)
		each(ops.Shape(in.Attrs[0]), func(_ int, w []int) {
			p, inside := make([]int, len(o)), true
			for i := range p {
				p[i] = o[i]*in.Attrs[2][i] + w[i]*in.Attrs[3][i] - in.Attrs[1][2*i]
				inside = inside && p[i] >= 0 && p[i] < x.typ.Shape[i]
			}
			elem := start.at(0)
			if inside {
				elem = x.at(flat(x.typ.Shape, p))
			}
			acc = alternate(d, elem, acc)
		})
		v = append(v, acc)
	})
	return collect(out, v)
}

func TestFoldsOfFunctions(t *testing.T) {
	forTargets(t, func(t *testing.T, target *Target) {
		for _, form := range windowForms {
			for _, d := range []ops.DType{ops.F32, ops.BF16, ops.S8, ops.U4, ops.S64} {
				for _, lit := range []bool{false, true} {
					x, start := random(ops.Type{DType: d, Shape: form.shape}, 25), random(ops.Type{DType: d}, 26)
					start.lit = lit
					in := instr(ops.WindowReduce, ops.Type{DType: d}, form.window, form.padding, form.strides, form.dilations, nil)
					in.Regions = []*ops.Region{alternating(d)}
					in.Outs[0].Type.Shape = inferred(t, in, x.typ, start.typ)
					same(t, describe(in.Op, x.typ), run(t, target, in, x, start), foldRef(in, x, start))
				}
			}
		}
	})
}

// A fold over axes is that of windows as long as they are.
func TestReduceWithFunction(t *testing.T) {
	forTargets(t, func(t *testing.T, target *Target) {
		for _, axes := range [][]int{{}, {0}, {1}, {2}, {0, 2}, {0, 1, 2}} {
			x, start := random(typ(ops.S32, 5, 33, 4), 27), random(typ(ops.S32), 28)
			in := instr(ops.ReduceFun, typ(ops.S32), axes, []int{0}, nil)
			in.Regions = []*ops.Region{alternating(ops.S32)}
			in.Outs[0].Type.Shape = inferred(t, in, x.typ, start.typ)
			window, out := []int{1, 1, 1}, slices.Clone(x.typ.Shape)
			for _, a := range axes {
				window[a], out[a] = x.typ.Shape[a], 1
			}
			ones := []int{1, 1, 1}
			want := foldRef(&ops.Instr{Outs: []ops.Result{{Type: ops.Type{DType: ops.S32, Shape: out}}},
				Attrs: [][]int{window, make([]int, 6), ones, ones}}, x, start)
			want.typ = in.Outs[0].Type
			same(t, describe(in.Op, x.typ), run(t, target, in, x, start), want)
		}
	})
}

// A function of complex numbers: acc * x, whose parts are written together.
func TestComplexFold(t *testing.T) {
	forTargets(t, func(t *testing.T, target *Target) {
		s := typ(ops.C64)
		fun := &ops.Region{Params: []ops.Result{{ID: 1, Type: s}, {ID: 2, Type: s}},
			Body:   []ops.Instr{{Op: ops.Multiply, Ins: []ops.Operand{{ID: 2}, {ID: 1}}, Outs: []ops.Result{{ID: 3, Type: s}}}},
			Values: []ops.Operand{{ID: 3}}}
		x := tensor{typ: typ(ops.C64, 2, 2), f: []float64{1, 2, 3, -1, 0, 1, 2, 2}}
		in := instr(ops.ReduceFun, typ(ops.C64, 2), []int{1}, []int{0}, nil)
		in.Regions = []*ops.Region{fun}
		got := run(t, target, in, x, tensor{typ: s, f: []float64{0, 1}})
		same(t, "product", got, tensor{typ: typ(ops.C64, 2), f: []float64{-5, 5, -2, -2}})
	})
}

// What is no straight code on scalars is the host's.
func TestFunctionsOfTheHost(t *testing.T) {
	s := typ(ops.F32)
	loop := &ops.Region{Params: []ops.Result{{ID: 1, Type: s}, {ID: 2, Type: s}}, Values: []ops.Operand{{ID: 3}},
		Body: []ops.Instr{{Op: ops.Branch, Ins: []ops.Operand{{ID: 1}}, Outs: []ops.Result{{ID: 3, Type: s}}, Attrs: [][]int{nil, nil},
			Regions: []*ops.Region{{Values: []ops.Operand{{ID: 1}}}, {Values: []ops.Operand{{ID: 2}}}}}}}
	in := instr(ops.ReduceFun, typ(ops.F32), []int{0}, []int{0}, nil)
	in.Regions, in.Ins = []*ops.Region{loop}, []ops.Operand{{ID: 8}, {ID: 9}}
	if _, err := Lower(in, []ops.Type{typ(ops.F32, 3), s}, gpu); !errors.Is(err, ErrUnsupported) {
		t.Errorf("a branch: got %v", err)
	}
	in.Regions = []*ops.Region{alternating(ops.F32)}
	if _, err := Lower(in, []ops.Type{typ(ops.F32, maxFold+1), s}, gpu); !errors.Is(err, ErrUnsupported) {
		t.Errorf("too many elements: got %v", err)
	}
	in.Regions = []*ops.Region{alternating(ops.F64)}
	in.Outs[0].Type.DType = ops.F64
	if _, err := Lower(in, []ops.Type{typ(ops.F64, 3), typ(ops.F64)}, &Target{}); !errors.Is(err, ErrUnsupported) {
		t.Errorf("a type that the device lacks: got %v", err)
	}
}
