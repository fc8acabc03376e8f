package conformance

import (
	"bytes"
	"slices"
	"testing"

	"nxvk/gen/exec/exectest"
	"nxvk/ops"
	"nxvk/synth"
	"nxvk/synth/attention"
	"nxvk/synth/fusion"
	"nxvk/synth/lowering"
	"nxvk/synth/synthtest"
)

// TestChains compares drawn layers of a transformer for one position, whose norms and gates are in the kernels that
// read them, and whose products are side by side: bits are those of one instruction at a time, of all runs, and of
// fusions without chains and with a kernel for each product.
func TestChains(t *testing.T) {
	chains, abreast := 0, 0
	gpu := gpuProfile(t)
	sameAsApart(t, func(seed uint64, typ ops.DType) (*ops.Region, []synthtest.Tensor) {
		g := synthtest.DrawBlock(t, 3000+seed, typ)
		for _, u := range synth.Fuse(&g.Graph, &gpu) {
			if len(u.Abreast) > 0 {
				abreast++
			}
			if len(u.Stages) > 0 || slices.ContainsFunc(u.Abreast, func(p synth.Fusion) bool { return len(p.Stages) > 0 }) {
				chains++
			}
		}
		return g.Region(), g.Data()
	})
	if chains == 0 || abreast == 0 {
		t.Errorf("%d kernels have several stages, and %d several products", chains, abreast)
	}
}

// TestDecode compares drawn steps of a generation, whose queries, keys and values are made and put into caches by the kernel
// of the attention: bits are those of one instruction at a time, of all runs, and of kernels apart.
func TestDecode(t *testing.T) {
	attention.Always = true
	defer func() { attention.Always = false }()
	sameAsApart(t, func(seed uint64, typ ops.DType) (*ops.Region, []synthtest.Tensor) {
		g := synthtest.DrawDecode(t, 6000+seed, typ, seed%2 == 0)
		return g.Region(), g.Data()
	})
}

// TestGated compares drawn products that another product gates, which are in one kernel: bits as TestDecode.
func TestGated(t *testing.T) {
	sameAsApart(t, func(seed uint64, typ ops.DType) (*ops.Region, []synthtest.Tensor) {
		g := synthtest.DrawGated(t, 7000+seed, typ)
		inputs := g.Inputs(seed)
		var data []synthtest.Tensor
		for _, p := range g.Params {
			data = append(data, synthtest.FromBytes(p.Type, inputs[p.ID][:p.Type.Bytes()]))
		}
		return g.Region(), data
	})
}

// sameAsApart runs drawn programs of all types whose kernels have several stages, and without these.
func sameAsApart(t *testing.T, drawn func(seed uint64, typ ops.DType) (*ops.Region, []synthtest.Tensor)) {
	gpu := gpuProfile(t)
	apart := *synthtest.Without(&gpu, lowering.RuleChains|lowering.RuleAbreast)
	d, plain := exectest.NewFor(device, gpu, -1), exectest.NewFor(device, apart, -1)
	defer d.Close()
	defer plain.Close()
	for _, typ := range []ops.DType{ops.BF16, ops.F32, ops.F16} {
		for seed := range seedCount(3, 60) {
			r, tensors := drawn(seed, typ)
			types, err := r.CheckProgram()
			if err != nil {
				t.Fatal(err)
			}
			var data [][]byte
			for _, x := range tensors {
				data = append(data, x.Bytes())
			}
			sameInAllRuns(t, r, types, data, d, plain)
		}
	}
}

// sameInAllRuns runs a program until it is compiled: all values have the same bits in all runs and with all drivers.
func sameInAllRuns(t *testing.T, r *ops.Region, types []ops.Type, data [][]byte, drivers ...*exectest.Driver) {
	t.Helper()
	var first [][]byte
	for i, d := range drivers {
		for run := range d.Exec.Services().Enough() + 1 {
			got, _, err := results(d, r, types, data)
			if err != nil {
				t.Fatal(err)
			}
			if err := d.Built(); err != nil {
				t.Fatal(err)
			}
			if first == nil {
				first = got
			}
			for k := range got {
				if !bytes.Equal(got[k], first[k]) {
					t.Fatalf("driver %d, run %d: value %d has other bits, of\n%s", i, run, k, synthtest.String(&fusion.Graph{Params: r.Params, Body: r.Body}))
				}
			}
		}
	}
}
