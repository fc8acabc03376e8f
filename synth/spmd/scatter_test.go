package spmd

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"nxvk/fallback"
	"nxvk/ops"
	"nxvk/ops/shard"
	"nxvk/test/draw"
)

// descent is a step of gradient descent for a linear model: w - 0.1 * dot(transposed x, y). With cut, it is of the first
// half of the gradient alone, as the program itself says.
func descent(rows, in, out int, cut bool) *ops.Region {
	t := func(dims ...int) ops.Type { return ops.Type{DType: ops.F32, Shape: dims} }
	id := func(n ops.ID) ops.Operand { return ops.Operand{ID: n} }
	rate := ops.Operand{Lit: &ops.Literal{Type: t(), Data: []byte{0xcd, 0xcc, 0xcc, 0x3d}}}
	w := t(in, out)
	r := &ops.Region{Params: []ops.Result{{ID: 1, Type: t(rows, in)}, {ID: 2, Type: t(rows, out)}, {ID: 3, Type: w}},
		Body: []ops.Instr{{Op: ops.Dot, Ins: []ops.Operand{id(1), id(2)}, Attrs: [][]int{{0}, {}, {0}, {}}, Outs: []ops.Result{{ID: 4, Type: w}}}}}
	if cut {
		w = t(in/2, out)
		r.Params[2].Type = w
		r.Body = append(r.Body, ops.Instr{Op: ops.Slice, Ins: []ops.Operand{id(4)}, Attrs: [][]int{{0, 0}, {in / 2, out}, {1, 1}},
			Outs: []ops.Result{{ID: 7, Type: w}}})
	} else {
		r.Body[0].Outs[0].ID = 7
	}
	r.Body = append(r.Body, ops.Instr{Op: ops.Multiply, Ins: []ops.Operand{rate, id(7)}, Outs: []ops.Result{{ID: 5, Type: w}}},
		ops.Instr{Op: ops.Subtract, Ins: []ops.Operand{id(3), id(5)}, Outs: []ops.Result{{ID: 6, Type: w}}})
	r.Values = []ops.Operand{id(6)}
	return r
}

// count counts the collectives of a program by operation.
func count(r *ops.Region) string {
	n := make(map[ops.Op]int)
	for _, in := range r.Body {
		if in.Op.IsCollective() {
			n[in.Op]++
		}
	}
	return fmt.Sprint(n)
}

// TestScatter: the gradient of a parameter that is divided like the batch is reduced and scattered, whichever
// dimension is divided; that of a whole parameter is not.
func TestScatter(t *testing.T) {
	for _, c := range []struct {
		w    shard.Sharding
		want string
		part ops.Shape
	}{
		{shard.Sharding{{0}, {}}, "map[reduce_scatter:1]", ops.Shape{4, 6}},
		{shard.Sharding{{}, {0}}, "map[reduce_scatter:1]", ops.Shape{8, 3}},
		{shard.Sharding{{}, {}}, "map[all_reduce:1]", ops.Shape{8, 6}},
	} {
		r := descent(10, 8, 6, false)
		for rank := range 2 {
			p := &shard.Share{Shape: []int{2}, Rank: rank, Params: []shard.Sharding{{{0}, {}}, {{0}, {}}, c.w}}
			got, err := Partition(r, p)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := got.Region.CheckProgram(); err != nil {
				t.Fatalf("%v: %v", c.w, err)
			}
			if count(got.Region) != c.want {
				t.Errorf("w by %v: %s, want %s", c.w, count(got.Region), c.want)
			}
			if n := got.Notes[len(got.Notes)-1]; n.Bytes != 4*c.part.Size() || !strings.Contains(c.want, strings.Fields(n.What)[0]) {
				t.Errorf("w by %v: the note is %+v", c.w, n)
			}
		}
	}
}

// TestScatterNot: a slice of the program itself takes the same part on all ranks, so it needs the whole sum, although it is
// the part of one of them.
func TestScatterNot(t *testing.T) {
	for rank := range 2 {
		p := &shard.Share{Shape: []int{2}, Rank: rank, Params: []shard.Sharding{{{0}, {}}, {{0}, {}}, {{}, {}}}}
		got, err := Partition(descent(10, 8, 6, true), p)
		if err != nil {
			t.Fatal(err)
		}
		if count(got.Region) != "map[all_reduce:1]" {
			t.Errorf("rank %d: %s", rank, count(got.Region))
		}
	}
}

// TestScatterValues: steps of drawn sizes on drawn meshes give what the whole step gives.
func TestScatterValues(t *testing.T) {
	scattered := 0
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 18))
		r := descent(12*(1+rng.IntN(2)), 12, 12, rng.IntN(4) == 0)
		var args []fallback.Value
		for _, p := range r.Params {
			args = append(args, fallback.Value{Type: p.Type, Data: draw.Whole(rng, p.Type)})
		}
		check(t, fmt.Sprint("step ", seed), rng, r, args, false)
		p := &shard.Share{Shape: []int{2, 2}, Rank: int(seed % 4)}
		for _, a := range r.Params {
			p.Params = append(p.Params, drawSharding(rng, p, a.Type.Shape))
		}
		got, err := Partition(r, p)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(count(got.Region), "reduce_scatter") {
			scattered++
		}
	}
	if scattered < 20 {
		t.Errorf("only %d steps were scattered", scattered)
	}
}
