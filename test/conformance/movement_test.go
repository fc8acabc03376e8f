package conformance

import (
	"testing"

	"nxvk/gen/exec/exectest"
	"nxvk/ops"
	"nxvk/test/draw"
)

// moves is an instruction that moves elements: operands of one type, but for
// scalars that say where.
type moves struct {
	op     ops.Op
	attrs  [][]int
	shapes []ops.Shape
	out    ops.Shape // where the client states it
	starts []int     // dynamic starts, each a further operand
}

func shape(dims ...int) ops.Shape { return dims }

func move(op ops.Op, attrs [][]int, shapes ...ops.Shape) moves {
	return moves{op: op, attrs: attrs, shapes: shapes}
}

func (m moves) to(dims ...int) moves   { m.out = dims; return m }
func (m moves) at(starts ...int) moves { m.starts = starts; return m }

// movements are every form of the operations that move elements.
var movements = []moves{
	move(ops.Reshape, nil, shape(6, 35)).to(7, 5, 6),
	move(ops.Reshape, nil, shape(1)).to(),
	move(ops.Squeeze, [][]int{{0, 2}}, shape(1, 9, 1, 4)),

	move(ops.BroadcastTo, [][]int{{}}, shape()).to(67),
	move(ops.BroadcastTo, [][]int{{1}}, shape(33)).to(5, 33),
	move(ops.BroadcastTo, [][]int{{0}}, shape(33)).to(33, 5),
	move(ops.BroadcastTo, [][]int{{0, 2}}, shape(3, 1)).to(3, 4, 5),
	move(ops.BroadcastTo, [][]int{{2, 0}}, shape(3, 2)).to(2, 4, 3),
	move(ops.BroadcastTo, [][]int{{1, 3, 5}}, shape(2, 1, 3)).to(2, 2, 3, 4, 2, 3),

	move(ops.Transpose, [][]int{{1, 0}}, shape(37, 41)),
	move(ops.Transpose, [][]int{{1, 0}}, shape(128, 64)),
	move(ops.Transpose, [][]int{{0, 2, 1}}, shape(3, 17, 33)),
	move(ops.Transpose, [][]int{{2, 0, 1}}, shape(5, 7, 9)),
	move(ops.Transpose, [][]int{{2, 1, 0}}, shape(8, 3, 12)),
	move(ops.Transpose, [][]int{{3, 1, 0, 2}}, shape(2, 3, 4, 5)),
	move(ops.Transpose, [][]int{{4, 2, 0, 3, 1}}, shape(2, 3, 2, 5, 3)),
	move(ops.Transpose, [][]int{{5, 3, 1, 4, 0, 2}}, shape(2, 3, 2, 2, 3, 4)),
	move(ops.Transpose, [][]int{{0, 3, 2, 1}}, shape(4, 1, 9, 1)),

	move(ops.Slice, [][]int{{5}, {90}, {1}}, shape(101)),
	move(ops.Slice, [][]int{{1}, {99}, {7}}, shape(101)),
	move(ops.Slice, [][]int{{1, 2}, {5, 20}, {2, 3}}, shape(9, 31)),
	move(ops.Slice, [][]int{{0, 1, 0, 2}, {2, 1, 4, 3}, {1, 1, 4, 2}}, shape(2, 3, 4, 5)),
	move(ops.Slice, [][]int{{}, {4, 5}, {1, 1}}, shape(9, 31)).at(3, 11),
	move(ops.Slice, [][]int{{}, {4, 5}, {2, 2}}, shape(9, 31)).at(-3, 1000),

	move(ops.PutSlice, [][]int{{4}}, shape(101), shape(7)),
	move(ops.PutSlice, [][]int{{0, 0}}, shape(9, 31), shape(9, 31)),
	move(ops.PutSlice, [][]int{{2, 3}}, shape(9, 31), shape(3, 5)),
	move(ops.PutSlice, [][]int{{8, 30, 2}}, shape(9, 31, 4), shape(3, 5, 1)),
	move(ops.PutSlice, [][]int{{}}, shape(9, 31), shape(3, 5)).at(100, -1),
	move(ops.PutSlice, [][]int{{}}, shape(9, 31), shape(3, 5)).at(4, 7),

	move(ops.Pad, [][]int{{3, 2, 0}}, shape(65), shape()),
	move(ops.Pad, [][]int{{-3, 4, 0}}, shape(65), shape()),
	move(ops.Pad, [][]int{{1, -2, 2}}, shape(65), shape()),
	move(ops.Pad, [][]int{{-4, -5, 3}}, shape(65), shape()),
	move(ops.Pad, [][]int{{0, 1, 0, 2, -1, 1}}, shape(7, 9), shape()),
	move(ops.Pad, [][]int{{-9, 9, 0, 9, -9, 1}}, shape(7, 9), shape()),
	move(ops.Pad, [][]int{{0, 0, 0, 1, 1, 1, 0, 0, 2}}, shape(3, 4, 5), shape()),

	move(ops.Concatenate, [][]int{{0}}, shape(33), shape(1), shape(20)),
	move(ops.Concatenate, [][]int{{1}}, shape(3, 5), shape(3, 7)),
	move(ops.Concatenate, [][]int{{1}}, shape(2, 3, 4), shape(2, 1, 4), shape(2, 2, 4), shape(2, 5, 4), shape(2, 3, 4)),
	move(ops.Concatenate, [][]int{{2}}, shape(2, 3, 1), shape(2, 3, 1)),
	move(ops.Stack, [][]int{{0}}, shape(33), shape(33)),
	move(ops.Stack, [][]int{{1}}, shape(33), shape(33), shape(33)),
	move(ops.Stack, [][]int{{1}}, shape(3, 5), shape(3, 5), shape(3, 5), shape(3, 5)),
	move(ops.Stack, [][]int{{0}}, shape(), shape(), shape()),

	move(ops.Reverse, [][]int{{}}, shape(31)),
	move(ops.Reverse, [][]int{{0}}, shape(259)),
	move(ops.Reverse, [][]int{{0}}, shape(9, 31)),
	move(ops.Reverse, [][]int{{1}}, shape(9, 31)),
	move(ops.Reverse, [][]int{{0, 2}}, shape(3, 5, 7)),
	move(ops.Reverse, [][]int{{3, 1, 0}}, shape(2, 3, 4, 5)),
}

