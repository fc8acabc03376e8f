package conformance

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"nxvk/gen/exec/exectest"
	"nxvk/gen/exec/program"
	probe "nxvk/gen/exec/target"
	"nxvk/ops"
	"nxvk/synth"
	"nxvk/synth/attention"
	"nxvk/synth/lowering"
	"nxvk/synth/synthtest"
	"nxvk/test/draw"
)

// attentions is how many drawn attentions run, with lengths up to longest.
const (
	attentions = 16
	longest    = 4097
)

// TestAttention compares drawn attentions with the graph that is not fused: in f32 by multiply-adds,
// and of narrow types on matrix hardware.
func TestAttention(t *testing.T) {
	gpu := gpuProfile(t)
	attention.Always = true
	defer func() { attention.Always = false }()
	t.Run("multiply-adds", func(t *testing.T) { attentionByFMA(t, gpu) })
	if gpu.Matrices = probe.Matrices(device.Info()); len(gpu.Matrices) > 0 {
		var err error
		if gpu.Alike, err = probe.Alike(device, &gpu); err != nil {
			t.Fatal(err)
		}
		t.Logf("operands lie as sums do: %v", gpu.Alike)
		t.Run("matrix hardware", func(t *testing.T) { attentionOnMatrix(t, gpu) })
		t.Run("matrix hardware in parts", func(t *testing.T) {
			attention.Shares = 6
			defer func() { attention.Shares = 0 }()
			attentionOnMatrix(t, gpu)
		})
		t.Run("matrix hardware in a long tile", func(t *testing.T) { // which products take that are too long for tests
			attention.Tile = attention.MatrixTile{FM: 1, Warps: 8, Keys: 64}
			defer func() { attention.Tile = attention.MatrixTile{} }()
			attentionOnMatrix(t, gpu)
		})
		t.Run("matrix hardware by memory", func(t *testing.T) {
			attention.ByMemory = true
			defer func() { attention.ByMemory = false }()
			attentionOnMatrix(t, gpu)
		})
	}
}

// attentionByFMA compares with the graph on the device and on the host. A program gives the same bits
// in each run, one instruction at a time and compiled.
func attentionByFMA(t *testing.T, gpu synth.Target) {
	apart := gpu
	apart.Off = lowering.RuleAttention
	d, plain, host := exectest.NewFor(device, gpu, -1), exectest.NewFor(device, apart, -1), exectest.NewFor(nil, target, 0)
	defer d.Close()
	defer plain.Close()
	defer host.Close()
	found := 0
	for seed := range uint64(attentions) {
		g := synthtest.DrawAttention(t, 1000+seed, longest, 1<<17, ops.F32)
		r := g.Region()
		types, err := r.CheckProgram()
		if err != nil {
			t.Fatal(err)
		}
		if holds(synth.FindAttention(r, program.Eval, &gpu)) {
			found++
		}
		data := bytesOf(g)
		first := [][]byte{sameBitsAgain(t, d, r, types, data)}
		bound := 24 * float64(g.Keys+4*g.Depth+64) * 0x1p-24
		for _, other := range []*exectest.Driver{plain, host} {
			want, _, err := results(other, r, types, data)
			if err != nil {
				t.Fatalf("attention %d: %v", seed, err)
			}
			within(t, seed, draw.Decode(first[0], types[0]), draw.Decode(want[0], types[0]), bound)
		}
	}
	if found < attentions {
		t.Errorf("%d of %d drawn attentions have a kernel", found, attentions)
	}
}

// TestFewQueries compares drawn attentions of few queries, of all types, with the graph that is not fused, and the
// bits of all runs.
func TestFewQueries(t *testing.T) {
	gpu := gpuProfile(t)
	attention.Always = true
	defer func() { attention.Always = false }()
	d, host := exectest.NewFor(device, gpu, -1), exectest.NewFor(nil, target, 0)
	defer d.Close()
	defer host.Close()
	for _, typ := range []ops.DType{ops.F32, ops.BF16, ops.F16} {
		for seed := range seedCount(3, 30) {
			g := synthtest.DrawFewQueries(t, 4000+seed, 1500, typ)
			r := g.Region()
			types, err := r.CheckProgram()
			if err != nil {
				t.Fatal(err)
			}
			if !holds(synth.FindAttention(r, program.Eval, &gpu)) {
				t.Errorf("%v, %d: there is no kernel", typ, seed)
			}
			data := bytesOf(g)
			got := sameBitsAgain(t, d, r, types, data)
			want, _, err := results(host, r, types, data)
			if err != nil {
				t.Fatal(err)
			}
			bound := 24 * float64(g.Keys+4*g.Depth+64) * 0x1p-24
			if u, narrow := map[ops.DType]float64{ops.BF16: 0x1p-8, ops.F16: 0x1p-11}[typ]; narrow {
				bound += u * (4 + 5*math.Sqrt(float64(g.Depth))) * 6
			}
			within(t, seed, draw.Decode(got, types[0]), draw.Decode(want[0], types[0]), bound)
		}
	}
}

