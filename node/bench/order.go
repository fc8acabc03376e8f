package bench

import (
	"fmt"

	"nxvk/ops"
)

// mostSorted is the largest size of sorts and transforms: the one at which they are compared with
// other libraries.
const mostSorted = 1 << 24

// orderRows are sorts, scans and transforms of arrays of n elements.
func orderRows(n int) []row {
	const rounds, wide = 10, 1024
	f32 := func(shape ...int) ops.Type { return ops.Type{DType: ops.F32, Shape: shape} }
	side := 1
	for side*side*4 <= n {
		side *= 2
	}
	list := []row{
		scan("cumulative_sum", f32(n), 0, rounds),
		scan("cumulative_sum over axis 0", f32(side, side), 0, rounds),
		scan("cumulative_sum over axis 1", f32(side, side), 1, rounds),
	}
	n = min(n, mostSorted)
	s64 := ops.Type{DType: ops.S64, Shape: ops.Shape{n}}
	list = append(list,
		ordered(ops.Sort, f32(n)), ordered(ops.Argsort, f32(n)), ordered(ops.Sort, s64),
		ordered(ops.Sort, f32(n/wide, wide)), ordered(ops.Sort, f32(n/(8*wide), 8*wide)),
		topK(f32(n), 16))
	for _, shape := range []ops.Shape{{n}, {n / wide, wide}, {n / 4096, 4096}} {
		list = append(list, fourier(ops.FFT, ops.C64, shape, []int{len(shape) - 1}))
	}
	for side*side > n {
		side /= 2
	}
	return append(list, fourier(ops.FFT2, ops.C64, ops.Shape{side, side}, []int{0, 1}),
		fourier(ops.RFFT, ops.F32, ops.Shape{n}, []int{0}))
}

func scan(name string, t ops.Type, axis, rounds int) row {
	run := func(h *harness) error {
		return h.result(h.Do(ops.CumulativeSum, t, [][]int{{axis}, {0}}, h.input(t, 0)))
	}
	return row{fmt.Sprint(name, " of ", t.Shape), run, rounds, 2 * float64(t.Bytes()), 0}
}

// ordered is a sort or an argsort along the last axis.
func ordered(op ops.Op, t ops.Type) row {
	out := t
	if op == ops.Argsort {
		out.DType = ops.S32
	}
	run := func(h *harness) error {
		return h.result(h.Do(op, out, [][]int{{len(t.Shape) - 1}, {0}, {0}}, h.scrambled(t)))
	}
	return row{fmt.Sprintf("%v of %v %v", op, t.DType, t.Shape), run, 10, float64(t.Bytes() + out.Bytes()), 0}
}

func topK(t ops.Type, k int) row {
	values, indices := ops.Type{DType: t.DType, Shape: ops.Shape{k}}, ops.Type{DType: ops.S32, Shape: ops.Shape{k}}
	run := func(h *harness) error {
		ids := h.DoAll(ops.TopK, []ops.Type{values, indices}, [][]int{{k}}, h.scrambled(t))
		h.Free(ids[1])
		return h.result(ids[0])
	}
	return row{fmt.Sprintf("top_k %d of %v %v", k, t.DType, t.Shape), run, 10, float64(t.Bytes()), 0}
}

// fourier is a round of a transform along axes.
func fourier(op ops.Op, from ops.DType, s ops.Shape, axes []int) row {
	in, out := ops.Type{DType: from, Shape: s}, ops.Type{DType: ops.C64, Shape: s}
	var lengths []int
	for _, a := range axes {
		lengths = append(lengths, s[a])
	}
	if op == ops.RFFT {
		out.Shape = ops.Shape{s[0]/2 + 1}
	}
	run := func(h *harness) error {
		x := h.input(in, 0)
		if from == ops.C64 {
			x = h.spectrum(s)
		}
		return h.result(h.Do(op, out, [][]int{lengths, axes, {0}}, x))
	}
	return row{fmt.Sprintf("%v of %v %v", op, from, s), run, 10, float64(in.Bytes() + out.Bytes()), 0}
}

// scrambled returns a value of the type with random elements, made once.
func (h *harness) scrambled(t ops.Type) ops.Operand {
	return h.made(fmt.Sprint("scrambled", t), func() ops.ID {
		u32, u64 := ops.Type{DType: ops.U32, Shape: t.Shape}, ops.Type{DType: ops.S64, Shape: t.Shape}
		word := func(n uint32) ops.Operand {
			return ops.Operand{Lit: &ops.Literal{Type: ops.Type{DType: ops.U32},
				Data: []byte{byte(n), byte(n >> 8), byte(n >> 16), byte(n >> 24)}}}
		}
		flat := h.Do(ops.Iota, ops.Type{DType: ops.U32, Shape: ops.Shape{t.Size()}}, [][]int{{-1}})
		x := h.Do(ops.Reshape, u32, nil, ops.Operand{ID: flat})
		for _, odd := range []uint32{0x7feb352d, 0x846ca68b} { // lowbias32
			high := h.Do(ops.RightShift, u32, nil, ops.Operand{ID: x}, word(15))
			mixed := h.Do(ops.BitwiseXor, u32, nil, ops.Operand{ID: x}, ops.Operand{ID: high})
			x = h.Do(ops.Multiply, u32, nil, ops.Operand{ID: mixed}, word(odd))
		}
		if t.DType == ops.S64 {
			long := h.Do(ops.AsType, u64, nil, ops.Operand{ID: x})
			return h.Do(ops.Multiply, u64, nil, ops.Operand{ID: long}, ops.Operand{ID: long})
		}
		return h.Do(ops.AsType, t, nil, ops.Operand{ID: x})
	})
}

// spectrum returns a value of complex numbers, made once.
func (h *harness) spectrum(s ops.Shape) ops.Operand {
	return h.made(fmt.Sprint("spectrum", s), func() ops.ID {
		t := ops.Type{DType: ops.C64, Shape: s}
		return h.Do(ops.FFT, t, [][]int{{s[len(s)-1]}, {len(s) - 1}, {0}}, h.input(ops.Type{DType: ops.F32, Shape: s}, 0))
	})
}

// made returns the value of a key, which it makes once.
func (h *harness) made(key string, make func() ops.ID) ops.Operand {
	if _, ok := h.inputs[key]; !ok {
		h.inputs[key] = make()
	}
	return ops.Operand{ID: h.inputs[key]}
}
