package spmd

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"nxvk/fallback"
	"nxvk/ops"
	"nxvk/ops/shard"
	"nxvk/test/draw"
)

// layers is a step of training as a client writes it, result by result: h grows by layers of drawn widths, and each
// parameter is updated right behind its gradient. The gradient of layer k needs those of the layers behind it, as a
// backward pass does. The parameters are the batch and the layers. With late, the gradients of the layers are written when all
// that they are made of is there.
func layers(rows int, widths []int, late bool) *ops.Region {
	r := &ops.Region{}
	last := ops.ID(0)
	t := func(dims ...int) ops.Type { return ops.Type{DType: ops.F32, Shape: dims} }
	param := func(t ops.Type) ops.Operand {
		last++
		r.Params = append(r.Params, ops.Result{ID: last, Type: t})
		return ops.Operand{ID: last}
	}
	add := func(op ops.Op, t ops.Type, attrs [][]int, ins ...ops.Operand) ops.Operand {
		last++
		r.Body = append(r.Body, ops.Instr{Op: op, Ins: ins, Attrs: attrs, Outs: []ops.Result{{ID: last, Type: t}}})
		return ops.Operand{ID: last}
	}
	x := param(t(rows, widths[0]))
	var weights, inputs []ops.Operand
	for k := 1; k < len(widths); k++ {
		weights = append(weights, param(t(widths[k-1], widths[k])))
	}
	h := x
	for k, w := range weights {
		inputs = append(inputs, h)
		h = add(ops.Dot, t(rows, widths[k+1]), [][]int{{1}, {}, {0}, {}}, h, w)
	}
	outer := []ops.Operand{h} // gradients, of what the layers give, the last one first
	update := func(k int) {
		wide := t(widths[k], widths[k+1])
		d := add(ops.Dot, wide, [][]int{{0}, {}, {0}, {}}, inputs[k], outer[len(weights)-1-k])
		r.Values = append(r.Values, add(ops.Subtract, wide, nil, weights[k], d))
	}
	for k := len(weights) - 1; k >= 0; k-- {
		if !late {
			update(k)
		}
		if k > 0 {
			outer = append(outer, add(ops.Dot, t(rows, widths[k]), [][]int{{1}, {}, {1}, {}}, outer[len(outer)-1], weights[k]))
		}
	}
	for k := len(weights) - 1; late && k >= 0; k-- {
		update(k)
	}
	return r
}

func share(r *ops.Region, ranks int) *shard.Share {
	p := &shard.Share{Shape: []int{ranks}}
	for i, a := range r.Params {
		s := shard.Whole(len(a.Type.Shape))
		if i == 0 {
			s[0] = []int{0}
		}
		p.Params = append(p.Params, s)
	}
	return p
}

// TestOverlap: all gradients are reduced before the first of them is needed, each as soon as what it is made of is there; small ones
// are joined, large ones are not. Two ranks gather what is not little.
func TestOverlap(t *testing.T) {
	for _, c := range []struct {
		widths []int
		want   int // reductions
	}{
		{[]int{8, 8, 8, 8, 8}, 1},
		{[]int{2100, 2100, 2100}, 2},             // of 18 MB each
		{[]int{2048, 2048, 2048, 2048, 2048}, 3}, // two of 16 MiB are a bucket, of the last ones each
		{slices.Repeat([]int{1024}, 11), 4},      // ten of 4 MiB: five, three, one and one
		{[]int{8, 2100, 2100, 8, 8, 2100}, 2},    // the large one begins at once
		{slices.Repeat([]int{2100}, 6), 5},
	} {
		for _, ranks := range []int{2, 3} {
			t.Run(fmt.Sprint(c.widths, " ", ranks), func(t *testing.T) {
				checkOverlap(t, layers(12, c.widths, false), ranks, c.want, 3*len(c.widths)-4)
				checkOverlap(t, layers(12, c.widths, true), ranks, c.want, 3*len(c.widths)-4)
			})
		}
	}
}

func checkOverlap(t *testing.T, r *ops.Region, ranks, want, wantDots int) {
	got, err := Partition(r, share(r, ranks))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := got.Region.CheckProgram(); err != nil {
		t.Fatal(err)
	}
	made := make(map[ops.ID]bool) // by reductions, or of what they made
	dots, reductions, needed, reduced := 0, 0, 0, 0
	for i := range got.Region.Body {
		in := &got.Region.Body[i]
		of, reduces := false, in.Op == ops.AllReduce || in.Op == ops.AllGather
		eachUse(in, func(id ops.ID) { of = of || made[id] })
		switch {
		case of:
			needed++
		case reduces:
			reductions++
			if needed > 0 {
				t.Error("a reduction comes after something that needs another one")
			}
			gathers := ranks == 2 && in.Ins[0].Lit == nil && in.Outs[0].Type.Bytes() > 2*shard.HostBytes
			if gathers != (in.Op == ops.AllGather) {
				t.Errorf("%d ranks %v %v", ranks, in.Op, in.Outs[0].Type)
			}
		case in.Op == ops.Dot:
			dots++
			if reductions > 0 {
				reduced++
			}
			if needed > 0 {
				t.Error("a gradient is computed after something that needs a reduction")
			}
		}
		for _, o := range in.Outs {
			made[o.ID] = of || reduces
		}
	}
	if reductions != want || dots != wantDots {
		t.Errorf("%d reductions, want %d; %d products", reductions, want, dots)
	}
	if want > 2 && reduced == 0 {
		t.Error("no reduction begins before the last product")
	}
}

