package placement

import (
	"slices"
	"testing"

	"nxvk/ops"
)

// pointwise is an operation on large operands of a type, as its row of the table has it.
func pointwise(op ops.Op, of, to ops.DType, operands int) (in *ops.Instr, types []ops.Type) {
	shape := ops.Shape{aloneLimit + 1}
	in = &ops.Instr{Op: op, Outs: []ops.Result{{Type: ops.Type{DType: to, Shape: shape}}}}
	for range operands {
		types = append(types, ops.Type{DType: of, Shape: shape})
	}
	return in, types
}

// The host computes large operands where it has a loop for the type or moves elements; elsewhere it does
// until the kernel is compiled.
func TestInSteadPointwise(t *testing.T) {
	for _, c := range []struct {
		op       ops.Op
		of, to   ops.DType
		operands int
		want     Stead
	}{
		{ops.Add, ops.F32, ops.F32, 2, Alone},
		{ops.Multiply, ops.U8, ops.U8, 2, Alone},
		{ops.BitwiseXor, ops.U8, ops.U8, 2, Alone},
		{ops.Less, ops.F64, ops.U8, 2, Alone},
		{ops.Equal, ops.S32, ops.U8, 2, Alone},
		{ops.Max, ops.F64, ops.F64, 2, Alone},
		{ops.Negate, ops.S64, ops.S64, 1, Alone},
		{ops.IsNaN, ops.F32, ops.U8, 1, Alone},
		{ops.BitwiseNot, ops.U8, ops.U8, 1, Alone},
		{ops.AsType, ops.BF16, ops.F32, 1, Alone},
		{ops.Select, ops.BF16, ops.BF16, 3, Alone},
		{ops.Add, ops.S8, ops.S8, 2, WhenCold},
		{ops.Add, ops.BF16, ops.BF16, 2, WhenCold},
		{ops.Less, ops.U16, ops.U8, 2, WhenCold},
		{ops.LogicalNot, ops.U8, ops.U8, 1, WhenCold},
		{ops.BitwiseNot, ops.U16, ops.U16, 1, WhenCold},
		{ops.Clip, ops.F32, ops.F32, 3, WhenCold},
		{ops.AsType, ops.F32, ops.BF16, 1, WhenCold},
		{ops.Exp, ops.F32, ops.F32, 1, Never},
	} {
		in, types := pointwise(c.op, c.of, c.to, c.operands)
		if got := InStead(in, types); got != c.want {
			t.Errorf("%v of %v: got rule %d, want %d", c.op, c.of, got, c.want)
		}
	}
}

// The host reduces the last axes of large operands where it is quicker, and all axes of more types.
func TestInSteadReduction(t *testing.T) {
	for _, c := range []struct {
		op    ops.Op
		of    ops.DType
		shape ops.Shape
		axes  []int
		want  Stead
	}{
		{ops.Any, ops.BF16, ops.Shape{200, 1000}, []int{1}, Alone},
		{ops.Any, ops.F32, ops.Shape{10, 20, 1000}, []int{1, 2}, Alone},
		{ops.Any, ops.F32, ops.Shape{1000, 200, 1}, []int{1}, Alone},
		{ops.Any, ops.F32, ops.Shape{200, 1000}, []int{0}, WhenCold},
		{ops.Any, ops.F32, ops.Shape{10, 20, 1000}, []int{0, 2}, WhenCold},
		{ops.Sum, ops.S32, ops.Shape{200, 1000}, []int{1}, Alone},
		{ops.Sum, ops.S32, ops.Shape{200, 1000}, []int{0}, WhenCold},
		{ops.Sum, ops.F32, ops.Shape{200, 1000}, []int{1}, Never},
		{ops.All, ops.F32, ops.Shape{200, 1000}, []int{1}, WhenCold},
		{ops.All, ops.F32, ops.Shape{200, 1000}, []int{0, 1}, Alone},
		{ops.All, ops.BF16, ops.Shape{200, 1000}, []int{0, 1}, WhenCold},
		{ops.ReduceMax, ops.F32, ops.Shape{200000}, []int{0}, Alone},
		{ops.ReduceMin, ops.S32, ops.Shape{1, 200000}, []int{1}, Alone},
		{ops.ReduceMax, ops.F32, ops.Shape{200, 1000}, []int{1}, WhenCold},
		{ops.ReduceMax, ops.U8, ops.Shape{200000}, []int{0}, WhenCold},
		{ops.ReduceMax, ops.U8, ops.Shape{200}, []int{0}, Alone},
	} {
		out := ops.Shape{}
		for axis, n := range c.shape {
			if !slices.Contains(c.axes, axis) {
				out = append(out, n)
			}
		}
		in := &ops.Instr{Op: c.op, Attrs: [][]int{c.axes, {0}}, Outs: []ops.Result{{Type: ops.Type{DType: c.of, Shape: out}}}}
		if got := InStead(in, []ops.Type{{DType: c.of, Shape: c.shape}}); got != c.want {
			t.Errorf("%v of %v%v, axes %v: got rule %d, want %d", c.op, c.of, c.shape, c.axes, got, c.want)
		}
	}
}

// The host computes transforms whose largest prime factor is neither small nor large.
func TestInSteadTransforms(t *testing.T) {
	for n, want := range map[int]Stead{1: Never, 13 * 16: Never, 17: Always, 19 * 20: Always, 4 * 127: Always, 131: Never, 17 * 131: Never, 1 << 20: Never} {
		typ := ops.Type{DType: ops.C64, Shape: ops.Shape{3, n}}
		for _, op := range []ops.Op{ops.FFT, ops.IRFFT} {
			in := &ops.Instr{Op: op, Attrs: [][]int{{n}, {1}, {0}}, Outs: []ops.Result{{Type: typ}}}
			if got := InStead(in, []ops.Type{typ}); got != want {
				t.Errorf("%v of %d: %v, want %v", op, n, got, want)
			}
		}
	}
}

// TestQuickWorkIsInline: what a routine does for so few elements that it is sooner done than a device begins is no job,
// which would take as long to hand over.
func TestQuickWorkIsInline(t *testing.T) {
	for _, d := range []ops.DType{ops.F32, ops.F64, ops.S32, ops.S64} {
		for _, op := range []ops.Op{ops.Add, ops.Multiply, ops.Max, ops.Select} {
			of := func(n int) int {
				v := ops.Type{DType: d, Shape: ops.Shape{n}}
				in, types := ops.Instr{Op: op, Outs: []ops.Result{{Type: v}}}, []ops.Type{v, v}
				if op == ops.Select {
					types = []ops.Type{{DType: ops.U8, Shape: v.Shape}, v, v}
				}
				if InStead(&in, types) != Alone {
					t.Errorf("%v of %v is not quick", op, d)
				}
				return HostCost(&in, types)
			}
			if few, many := of(aloneLimit), of(1<<20); few > InlineCost || many <= InlineCost {
				t.Errorf("%v of %v: %d elements cost %d, %d cost %d; a job begins above %d", op, d, aloneLimit, few, 1<<20, many, InlineCost)
			}
		}
	}
}
