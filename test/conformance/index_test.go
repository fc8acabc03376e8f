package conformance

import (
	"bytes"
	"slices"
	"testing"

	"nxvk/gen/exec/exectest"
	"nxvk/ops"
	"nxvk/test/draw"
)

// lookup is a choice of elements of a tensor along axes by indices.
func lookup(op ops.Op, axes []int, tensor, indices ops.Shape) instr {
	return instr{op: op, attrs: [][]int{axes}, types: []ops.Type{{Shape: tensor}, {Shape: indices}}}
}

// lookups are every form of the operations that choose elements by indices.
var lookups = []instr{
	lookup(ops.Take, []int{0}, shape(9), shape()),
	lookup(ops.Take, []int{0}, shape(9), shape(70)),
	lookup(ops.Take, []int{0}, shape(9, 64), shape(33)),
	lookup(ops.Take, []int{0}, shape(9, 7), shape(3, 5)),
	lookup(ops.Take, []int{1}, shape(4, 9), shape(11)),
	lookup(ops.Take, []int{1}, shape(4, 9, 3), shape(2, 8)),
	lookup(ops.Take, []int{1}, shape(2, 9, 12), shape(5)),
	lookup(ops.TakeAlongAxis, []int{0}, shape(9), shape(20)),
	lookup(ops.TakeAlongAxis, []int{0}, shape(9, 5), shape(4, 5)),
	lookup(ops.TakeAlongAxis, []int{1}, shape(5, 9), shape(5, 300)),
	lookup(ops.TakeAlongAxis, []int{1}, shape(3, 9, 4), shape(3, 8, 4)),
	lookup(ops.Gather, []int{0}, shape(9), shape(31, 1)),
	lookup(ops.Gather, []int{0}, shape(9, 16), shape(6, 1)),
	lookup(ops.Gather, []int{0, 1}, shape(9, 10), shape(31, 2)),
	lookup(ops.Gather, []int{2, 0}, shape(9, 3, 11), shape(7, 2)),
	lookup(ops.Gather, []int{1, 2}, shape(2, 9, 9, 4), shape(3, 5, 2)),
	lookup(ops.Gather, []int{0, 1, 2, 3}, shape(9, 9, 9, 9), shape(4, 4)),
}

var indexTypes = []ops.DType{ops.S32, ops.S64, ops.U8, ops.U16, ops.U64, ops.S8}

// Elements are chosen with all their bits.
func TestLookup(t *testing.T) {
	modes(t, func(t *testing.T, d, host *exectest.Driver, gpu bool) {
		var n tally
		for i, form := range lookups {
			for _, dt := range ops.DTypes() {
				for _, it := range indexTypes {
					c := form
					c.types = []ops.Type{{DType: dt, Shape: form.types[0].Shape}, {DType: it, Shape: form.types[1].Shape}}
					c.infer(t, dt)
					of := 40
					if dt == ops.F32 && it == ops.S32 && !gpu {
						of = 1
					}
					if rarely(of, &c) {
						s := newSampler(uint64(i))
						c.data = [][]byte{s.bits(c.types[0]), s.natural(c.types[1], 0, 8)}
						n.same(t, d, host, &c)
					}
				}
			}
		}
		n.report(t)
	})
}

// An index out of bounds is the error that the host gives, also where the
// indices are computed on the device.
func TestIndexOutOfBounds(t *testing.T) {
	modes(t, func(t *testing.T, d, host *exectest.Driver, gpu bool) {
		tensor := ops.Type{DType: ops.F32, Shape: ops.Shape{4, 5}}
		idx := ops.Type{DType: ops.S32, Shape: ops.Shape{3, 1}}
		for _, high := range []float64{4, -1} {
			var said [2]error
			for i, dr := range []*exectest.Driver{d, host} {
				x := dr.Upload(tensor, bytes.Repeat([]byte{0}, tensor.Bytes()))
				at := dr.Upload(idx, draw.Encode([]float64{0, high / 2, high / 2}, ops.Type{DType: ops.F32, Shape: idx.Shape})[:idx.Bytes()])
				half := ops.Type{DType: ops.F32, Shape: idx.Shape}
				at = dr.Do(ops.Bitcast, half, nil, ops.Operand{ID: at})
				sum := dr.Do(ops.Add, half, nil, ops.Operand{ID: at}, ops.Operand{ID: at})
				at = dr.Do(ops.AsType, idx, nil, ops.Operand{ID: sum})
				out := ops.Type{DType: ops.F32, Shape: ops.Shape{3, 5}}
				_, said[i] = dr.Read(dr.Do(ops.Gather, out, [][]int{{0}}, ops.Operand{ID: x}, ops.Operand{ID: at}))
			}
			if said[0] == nil || said[1] == nil || said[0].Error() != said[1].Error() {
				t.Errorf("index %v: device says %v, host says %v", high, said[0], said[1])
			}
		}
	})
}

