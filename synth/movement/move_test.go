package movement_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"nxvk/ops"
	"nxvk/synth/lowering"
	"nxvk/synth/movement"
	"nxvk/synth/synthtest"
)

func TestTranspose(t *testing.T) {
	synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
		for _, d := range synthtest.MoveTypes {
			for _, p := range []struct {
				shape ops.Shape
				axes  []int
			}{{ops.Shape{}, []int{}}, {ops.Shape{5}, []int{0}}, {ops.Shape{5, 7}, []int{1, 0}}, {ops.Shape{8, 16}, []int{1, 0}},
				{ops.Shape{2, 3, 4}, []int{1, 0, 2}}, {ops.Shape{2, 3, 4}, []int{2, 0, 1}},
				{ops.Shape{2, 3, 2, 3, 2}, []int{4, 2, 0, 3, 1}}, {ops.Shape{70, 130}, []int{1, 0}},
				{ops.Shape{2, 65, 1, 96}, []int{0, 3, 2, 1}}, {ops.Shape{128, 2, 64}, []int{2, 1, 0}},
				{ops.Shape{261, 387}, []int{1, 0}}, {ops.Shape{3, 132, 2, 192}, []int{0, 3, 2, 1}},
				{ops.Shape{3, 132, 4, 192}, []int{3, 0, 2, 1}},
				{ops.Shape{2, 5, 67, 130}, []int{0, 3, 2, 1}}, {ops.Shape{40, 3, 9, 70}, []int{3, 2, 1, 0}}, // rows of several dimensions
				{ops.Shape{7000, 12}, []int{1, 0}}, {ops.Shape{40, 3, 50, 19}, []int{3, 2, 0, 1}}} { // narrow tiles
				x := synthtest.Random(ops.Type{DType: d, Shape: p.shape}, 5)
				out := ops.Type{DType: d, Shape: make(ops.Shape, len(p.axes))}
				for i, a := range p.axes {
					out.Shape[i] = p.shape[a]
				}
				got := synthtest.Run(t, target, synthtest.Instr(ops.Transpose, out, p.axes), x)
				synthtest.Same(t, synthtest.Describe(ops.Transpose, x.Typ, out), got, synthtest.Moved(out, x, 0, func(c []int) int {
					from := make([]int, len(c))
					for i, a := range p.axes {
						from[a] = c[i]
					}
					return synthtest.Flat(p.shape, from)
				}))
			}
		}
	})
}

// Large transpositions of drawn dimensions, of which some are few: rows and columns of tiles
// may be several of them.
func TestLargeTranspose(t *testing.T) {
	r := rand.New(rand.NewPCG(14, 7))
	for range 16 {
		shape, axes := make(ops.Shape, 2+r.IntN(3)), []int(nil)
		for i := range shape {
			shape[i] = 2 + r.IntN([]int{3, 8, 40, 150}[r.IntN(4)])
		}
		for axes = r.Perm(len(shape)); axes[len(axes)-1] == len(shape)-1; {
			axes = r.Perm(len(shape))
		}
		if i := r.IntN(len(shape)); shape.Size() < movement.MinTiled {
			shape[i] *= movement.MinTiled/shape.Size() + 1
		}
		d := synthtest.MoveTypes[r.IntN(len(synthtest.MoveTypes))]
		x := synthtest.Random(ops.Type{DType: d, Shape: shape}, r.Uint64())
		out := ops.Type{DType: d, Shape: make(ops.Shape, len(axes))}
		for i, a := range axes {
			out.Shape[i] = shape[a]
		}
		got := synthtest.Run(t, synthtest.GPU, synthtest.Instr(ops.Transpose, out, axes), x)
		strides := shape.Strides()
		synthtest.Same(t, synthtest.Describe(ops.Transpose, x.Typ, out), got, synthtest.Moved(out, x, 0, func(c []int) int {
			at := 0
			for i, a := range axes {
				at += c[i] * strides[a]
			}
			return at
		}))
	}
}

