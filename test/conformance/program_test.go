package conformance

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"nxvk/gen/exec/exectest"
	"nxvk/ops"
	"nxvk/synth"
	"nxvk/synth/lowering"
	"nxvk/test/draw"
)

// programs is how many random programs run, and length their instructions. With
// -short and for the ways with rules off there are fewer.
const (
	programs = 24
	fewer    = 3
	length   = 14
)

// Random programs give the host's bits: one instruction at a time, in fusions, and
// in fusions with each of the rules off, or with all.
func TestPrograms(t *testing.T) {
	needDevice(t)
	count := programs
	if testing.Short() {
		count = fewer
	}
	t.Run("all rules", func(t *testing.T) {
		if fused := runPrograms(t, target, count); fused == 0 {
			t.Error("no program took fewer dispatches in fusions than one instruction at a time")
		}
	})
	if other := target; target.CPU && device.Info().Features.BufferDeviceAddress {
		other.Addresses, other.CPU = true, false
		t.Run("gpu profile", func(t *testing.T) { runPrograms(t, other, fewer) })
		other.Off = lowering.RuleProducts
		t.Run("gpu profile without products", func(t *testing.T) { runPrograms(t, other, fewer) })
	}
	all := synth.Rules(0)
	for _, name := range synth.RuleNames() {
		rule, err := synth.ParseRules(name)
		if err != nil {
			t.Fatal(err)
		}
		all |= rule
		t.Run("without "+name, func(t *testing.T) {
			off := target
			off.Off = rule
			runPrograms(t, off, fewer)
		})
	}
	t.Run("without any", func(t *testing.T) {
		off := target
		off.Off = all
		runPrograms(t, off, fewer)
	})
}

// runPrograms runs programs on the device and on the host. It tells how many took
// fewer dispatches when they had been seen before.
func runPrograms(t *testing.T, tg synth.Target, count int) (fused int) {
	t.Helper()
	d, host := exectest.NewFor(device, tg, -1), exectest.NewFor(nil, target, 0)
	defer d.Close()
	defer host.Close()
	for seed := range uint64(count) {
		p := draw.Program(seed, length)
		types, err := p.CheckProgram()
		if err != nil {
			t.Fatalf("program %d: %v", seed, err)
		}
		r := rand.New(rand.NewPCG(seed, 8))
		var data [][]byte
		for _, param := range p.Params {
			data = append(data, draw.Whole(r, param.Type))
		}
		want, _, err := results(host, p, types, data)
		if err != nil {
			t.Fatalf("program %d on the host: %v", seed, err)
		}
		first := uint64(0)
		for i := range d.Exec.Services().Enough() + 1 {
			got, dispatches, err := results(d, p, types, data)
			if err != nil {
				t.Fatalf("program %d: %v", seed, err)
			}
			for k := range got {
				if !bytes.Equal(got[k], want[k]) {
					t.Fatalf("program %d, run %d, result %d: got %v, want %v", seed, i, k, draw.Decode(got[k], types[k]), draw.Decode(want[k], types[k]))
				}
			}
			if i == 0 {
				first = dispatches
			} else if i == d.Exec.Services().Enough() && dispatches < first {
				fused++
			}
			if err := d.Built(); err != nil {
				t.Fatal(err)
			}
		}
	}
	return fused
}

// results runs a program and reads what it gives.
func results(d *exectest.Driver, p *ops.Region, types []ops.Type, data [][]byte) (out [][]byte, dispatches uint64, err error) {
	before := d.Exec.Counters().Dispatches
	var ids []ops.ID
	var ins []ops.Operand
	for i, param := range p.Params {
		id := d.Upload(param.Type, data[i])
		ids, ins = append(ids, id), append(ins, ops.Operand{ID: id})
	}
	key := fmt.Sprintf("%p", p)
	d.Define(key, p)
	values := d.Run(key, types, ins...)
	defer d.Free(append(ids, values...)...)
	for _, id := range values {
		b, err := d.Read(id)
		if err != nil {
			return nil, 0, err
		}
		out = append(out, b)
	}
	return out, d.Exec.Counters().Dispatches - before, nil
}
