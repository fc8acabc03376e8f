package spmd

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"nxvk/fallback"
	"nxvk/ops"
	"nxvk/ops/example"
	"nxvk/ops/shard"
	"nxvk/test/draw"
)

// region is a program of one instruction.
func region(in *ops.Instr, types []ops.Type) *ops.Region {
	r := &ops.Region{}
	one := *in
	one.Ins = slices.Clone(in.Ins)
	for i, t := range types {
		if one.Ins[i].Lit == nil {
			one.Ins[i].ID = ops.ID(i + 1)
			r.Params = append(r.Params, ops.Result{ID: ops.ID(i + 1), Type: t})
		}
	}
	one.Outs = slices.Clone(in.Outs)
	for i := range one.Outs {
		one.Outs[i].ID = ops.ID(100 + i)
		r.Values = append(r.Values, ops.Operand{ID: one.Outs[i].ID})
	}
	r.Body = []ops.Instr{one}
	return r
}

// operands draws operands that every operation takes: matrices with a heavy diagonal, indices of 0 and 1.
func operands(rng *rand.Rand, in *ops.Instr, params []ops.Result) (args []fallback.Value) {
	for i, p := range params {
		v := make([]float64, p.Type.Size())
		for k := range v {
			v[k] = float64(1+rng.IntN(3)) / 4
			if p.Type.DType.IsInteger() {
				v[k] = float64(rng.IntN(2))
			}
		}
		if s := p.Type.Shape; in.Op.Info().Kind == ops.LinAlg && len(s) >= 2 && i == 0 {
			n := s[len(s)-1]
			for k := range v {
				row, col := k/n%s[len(s)-2], k%n
				v[k] = float64(1+(row*col)%3) / 8
				if row == col {
					v[k] = float64(4 + row)
				}
			}
		}
		args = append(args, fallback.Value{Type: p.Type, Data: draw.Encode(v, p.Type)})
	}
	return args
}

// TestEveryOperation: each operation of the table, on drawn meshes with drawn shardings, gives the values of the whole.
func TestEveryOperation(t *testing.T) {
	for op := range ops.Count {
		tried, divided := 0, 0
		for _, d := range []ops.DType{ops.F32, ops.S32} {
			in, types, ok := example.Of(op, d)
			if !ok || in.Check(types) != nil || !fallback.Supports(op) {
				continue
			}
			for seed := range uint64(12) {
				rng := rand.New(rand.NewPCG(seed, uint64(op)))
				r := region(in, types)
				args := operands(rng, in, r.Params)
				if _, err := (&world{}).run(r, 0, args); err != nil {
					continue // not for this type
				}
				tried++
				if check(t, fmt.Sprintf("%v of %v, %d", op, d, seed), rng, r, args, false) {
					divided++
				}
			}
		}
		info := op.Info()
		left := info.Kind == ops.Control || info.Kind == ops.Composite || op == ops.Tensor
		if !left && tried == 0 {
			t.Errorf("%v is not tried", op)
		}
		if !left && divided == 0 && info.Kind != ops.Create {
			t.Errorf("%v is never divided", op)
		}
	}
}

// f32 is a type.
func f32(shape ...int) ops.Type { return ops.Type{DType: ops.F32, Shape: shape} }