func TestBroadcastReverse(t *testing.T) {
	synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
		for _, d := range synthtest.MoveTypes {
			x := synthtest.Random(synthtest.Type(d, 3, 1, 8), 6)
			out := synthtest.Type(d, 2, 3, 4, 8)
			synthtest.Same(t, "broadcast", synthtest.Run(t, target, synthtest.Instr(ops.BroadcastTo, out, []int{1, 2, 3}), x),
				synthtest.Moved(out, x, 0, func(c []int) int { return c[1]*8 + c[3] }))
			y := synthtest.Random(synthtest.Type(d, 5), 6)
			wide := synthtest.Type(d, 5, 6)
			synthtest.Same(t, "broadcast of a column", synthtest.Run(t, target, synthtest.Instr(ops.BroadcastTo, wide, []int{0}), y),
				synthtest.Moved(wide, y, 0, func(c []int) int { return c[0] }))
			synthtest.Same(t, "reverse", synthtest.Run(t, target, synthtest.Instr(ops.Reverse, x.Typ, []int{0, 2}), x),
				synthtest.Moved(x.Typ, x, 0, func(c []int) int { return (2-c[0])*8 + 7 - c[2] }))
		}
		lit := synthtest.Tensor{Typ: synthtest.Type(ops.S32), N: []int64{-5}, Lit: true}
		out := synthtest.Type(ops.S32, 2, 3)
		synthtest.Same(t, "broadcast of a literal", synthtest.Run(t, target, synthtest.Instr(ops.BroadcastTo, out, []int{}), lit),
			synthtest.Moved(out, lit, 0, func([]int) int { return 0 }))
	})
}

func TestSlices(t *testing.T) {
	synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
		for _, d := range synthtest.MoveTypes {
			x := synthtest.Random(synthtest.Type(d, 6, 9), 7)
			out := synthtest.Type(d, 2, 4)
			synthtest.Same(t, "slice", synthtest.Run(t, target, synthtest.Instr(ops.Slice, out, []int{1, 2}, []int{4, 7}, []int{2, 2}), x),
				synthtest.Moved(out, x, 0, func(c []int) int { return (1+2*c[0])*9 + 2 + 2*c[1] }))
			u := synthtest.Random(synthtest.Type(d, 2, 4), 8)
			synthtest.Same(t, "put_slice", synthtest.Run(t, target, synthtest.Instr(ops.PutSlice, x.Typ, []int{99, 3}), x, u),
				synthtest.Moved(x.Typ, synthtest.Tensor{Typ: synthtest.Type(d, 62), F: append(slices.Clone(x.F), u.F...), N: append(slices.Clone(x.N), u.N...)}, 0,
					func(c []int) int {
						if c[0] >= 4 && c[1] >= 3 && c[1] < 7 {
							return 54 + (c[0]-4)*4 + c[1] - 3
						}
						return c[0]*9 + c[1]
					}))
		}
	})
}

func TestJoins(t *testing.T) {
	synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
		x, y := synthtest.Random(synthtest.Type(ops.U8, 2, 3), 1), synthtest.Random(synthtest.Type(ops.F32, 2, 5), 2)
		out := synthtest.Type(ops.F32, 2, 8)
		synthtest.Same(t, "concatenate", synthtest.Run(t, target, synthtest.Instr(ops.Concatenate, out, []int{1}), x, y),
			synthtest.Moved(out, synthtest.Tensor{Typ: synthtest.Type(ops.F32, 16), F: append(synthtest.AsFloats(x), y.F...)}, 0, func(c []int) int {
				if c[1] < 3 {
					return c[0]*3 + c[1]
				}
				return 6 + c[0]*5 + c[1] - 3
			}))
		z := synthtest.Random(synthtest.Type(ops.F32, 2, 3), 3)
		stack := synthtest.Type(ops.F32, 2, 2, 3)
		synthtest.Same(t, "stack", synthtest.Run(t, target, synthtest.Instr(ops.Stack, stack, []int{1}), x, z),
			synthtest.Moved(stack, synthtest.Tensor{Typ: synthtest.Type(ops.F32, 12), F: append(synthtest.AsFloats(x), z.F...)}, 0, func(c []int) int {
				return 6*c[1] + c[0]*3 + c[2]
			}))
	})
}

func TestPad(t *testing.T) {
	synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
		value := synthtest.Tensor{Typ: synthtest.Type(ops.F32), F: []float64{9}, Lit: true}
		for _, cfg := range [][]int{{0, 0, 0}, {1, 2, 0}, {0, 0, 2}, {3, 1, 1}, {-2, 0, 0}, {-1, -2, 1}, {0, -4, 2},
			{-6, 5, 0}, {7, -6, 0}, {-3, 1, 2}} {
			x := synthtest.Random(synthtest.Type(ops.F32, 5, 4), 9)
			n := 5 + cfg[0] + cfg[1] + 4*cfg[2]
			out := synthtest.Type(ops.F32, n, 4)
			got := synthtest.Run(t, target, synthtest.Instr(ops.Pad, out, append(cfg, 0, 0, 0)), x, value)
			synthtest.Same(t, "pad", got, synthtest.Moved(out, x, 9, func(c []int) int {
				i := c[0] - cfg[0]
				if i < 0 || i%(cfg[2]+1) != 0 || i/(cfg[2]+1) >= 5 {
					return -1
				}
				return i/(cfg[2]+1)*4 + c[1]
			}))
		}
	})
}