// update is a tensor, and how many of its slices along axes are updated.
type update struct {
	tensor ops.Shape
	axes   []int
	count  int
}

// instr is the update of elements of the given types.
func (u update) instr(op ops.Op, types [3]ops.DType, index ops.DType) instr {
	up := ops.Shape{u.count}
	for i, d := range u.tensor {
		if !slices.Contains(u.axes, i) {
			up = append(up, d)
		}
	}
	return instr{op: op, attrs: [][]int{u.axes}, types: []ops.Type{{DType: types[0], Shape: u.tensor},
		{DType: index, Shape: ops.Shape{u.count, len(u.axes)}}, {DType: types[1], Shape: up}}}
}

var updates = []update{
	{shape(9), []int{0}, 1}, {shape(9), []int{0}, 700}, {shape(3000), []int{0}, 50}, {shape(9, 64), []int{0}, 33},
	{shape(5, 9), []int{1}, 40}, {shape(4, 9, 6), []int{1}, 30}, {shape(9, 9), []int{0, 1}, 200}, {shape(9, 3, 11), []int{2, 0}, 60},
	{shape(2, 9, 10, 4), []int{1, 2}, 17}, {shape(9, 9, 9, 9), []int{0, 1, 2, 3}, 25}, {shape(40, 30), []int{0}, 5000},
}

// updateTypes are those of a tensor, its updates and the result.
var updateTypes = [][3]ops.DType{
	{ops.S32, ops.F32, ops.F32}, {ops.F32, ops.U8, ops.F32}, {ops.U8, ops.S8, ops.S16}, {ops.BF16, ops.F16, ops.F32},
	{ops.F32, ops.S32, ops.F16}, {ops.S64, ops.F32, ops.F32},
}

// Updates of one slice are taken in their order, and sums are exact here in any.
func TestIndexedUpdates(t *testing.T) {
	all := updateTypes
	for _, dt := range ops.DTypes() {
		all = append(all, [3]ops.DType{dt, dt, dt})
	}
	modes(t, func(t *testing.T, d, host *exectest.Driver, gpu bool) {
		var n tally
		for _, op := range []ops.Op{ops.IndexedPut, ops.IndexedAdd} {
			for i, form := range updates {
				for _, types := range all {
					c := form.instr(op, types, indexTypes[i%2])
					c.infer(t, types[2])
					of := 16
					if types[0] == ops.F32 && types[1] == ops.F32 && !gpu {
						of = 1
					}
					if rarely(of, &c) {
						s := newSampler(uint64(i))
						c.data = [][]byte{s.natural(c.types[0], 0, 1), s.natural(c.types[1], 0, 8), s.natural(c.types[2], 0, 1)}
						n.same(t, d, host, &c)
					}
				}
			}
		}
		n.report(t)
	})
}

// Starts that the device has computed place a slice without being read back.
func TestStartsOnDevice(t *testing.T) {
	modes(t, func(t *testing.T, d, host *exectest.Driver, gpu bool) {
		typ := ops.Type{DType: ops.F32, Shape: ops.Shape{9, 31}}
		part := ops.Type{DType: ops.F32, Shape: ops.Shape{4, 5}}
		s := newSampler(9)
		data, patch := s.bits(typ), s.bits(part)
		for _, it := range []ops.DType{ops.S32, ops.S64, ops.U8} {
			for _, at := range [][2]float64{{0, 0}, {2, 11}, {4, 60}} {
				var results [2][]byte
				for i, dr := range []*exectest.Driver{d, host} {
					one := ops.Type{DType: it}
					x, y := dr.Upload(typ, data), dr.Upload(part, patch)
					ins := []ops.Operand{{ID: x}}
					for _, v := range at {
						half := dr.Upload(one, draw.Encode([]float64{v / 2}, one))
						rest := dr.Upload(one, draw.Encode([]float64{v - float64(int(v/2))}, one))
						ins = append(ins, ops.Operand{ID: dr.Do(ops.Add, one, nil, ops.Operand{ID: half}, ops.Operand{ID: rest})})
					}
					cut := dr.Do(ops.Slice, part, [][]int{{}, {4, 5}, {1, 1}}, ins...)
					put := dr.Do(ops.PutSlice, typ, [][]int{{}}, ins[0], ops.Operand{ID: y}, ins[1], ins[2])
					for _, id := range []ops.ID{cut, put} {
						b, err := dr.Read(id)
						if err != nil {
							t.Fatal(err)
						}
						results[i] = append(results[i], b...)
					}
				}
				if !bytes.Equal(results[0], results[1]) {
					t.Errorf("starts %v of %v: device and host differ", at, it)
				}
			}
		}
		if n := d.Exec.Counters().Fallbacks; n != 0 {
			t.Errorf("%d fallbacks", n)
		}
	})
}