// bytesOf draws the operands of an attention.
func bytesOf(g *synthtest.Attention) (data [][]byte) {
	for _, x := range g.Data() {
		data = append(data, x.Bytes())
	}
	return data
}

// sameBitsAgain runs a program until it is compiled, and gives the bits that all runs give.
func sameBitsAgain(t *testing.T, d *exectest.Driver, r *ops.Region, types []ops.Type, data [][]byte) []byte {
	t.Helper()
	first, _, err := results(d, r, types, data)
	if err != nil {
		t.Fatal(err)
	}
	for range d.Exec.Services().Enough() {
		if err := d.Built(); err != nil {
			t.Fatal(err)
		}
		if again, _, err := results(d, r, types, data); err != nil || !bytes.Equal(again[0], first[0]) {
			t.Fatalf("another run gives other bits (%v)", err)
		}
	}
	return first[0]
}

// within compares numbers, of which NaN equals NaN.
func within(t *testing.T, seed uint64, got, want []float64, bound float64) {
	t.Helper()
	for i, w := range want {
		if x := got[i]; !(math.Abs(x-w) <= bound) && !(math.IsNaN(x) && math.IsNaN(w)) {
			t.Fatalf("attention %d: element %d is %v, want %v within %v", seed, i, x, w, bound)
		}
	}
}

// attentionOnMatrix compares attentions of bf16 and f16 with the same graph in f32 on the host, of the
// same numbers: the kernel rounds its operands, the weights and the results, and no logits.
func attentionOnMatrix(t *testing.T, gpu synth.Target) {
	d, host := exectest.NewFor(device, gpu, -1), exectest.NewFor(nil, target, 0)
	defer d.Close()
	defer host.Close()
	kernels, parted := map[ops.DType]int{}, 0
	for seed := range seedCount(4*attentions, 30*attentions) {
		typ := []ops.DType{ops.BF16, ops.F16}[seed%2]
		if !slices.ContainsFunc(gpu.Matrices, func(m synth.Matrix) bool { return m.Type == typ && m.N == m.K }) {
			continue
		}
		g := synthtest.DrawAttention(t, 2000+seed, longest, 1<<15, typ)
		r := g.Region()
		if flags, ok := onMatrix(t, synth.FindAttention(r, program.Eval, &gpu), &gpu); ok { // others round their logits, too
			kernels[typ]++
			if flags&inParts != 0 {
				parted++
			}
			sameInF32(t, d, host, seed, r, bytesOf(g), 4*float64(g.Keys+4*g.Depth+64)*0x1p-24)
		}
		if seed < 2*padded {
			r, data := paddedAttention(t, seed/2, typ)
			if flags, ok := onMatrix(t, synth.FindAttention(r, program.Eval, &gpu), &gpu); !ok || (flags&leavesOut != 0) != (seed/2 < 4) {
				t.Errorf("padded attention %d of %v: on matrix hardware is %v, flags are %b", seed/2, typ, ok, flags)
			} else if (flags&inParts != 0) != (attention.Shares > 1) {
				t.Errorf("padded attention %d of %v: flags are %b with %d parts", seed/2, typ, flags, attention.Shares)
			}
			sameInF32(t, d, host, seed, r, data, 0x1p-14)
		}
	}
	t.Logf("attentions on matrix hardware: %v, with divided keys: %d", kernels, parted)
	for typ, n := range kernels {
		if n < int(seedCount(attentions/2, 4*attentions)) {
			t.Errorf("%d attentions of %v are on matrix hardware", n, typ)
		}
	}
	if len(kernels) == 0 {
		t.Error("no attention is on matrix hardware")
	}
}

// sameInF32 compares a program of narrow floats with the same one in f32 on the host, within a bound for
// values of magnitude 1 and the roundings of operands, weights and results.
func sameInF32(t *testing.T, d, host *exectest.Driver, seed uint64, r *ops.Region, data [][]byte, bound float64) {
	t.Helper()
	types, err := r.CheckProgram()
	if err != nil {
		t.Fatal(err)
	}
	got := sameBitsAgain(t, d, r, types, data)
	wide, wideTypes, wideData := widened(r, types, data)
	want, _, err := results(host, wide, wideTypes, wideData)
	if err != nil {
		t.Fatalf("attention %d: %v", seed, err)
	}
	const greatest = 6 // of the values
	unit := map[ops.DType]float64{ops.BF16: 0x1p-8, ops.F16: 0x1p-11}[types[0].DType]
	within(t, seed, draw.Decode(got, types[0]), draw.Decode(want[0], wideTypes[0]), greatest*(bound+2.5*unit))
}

// padded is how many attentions paddedAttention makes.
const padded = 6