// Padding on one side of one dimension writes each element of the result once.
func TestPadTraffic(t *testing.T) {
	synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
		x, value := synthtest.Type(ops.F32, 8, 511, 100), ops.Operand{Lit: &ops.Literal{Type: synthtest.Type(ops.F32), Data: make([]byte, 4)}}
		for _, cfg := range [][]int{{0, 0, 0, 0, 1, 0, 0, 0, 0}, {0, 0, 0, 1, 0, 0, 0, 0, 0}, {0, 3, 0, 0, 0, 0, 0, 0, 0}} {
			out := synthtest.Type(ops.F32, 8+cfg[1], 511+cfg[3]+cfg[4], 100)
			in := &ops.Instr{Op: ops.Pad, Ins: []ops.Operand{{ID: 1}, value}, Outs: []ops.Result{{Type: out}}, Attrs: [][]int{cfg}}
			p, err := movement.LowerPad(in, []ops.Type{x, synthtest.Type(ops.F32)}, target)
			if err != nil {
				t.Fatal(err)
			}
			bytes := 0
			for i := range p.Steps {
				bytes += int(p.Steps[i].Bytes)
			}
			if most := x.Bytes() + out.Bytes() + 64; bytes > most {
				t.Errorf("%v moves %d bytes, want %d at most", cfg, bytes, most)
			}
		}
	})
}

func TestBitcastAndAliases(t *testing.T) {
	x := synthtest.Tensor{Typ: synthtest.Type(ops.S2, 4), N: []int64{-2, -1, 0, 1}}
	synthtest.Same(t, "bitcast below a byte", synthtest.Run(t, synthtest.GPU, synthtest.Instr(ops.Bitcast, synthtest.Type(ops.U2, 4)), x),
		synthtest.Tensor{Typ: synthtest.Type(ops.U2, 4), N: []int64{2, 3, 0, 1}})
	f := synthtest.Tensor{Typ: synthtest.Type(ops.F32, 1), F: []float64{1}}
	synthtest.Same(t, "bitcast", synthtest.Run(t, synthtest.GPU, synthtest.Instr(ops.Bitcast, synthtest.Type(ops.U32, 1)), f), synthtest.Tensor{Typ: synthtest.Type(ops.U32, 1), N: []int64{0x3f800000}})
	synthtest.Same(t, "reshape", synthtest.Run(t, synthtest.GPU, synthtest.Instr(ops.Reshape, synthtest.Type(ops.S2, 2, 2)), x), synthtest.Tensor{Typ: synthtest.Type(ops.S2, 2, 2), N: x.N})
	lit := synthtest.Tensor{Typ: synthtest.Type(ops.F32), F: []float64{-2}, Lit: true}
	synthtest.Same(t, "bitcast of a literal", synthtest.Run(t, synthtest.GPU, synthtest.Instr(ops.Bitcast, synthtest.Type(ops.U32)), lit), synthtest.Tensor{Typ: synthtest.Type(ops.U32), N: []int64{0xc0000000}})
}

// Slices of any shape and place give their elements, also where they move in units of
// several elements, and where every other one is taken.
func TestRandomSlices(t *testing.T) {
	synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
		r := rand.New(rand.NewPCG(14, 2))
		for range 150 {
			d := synthtest.MoveTypes[r.IntN(len(synthtest.MoveTypes))]
			unit := 1 << r.IntN(4)
			shape, to, from, lengths, steps := ops.Shape{}, ops.Shape{}, []int{}, []int{}, []int{}
			for i := range 1 + r.IntN(3) {
				n := 1 + r.IntN(7)
				if i == 0 {
					n = unit * (1 + r.IntN(20))
				}
				at, step := r.IntN(n), 1+r.IntN(8)/7
				if i == 0 {
					at = at / unit * unit
				}
				length := (n-at-1)/step + 1
				if i == 0 && step == 1 {
					length = max(unit, length-unit*r.IntN(2))
				}
				shape, from = append(ops.Shape{n}, shape...), append([]int{at}, from...)
				to, lengths = append(ops.Shape{length}, to...), append([]int{(length-1)*step + 1}, lengths...)
				steps = append([]int{step}, steps...)
			}
			x, out := synthtest.Random(ops.Type{DType: d, Shape: shape}, 7), ops.Type{DType: d, Shape: to}
			got := synthtest.Run(t, target, synthtest.Instr(ops.Slice, out, from, lengths, steps), x)
			synthtest.Same(t, synthtest.Describe(ops.Slice, x.Typ, out), got, synthtest.Moved(out, x, 0, func(c []int) int {
				at := make([]int, len(c))
				for i := range c {
					at[i] = from[i] + c[i]*steps[i]
				}
				return synthtest.Flat(shape, at)
			}))
		}
	})
}
