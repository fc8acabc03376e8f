package attention_test

import (
	"math"
	"testing"

	"nxvk/ops"
	"nxvk/synth/attention"
	"nxvk/synth/gemm"
	"nxvk/synth/lowering"
	"nxvk/synth/synthtest"
)

// sizes are those of an attention without a mask.
type sizes struct{ heads, queries, keys, depth, width int }

// sketch makes the instructions of an attention, and gives its weights and its result.
func sketch(t *testing.T, d ops.DType, s sizes) (g *synthtest.Sketch, weights, out ops.Operand) {
	g = synthtest.NewSketch(t)
	q, k := g.Param(d, s.heads, s.queries, s.depth), g.Param(d, s.heads, s.keys, s.depth)
	v := g.Param(d, s.heads, s.keys, s.width)
	x := g.Do(ops.Dot, d, q, k, synthtest.Attrs{{2}, {0}, {2}, {0}})
	weights = g.Softmax(g.Do(ops.Multiply, d, x, g.Num(ops.F32, 1/math.Sqrt(float64(s.depth)))))
	return g, weights, g.Do(ops.Dot, d, weights, v, synthtest.Attrs{{2}, {0}, {1}, {0}})
}

// attentionOf is the attention of a region, nil where it has none.
func attentionOf(r *ops.Region) *ops.Instr {
	for i := range r.Body {
		if r.Body[i].Op == ops.Attention {
			return &r.Body[i]
		}
	}
	return nil
}

func region(g *synthtest.Sketch) *ops.Region {
	r := &ops.Region{Params: g.Params, Body: g.Body}
	for _, id := range g.Keep {
		r.Values = append(r.Values, ops.Operand{ID: id})
	}
	return r
}

// TestPays holds which attentions are one kernel.
func TestPays(t *testing.T) {
	matrices, bound, small := *synthtest.GPU, *synthtest.GPU, *synthtest.GPU
	matrices.Matrices = []gemm.Matrix{{Type: ops.BF16, M: 16, N: 16, K: 16}}
	bound.Addresses = false
	small.SharedMemory = 4 << 10
	for _, c := range []struct {
		name   string
		target *lowering.Target
		dtype  ops.DType
		sizes  sizes
		want   bool
	}{
		{"short", synthtest.GPU, ops.F32, sizes{12, 512, 512, 64, 64}, false},
		{"products take most of the time", synthtest.GPU, ops.F32, sizes{128, 2048, 2048, 64, 64}, false},
		{"scores take most of the time", synthtest.GPU, ops.F32, sizes{128, 2048, 2048, 16, 16}, true},
		{"the same, in caches", synthtest.GPU, ops.F32, sizes{4, 1024, 1024, 16, 16}, false},
		{"matrix hardware", &matrices, ops.BF16, sizes{128, 2048, 2048, 64, 64}, true},
		{"matrix hardware, one short sequence", &matrices, ops.BF16, sizes{12, 128, 128, 64, 64}, true},
		{"matrix hardware, few queries of many", &matrices, ops.BF16, sizes{32, 16, 4096, 64, 64}, false},
		{"matrix hardware, decoding", &matrices, ops.BF16, sizes{32, 1, 4096, 64, 64}, true},
		{"one query", synthtest.GPU, ops.F32, sizes{12, 1, 300, 64, 64}, true},
		{"matrix hardware, wide", &matrices, ops.BF16, sizes{128, 2048, 2048, 256, 256}, true},
		{"matrix hardware, wide, scores in caches", &matrices, ops.BF16, sizes{2, 1024, 1024, 256, 256}, false},
		{"matrix hardware, 192 columns", &matrices, ops.BF16, sizes{128, 2048, 2048, 192, 192}, true},
		{"matrix hardware of another type", &matrices, ops.F16, sizes{128, 2048, 2048, 64, 64}, false},
		{"scores of 4 GiB", synthtest.GPU, ops.F32, sizes{16, 8192, 8192, 128, 128}, true},
		{"scores of 4 GiB, matrix hardware", &matrices, ops.BF16, sizes{32, 8192, 8192, 128, 128}, true},
		{"few queries", synthtest.GPU, ops.F32, sizes{1 << 10, 8, 1 << 17, 64, 64}, false},
		{"beyond a binding", &bound, ops.F32, sizes{3, 4096, 4096, 64, 64}, true},
		{"within a binding", &bound, ops.F32, sizes{2, 4096, 4096, 64, 64}, false},
		{"too wide", synthtest.GPU, ops.F32, sizes{16, 8192, 8192, 64, 257}, false},
		{"f64", synthtest.GPU, ops.F64, sizes{16, 8192, 8192, 64, 64}, false},
		{"a processor", synthtest.CPU, ops.F32, sizes{16, 8192, 8192, 64, 64}, false},
		{"little shared memory", &small, ops.F32, sizes{16, 8192, 8192, 64, 64}, false},
	} {
		g, _, out := sketch(t, c.dtype, c.sizes)
		g.Return(out)
		if got := attentionOf(attention.Find(region(g), c.target)) != nil; got != c.want {
			t.Errorf("%s: one kernel is %v, want %v", c.name, got, c.want)
		}
	}
}

// TestMemory plans an attention over 131,072 positions: it takes no memory but that of its operands
// and its result.
func TestMemory(t *testing.T) {
	const most = 1 << 30
	g, _, out := sketch(t, ops.F32, sizes{2, 1 << 17, 1 << 17, 128, 128})
	g.Return(out)
	in := attentionOf(attention.Find(region(g), synthtest.GPU))
	if in == nil {
		t.Fatal("nothing is found")
	}
	total := in.Outs[0].Type.Bytes()
	var types []ops.Type
	for _, p := range in.Regions[0].Params {
		types, total = append(types, p.Type), total+p.Type.Bytes()
	}
	plan, err := attention.Lower(in, types, synthtest.GPU)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range plan.Temps {
		total += int(n)
	}
	if total >= most {
		t.Errorf("it takes %d bytes, want fewer than %d", total, most)
	}
}

// TestGradient leaves an attention as it is whose weights are read elsewhere, as a gradient does.
func TestGradient(t *testing.T) {
	defer attention.PayAlways()()
	s := sizes{2, 33, 65, 8, 8}
	g, weights, out := sketch(t, ops.F32, s)
	up := g.Do(ops.Multiply, ops.F32, out, g.Num(ops.F32, 2))
	g.Return(g.Do(ops.Dot, ops.F32, weights, up, synthtest.Attrs{{1}, {0}, {1}, {0}})) // of the values
	if r := region(g); attention.Find(r, synthtest.GPU) != r {
		t.Error("an attention is one kernel whose weights the gradient reads")
	}
}