// TestOverlapValues: steps of drawn layers on drawn meshes have the values of the whole step.
func TestOverlapValues(t *testing.T) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 19))
		widths := []int{6}
		for range 1 + rng.IntN(6) {
			widths = append(widths, []int{1, 2, 6, 12}[rng.IntN(4)])
		}
		if seed%4 == 0 { // a gradient that two ranks gather, in numbers that are exact
			widths = []int{120 + 6*rng.IntN(20), 140 + 6*rng.IntN(20)}
		}
		r := layers(12, widths, seed%2 == 1)
		var args []fallback.Value
		for _, p := range r.Params {
			args = append(args, fallback.Value{Type: p.Type, Data: draw.Whole(rng, p.Type)})
		}
		check(t, fmt.Sprint("layers ", seed, " ", widths), rng, r, args, false)
	}
}

// centred is a program of so many levels: in each, the rows of what came before are moved by their sum, and a matrix gets a gradient of the result. Nothing
// but the end of the program needs the gradients.
func centred(rows, width, levels int) *ops.Region {
	wide, tall := ops.Type{DType: ops.F32, Shape: ops.Shape{width, width}}, ops.Type{DType: ops.F32, Shape: ops.Shape{rows, width}}
	r := &ops.Region{Params: []ops.Result{{ID: 1, Type: tall}}}
	for k := range levels {
		r.Params = append(r.Params, ops.Result{ID: ops.ID(k + 2), Type: wide})
	}
	last := ops.ID(levels + 1)
	add := func(op ops.Op, t ops.Type, attrs [][]int, ins ...ops.Operand) ops.Operand {
		last++
		r.Body = append(r.Body, ops.Instr{Op: op, Ins: ins, Attrs: attrs, Outs: []ops.Result{{ID: last, Type: t}}})
		return ops.Operand{ID: last}
	}
	h := ops.Operand{ID: 1}
	for k := range levels {
		h = add(ops.Subtract, tall, nil, h, add(ops.Sum, ops.Type{DType: ops.F32, Shape: ops.Shape{1, width}}, [][]int{{0}, {1}}, h))
		r.Values = append(r.Values, add(ops.Subtract, wide, nil, ops.Operand{ID: ops.ID(k + 2)}, add(ops.Dot, wide, [][]int{{0}, {}, {0}, {}}, h, h)))
	}
	return r
}

// TestLateReductions: gradients are joined across levels, and not to the sums that the levels after them need.
func TestLateReductions(t *testing.T) {
	const levels, width = 8, 64
	for _, ranks := range []int{2, 3} {
		r := centred(12, width, levels)
		got, err := Partition(r, share(r, ranks))
		if err != nil {
			t.Fatal(err)
		}
		sums, gradients := 0, 0
		for i := range got.Region.Body {
			in := &got.Region.Body[i]
			if in.Op != ops.AllReduce && in.Op != ops.AllGather {
				continue
			}
			if in.Outs[0].Type.Bytes() == 4*width {
				sums++
			} else {
				gradients++
			}
		}
		if sums != levels || gradients != 1 {
			t.Errorf("%d ranks: %d sums and %d reductions of gradients, want %d and 1", ranks, sums, gradients, levels)
		}
	}
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 31))
		r := centred(12, []int{1, 6, 12}[rng.IntN(3)], 1+rng.IntN(3))
		var args []fallback.Value
		for _, p := range r.Params {
			args = append(args, fallback.Value{Type: p.Type, Data: draw.Whole(rng, p.Type)})
		}
		check(t, fmt.Sprint("centred ", seed), rng, r, args, false)
	}
}

// TestGatheredEarly: little of the parameters is gathered at once; much of them, and what is computed, where it is written.
func TestGatheredEarly(t *testing.T) {
	little, much := ops.Type{DType: ops.S32, Shape: ops.Shape{100}}, ops.Type{DType: ops.F32, Shape: ops.Shape{1 << 20}}
	both := func(x ops.Type) ops.Type { return ops.Type{DType: x.DType, Shape: append(ops.Shape{2}, x.Shape...)} }
	in := func(op ops.Op, out ops.ID, t ops.Type, attrs [][]int, from ops.ID) ops.Instr {
		return ops.Instr{Op: op, Ins: []ops.Operand{{ID: from}}, Outs: []ops.Result{{ID: out, Type: t}}, Attrs: attrs}
	}
	ranks := [][]int{{0, 1}}
	r := &ops.Region{Params: []ops.Result{{ID: 1, Type: little}, {ID: 2, Type: much}}, Body: []ops.Instr{
		in(ops.Negate, 3, much, nil, 2), in(ops.AllGather, 4, both(much), ranks, 2), in(ops.Negate, 5, little, nil, 1),
		in(ops.AllGather, 6, both(little), ranks, 5), in(ops.Reshape, 7, little, nil, 1), in(ops.AllGather, 8, both(little), ranks, 7),
	}, Values: []ops.Operand{{ID: 3}, {ID: 4}, {ID: 6}, {ID: 8}}}
	order := early(r, leads(r), ops.AllAxes(len(r.Body)))
	if want := []int{4, 5, 0, 1, 2, 3}; !slices.Equal(order, want) {
		t.Errorf("the order is %v, want %v", order, want)
	}
}
