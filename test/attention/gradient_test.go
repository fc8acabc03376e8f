package attention

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"nxvk/gen/exec/exectest"
	"nxvk/gen/exec/target"
	"nxvk/ops"
	"nxvk/synth/attention"
	"nxvk/synth/lowering"
	"nxvk/synth/synthtest"
	"nxvk/vulkan"
)

// BenchmarkGradients measures attentions with their gradients: in kernels of their own, and as products with the scores in
// memory. Each round ends with a read of the first elements of dV; operands stay on the device.
func BenchmarkGradients(b *testing.B) {
	d, err := vulkan.Open(os.Getenv("NXVK_DEVICE"), vulkan.Options{Watchdog: -1})
	if errors.Is(err, vulkan.ErrNoVulkan) || errors.Is(err, vulkan.ErrNoDevice) {
		b.Skipf("no device: %v", err)
	}
	if err != nil {
		b.Fatal(err)
	}
	defer d.Close()
	gpu, err := target.Probe(d)
	if err != nil {
		b.Fatal(err)
	}
	attention.Always = true
	defer func() { attention.Always = false }()
	for _, typ := range []ops.DType{ops.F32, ops.BF16} {
		for _, length := range []int{512, 2048, 8192} {
			for name, off := range map[string]lowering.Rules{"kernels": lowering.RuleAbreast, "products": lowering.Unproven} {
				b.Run(fmt.Sprintf("%v/%d/%s", typ, length, name), func(b *testing.B) {
					gpu.Off = off
					driver := exectest.NewFor(d, gpu, -1)
					defer driver.Close()
					gradients(b, driver, synthtest.NewGradient(b, typ, ops.F32, 12, length, 64))
				})
			}
		}
	}
}

// gradients runs a program as often as b says, when its kernels are compiled.
func gradients(b *testing.B, d *exectest.Driver, g *synthtest.Gradient) {
	r := g.Region()
	types, err := r.CheckProgram()
	if err != nil {
		b.Fatal(err)
	}
	d.Define("gradients", r)
	var ins []ops.Operand
	for i, x := range g.Data() {
		ins = append(ins, ops.Operand{ID: d.Upload(r.Params[i].Type, x.Bytes())})
	}
	run := func() {
		ids := d.Run("gradients", types, ins...)
		if err := d.ReadSome(ids[len(ids)-1], 0, 4); err != nil {
			b.Fatal(err)
		}
		d.Free(ids...)
	}
	for range 1 + d.Exec.Enough() {
		run()
		if err := d.Built(); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		run()
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/1000, "ms/op")
}
