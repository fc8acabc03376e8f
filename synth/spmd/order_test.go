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
// backward pass does. The parameters are the batch and the layers.
func layers(rows int, widths []int) *ops.Region {
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
	g := h
	for k := len(weights) - 1; k >= 0; k-- {
		wide := t(widths[k], widths[k+1])
		d := add(ops.Dot, wide, [][]int{{0}, {}, {0}, {}}, inputs[k], g)
		r.Values = append(r.Values, add(ops.Subtract, wide, nil, weights[k], d))
		if k > 0 {
			g = add(ops.Dot, t(rows, widths[k]), [][]int{{1}, {}, {1}, {}}, g, weights[k])
		}
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

// TestOverlap: all gradients are reduced before the first of them is needed, each as soon as it is there; small ones
// are joined, large ones are not.
func TestOverlap(t *testing.T) {
	for _, c := range []struct {
		widths []int
		want   int // reductions
	}{
		{[]int{8, 8, 8, 8, 8}, 1},
		{[]int{640, 640, 640}, 2},           // of 1.6 MB each
		{[]int{512, 512, 512, 512, 512}, 1}, // four of 1 MiB are a bucket
		{slices.Repeat([]int{512}, 11), 3},  // ten
		{[]int{8, 640, 640, 8, 8, 640}, 2},  // the large one begins at once
		{slices.Repeat([]int{700}, 6), 5},
	} {
		got, err := Partition(layers(4, c.widths), share(layers(4, c.widths), 2))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := got.Region.CheckProgram(); err != nil {
			t.Fatal(err)
		}
		made := make(map[ops.ID]bool) // by reductions, or of what they made
		dots, reductions, needed := 0, 0, 0
		for i := range got.Region.Body {
			in := &got.Region.Body[i]
			of := false
			eachUse(in, func(id ops.ID) { of = of || made[id] })
			switch {
			case of:
				needed++
			case in.Op == ops.AllReduce:
				reductions++
				if needed > 0 {
					t.Errorf("%v: a reduction comes after something that needs another one", c.widths)
				}
			case in.Op == ops.Dot:
				dots++
				if needed > 0 {
					t.Errorf("%v: a gradient is computed after something that needs a reduction", c.widths)
				}
			}
			for _, o := range in.Outs {
				made[o.ID] = of || in.Op == ops.AllReduce
			}
		}
		if reductions != c.want || dots != 3*len(c.widths)-4 {
			t.Errorf("%v: %d reductions, want %d; %d products", c.widths, reductions, c.want, dots)
		}
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
		r := layers(12, widths)
		var args []fallback.Value
		for _, p := range r.Params {
			args = append(args, fallback.Value{Type: p.Type, Data: draw.Whole(rng, p.Type)})
		}
		check(t, fmt.Sprint("layers ", seed, " ", widths), rng, r, args, false)
	}
}
