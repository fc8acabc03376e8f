package windowing_test

import (
	"errors"
	"slices"
	"testing"

	"nxvk/ops"
	"nxvk/synth"
	"nxvk/synth/lowering"
	"nxvk/synth/synthtest"
	"nxvk/synth/windowing"
)

// alternating is the function (x > acc ? x : acc) - 2 * x + 1 of one type, whose
// order matters.
func alternating(d ops.DType) *ops.Region {
	s := ops.Type{DType: d}
	lit := func(n int64) ops.Operand {
		x := synthtest.Tensor{Typ: s, N: []int64{n}}
		if !d.IsInteger() {
			x = synthtest.Tensor{Typ: s, F: []float64{float64(n), 0}}
		}
		return ops.Operand{Lit: &ops.Literal{Type: s, Data: x.Bytes()}}
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
		return float64(synthtest.Wrap(d, int64(next)))
	}
	return codeRounded(d, next)
}

// codeRounded is a number as it comes back from memory.
func codeRounded(d ops.DType, x float64) float64 {
	b := make([]byte, 8)
	synthtest.PutFloat(b, d, 0, x)
	return synthtest.GetFloat(b, d, 0)
}

func foldRef(in *ops.Instr, x, start synthtest.Tensor) synthtest.Tensor {
	out, d := in.Outs[0].Type, x.Typ.DType
	var v []float64
	synthtest.Each(out.Shape, func(_ int, o []int) {
		acc := start.At(0)
		synthtest.Each(ops.Shape(in.Attrs[0]), func(_ int, w []int) {
			p, inside := make([]int, len(o)), true
			for i := range p {
				p[i] = o[i]*in.Attrs[2][i] + w[i]*in.Attrs[3][i] - in.Attrs[1][2*i]
				inside = inside && p[i] >= 0 && p[i] < x.Typ.Shape[i]
			}
			elem := start.At(0)
			if inside {
				elem = x.At(synthtest.Flat(x.Typ.Shape, p))
			}
			acc = alternate(d, elem, acc)
		})
		v = append(v, acc)
	})
	return synthtest.Collect(out, v)
}

func TestFoldsOfFunctions(t *testing.T) {
	synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
		for _, form := range windowForms {
			for _, d := range []ops.DType{ops.F32, ops.BF16, ops.S8, ops.U4, ops.S64} {
				for _, lit := range []bool{false, true} {
					x, start := synthtest.Random(ops.Type{DType: d, Shape: form.shape}, 25), synthtest.Random(ops.Type{DType: d}, 26)
					start.Lit = lit
					in := synthtest.Instr(ops.WindowReduce, ops.Type{DType: d}, form.window, form.padding, form.strides, form.dilations, nil)
					in.Regions = []*ops.Region{alternating(d)}
					in.Outs[0].Type.Shape = synthtest.Inferred(t, in, x.Typ, start.Typ)
					synthtest.Same(t, synthtest.Describe(in.Op, x.Typ), synthtest.Run(t, target, in, x, start), foldRef(in, x, start))
				}
			}
		}
	})
}

// A fold over axes is that of windows as long as they are.
func TestReduceWithFunction(t *testing.T) {
	synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
		for _, axes := range [][]int{{}, {0}, {1}, {2}, {0, 2}, {0, 1, 2}} {
			x, start := synthtest.Random(synthtest.Type(ops.S32, 5, 33, 4), 27), synthtest.Random(synthtest.Type(ops.S32), 28)
			in := synthtest.Instr(ops.ReduceFun, synthtest.Type(ops.S32), axes, []int{0}, nil)
			in.Regions = []*ops.Region{alternating(ops.S32)}
			in.Outs[0].Type.Shape = synthtest.Inferred(t, in, x.Typ, start.Typ)
			window, out := []int{1, 1, 1}, slices.Clone(x.Typ.Shape)
			for _, a := range axes {
				window[a], out[a] = x.Typ.Shape[a], 1
			}
			ones := []int{1, 1, 1}
			want := foldRef(&ops.Instr{Outs: []ops.Result{{Type: ops.Type{DType: ops.S32, Shape: out}}},
				Attrs: [][]int{window, make([]int, 6), ones, ones}}, x, start)
			want.Typ = in.Outs[0].Type
			synthtest.Same(t, synthtest.Describe(in.Op, x.Typ), synthtest.Run(t, target, in, x, start), want)
		}
	})
}

// A function of complex numbers: acc * x, whose parts are written together.
func TestComplexFold(t *testing.T) {
	synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
		s := synthtest.Type(ops.C64)
		fun := &ops.Region{Params: []ops.Result{{ID: 1, Type: s}, {ID: 2, Type: s}},
			Body:   []ops.Instr{{Op: ops.Multiply, Ins: []ops.Operand{{ID: 2}, {ID: 1}}, Outs: []ops.Result{{ID: 3, Type: s}}}},
			Values: []ops.Operand{{ID: 3}}}
		x := synthtest.Tensor{Typ: synthtest.Type(ops.C64, 2, 2), F: []float64{1, 2, 3, -1, 0, 1, 2, 2}}
		in := synthtest.Instr(ops.ReduceFun, synthtest.Type(ops.C64, 2), []int{1}, []int{0}, nil)
		in.Regions = []*ops.Region{fun}
		got := synthtest.Run(t, target, in, x, synthtest.Tensor{Typ: s, F: []float64{0, 1}})
		synthtest.Same(t, "product", got, synthtest.Tensor{Typ: synthtest.Type(ops.C64, 2), F: []float64{-5, 5, -2, -2}})
	})
}

// The host computes functions that are not straight-line code on scalars.
func TestFunctionsOfTheHost(t *testing.T) {
	s := synthtest.Type(ops.F32)
	loop := &ops.Region{Params: []ops.Result{{ID: 1, Type: s}, {ID: 2, Type: s}}, Values: []ops.Operand{{ID: 3}},
		Body: []ops.Instr{{Op: ops.Branch, Ins: []ops.Operand{{ID: 1}}, Outs: []ops.Result{{ID: 3, Type: s}}, Attrs: [][]int{nil, nil},
			Regions: []*ops.Region{{Values: []ops.Operand{{ID: 1}}}, {Values: []ops.Operand{{ID: 2}}}}}}}
	in := synthtest.Instr(ops.ReduceFun, synthtest.Type(ops.F32), []int{0}, []int{0}, nil)
	in.Regions, in.Ins = []*ops.Region{loop}, []ops.Operand{{ID: 8}, {ID: 9}}
	if _, err := synth.Lower(in, []ops.Type{synthtest.Type(ops.F32, 3), s}, synthtest.GPU); !errors.Is(err, lowering.ErrUnsupported) {
		t.Errorf("a branch: got %v", err)
	}
	in.Regions = []*ops.Region{alternating(ops.F32)}
	if _, err := synth.Lower(in, []ops.Type{synthtest.Type(ops.F32, windowing.MaxFold+1), s}, synthtest.GPU); !errors.Is(err, lowering.ErrUnsupported) {
		t.Errorf("too many elements: got %v", err)
	}
	in.Regions = []*ops.Region{alternating(ops.F64)}
	in.Outs[0].Type.DType = ops.F64
	if _, err := synth.Lower(in, []ops.Type{synthtest.Type(ops.F64, 3), synthtest.Type(ops.F64)}, &lowering.Target{}); !errors.Is(err, lowering.ErrUnsupported) {
		t.Errorf("a type that the device lacks: got %v", err)
	}
}
