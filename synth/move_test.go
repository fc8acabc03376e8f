package synth

import (
	"slices"
	"testing"

	"nxvk/ops"
)

// moved is the tensor whose elements are those of x at the given indices; -1
// stands for the fallback.
func moved(out ops.Type, x tensor, other int64, index func(c []int) int) tensor {
	y := tensor{typ: out}
	each(out.Shape, func(_ int, c []int) {
		v := float64(other)
		if i := index(c); i >= 0 {
			v = x.at(i)
		}
		if out.DType.IsInteger() {
			y.n = append(y.n, int64(v))
		} else {
			y.f = append(y.f, v)
		}
	})
	return y
}

var moveTypes = []ops.DType{ops.U8, ops.BF16, ops.F32, ops.F64}

func TestTranspose(t *testing.T) {
	forTargets(t, func(t *testing.T, target *Target) {
		for _, d := range moveTypes {
			for _, p := range []struct {
				shape ops.Shape
				axes  []int
			}{{ops.Shape{}, []int{}}, {ops.Shape{5}, []int{0}}, {ops.Shape{5, 7}, []int{1, 0}}, {ops.Shape{8, 16}, []int{1, 0}},
				{ops.Shape{2, 3, 4}, []int{1, 0, 2}}, {ops.Shape{2, 3, 4}, []int{2, 0, 1}},
				{ops.Shape{2, 3, 2, 3, 2}, []int{4, 2, 0, 3, 1}}, {ops.Shape{70, 130}, []int{1, 0}},
				{ops.Shape{2, 65, 1, 96}, []int{0, 3, 2, 1}}, {ops.Shape{128, 2, 64}, []int{2, 1, 0}},
				{ops.Shape{261, 387}, []int{1, 0}}, {ops.Shape{3, 132, 2, 192}, []int{0, 3, 2, 1}},
				{ops.Shape{3, 132, 4, 192}, []int{3, 0, 2, 1}}} {
				x := random(ops.Type{DType: d, Shape: p.shape}, 5)
				out := ops.Type{DType: d, Shape: make(ops.Shape, len(p.axes))}
				for i, a := range p.axes {
					out.Shape[i] = p.shape[a]
				}
				got := run(t, target, instr(ops.Transpose, out, p.axes), x)
				same(t, describe(ops.Transpose, x.typ, out), got, moved(out, x, 0, func(c []int) int {
					from := make([]int, len(c))
					for i, a := range p.axes {
						from[a] = c[i]
					}
					return flat(p.shape, from)
				}))
			}
		}
	})
}

func TestBroadcastReverse(t *testing.T) {
	forTargets(t, func(t *testing.T, target *Target) {
		for _, d := range moveTypes {
			x := random(typ(d, 3, 1, 8), 6)
			out := typ(d, 2, 3, 4, 8)
			same(t, "broadcast", run(t, target, instr(ops.BroadcastTo, out, []int{1, 2, 3}), x),
				moved(out, x, 0, func(c []int) int { return c[1]*8 + c[3] }))
			y := random(typ(d, 5), 6)
			wide := typ(d, 5, 6)
			same(t, "broadcast of a column", run(t, target, instr(ops.BroadcastTo, wide, []int{0}), y),
				moved(wide, y, 0, func(c []int) int { return c[0] }))
			same(t, "reverse", run(t, target, instr(ops.Reverse, x.typ, []int{0, 2}), x),
				moved(x.typ, x, 0, func(c []int) int { return (2-c[0])*8 + 7 - c[2] }))
		}
		lit := tensor{typ: typ(ops.S32), n: []int64{-5}, lit: true}
		out := typ(ops.S32, 2, 3)
		same(t, "broadcast of a literal", run(t, target, instr(ops.BroadcastTo, out, []int{}), lit),
			moved(out, lit, 0, func([]int) int { return 0 }))
	})
}

