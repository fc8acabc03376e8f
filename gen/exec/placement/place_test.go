package placement

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"nxvk/fallback"
	"nxvk/gen/store"
	"nxvk/gen/wire"
	"nxvk/ops"
)

// TestSameBytes: a drawn movement is an alias exactly where the host gives the bytes of its operand.
func TestSameBytes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	seen := map[bool]map[ops.Op]bool{false: {}, true: {}}
	for range 2000 {
		from := ops.Type{DType: ops.S32, Shape: make(ops.Shape, 1+r.IntN(4))}
		for i := range from.Shape {
			from.Shape[i] = 1 + r.IntN(3)*r.IntN(2)
		}
		in := drawMovement(r, from)
		types := []ops.Type{from}
		for _, o := range in.Ins[1:] {
			types = append(types, o.Lit.Type)
		}
		if err := in.Check(types); err != nil {
			t.Fatalf("%v of %v: %v", in, from, err)
		}
		w := New(&wire.Instr{Instr: in})
		copy(w.Types, types)
		w.Args[0] = new(store.Storage)
		data := make([]byte, 0, from.Bytes())
		for i := range from.Size() {
			data = binary.LittleEndian.AppendUint32(data, uint32(i+1))
		}
		ins := []fallback.Value{{Type: from, Data: data}}
		for _, o := range in.Ins[1:] {
			ins = append(ins, fallback.Value{Type: o.Lit.Type, Data: o.Lit.Data})
		}
		got := fallback.Value{Type: in.Outs[0].Type, Data: make([]byte, in.Outs[0].Type.Bytes())}
		if err := fallback.Run(&in, ins, []fallback.Value{got}); err != nil {
			t.Fatalf("%v of %v: %v", in, from, err)
		}
		same := bytes.Equal(got.Data, data)
		if alias := w.Alias() != nil; alias != same {
			t.Errorf("%v %v of %v: an alias is %v, the same bytes are %v", in.Op, in.Attrs, from, alias, same)
		}
		seen[same][in.Op] = true
	}
	if len(seen[true]) < 6 || len(seen[false]) < 5 {
		t.Errorf("operations with the same bytes and others: %v", seen)
	}
}

// drawMovement draws a movement of a value; about half of them keep the order of its elements.
func drawMovement(r *rand.Rand, from ops.Type) ops.Instr {
	rank := len(from.Shape)
	in := ops.Instr{Ins: []ops.Operand{{ID: 1}}}
	to := slices.Clone(from.Shape)
	switch in.Op = []ops.Op{ops.Reshape, ops.AsType, ops.BroadcastTo, ops.Transpose, ops.Reverse, ops.Pad, ops.Concatenate, ops.Slice}[r.IntN(8)]; in.Op {
	case ops.Reshape:
		to = ops.Shape{from.Size()}
	case ops.BroadcastTo:
		axes := r.Perm(rank + 1)[:rank]
		slices.Sort(axes)
		to = make(ops.Shape, rank+1)
		for i := range to {
			to[i] = 1 + r.IntN(4)/3
		}
		for i, a := range axes {
			if from.Shape[i] > 1 || r.IntN(3) > 0 {
				to[a] = from.Shape[i]
			}
		}
		in.Attrs = [][]int{axes}
	case ops.Transpose:
		axes := r.Perm(rank)
		for i, a := range axes {
			to[i] = from.Shape[a]
		}
		in.Attrs = [][]int{axes}
	case ops.Reverse:
		in.Attrs = [][]int{r.Perm(rank)[:r.IntN(rank+1)]}
	case ops.Pad:
		config := make([]int, 3*rank)
		if r.IntN(2) == 0 {
			i := r.IntN(rank)
			config[3*i], config[3*i+1] = r.IntN(2), r.IntN(2)
			to[i] += config[3*i] + config[3*i+1]
		}
		number := ops.Type{DType: from.DType}
		in.Ins = append(in.Ins, ops.Operand{Lit: &ops.Literal{Type: number, Data: make([]byte, number.Bytes())}})
		in.Attrs = [][]int{config}
	case ops.Concatenate:
		in.Attrs = [][]int{{r.IntN(rank)}}
	case ops.Slice:
		starts, strides := make([]int, rank), make([]int, rank)
		for i, n := range from.Shape {
			strides[i] = 1
			if r.IntN(3) == 0 {
				starts[i] = r.IntN(n)
			}
			to[i] -= starts[i]
		}
		in.Attrs = [][]int{starts, slices.Clone(to), strides}
	}
	in.Outs = []ops.Result{{ID: 2, Type: ops.Type{DType: from.DType, Shape: to}}}
	return in
}

// TestLong: large windows, long filters and Fourier transforms are no work for the host beside a GPU, however few elements there are.
func TestLong(t *testing.T) {
	f32 := func(shape ...int) ops.Type { return ops.Type{DType: ops.F32, Shape: shape} }
	window := func(side, lines int) ops.Instr {
		return ops.Instr{Op: ops.WindowMax, Outs: []ops.Result{{Type: f32(lines, 32)}}, Ins: make([]ops.Operand, 1),
			Attrs: [][]int{{side, side}, {side / 2, side / 2, side / 2, side / 2}, {1, 1}, {1, 1}}}
	}
	conv := func(taps int) ops.Instr {
		return ops.Instr{Op: ops.Conv, Outs: []ops.Result{{Type: f32(1, 2, 16, 16)}}, Ins: make([]ops.Operand, 2),
			Attrs: [][]int{{1, 1}, {taps / 2, taps / 2, taps / 2, taps / 2}, {1, 1}, {1, 1}, {1}, {1}, {0, 1, 2, 3}, {0, 1, 2, 3}, {0, 1, 2, 3}}}
	}
	rfft := func(lines, length int) ops.Instr {
		out := ops.Type{DType: ops.C64, Shape: ops.Shape{lines, length/2 + 1}}
		return ops.Instr{Op: ops.RFFT, Outs: []ops.Result{{Type: out}}, Ins: make([]ops.Operand, 1), Attrs: [][]int{{length}, {1}, {0}}}
	}
	for _, c := range []struct {
		in    ops.Instr
		types []ops.Type
		long  bool
	}{
		{window(31, 16), []ops.Type{f32(16, 32)}, true},
		{window(3, 8), []ops.Type{f32(8, 32)}, false},
		{conv(15), []ops.Type{f32(1, 1, 16, 16), f32(2, 1, 15, 15)}, true},
		{conv(3), []ops.Type{f32(1, 1, 16, 16), f32(2, 1, 3, 3)}, false},
		{rfft(16, 32), []ops.Type{f32(16, 32)}, true},
		{rfft(2, 64), []ops.Type{f32(2, 64)}, false},
		{rfft(1, 331), []ops.Type{f32(1, 331)}, true},
		{ops.Instr{Op: ops.Add, Outs: []ops.Result{{Type: f32(512)}}, Ins: make([]ops.Operand, 2)}, []ops.Type{f32(512), f32(512)}, false},
	} {
		if err := c.in.Check(c.types); err != nil {
			t.Fatal(err)
		}
		w := New(&wire.Instr{Instr: c.in})
		copy(w.Types, c.types)
		if long := w.Long(); long != c.long {
			t.Errorf("%v %v of %v: long is %v, costs %d", c.in.Op, c.in.Attrs, c.types, long, HostCost(&c.in, c.types))
		}
	}
}
