package conformance

import (
	"bytes"
	"math"
	"testing"

	"nxvk/gen/exec/exectest"
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

// TestAttention compares drawn attentions with the graph that is not fused, on the device and on
// the host. A program gives the same bits in each run, one instruction at a time and compiled.
func TestAttention(t *testing.T) {
	needDevice(t)
	gpu := target
	if gpu.CPU {
		if !device.Info().Features.BufferDeviceAddress {
			t.Skip("the kernels of GPUs take addresses, which the device does not have")
		}
		gpu.Addresses, gpu.CPU = true, false
	}
	apart := gpu
	apart.Off = lowering.RuleAttention
	d, plain, host := exectest.NewFor(device, gpu, -1), exectest.NewFor(device, apart, -1), exectest.NewFor(nil, target, 0)
	defer d.Close()
	defer plain.Close()
	defer host.Close()
	attention.Always = true
	defer func() { attention.Always = false }()
	found := 0
	for seed := range uint64(attentions) {
		g := synthtest.DrawAttention(t, 1000+seed, longest, 1<<17, ops.F32)
		r := g.Region()
		types, err := r.CheckProgram()
		if err != nil {
			t.Fatal(err)
		}
		if holds(synth.FindAttention(r, &gpu)) {
			found++
		}
		var data [][]byte
		for _, x := range g.Data() {
			data = append(data, x.Bytes())
		}
		first, _, err := results(d, r, types, data)
		if err != nil {
			t.Fatalf("attention %d: %v", seed, err)
		}
		for range d.Exec.Enough() {
			if err := d.Built(); err != nil {
				t.Fatal(err)
			}
			if again, _, err := results(d, r, types, data); err != nil || !bytes.Equal(again[0], first[0]) {
				t.Fatalf("attention %d: another run gives other bits (%v)", seed, err)
			}
		}
		bound := 24 * float64(g.Keys+4*g.Depth+64) * 0x1p-24
		for _, other := range []*exectest.Driver{plain, host} {
			want, _, err := results(other, r, types, data)
			if err != nil {
				t.Fatalf("attention %d: %v", seed, err)
			}
			got, want0 := draw.Decode(first[0], types[0]), draw.Decode(want[0], types[0])
			for i, w := range want0 {
				if x := got[i]; !(math.Abs(x-w) <= bound) && !(math.IsNaN(x) && math.IsNaN(w)) {
					t.Fatalf("attention %d: element %d is %v, want %v within %v", seed, i, x, w, bound)
				}
			}
		}
	}
	if found < attentions {
		t.Errorf("%d of %d drawn attentions have a kernel", found, attentions)
	}
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
