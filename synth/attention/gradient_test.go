package attention_test

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"nxvk/fallback"
	"nxvk/ops"
	"nxvk/synth/attention"
	"nxvk/synth/codegen"
	"nxvk/synth/graph/notation"
	"nxvk/synth/lowering"
	"nxvk/synth/spirv/spirvtest"
	"nxvk/synth/synthtest"
)

// drawnGradients is how many gradients of a type the interpreter carries out.
const drawnGradients = 8

// TestGradients compares gradients of drawn attentions, in the forms that programs have, with the instructions of
// programs in f64. Their greatest error is at most a small multiple of that of the instructions in their own types.
func TestGradients(t *testing.T) {
	bindings := *synthtest.GPU
	bindings.Addresses = false
	defer attention.PayAlways()()
	for _, c := range []struct{ d, to ops.DType }{{ops.F32, ops.F32}, {ops.BF16, ops.BF16}, {ops.BF16, ops.F32}, {ops.F16, ops.F16}} {
		for seed := range uint64(drawnGradients) {
			g := synthtest.DrawGradient(t, seed, 300, 1500, c.d, c.to)
			target := synthtest.GPU
			if seed%2 == 1 {
				target = &bindings
			}
			r := g.Region()
			found := attention.FindGradients(r, target)
			one := indexOfAttention(found)
			if one < 0 {
				t.Errorf("%v, %d: nothing is found in\n%s", c.d, seed, notation.Print(r))
				continue
			}
			if n := words(t, target, &found.Body[one]); n > mostWords {
				t.Errorf("%v, %d: a kernel has %d words, want at most %d", c.d, seed, n, mostWords)
			}
			data := g.Data()
			exact := synthtest.DrawGradient(t, seed, 300, 1500, ops.F64, ops.F64).Region()
			want := all(t, nil, exact, wide(exact, data))
			compareGradients(t, seed, r, all(t, target, found, data), all(t, nil, r, data), want)
		}
	}
}

// TestGradientsOfImpreciseDivision: where a device divides imprecisely, as NVIDIA's do, a division is many operations. All forms
// have kernels there, too, which are at most three tenths longer.
func TestGradientsOfImpreciseDivision(t *testing.T) {
	const mostWords = mostWords * 13 / 10
	imprecise := *synthtest.GPU
	imprecise.PreciseDiv = false
	defer attention.PayAlways()()
	for _, c := range []struct{ d, to ops.DType }{{ops.F32, ops.F32}, {ops.BF16, ops.BF16}, {ops.BF16, ops.F32}, {ops.F16, ops.F16}} {
		longest := 0
		for seed := range uint64(40) {
			r := synthtest.DrawGradient(t, seed, 300, 1500, c.d, c.to).Region()
			found := attention.FindGradients(r, &imprecise)
			one := indexOfAttention(found)
			if one < 0 {
				t.Errorf("%v, %d: nothing is found in\n%s", c.d, seed, notation.Print(r))
				continue
			}
			longest = max(longest, words(t, &imprecise, &found.Body[one]))
		}
		if longest > mostWords {
			t.Errorf("%v: a kernel has %d words, want at most %d", c.d, longest, mostWords)
		}
	}
}

// wide are the same numbers, in the types of the parameters of a region.
func wide(r *ops.Region, data []synthtest.Tensor) (list []synthtest.Tensor) {
	for i, x := range data {
		x = synthtest.FromBytes(x.Typ, x.Bytes())
		x.Typ = r.Params[i].Type
		list = append(list, x)
	}
	return list
}

// all computes the values of a region on the host, but for attentions where there is a target: the interpreter carries
// those out.
func all(t *testing.T, target *lowering.Target, r *ops.Region, data []synthtest.Tensor) (list []synthtest.Tensor) {
	t.Helper()
	values := map[ops.ID]synthtest.Tensor{}
	for i, p := range r.Params {
		values[p.ID] = data[i]
	}
	for i := range r.Body {
		in := &r.Body[i]
		var args []synthtest.Tensor
		for _, o := range in.Ins {
			x := values[o.ID]
			if o.Lit != nil {
				x = synthtest.FromBytes(o.Lit.Type, o.Lit.Data)
				x.Lit = true
			}
			args = append(args, x)
		}
		for k, b := range carried(t, target, in, args) {
			values[in.Outs[k].ID] = synthtest.FromBytes(in.Outs[k].Type, b)
		}
	}
	for _, v := range r.Values {
		list = append(list, values[v.ID])
	}
	return list
}