func TestSlices(t *testing.T) {
	forTargets(t, func(t *testing.T, target *Target) {
		for _, d := range moveTypes {
			x := random(typ(d, 6, 9), 7)
			out := typ(d, 2, 4)
			same(t, "slice", run(t, target, instr(ops.Slice, out, []int{1, 2}, []int{4, 7}, []int{2, 2}), x),
				moved(out, x, 0, func(c []int) int { return (1+2*c[0])*9 + 2 + 2*c[1] }))
			u := random(typ(d, 2, 4), 8)
			same(t, "put_slice", run(t, target, instr(ops.PutSlice, x.typ, []int{99, 3}), x, u),
				moved(x.typ, tensor{typ: typ(d, 62), f: append(slices.Clone(x.f), u.f...), n: append(slices.Clone(x.n), u.n...)}, 0,
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
	forTargets(t, func(t *testing.T, target *Target) {
		x, y := random(typ(ops.U8, 2, 3), 1), random(typ(ops.F32, 2, 5), 2)
		out := typ(ops.F32, 2, 8)
		same(t, "concatenate", run(t, target, instr(ops.Concatenate, out, []int{1}), x, y),
			moved(out, tensor{typ: typ(ops.F32, 16), f: append(asFloats(x), y.f...)}, 0, func(c []int) int {
				if c[1] < 3 {
					return c[0]*3 + c[1]
				}
				return 6 + c[0]*5 + c[1] - 3
			}))
		z := random(typ(ops.F32, 2, 3), 3)
		stack := typ(ops.F32, 2, 2, 3)
		same(t, "stack", run(t, target, instr(ops.Stack, stack, []int{1}), x, z),
			moved(stack, tensor{typ: typ(ops.F32, 12), f: append(asFloats(x), z.f...)}, 0, func(c []int) int {
				return 6*c[1] + c[0]*3 + c[2]
			}))
	})
}

func asFloats(x tensor) []float64 {
	var f []float64
	for i := range x.typ.Size() {
		f = append(f, x.at(i))
	}
	return f
}

func TestPad(t *testing.T) {
	forTargets(t, func(t *testing.T, target *Target) {
		value := tensor{typ: typ(ops.F32), f: []float64{9}, lit: true}
		for _, cfg := range [][]int{{0, 0, 0}, {1, 2, 0}, {0, 0, 2}, {3, 1, 1}, {-2, 0, 0}, {-1, -2, 1}, {0, -4, 2},
			{-6, 5, 0}, {7, -6, 0}, {-3, 1, 2}} {
			x := random(typ(ops.F32, 5, 4), 9)
			n := 5 + cfg[0] + cfg[1] + 4*cfg[2]
			out := typ(ops.F32, n, 4)
			got := run(t, target, instr(ops.Pad, out, append(cfg, 0, 0, 0)), x, value)
			same(t, "pad", got, moved(out, x, 9, func(c []int) int {
				i := c[0] - cfg[0]
				if i < 0 || i%(cfg[2]+1) != 0 || i/(cfg[2]+1) >= 5 {
					return -1
				}
				return i/(cfg[2]+1)*4 + c[1]
			}))
		}
	})
}

func TestBitcastAndAliases(t *testing.T) {
	x := tensor{typ: typ(ops.S2, 4), n: []int64{-2, -1, 0, 1}}
	same(t, "bitcast below a byte", run(t, gpu, instr(ops.Bitcast, typ(ops.U2, 4)), x),
		tensor{typ: typ(ops.U2, 4), n: []int64{2, 3, 0, 1}})
	f := tensor{typ: typ(ops.F32, 1), f: []float64{1}}
	same(t, "bitcast", run(t, gpu, instr(ops.Bitcast, typ(ops.U32, 1)), f), tensor{typ: typ(ops.U32, 1), n: []int64{0x3f800000}})
	same(t, "reshape", run(t, gpu, instr(ops.Reshape, typ(ops.S2, 2, 2)), x), tensor{typ: typ(ops.S2, 2, 2), n: x.n})
	lit := tensor{typ: typ(ops.F32), f: []float64{-2}, lit: true}
	same(t, "bitcast of a literal", run(t, gpu, instr(ops.Bitcast, typ(ops.U32)), lit), tensor{typ: typ(ops.U32), n: []int64{0xc0000000}})
}