// TestShardings: how the result is divided, and which collectives that takes.
func TestShardings(t *testing.T) {
	window := func(strides, low, high int) [][]int {
		return [][]int{{2, 2}, {low, high, low, high}, {strides, strides}, {1, 1}}
	}
	plain := [][]int(nil)
	for _, c := range []struct {
		name  string
		op    ops.Op
		attrs [][]int
		in    []ops.Type
		by    []shard.Sharding
		out   ops.Type
		want  shard.Sharding
		takes string // collectives, in order
	}{
		{"both axes, one of them", ops.Add, plain, []ops.Type{f32(8, 2), f32(8, 1)}, []shard.Sharding{{{0}, {1}}, {{0}, {}}}, f32(8, 2), shard.Sharding{{0}, {1}}, ""},
		{"the second operand is divided otherwise", ops.Add, plain, []ops.Type{f32(4, 4), f32(4, 4)}, []shard.Sharding{{{0}, {}}, {{}, {0}}}, f32(4, 4),
			shard.Sharding{{0}, {}}, "all_gather"},
		{"turned", ops.Transpose, [][]int{{1, 0}}, []ops.Type{f32(4, 6)}, []shard.Sharding{{{0, 1}, {}}}, f32(6, 4), shard.Sharding{{}, {0, 1}}, ""},
		{"data parallel", ops.Dot, [][]int{{1}, {}, {0}, {}}, []ops.Type{f32(8, 3), f32(3, 5)}, []shard.Sharding{{{0, 1}, {}}, {{}, {}}}, f32(8, 5),
			shard.Sharding{{0, 1}, {}}, ""},
		{"gradient", ops.Dot, [][]int{{0}, {}, {0}, {}}, []ops.Type{f32(8, 3), f32(8, 5)}, []shard.Sharding{{{0}, {}}, {{0}, {}}}, f32(3, 5),
			shard.Sharding{{}, {}}, "all_reduce"},
		{"contracted, one operand divided", ops.Dot, [][]int{{1}, {}, {0}, {}}, []ops.Type{f32(3, 8), f32(8, 5)}, []shard.Sharding{{{}, {1}}, {{}, {}}}, f32(3, 5),
			shard.Sharding{{}, {}}, "all_reduce"},
		{"sum of the other axis", ops.Sum, [][]int{{1}, {0}}, []ops.Type{f32(4, 4)}, []shard.Sharding{{{1}, {}}}, f32(4), shard.Sharding{{1}}, ""},
		{"batch kept", ops.Reshape, plain, []ops.Type{f32(8, 3, 2)}, []shard.Sharding{{{0}, {}, {}}}, f32(4, 12), shard.Sharding{{0}, {}}, ""},
		{"inner dimension", ops.Reshape, plain, []ops.Type{f32(3, 8)}, []shard.Sharding{{{}, {0}}}, f32(24), shard.Sharding{{}}, "all_gather"},
		{"strided windows", ops.WindowSum, window(2, 0, 0), []ops.Type{f32(2, 4)}, []shard.Sharding{{{0}, {1}}}, f32(1, 2), shard.Sharding{{}, {1}}, "all_gather all_gather"},
		{"padded windows", ops.WindowSum, window(1, 0, 1), []ops.Type{f32(2, 4)}, []shard.Sharding{{{0}, {1}}}, f32(2, 4), shard.Sharding{{0}, {1}}, "all_gather all_gather"},
		{"plain windows", ops.WindowSum, window(1, 0, 0), []ops.Type{f32(2, 4)}, []shard.Sharding{{{0}, {1}}}, f32(1, 3), shard.Sharding{{}, {}}, "all_gather all_gather"},
		{"part of the batch", ops.Slice, [][]int{{0, 1}, {4, 2}, {1, 1}}, []ops.Type{f32(4, 4)}, []shard.Sharding{{{0}, {}}}, f32(4, 2), shard.Sharding{{0}, {}}, ""},
	} {
		in := &ops.Instr{Op: c.op, Attrs: c.attrs, Ins: make([]ops.Operand, len(c.in)), Outs: []ops.Result{{Type: c.out}}}
		share, err := Partition(region(in, c.in), &shard.Share{Shape: []int{2, 2}, Rank: 3, Params: c.by})
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		var takes []string
		for _, n := range share.Notes {
			takes = append(takes, strings.Fields(n.What)[0])
		}
		if got := strings.Join(takes, " "); !same(share.Values[0], c.want) || got != c.takes {
			t.Errorf("%s: divided by %v, takes %q; want %v, %q", c.name, share.Values[0], got, c.want, c.takes)
		}
	}
}

// TestRefused: what cannot be divided is an error that says why.
func TestRefused(t *testing.T) {
	in := &ops.Instr{Op: ops.Negate, Ins: make([]ops.Operand, 1), Outs: []ops.Result{{Type: f32(4, 2)}}}
	hook := region(in, []ops.Type{f32(4, 2)})
	hook.Body = append(hook.Body, ops.Instr{Op: ops.Hook, Ins: []ops.Operand{{ID: 1}}, Attrs: [][]int{{0}}})
	whole := region(in, []ops.Type{f32(4, 2)})
	for _, c := range []struct {
		text string
		r    *ops.Region
		p    shard.Share
	}{
		{"has no rank 2", whole, shard.Share{Shape: []int{2}, Rank: 2, Params: []shard.Sharding{{{}, {}}}}},
		{"has an axis of 0", whole, shard.Share{Shape: []int{0}, Params: []shard.Sharding{{{}, {}}}}},
		{"has no axis 1", whole, shard.Share{Shape: []int{2}, Params: []shard.Sharding{{{1}, {}}}}},
		{"divides f32{4, 2} twice", whole, shard.Share{Shape: []int{2}, Params: []shard.Sharding{{{0}, {0}}}}},
		{"into 4 parts", whole, shard.Share{Shape: []int{4}, Params: []shard.Sharding{{{}, {0}}}}},
		{"for each dimension", whole, shard.Share{Shape: []int{2}, Params: []shard.Sharding{{{}}}}},
		{"2 shardings", whole, shard.Share{Shape: []int{2}, Params: []shard.Sharding{{{}, {}}, {}}}},
		{"hooks and callbacks", hook, shard.Share{Shape: []int{2}, Params: []shard.Sharding{{{}, {}}}}},
	} {
		if _, err := Partition(c.r, &c.p); err == nil || !strings.Contains(err.Error(), c.text) {
			t.Errorf("got %v, want …%s…", err, c.text)
		}
	}
}