// paddedAttention is a causal attention of three sequences: a whole one, one that is padded on the left,
// and one of padding alone, whose first keys are cached ones. Rows of padding have the mean of all values, also of those that the
// causal mask leaves out, unless the mask is -Inf. The last kinds have no mask, and a scale that is not
// positive.
func paddedAttention(t *testing.T, kind uint64, d ops.DType) (*ops.Region, [][]byte) {
	t.Helper()
	const sequences, heads, queries, length, size, padding = 3, 2, 100, 150, 32, 70
	g := synthtest.NewSketch(t)
	all := ops.Shape{sequences, heads, queries, length}
	q, k, v := g.Param(d, sequences, heads, queries, size), g.Param(d, sequences, heads, length, size), g.Param(d, sequences, heads, length, size)
	keys := g.Param(ops.U8, sequences, 1, 1, length)
	square := ops.Shape{1, 1, queries, length}
	position := g.Do(ops.Add, ops.S32, g.Do(ops.Iota, ops.S32, square, synthtest.Attrs{{2}}), g.Param(ops.S32))
	causal := g.Do(ops.GreaterEqual, ops.U8, position, g.Do(ops.Iota, ops.S32, square, synthtest.Attrs{{3}}))
	x := g.Do(ops.Dot, d, q, k, synthtest.Attrs{{3}, {0, 1}, {3}, {0, 1}})
	x = g.Do(ops.Multiply, d, x, g.Num(ops.F32, []float64{0.18, 0.18, 0.18, 0.18, -0.18, 0}[kind]))
	mask := g.Do(ops.LogicalAnd, ops.U8, keys, causal)
	fill := g.Num(ops.F32, []float64{-1e4, -6e4, math.Inf(-1), -65504, 0, 0}[kind])
	switch {
	case kind < 3:
		mask = g.Do(ops.BroadcastTo, ops.U8, mask, all, synthtest.Attrs{{0, 1, 2, 3}})
		x = g.Do(ops.Select, d, mask, x, fill)
	case kind == 3:
		if d == ops.BF16 {
			fill = g.Num(ops.F32, -0x1p127)
		}
		x = g.Do(ops.Add, d, x, g.Do(ops.Select, d, mask, g.Num(ops.F32, 0), fill))
	}
	g.Return(g.Do(ops.Dot, d, g.Softmax(x), v, synthtest.Attrs{{3}, {0, 1}, {2}, {0, 1}}))
	r := &ops.Region{Params: g.Params, Body: g.Body, Values: []ops.Operand{{ID: g.Keep[0]}}}
	rng := rand.New(rand.NewPCG(kind, 15))
	var data [][]byte
	for _, p := range g.Params {
		xs := make([]float64, p.Type.Size())
		for i := range xs {
			xs[i] = rng.NormFloat64()
			switch p.Type.DType {
			case ops.S32: // the position of the first query
				xs[i] = length - queries
			case ops.U8:
				xs[i] = float64(min(1, max(0, i%length-(i/length*padding+i/length/2*length)+1)))
			}
		}
		data = append(data, draw.Encode(xs, p.Type))
	}
	return r, data
}

// leavesOut is the bit of flags that says that a mask leaves tiles out, inParts the one of keys that are divided, of
// specialisation constant flagsAt.
const (
	leavesOut = 4
	inParts   = 64
	flagsAt   = 8
)

// onMatrix reports whether the attention of a region is a hand-written kernel, and the flags of that.
func onMatrix(t *testing.T, r *ops.Region, gpu *synth.Target) (flags uint32, ok bool) {
	for i := range r.Body {
		in := &r.Body[i]
		if in.Op != ops.Attention {
			continue
		}
		types := in.Regions[0].ParamTypes()
		p, err := synth.Lower(in, types, gpu)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range p.Steps {
			if spec := s.Kernel.Spec; len(spec) > 0 {
				return spec[flagsAt], true
			}
		}
	}
	return 0, false
}

// widened is a program of narrow floats, with its operands, in f32.
func widened(r *ops.Region, types []ops.Type, data [][]byte) (*ops.Region, []ops.Type, [][]byte) {
	wide := func(t ops.Type) ops.Type {
		t.DType = map[bool]ops.DType{true: ops.F32, false: t.DType}[t.DType.IsFloat()]
		return t
	}
	out := &ops.Region{Values: r.Values}
	var list [][]byte
	for i, p := range r.Params {
		out.Params = append(out.Params, ops.Result{ID: p.ID, Type: wide(p.Type)})
		list = append(list, draw.Encode(draw.Decode(data[i], p.Type), wide(p.Type)))
	}
	for _, in := range r.Body {
		in.Ins, in.Outs = slices.Clone(in.Ins), slices.Clone(in.Outs)
		for k, o := range in.Ins {
			if o.Lit != nil {
				in.Ins[k].Lit = &ops.Literal{Type: wide(o.Lit.Type), Data: draw.Encode(draw.Decode(o.Lit.Data, o.Lit.Type), wide(o.Lit.Type))}
			}
		}
		for k := range in.Outs {
			in.Outs[k].Type = wide(in.Outs[k].Type)
		}
		out.Body = append(out.Body, in)
	}
	var outs []ops.Type
	for _, t := range types {
		outs = append(outs, wide(t))
	}
	return out, outs, list
}

// holds reports whether a region has an attention.
func holds(r *ops.Region) bool {
	for i := range r.Body {
		if r.Body[i].Op == ops.Attention {
			return true
		}
	}
	return false
}
