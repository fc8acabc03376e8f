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
	t, err := target.Probe(d, nil)
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
	newPlanned(b, d, p, x.Instr, x.Types).measure(b, 0)
}

// planned is a plan with its memory.
type planned struct {
	*lowering.Plan
	device  *vulkan.Device
	in      *ops.Instr
	types   []ops.Type
	buffers map[lowering.Ref]*vulkan.Buffer
	ran     map[int]bool // steps
}

// newPlanned has the memory of a plan freed at the end of b.
func newPlanned(b *testing.B, d *vulkan.Device, p *lowering.Plan, in *ops.Instr, types []ops.Type) *planned {
	x := &planned{p, d, in, types, map[lowering.Ref]*vulkan.Buffer{}, map[int]bool{}}
	b.Cleanup(func() {
		for _, buffer := range x.buffers {
			buffer.Free()
		}
	})
	return x
}

// buffer is what a reference means. Operands have random elements.
func (x *planned) buffer(b *testing.B, r lowering.Ref) *vulkan.Buffer {
	if buffer := x.buffers[r]; buffer != nil {
		return buffer
	}
	var buffer *vulkan.Buffer
	var err error
	switch r.Kind {
	case lowering.Operand:
		buffer, err = random(x.device, x.types[r.Index])
	case lowering.Temp:
		buffer, err = x.device.Alloc(int(x.Temps[r.Index]+15) / 16 * 16)
	default:
		buffer, err = x.device.Alloc((x.in.Outs[r.Index].Type.Bytes() + 15) / 16 * 16)
	}
	if err != nil {
		b.Fatal(err)
	}
	x.buffers[r] = buffer
	return buffer
}

// compile has step n ready: run submits it so many times, and waits for it.
func (x *planned) compile(b *testing.B, n int) (run func(times int)) {
	s := &x.Steps[n]
	for _, l := range s.Lits {
		copy(s.Push[l.Offset:], x.in.Ins[l.Operand].Lit.Data)
	}
	pipe, err := target.Compile(x.device, s.Kernel)
	if err != nil {
		b.Fatal(err)
	}
	var args []vulkan.Arg
	for _, a := range s.Args {
		if a.Access == lowering.Write {
			args = append(args, vulkan.WriteOnly(x.buffer(b, a.Ref)))
		} else {
			args = append(args, vulkan.ReadOnly(x.buffer(b, a.Ref)))
		}
	}
	return func(times int) {
		x.ran[n] = true
		stream := x.device.Stream()
		for range times {
			if err := stream.Dispatch(pipe, args, s.Push[8*len(args):], s.Grid[0], s.Grid[1], s.Grid[2]); err != nil {
				b.Fatal(err)
			}
		}
		ticket, err := stream.Submit()
		if err != nil {
			b.Fatal(err)
		}
		if err := x.device.Wait(context.Background(), ticket); err != nil {
			b.Fatal(err)
		}
	}
}

// measure reports the rate of a step, and how long it takes until its kernel has run for the first time.
func (x *planned) measure(b *testing.B, n int) {
	for _, a := range x.Steps[n].Args {
		x.buffer(b, a.Ref)
	}
	start := time.Now()
	run := x.compile(b, n)
	run(1)
	ready := time.Since(start)
	run(together) // the device wakes up
	for b.Loop() {
		run(together)
	}
	b.ReportMetric(b.Elapsed().Seconds()*1e3/float64(together*b.N), "ms/step")
	b.ReportMetric(float64(x.Steps[n].Flops)*together*float64(b.N)/b.Elapsed().Seconds()/1e12, "TFLOP/s")
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
		case ops.F32:
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(x))
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