// carried are the results of an instruction.
func carried(t *testing.T, target *lowering.Target, in *ops.Instr, args []synthtest.Tensor) (results [][]byte) {
	t.Helper()
	if in.Op == ops.Attention && target != nil {
		var sizes []int
		for _, o := range in.Outs {
			sizes = append(sizes, (o.Type.Bytes()+3)/4*4)
		}
		var operands [][]byte
		for _, x := range args {
			operands = append(operands, append(x.Bytes(), 0, 0, 0)[:(x.Typ.Bytes()+3)/4*4])
		}
		return synthtest.Execute(t, planOf(t, target, in), sizes, operands, args)
	}
	var ins, outs []fallback.Value
	for _, x := range args {
		ins = append(ins, fallback.Value{Type: x.Typ, Data: x.Bytes()})
	}
	for _, o := range in.Outs {
		outs = append(outs, fallback.Value{Type: o.Type, Data: make([]byte, o.Type.Bytes())})
	}
	if err := fallback.Run(in, ins, outs); err != nil {
		t.Fatal(err)
	}
	for _, o := range outs {
		results = append(results, o.Data)
	}
	return results
}

// compareGradients compares errors: those of the device with those of the host.
func compareGradients(t *testing.T, seed uint64, r *ops.Region, got, host, want []synthtest.Tensor) {
	t.Helper()
	for v := range want {
		var most, error float64
		for i, w := range want[v].F {
			if !math.IsNaN(w) {
				most, error = max(most, math.Abs(w)), max(error, math.Abs(host[v].F[i]-w))
			}
		}
		u := map[ops.DType]float64{ops.F32: 0x1p-24, ops.BF16: 0x1p-8, ops.F16: 0x1p-11}[got[v].Typ.DType]
		bound := 4*error + 16*u*most
		for i, w := range want[v].F {
			if x := got[v].F[i]; math.IsNaN(x) != math.IsNaN(host[v].F[i]) || !math.IsNaN(x) && !(math.Abs(x-w) <= bound) {
				t.Errorf("%v, %d: element %d of result %d is %v, want %v within %v, of\n%s", got[v].Typ, seed, i, v, x, w, bound, notation.Print(r))
				return
			}
		}
	}
}

// TestGradientNeeds: a gradient stays as it is written where something else reads the weights or a gradient of the
// scores.
func TestGradientNeeds(t *testing.T) {
	defer attention.PayAlways()()
	for seed := range uint64(4) {
		g := synthtest.DrawGradient(t, seed, 40, 2000, ops.F32, ops.F32)
		r := g.Region()
		found := attention.FindGradients(r, synthtest.GPU)
		one := indexOfAttention(found)
		if one < 0 {
			t.Fatalf("%d: nothing is found", seed)
		}
		for i := range r.Body {
			in := &r.Body[i]
			if s := in.Outs[0].Type.Shape; s.Size() != g.Batch*g.Heads*g.Queries*g.Keys || in.Op.Info().Kind != ops.Pointwise || in.Outs[0].Type.DType != ops.F32 {
				continue
			}
			kept := *r
			kept.Values = append(slices.Clone(r.Values), ops.Operand{ID: in.Outs[0].ID})
			if k := indexOfAttention(attention.FindGradients(&kept, synthtest.GPU)); k >= 0 && !independent(r, i) {
				t.Errorf("%d: a gradient is found though %v is read", seed, in.Op)
			}
		}
	}
}

// independent reports whether an instruction is of none of the values between the products: a mask or a bias.
func independent(r *ops.Region, i int) bool {
	depends := map[ops.ID]bool{}
	for k := range r.Body {
		in := &r.Body[k]
		is := in.Op == ops.Dot
		for _, o := range in.Ins {
			is = is || o.Lit == nil && depends[o.ID]
		}
		depends[in.Outs[0].ID] = is
	}
	return !depends[r.Body[i].Outs[0].ID]
}

// TestGradientsPay: the gradient has kernels of its own where the scores cannot be stored, and only where the rule is on.
func TestGradientsPay(t *testing.T) {
	for _, c := range []struct {
		length int
		off    lowering.Rules
		found  bool
	}{{512, 0, false}, {16384, 0, true}, {16384, lowering.RuleGradients, false}, {16384, lowering.RuleAttention, false}} {
		target := *synthtest.GPU
		target.Off = c.off
		r := synthtest.NewGradient(t, ops.BF16, ops.F32, 12, c.length, 64).Region()
		if found := indexOfAttention(attention.FindGradients(r, &target)) >= 0; found != c.found {
			t.Errorf("of %d positions without %v: found is %v", c.length, c.off, found)
		}
	}
}

