package explain

import (
	"nxvk/gen/exec/kernels"
	"nxvk/ops"
	"nxvk/synth"
	"nxvk/vulkan"
)

// measurable is the plan of a part, with the types of its operands and results.
type measurable struct {
	*kernels.Plan
	operands []ops.Type
	results  []ops.Result
}

// buffers are buffers of a plan, by the kind of the reference.
type buffers [synth.CheckWord + 1][]*vulkan.Buffer

// memory is what the plan reads and writes, by the kind of the reference.
func (p *measurable) memory(take func(int) (*vulkan.Buffer, error)) (refs buffers, err error) {
	add := func(kind synth.RefKind, n int) {
		var b *vulkan.Buffer
		if err == nil {
			b, err = take(n)
		}
		refs[kind] = append(refs[kind], b)
	}
	for _, t := range p.operands {
		add(synth.Operand, t.Bytes())
	}
	for _, r := range p.results {
		add(synth.Result, r.Type.Bytes())
	}
	for _, n := range p.Temps {
		add(synth.Temp, int(n))
	}
	for range p.Checks {
		add(synth.CheckWord, 4)
	}
	return refs, err
}