// Elements are moved with all their bits, NaNs and odd patterns included.
func TestMovement(t *testing.T) {
	modes(t, func(t *testing.T, d, host *exectest.Driver, gpu bool) {
		var n tally
		for i, m := range movements {
			for _, dt := range ops.DTypes() {
				c := m.instr(t, dt, uint64(i))
				of := 24
				switch {
				case dt == ops.F32 && gpu:
					of = 4
				case dt == ops.F32:
					of = 1
				}
				if rarely(of, &c) {
					n.same(t, d, host, &c)
				}
			}
		}
		n.report(t)
	})
}

// instr is the movement of elements of a type.
func (m moves) instr(t *testing.T, dt ops.DType, seed uint64) instr {
	t.Helper()
	c := instr{op: m.op, attrs: m.attrs, out: ops.Type{Shape: m.out}}
	s := newSampler(seed)
	for _, sh := range m.shapes {
		typ := ops.Type{DType: dt, Shape: sh}
		c.types, c.data = append(c.types, typ), append(c.data, s.bits(typ))
	}
	for _, at := range m.starts {
		typ := ops.Type{DType: ops.S32}
		c.types, c.data = append(c.types, typ), append(c.data, draw.Encode([]float64{float64(at)}, typ))
	}
	c.infer(t, dt)
	return c
}

