package conformance

import (
	"bytes"
	"math"
	"testing"

	"nxvk/gen/exec/exectest"
	"nxvk/ops"
	"nxvk/test/draw"
	"nxvk/test/draw/model"
	"nxvk/test/fewtest"
)

// TestModels: programs like those that Nx makes of whole models give the same bits in fusions as one instruction after the
// other, and numbers near those of the host. Some runs let go of their operands while they are under way, so that these are
// updated in place, and give scalars as numbers.
func TestModels(t *testing.T) {
	modes(t, func(t *testing.T, d, host *exectest.Driver, gpu bool) {
		count := uint64(fewtest.Of(8, 2))
		if *full {
			count *= 16
		}
		for seed := range count {
			runModel(t, d, host, seed, model.Draw(seed, model.Small, 2))
		}
		for seed := range count / 4 {
			runModel(t, d, host, 100+seed, model.Draw(100+seed, model.Medium, 12))
		}
	})
}

func runModel(t *testing.T, d, host *exectest.Driver, seed uint64, m *model.Model) {
	t.Helper()
	p := m.Program()
	types, err := p.CheckProgram()
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	data := m.Data()
	want, err := modelRun(host, m, p, types, data, false)
	if err != nil {
		t.Fatalf("seed %d, %s, on the host: %v", seed, m.Title, err)
	}
	var first [][]byte
	for i := range d.Exec.Services().Enough() + 2 {
		got, err := modelRun(d, m, p, types, data, i%2 == 1)
		if err != nil {
			t.Fatalf("seed %d, %s: %v", seed, m.Title, err)
		}
		if first == nil {
			first = got
		}
		for k := range got {
			if !bytes.Equal(got[k], first[k]) {
				t.Fatalf("seed %d, %s: run %d gives other bits of result %d, %v, than the first: %v, not %v", seed, m.Title, i, k, types[k],
					some(draw.Decode(got[k], types[k])), some(draw.Decode(first[k], types[k])))
			}
		}
		if err := d.Built(); err != nil {
			t.Fatal(err)
		}
	}
	for k := range want {
		if far := apart(draw.Decode(first[k], types[k]), draw.Decode(want[k], types[k])); far > m.Tolerance() {
			t.Errorf("seed %d, %s: result %d, %v, is %.3g from that of the host: %v, not %v", seed, m.Title, k, types[k], far,
				some(draw.Decode(first[k], types[k])), some(draw.Decode(want[k], types[k])))
		}
	}
}

// some are the first numbers of a list.
func some(v []float64) []float64 { return v[:min(len(v), 8)] }

// modelRun runs a model and reads what it gives. With early its operands are let go of before the results are read.
func modelRun(d *exectest.Driver, m *model.Model, p *ops.Region, types []ops.Type, data [][]byte, early bool) (out [][]byte, err error) {
	var ids []ops.ID
	var ins []ops.Operand
	for i, param := range p.Params {
		if m.Scalar(param) {
			ins = append(ins, ops.Operand{Lit: &ops.Literal{Type: param.Type, Data: data[i]}})
			continue
		}
		id := d.Upload(param.Type, data[i])
		ids, ins = append(ids, id), append(ins, ops.Operand{ID: id})
	}
	d.Define(m.Title, p)
	values := d.Run(m.Title, types, ins...)
	defer func() { d.Free(append(ids, values...)...) }()
	if early {
		d.Free(ids...)
		ids = nil
	}
	for _, id := range values {
		b, err := d.Read(id)
		if err != nil {
			return nil, err
		}
		out = append(out, b)
	}
	return out, nil
}

// apart is how far numbers are from others, as a part of the size of the latter. Those that are no numbers have to be so in both.
func apart(got, want []float64) float64 {
	sum, all := 0.0, 1e-6
	for i, w := range want {
		switch g := got[i]; {
		case g == w || math.IsNaN(g) && math.IsNaN(w):
		case math.IsNaN(g) || math.IsNaN(w) || math.IsInf(g, 0) || math.IsInf(w, 0):
			return math.Inf(1)
		default:
			sum += (g - w) * (g - w)
		}
		if !math.IsInf(w, 0) && !math.IsNaN(w) {
			all += w * w
		}
	}
	return math.Sqrt(sum / all)
}
