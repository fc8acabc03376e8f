package attention

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"nxvk/gen/exec/exectest"
	"nxvk/ops"
	"nxvk/synth/attention"
	"nxvk/synth/attention/gradient"
	"nxvk/synth/lowering"
	"nxvk/synth/synthtest"
	"nxvk/vulkan"
)

// BenchmarkGradients measures attentions with their gradients: in kernels of their own, and as products with the scores in
// memory. Each round ends with a read of the first elements of dV; operands stay on the device.
func BenchmarkGradients(b *testing.B) {
	d, gpu := open(b)
	defer d.Close()
	attention.Always = true
	defer func() { attention.Always = false }()
	for _, typ := range []ops.DType{ops.F32, ops.BF16} {
		for _, length := range []int{512, 2048, 8192} {
			for _, c := range []struct {
				name string
				off  lowering.Rules
				fma  bool
			}{{"kernels", 0, false}, {"multiply-adds", 0, true}, {"products", lowering.RuleGradients, false}} {
				if c.fma && typ == ops.F32 {
					continue // as kernels
				}
				b.Run(fmt.Sprintf("%v/%d/%s", typ, length, c.name), func(b *testing.B) {
					gpu.Off, gradient.NoMatrices = c.off, c.fma
					defer func() { gradient.NoMatrices = false }()
					driver := exectest.NewFor(d, *gpu, -1)
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
	for range 1 + d.Exec.Services().Enough() {
		run()
		if err := d.Built(); err != nil {
			b.Fatal(err)
		}
	}
	run() // has the memory of the fusions allocated
	var rounds []float64
	for b.Loop() {
		start := time.Now()
		run()
		rounds = append(rounds, float64(time.Since(start).Microseconds())/1000)
	}
	slices.Sort(rounds)
	b.ReportMetric(rounds[len(rounds)/2], "ms/median")
	b.ReportMetric(rounds[len(rounds)-1], "ms/most")
	b.ReportMetric(0, "ns/op")
}

// gradientTiles are those that are measured, the first for what is chosen.
var gradientTiles = []gradient.MatrixTile{{}, {Tiles: 1, Warps: 8, Rows: 32}}

// BenchmarkGradientSteps measures each kernel of a gradient on matrix hardware, by tile. Kernels read what those before have
// given: infinities and numbers that are no normal ones can take a processor much longer.
func BenchmarkGradientSteps(b *testing.B) {
	d, gpu := open(b)
	defer d.Close()
	gpu.Off = lowering.RuleAbreast
	attention.Always = true
	defer func() { attention.Always = false }()
	for _, size := range []int{64, 128} {
		r := attention.FindGradients(synthtest.NewGradient(b, ops.BF16, ops.F32, heads/8, length, size).Region(), gpu)
		for _, tile := range gradientTiles {
			gradient.Tile = tile
			steps(b, d, gpu, r, fmt.Sprintf("%d/%d.%d.%d", size, tile.Tiles, tile.Warps, tile.Rows))
		}
		gradient.Tile = gradient.MatrixTile{}
	}
}

// steps measures the kernels of the gradient in a program.
func steps(b *testing.B, d *vulkan.Device, gpu *lowering.Target, r *ops.Region, name string) {
	for i := range r.Body {
		in := &r.Body[i]
		if in.Op != ops.Attention {
			continue
		}
		types := in.Regions[0].ParamTypes()
		p, err := attention.Lower(in, types, gpu)
		if err != nil {
			b.Fatal(err)
		}
		x := newPlanned(b, d, p, in, types)
		for n := range p.Steps {
			if strings.Contains(p.Steps[n].Kernel.Name, "attention_matrix_gradient") {
				b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) { x.measure(b, n) })
			}
			if !x.ran[n] {
				x.compile(b, n)(1)
			}
		}
	}
}