// TestGradientsInOrder: a gradient of which one part needs another one by way of something else is no single instruction.
func TestGradientsInOrder(t *testing.T) {
	defer attention.PayAlways()()
	r := synthtest.NewGradient(t, ops.F32, ops.F32, 2, 20, 8).Region()
	at := func(id ops.ID) int {
		return slices.IndexFunc(r.Body, func(in ops.Instr) bool { return in.Outs[0].ID == id })
	}
	dq, dk, dv := r.Body[at(r.Values[1].ID)], r.Body[at(r.Values[2].ID)], r.Body[at(r.Values[3].ID)]
	ds, typ := dq.Ins[0], r.Body[at(dq.Ins[0].ID)].Outs[0].Type
	least := ops.Instr{Op: ops.ReduceMin, Ins: []ops.Operand{{ID: dv.Outs[0].ID}}, Attrs: [][]int{{0, 1, 2, 3}, {1}},
		Outs: []ops.Result{{ID: 1000, Type: ops.Type{DType: ops.F32, Shape: ops.Shape{1, 1, 1, 1}}}}}
	scaled := ops.Instr{Op: ops.Multiply, Ins: []ops.Operand{ds, {ID: 1000}}, Outs: []ops.Result{{ID: 1001, Type: typ}}}
	for _, in := range []*ops.Instr{&dq, &dk} {
		in.Ins = slices.Clone(in.Ins)
		in.Ins[slices.IndexFunc(in.Ins, func(o ops.Operand) bool { return o.ID == ds.ID })].ID = 1001
	}
	r.Body = append(r.Body[:at(r.Values[1].ID)], dv, least, scaled, dq, dk)
	if _, err := r.CheckProgram(); err != nil {
		t.Fatal(err)
	}
	found := attention.FindGradients(r, synthtest.GPU)
	if _, err := found.CheckProgram(); err != nil {
		t.Errorf("%v, of\n%s", err, notation.Print(found))
	}
	if indexOfAttention(found) >= 0 {
		t.Errorf("found\n%s", notation.Print(found))
	}
}

// The instruction that has a module use f64.
const (
	opCapability      = 2<<16 | 17
	float64Capability = 10
)

// TestMatrixGradients holds which gradients have kernels for matrix hardware, how many these are, and what is copied for
// them: rows that are no whole vectors, and a dO of f32, which becomes bf16. No kernel has f64, also where programs divide f32 by
// counts of u32: elements are multiplied by a number of their query.
func TestMatrixGradients(t *testing.T) {
	defer attention.PayAlways()()
	bound, little, short := *hardware(), *hardware(), *hardware()
	bound.Addresses, little.SharedMemory, short.MaxPush = false, 16<<10, 160
	for _, c := range []struct {
		name   string
		target *lowering.Target
		d, to  ops.DType
		size   int
		matrix bool
		copies int
	}{
		{"bf16", hardware(), ops.BF16, ops.BF16, 64, true, 0},
		{"bf16 with gradients of f32", hardware(), ops.BF16, ops.F32, 128, true, 1},
		{"f16", hardware(), ops.F16, ops.F16, 80, true, 0},
		{"odd columns", hardware(), ops.F16, ops.F16, 63, true, 4},
		{"f16 with gradients of f32, which may be out of range", hardware(), ops.F16, ops.F32, 64, false, 0},
		{"f32", hardware(), ops.F32, ops.F32, 64, false, 0},
		{"wide", hardware(), ops.BF16, ops.BF16, 136, false, 0},
		{"little shared memory", &little, ops.BF16, ops.BF16, 64, false, 0},
		{"few push constants", &short, ops.BF16, ops.BF16, 64, false, 0},
		{"bindings", &bound, ops.BF16, ops.BF16, 64, false, 0},
		{"no hardware", synthtest.GPU, ops.BF16, ops.BF16, 64, false, 0},
	} {
		found := attention.FindGradients(synthtest.NewGradient(t, c.d, c.to, 2, 40, c.size).Region(), c.target)
		one := indexOfAttention(found)
		if one < 0 {
			t.Errorf("%s: nothing is found", c.name)
			continue
		}
		on, copies := 0, 0
		for _, s := range planOf(t, c.target, &found.Body[one]).Steps {
			switch {
			case s.Kernel.Spec != nil:
				on++
				spirvtest.Validate(t, s.Kernel.Code)
				if bytes.Contains(codegen.CodeBytes(s.Kernel.Code), codegen.CodeBytes([]uint32{opCapability, float64Capability})) {
					t.Errorf("%s: a kernel has f64", c.name)
				}
				if n := len(s.Kernel.Code); n > mostWords {
					t.Errorf("%s: a kernel has %d words, want at most %d", c.name, n, mostWords)
				}
			case on == 0:
				copies++
			}
		}
		if is := on > 0; is != c.matrix || is && copies != c.copies {
			t.Errorf("%s: on matrix hardware is %v with %d copies, want %v with %d", c.name, is, copies, c.matrix, c.copies)
		}
	}
}
