package dot

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"nxvk/ops"
	"nxvk/synth/codegen"
	"nxvk/synth/kernel/kerneltest"
	"nxvk/synth/lowering"
)

// Lines of elements of any length, at any distance, become lines of whole vectors: zeros, the elements,
// and then zeros up to the vector's end.
func TestRowsAsWholeVectors(t *testing.T) {
	target := &lowering.Target{Addresses: true, Int16: true, Int8: true, Storage16: true, Storage8: true, MaxInvocations: 1024}
	r := rand.New(rand.NewPCG(9, 4))
	for range 60 {
		d := []ops.DType{ops.BF16, ops.S8}[r.IntN(2)]
		vector := 16 / d.Size()
		j := &rowsJob{typ: d, lines: 1 + r.IntN(9), length: 1 + r.IntN(80), matrices: 1 + r.IntN(3),
			from: lowering.Ref{Kind: lowering.Operand}, to: lowering.Ref{Kind: lowering.Result}}
		j.lead = j.length + r.IntN(3)
		j.batch = j.lines*j.lead + r.IntN(5)
		j.pitch = (j.length + vector - 1) / vector * vector
		if r.IntN(2) == 0 {
			j.first = j.pitch - j.length
		}
		in := make([]byte, ((j.matrices-1)*j.batch+(j.lines-1)*j.lead+j.length)*d.Size())
		for i := range in {
			in[i] = byte(1 + r.IntN(255))
		}
		in = append(in, make([]byte, -len(in)&3)...) // memory has whole words
		want := make([]byte, j.matrices*j.lines*j.pitch*d.Size())
		for z := range j.matrices {
			for line := range j.lines {
				from := (z*j.batch + line*j.lead) * d.Size()
				copy(want[((z*j.lines+line)*j.pitch+j.first)*d.Size():], in[from:from+j.length*d.Size()])
			}
		}
		p, err := codegen.NewPlan(target, nil, j.program(target))
		if err != nil {
			t.Fatal(err)
		}
		s, got := p.Steps[0], make([]byte, len(want))
		kerneltest.Run(s.Kernel.IR, [][]byte{in, got}, s.Push[16:], s.Grid)
		if !bytes.Equal(got, want) {
			t.Fatalf("%+v: got\n%v\nwant\n%v", j, got, want)
		}
	}
}
