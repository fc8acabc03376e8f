package conformance

import (
	"math"
	"slices"
	"strings"
	"testing"

	"nxvk/gen/exec/exectest"
	"nxvk/gen/exec/program"
	probe "nxvk/gen/exec/target"
	"nxvk/ops"
	"nxvk/synth"
	"nxvk/synth/attention"
	"nxvk/synth/synthtest"
	"nxvk/test/draw"
)

// TestGradients compares drawn attentions and their gradients with the same instructions in f64 on the host. The greatest
// error is at most a small multiple of that of the instructions in their own types. A program gives the same bits in each run.
func TestGradients(t *testing.T) {
	gpu := gpuProfile(t)
	gpu.Matrices, gpu.Alike = nil, nil
	attention.Always = true
	defer func() { attention.Always = false }()
	t.Run("multiply-adds", func(t *testing.T) { gradients(t, gpu, seedCount(1, 40)) })
	if gpu.Matrices = probe.Matrices(device.Info()); len(gpu.Matrices) > 0 {
		var err error
		if gpu.Alike, err = probe.Alike(device, &gpu); err != nil {
			t.Fatal(err)
		}
		t.Run("matrix hardware", func(t *testing.T) {
			n := gradients(t, gpu, seedCount(2, 8))
			t.Logf("%d gradients have kernels for matrix hardware", n)
			if n == 0 {
				t.Error("no gradient has kernels for matrix hardware")
			}
		})
		gpu.Alike = nil
		t.Run("matrix hardware by memory", func(t *testing.T) { gradients(t, gpu, seedCount(1, 8)) })
	}
}

// gradients compares so many of each type, and counts the gradients that have kernels for matrix hardware.
func gradients(t *testing.T, gpu synth.Target, seeds uint64) (onMatrix int) {
	d, host := exectest.NewFor(device, gpu, -1), exectest.NewFor(nil, target, 0)
	defer d.Close()
	defer host.Close()
	for i, c := range []struct{ d, to ops.DType }{{ops.F32, ops.F32}, {ops.BF16, ops.F32}, {ops.BF16, ops.BF16}, {ops.F16, ops.F16}} {
		if len(gpu.Matrices) > 0 && !slices.ContainsFunc(gpu.Matrices, func(m synth.Matrix) bool { return m.Type == c.d }) {
			continue // as by multiply-adds
		}
		for seed := range seeds {
			draws := func(d, to ops.DType) *synthtest.Gradient {
				return synthtest.DrawGradient(t, 3000+100*uint64(i)+seed, 300, 1<<13, d, to)
			}
			g, exact := draws(c.d, c.to), draws(ops.F64, ops.F64).Region()
			r := g.Region()
			found := synth.FindGradients(r, program.Eval, &gpu)
			if !holds(found) {
				t.Errorf("%v, %d: the gradient is not found", c.d, seed)
			}
			hardware := hasMatrixKernels(t, found, &gpu)
			if hardware {
				onMatrix++
			}
			types, err := r.CheckProgram()
			if err != nil {
				t.Fatal(err)
			}
			data := bytesOf(g.Attention)
			got := sameBitsInEachRun(t, d, r, types, data)
			plain, _, err := results(host, r, types, data)
			if err != nil {
				t.Fatal(err)
			}
			var wide [][]byte
			for i, b := range data {
				wide = append(wide, draw.Encode(draw.Decode(b, r.Params[i].Type), exact.Params[i].Type))
			}
			wideTypes, err := exact.CheckProgram()
			if err != nil {
				t.Fatal(err)
			}
			want, _, err := results(host, exact, wideTypes, wide)
			if err != nil {
				t.Fatal(err)
			}
			for v := range want {
				want, least := draw.Decode(want[v], wideTypes[v]), 0.0
				switch most := largest(want); {
				case most == 0:
					least = roundoff[c.d] * cancelled(r, data)
				case hardware:
					least = 4 * roundoff[c.d] * most
				}
				nearExact(t, seed, types[v], least, draw.Decode(got[v], types[v]), draw.Decode(plain[v], types[v]), want)
			}
		}
	}
	return onMatrix
}

// hasMatrixKernels reports whether a gradient of attention in a program is computed on matrix hardware.
func hasMatrixKernels(t *testing.T, r *ops.Region, gpu *synth.Target) bool {
	t.Helper()
	for i := range r.Body {
		in := &r.Body[i]
		if in.Op != ops.Attention {
			continue
		}
		types := in.Regions[0].ParamTypes()
		plan, err := synth.Lower(in, types, gpu)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range plan.Steps {
			if strings.Contains(s.Kernel.Name, "attention_matrix_gradient") {
				return true
			}
		}
	}
	return false
}

// roundoff is the greatest relative error of rounding to a type.
var roundoff = map[ops.DType]float64{ops.F32: 0x1p-24, ops.BF16: 0x1p-8, ops.F16: 0x1p-11}

// largest is the greatest magnitude of some numbers that are finite.
func largest(v []float64) (most float64) {
	for _, x := range v {
		if !math.IsNaN(x) && !math.IsInf(x, 0) {
			most = max(most, math.Abs(x))
		}
	}
	return most
}

// cancelled is how large terms are that cancel, as those of a softmax of one key do: products of a query, a key, a value and a
// derivative of the results, each the greatest that there is. Their rounding errors may be left.
func cancelled(r *ops.Region, data [][]byte) float64 {
	left := 1.0
	for i, p := range r.Params {
		multiplied := slices.ContainsFunc(r.Body, func(in ops.Instr) bool {
			return in.Op == ops.Dot && slices.ContainsFunc(in.Ins, func(o ops.Operand) bool { return o.Lit == nil && o.ID == p.ID })
		})
		if multiplied {
			left *= max(1, largest(draw.Decode(data[i], p.Type)))
		}
	}
	return left
}

// nearExact compares the errors of two results: that of the device is at most four times that of the other one, or least and some
// units of the greatest element.
func nearExact(t *testing.T, seed uint64, typ ops.Type, least float64, got, plain, want []float64) {
	t.Helper()
	most, off := 0.0, 0.0
	for i, w := range want {
		if !math.IsNaN(w) && !math.IsNaN(plain[i]) {
			most, off = max(most, math.Abs(w)), max(off, math.Abs(plain[i]-w))
		}
	}
	bound := least + 4*off + 32*most*roundoff[typ.DType]
	for i, w := range want {
		if x := got[i]; math.IsNaN(x) != math.IsNaN(plain[i]) || !math.IsNaN(x) && !(math.Abs(x-w) <= bound) {
			t.Fatalf("gradient %d of %v: element %d is %v, want %v within %v", seed, typ, i, x, w, bound)
		}
	}
}
