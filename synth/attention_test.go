package synth_test

import (
	"bytes"
	"slices"
	"testing"

	"nxvk/fallback"
	"nxvk/ops"
	"nxvk/synth"
	"nxvk/synth/attention"
	"nxvk/synth/lowering"
	"nxvk/synth/synthtest"
)

// evaluate computes an instruction of literals.
func evaluate(in *ops.Instr) ([]byte, error) {
	var args []fallback.Value
	for _, o := range in.Ins {
		args = append(args, fallback.Value{Type: o.Lit.Type, Data: o.Lit.Data})
	}
	out := fallback.Value{Type: in.Outs[0].Type, Data: make([]byte, in.Outs[0].Type.Bytes())}
	err := fallback.Run(in, args, []fallback.Value{out})
	return out.Data, err
}

// TestModelAttention finds the attention of models as Bumblebee writes it: the scale is computed, where no key
// is padding the mask is a tensor of 1, and the position of the first query is in memory. On matrix hardware the
// causal mask leaves tiles out.
func TestModelAttention(t *testing.T) {
	const length, size, leavesOut = 256, 64, 4
	target := *synthtest.GPU
	target.MaxPush = 256
	target.Matrices = []synth.Matrix{{Type: ops.BF16, M: 16, N: 16, K: 16}}
	for _, padded := range []bool{false, true} {
		g := synthtest.NewSketch(t)
		d := ops.BF16
		heads := func() ops.Operand {
			return g.Do(ops.Transpose, d, g.Param(d, 2, length, 12, size), synthtest.Attrs{{0, 2, 1, 3}})
		}
		q, k, v := heads(), heads(), heads()
		x := g.Do(ops.Dot, d, q, k, synthtest.Attrs{{3}, {0, 1}, {3}, {0, 1}})
		root := g.Do(ops.AsType, d, g.Do(ops.Sqrt, ops.F32, g.Num(ops.S32, size)))
		x = g.Do(ops.Multiply, d, x, g.Do(ops.Divide, d, g.Num(ops.S32, 1), root))
		var keys ops.Operand
		if padded {
			keys = g.Param(ops.S64, 2, 1, 1, length)
		} else {
			keys = g.Do(ops.Constant, ops.S32, g.Num(ops.S32, 1), ops.Shape{1, 1, 1, 1})
		}
		row := g.Do(ops.Add, ops.S32, g.Do(ops.Iota, ops.S32, ops.Shape{length, 1}, synthtest.Attrs{{0}}), g.Param(ops.S32))
		causal := g.Do(ops.GreaterEqual, ops.U8, row, g.Do(ops.Iota, ops.S32, ops.Shape{1, length}, synthtest.Attrs{{1}}))
		causal = g.Do(ops.Reshape, ops.U8, causal, ops.Shape{1, 1, length, length})
		seen := g.Do(ops.LogicalAnd, ops.U8, keys, causal)
		x = g.Do(ops.Add, d, x, g.Do(ops.Select, d, seen, g.Num(d, 0), g.Num(d, -0x1.fep127)))
		g.Return(g.Do(ops.Transpose, d, g.Do(ops.Dot, d, g.Softmax(x), v, synthtest.Attrs{{3}, {0, 1}, {2}, {0, 1}}), synthtest.Attrs{{0, 2, 1, 3}}))
		r := &ops.Region{Params: g.Params, Body: g.Body, Values: []ops.Operand{{ID: g.Keep[0]}}}
		flags, multiplied := attentionFlags(t, synth.FindAttention(r, evaluate, &target), &target)
		if flags&leavesOut == 0 || !multiplied {
			t.Errorf("padded %v: flags are %b, the kernel takes the scale is %v", padded, flags, multiplied)
		}
	}
}

// attentionFlags are the flags of the kernel for matrix hardware in a region, and whether it scales scores by a
// literal.
func attentionFlags(t *testing.T, r *ops.Region, target *lowering.Target) (flags uint32, scales bool) {
	for i := range r.Body {
		in := &r.Body[i]
		if in.Op != ops.Attention {
			continue
		}
		types := in.Regions[0].ParamTypes()
		p, err := synth.Lower(in, types, target)
		if err != nil {
			t.Fatal(err)
		}
		s := p.Steps[len(p.Steps)-1]
		if len(s.Kernel.Spec) < 9 {
			t.Fatal("the attention is not on matrix hardware")
		}
		for _, l := range s.Lits {
			scales = scales || l.Offset == 8*len(s.Args)+4*23
		}
		return s.Kernel.Spec[8], scales
	}
	t.Fatal("no attention is found")
	return 0, false
}

// TestAttentionInParts: the parts of a drawn attention of one query are joined by the kernel of the product that reads it,
// which gives the bits of the instructions one by one.
func TestAttentionInParts(t *testing.T) {
	attention.Always = true
	defer func() { attention.Always = false }()
	joined := 0
	for _, d := range []ops.DType{ops.BF16, ops.F32, ops.F16} {
		for seed := range uint64(10) {
			g := synthtest.DrawFewQueries(t, 500+seed, 700, d)
			r := synth.FindAttention(g.Region(), evaluate, synthtest.GPU)
			out := r.Values[0]
			typ := g.TypeOf(out)
			if g.Queries > 1 || g.Batch > 1 || g.Keys <= 128 || !slices.ContainsFunc(r.Body, func(in ops.Instr) bool { return in.Op == ops.Attention }) {
				continue
			}
			g.Body, g.Keep = r.Body, nil
			n := typ.Size()
			x := g.Do(ops.Reshape, d, out, ops.Shape{1, n})
			y := g.Do(ops.Dot, d, x, g.Param(d, n, 96), synthtest.Attrs{{1}, {}, {0}, {}})
			g.Return(g.Do(ops.Add, d, y, g.Param(d, 1, 96)))
			fusions := synth.Fuse(&g.Graph, synthtest.GPU)
			var ones []synth.Fusion
			for i := range g.Body {
				ones = append(ones, synthtest.One(&g.Body[i]))
			}
			got, want := g.Inputs(seed), g.Inputs(seed)
			g.Carry(synthtest.GPU, fusions, got)
			g.Carry(synthtest.GPU, ones, want)
			if id := g.Keep[0]; !bytes.Equal(got[id], want[id]) {
				t.Fatalf("%v, %d: other bits, of\n%s", d, seed, synthtest.Show(fusions))
			}
			if len(fusions[len(fusions)-1].Stages) > 1 {
				joined++
			}
		}
	}
	if joined < 3 {
		t.Errorf("%d attentions have parts that their readers join", joined)
	}
}