// Movements whose operands are of other types convert them.
func TestMovementConverts(t *testing.T) {
	modes(t, func(t *testing.T, d, host *exectest.Driver, gpu bool) {
		var n tally
		for _, types := range [][3]ops.DType{
			{ops.S32, ops.F32, ops.F32}, {ops.U8, ops.S16, ops.S16}, {ops.BF16, ops.F32, ops.F32}, {ops.S64, ops.F32, ops.F32},
		} {
			a := ops.Type{DType: types[0], Shape: ops.Shape{5, 9}}
			b := ops.Type{DType: types[1], Shape: ops.Shape{5, 9}}
			value := ops.Type{DType: types[1]}
			s := newSampler(uint64(types[0]))
			x, y, z := s.natural(a, 0, 3), s.natural(b, 0, 3), s.natural(value, 0, 3)
			for _, c := range []instr{
				{op: ops.Concatenate, attrs: [][]int{{1}}, types: []ops.Type{a, b}, data: [][]byte{x, y}},
				{op: ops.Stack, attrs: [][]int{{2}}, types: []ops.Type{b, a}, data: [][]byte{y, x}},
				{op: ops.PutSlice, attrs: [][]int{{0, 0}}, types: []ops.Type{a, b}, data: [][]byte{x, y}},
				{op: ops.Pad, attrs: [][]int{{1, 1, 1, 0, -1, 0}}, types: []ops.Type{a, value}, data: [][]byte{x, z}},
			} {
				c.infer(t, types[2])
				n.same(t, d, host, &c)
			}
		}
		n.report(t)
	})
}

// The same bits under another type of their width.
func TestBitcast(t *testing.T) {
	modes(t, func(t *testing.T, d, host *exectest.Driver, gpu bool) {
		for _, from := range ops.DTypes() {
			for _, to := range ops.DTypes() {
				if from.Bits() != to.Bits() || from.Bits() < 8 {
					continue
				}
				typ := ops.Type{DType: from, Shape: ops.Shape{3, 11}}
				c := instr{op: ops.Bitcast, types: []ops.Type{typ}, data: [][]byte{newSampler(3).bits(typ)}}
				c.infer(t, to)
				new(tally).same(t, d, host, &c)
			}
		}
	})
}

// Tensors that are made of nothing.
func TestCreate(t *testing.T) {
	modes(t, func(t *testing.T, d, host *exectest.Driver, gpu bool) {
		var n tally
		for _, dt := range ops.DTypes() {
			for _, c := range []instr{
				{op: ops.Iota, attrs: [][]int{{-1}}, out: ops.Type{Shape: ops.Shape{3, 5, 7}}},
				{op: ops.Iota, attrs: [][]int{{0}}, out: ops.Type{Shape: ops.Shape{3, 5, 7}}},
				{op: ops.Iota, attrs: [][]int{{1}}, out: ops.Type{Shape: ops.Shape{3, 5, 7}}},
				{op: ops.Iota, attrs: [][]int{{2}}, out: ops.Type{Shape: ops.Shape{3, 5, 7}}},
				{op: ops.Iota, attrs: [][]int{{0}}, out: ops.Type{Shape: ops.Shape{1031}}},
				{op: ops.Iota, attrs: [][]int{{-1}}},
				{op: ops.Eye, out: ops.Type{Shape: ops.Shape{17, 17}}},
				{op: ops.Eye, out: ops.Type{Shape: ops.Shape{5, 9}}},
				{op: ops.Eye, out: ops.Type{Shape: ops.Shape{2, 3, 7, 4}}},
			} {
				c.infer(t, dt)
				if of := 8; dt == ops.F32 || rarely(of, &c) {
					n.same(t, d, host, &c)
				}
			}
			constant(t, d, host, dt)
		}
		n.report(t)
	})
}

// constant fills a tensor with a scalar literal of each type.
func constant(t *testing.T, d, host *exectest.Driver, dt ops.DType) {
	t.Helper()
	lit := &ops.Literal{Type: ops.Type{DType: dt}, Data: newSampler(uint64(dt)).bits(ops.Type{DType: dt})}
	out := ops.Type{DType: dt, Shape: ops.Shape{3, 23}}
	var both [2]string
	for i, dr := range []*exectest.Driver{d, host} {
		id := dr.Do(ops.Constant, out, nil, ops.Operand{Lit: lit})
		data, err := dr.Read(id)
		if err != nil {
			t.Fatalf("constant of %v: %v", dt, err)
		}
		both[i] = string(data)
		dr.Free(id)
	}
	if both[0] != both[1] {
		t.Errorf("constant %x of %v: device gives %x, host %x", lit.Data, dt, both[0], both[1])
	}
}
