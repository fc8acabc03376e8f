package attention

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"nxvk/gen/exec/target"
	"nxvk/ops"
	"nxvk/synth/attention"
	"nxvk/synth/lowering"
	"nxvk/vulkan"
)

// The attentions: a batch of 8, 16 heads, 2,048 positions.
const (
	heads  = 8 * 16
	length = 2048
)

// together is how many dispatches a submission has.
const together = 10

// tiles are those that are measured, the first for what is chosen.
var tiles = []attention.MatrixTile{{}, {FM: 2, Warps: 4, Keys: 64}, {FM: 1, Warps: 8, Keys: 64}, {FM: 2, Warps: 4, Keys: 32}, {FM: 1, Warps: 8, Keys: 32},
	{FM: 1, Warps: 4, Keys: 64}, {FM: 1, Warps: 4, Keys: 32}, {FM: 2, Warps: 8, Keys: 64}, {FM: 2, Warps: 2, Keys: 64}, {FM: 1, Warps: 8, Keys: 128}}

// BenchmarkMatrix measures tiles with all masks, and weights that go by way of shared memory. Run it with
// -test.benchtime 30x or so; a device at rest needs some tenths of a second to reach its speed.
func BenchmarkMatrix(b *testing.B) {
	d, t := open(b)
	defer d.Close()
	for _, typ := range []ops.DType{ops.BF16, ops.F16} {
		for _, size := range []int{64, 80, 128, 256} {
			for _, mask := range attention.ExampleMasks {
				x := attention.NewExample(typ, heads, length, size, mask)
				for _, tile := range tiles {
					b.Run(fmt.Sprintf("%v/%d/%s/%d.%d.%d", typ, size, mask, tile.FM, tile.Warps, tile.Keys), func(b *testing.B) {
						attention.Tile = tile
						defer func() { attention.Tile = attention.MatrixTile{} }()
						measure(b, d, t, x)
					})
				}
				b.Run(fmt.Sprintf("%v/%d/%s/by memory", typ, size, mask), func(b *testing.B) {
					attention.ByMemory = true
					defer func() { attention.ByMemory = false }()
					measure(b, d, t, x)
				})
			}
		}
	}
}

// open opens the device of NXVK_DEVICE, with what kernels are made for.
func open(b *testing.B) (*vulkan.Device, *lowering.Target) {
	b.Helper()
	d, err := vulkan.Open(os.Getenv("NXVK_DEVICE"), vulkan.Options{Watchdog: -1})
	if errors.Is(err, vulkan.ErrNoVulkan) || errors.Is(err, vulkan.ErrNoDevice) {
		b.Skipf("no device: %v", err)
	}
	if err != nil {
		b.Fatal(err)
	}
	t, err := target.Probe(d)
	if err != nil {
		b.Fatal(err)
	}
	return d, &t
}

// measure reports the rate of an attention: that of the products of a full matrix of scores.
func measure(b *testing.B, d *vulkan.Device, t *lowering.Target, x attention.Example) {
	p, err := attention.Lower(x.Instr, x.Types, t)
	if errors.Is(err, lowering.ErrUnsupported) {
		b.Skip(err)
	}
	if err != nil {
		b.Fatal(err)
	}
	if len(p.Steps) != 1 || p.Steps[0].Kernel.Spec == nil {
		b.Skip("not on matrix hardware in this tile")
	}
	measureStep(b, d, p, 0, x.Instr, x.Types)
}

// measureStep reports the rate of a step of a plan, and how long its kernel takes to compile.
func measureStep(b *testing.B, d *vulkan.Device, p *lowering.Plan, n int, in *ops.Instr, types []ops.Type) {
	s := &p.Steps[n]
	for _, l := range s.Lits {
		copy(s.Push[l.Offset:], in.Ins[l.Operand].Lit.Data)
	}
	start := time.Now()
	pipe, err := target.Compile(d, s.Kernel)
	if err != nil {
		b.Fatal(err)
	}
	ready := time.Since(start)
	var args []vulkan.Arg
	for _, a := range s.Args {
		var buffer *vulkan.Buffer
		switch a.Ref.Kind {
		case lowering.Operand:
			buffer, err = random(d, types[a.Ref.Index])
		case lowering.Temp:
			buffer, err = d.Alloc(int(p.Temps[a.Ref.Index]+15) / 16 * 16)
		default:
			buffer, err = random(d, in.Outs[a.Ref.Index].Type)
		}
		if err != nil {
			b.Fatal(err)
		}
		defer buffer.Free()
		if a.Access == lowering.Write {
			args = append(args, vulkan.WriteOnly(buffer))
		} else {
			args = append(args, vulkan.ReadOnly(buffer))
		}
	}
	run := func() {
		stream := d.Stream()
		for range together {
			if err := stream.Dispatch(pipe, args, s.Push[8*len(args):], s.Grid[0], s.Grid[1], s.Grid[2]); err != nil {
				b.Fatal(err)
			}
		}
		ticket, err := stream.Submit()
		if err != nil {
			b.Fatal(err)
		}
		if err := d.Wait(context.Background(), ticket); err != nil {
			b.Fatal(err)
		}
	}
	run() // the device wakes up
	for b.Loop() {
		run()
	}
	b.ReportMetric(b.Elapsed().Seconds()*1e3/float64(together*b.N), "ms/step")
	b.ReportMetric(float64(s.Flops)*together*float64(b.N)/b.Elapsed().Seconds()/1e12, "TFLOP/s")
	b.ReportMetric(ready.Seconds()*1e3, "ms-ready")
	b.ReportMetric(0, "ns/op")
}

// random is a buffer of normal numbers, or of ones for masks.
func random(d *vulkan.Device, t ops.Type) (*vulkan.Buffer, error) {
	const repeated = 1<<20 - 3
	r := rand.New(rand.NewPCG(1, uint64(t.Size())))
	data := make([]byte, 0, t.Bytes())
	for len(data) < min(cap(data), repeated*t.DType.Size()) {
		x := float32(r.NormFloat64())
		switch t.DType {
		case ops.BF16:
			data = binary.LittleEndian.AppendUint16(data, uint16(math.Float32bits(x)>>16))
		case ops.F16:
			x = float32(math.Copysign(max(math.Abs(float64(x)), 0x1p-14), float64(x)))
			bits := math.Float32bits(x)
			data = binary.LittleEndian.AppendUint16(data, uint16(bits>>16&0x8000|(bits>>13-112<<10)&0x7fff))
		default:
			data = append(data, 1)
		}
	}
	for len(data) < cap(data) {
		data = append(data, data[:min(len(data), cap(data)-len(data))]...)
	}
	buffer, err := d.Alloc((len(data) + 15) / 16 * 16)
	if err != nil {
		return nil, err
	}
	s := d.Stream()
	if err := s.Upload(buffer, 0, data); err != nil {
		return nil, err
	}
	ticket, err := s.Submit()
	if err != nil {
		return nil, err
	}
	return buffer, d.Wait(context.Background(), ticket)
}
