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

func integer(n byte) ops.Operand {
	return ops.Operand{Lit: &ops.Literal{Type: ops.Type{DType: ops.S32}, Data: []byte{n, 0, 0, 0}}}
}

// meanAndVariance is the program of Nx.mean and Nx.variance of a value along some axes, which the variance may keep. The square is a product or a
// power.
func meanAndVariance(x ops.Type, axes []int, power, keep bool) *ops.Region {
	kept := ops.Type{DType: x.DType, Shape: append(ops.Shape(nil), x.Shape...)}
	for _, a := range axes {
		kept.Shape[a] = 1
	}
	r := &ops.Region{Params: []ops.Result{{ID: 1, Type: x}}}
	add := func(op ops.Op, t ops.Type, attrs [][]int, ins ...ops.Operand) ops.Operand {
		id := ops.ID(len(r.Body) + 2)
		r.Body = append(r.Body, ops.Instr{Op: op, Ins: ins, Outs: []ops.Result{{ID: id, Type: t}}, Attrs: attrs})
		return ops.Operand{ID: id}
	}
	n := ops.Operand{Lit: ops.NumberLiteral(x.DType, float64(x.Size()/kept.Size()))}
	in, sums := ops.Operand{ID: 1}, [][]int{axes, {1}}
	mean := add(ops.Divide, kept, nil, add(ops.Sum, kept, sums, in), n)
	away := add(ops.Subtract, x, nil, in, mean)
	square := ops.Operand{}
	if power {
		square = add(ops.Pow, x, nil, away, integer(2))
	} else {
		square = add(ops.Multiply, x, nil, away, away)
	}
	if !keep {
		kept.Shape, sums = nil, [][]int{axes, {0}}
		for d, n := range x.Shape {
			if !slices.Contains(axes, d) {
				kept.Shape = append(kept.Shape, n)
			}
		}
	}
	variance := add(ops.Divide, kept, nil, add(ops.Sum, kept, sums, square), n)
	r.Values = []ops.Operand{mean, variance, away}
	return r
}

// TestVariances: means and variances on drawn meshes are those of the whole, also far from zero.
func TestVariances(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 19))
		x := ops.Type{DType: []ops.DType{ops.F32, ops.F64}[rng.IntN(2)], Shape: make(ops.Shape, 1+rng.IntN(4))}
		var axes []int
		for d := range x.Shape {
			if x.Shape[d] = []int{2, 4, 6, 12}[rng.IntN(4)]; d == 0 || rng.IntN(2) > 0 {
				axes = append(axes, d)
			}
		}
		numbers := make([]float64, x.Size())
		from := 0.0
		if x.DType == ops.F64 && rng.IntN(2) > 0 {
			from = 1e6
		}
		for i := range numbers {
			numbers[i] = from + rng.NormFloat64()
		}
		arg := fallback.Value{Type: x, Data: draw.Encode(numbers, x)}
		check(t, fmt.Sprintf("%d: %v along %v", seed, x, axes), rng, meanAndVariance(x, axes, rng.IntN(2) > 0, rng.IntN(2) > 0), []fallback.Value{arg}, false)
	}
}

// TestVarianceMeetsOnce: ranks meet once for a mean and a variance.
func TestVarianceMeetsOnce(t *testing.T) {
	x := ops.Type{DType: ops.F32, Shape: ops.Shape{8, 6, 6, 16}}
	for _, keep := range []bool{false, true} {
		for _, mesh := range [][]int{{2}, {4}} {
			got, err := Partition(meanAndVariance(x, []int{0, 1, 2}, keep, keep), &shard.Share{Shape: mesh, Params: []shard.Sharding{{{0}, {}, {}, {}}}})
			if err != nil {
				t.Fatal(err)
			}
			collectives := 0
			for i := range got.Region.Body {
				if in := &got.Region.Body[i]; in.Op.IsCollective() {
					collectives++
				}
			}
			if collectives != 1 {
				t.Errorf("on %v: ranks meet %d times", mesh, collectives)
			}
		}
	}
}

// TestOtherSums: sums that are no variance are combined each by itself.
func TestOtherSums(t *testing.T) {
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 20))
		x := ops.Type{DType: ops.F32, Shape: ops.Shape{4, 6}}
		r := meanAndVariance(x, []int{0}, true, true)
		switch in := r.Body; rng.IntN(4) {
		case 0:
			in[3].Ins[1] = integer(3) // a cube
		case 1:
			in[1].Ins[1] = ops.Operand{Lit: ops.NumberLiteral(ops.F32, 3)} // another mean
		case 2:
			in[2].Ins[1] = in[1].Ins[0] // from the sum
		case 3:
			in[2].Ins[0], in[2].Ins[1] = in[2].Ins[1], in[2].Ins[0]
		}
		if found := variances(r); len(found) > 0 {
			t.Errorf("%d: %d variances are found", seed, len(found))
		}
		numbers := make([]float64, x.Size())
		for i := range numbers {
			numbers[i] = rng.NormFloat64()
		}
		check(t, fmt.Sprint(seed), rng, r, []fallback.Value{{Type: x, Data: draw.Encode(numbers, x)}}, false)
	}
}
