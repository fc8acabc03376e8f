package sweep

import (
	"errors"
	"fmt"

	"nxvk/ops"
	"nxvk/synth"
)

// Kernels lists the kernels that the first result of a case waits for, each once: those of its
// instructions one after another, as they are carried out before a program has its fusions.
// What a device leaves to the host, or does without a kernel, has none.
func Kernels(c *Case, t *synth.Target) (list []synth.Listed, err error) {
	r, _, err := c.Region()
	if err != nil {
		return nil, err
	}
	known := make(map[ops.ID]ops.Type)
	for _, p := range r.Params {
		known[p.ID] = p.Type
	}
	seen := make(map[string]bool)
	for i := range r.Body {
		in := &r.Body[i]
		types := make([]ops.Type, len(in.Ins))
		for k, o := range in.Ins {
			if types[k] = known[o.ID]; o.Lit != nil {
				types[k] = o.Lit.Type
			}
		}
		for _, o := range in.Outs {
			known[o.ID] = o.Type
		}
		p, err := synth.Lower(in, types, t)
		if errors.Is(err, synth.ErrUnsupported) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("case %d, %s: %w", c.ID, c.Name, err)
		}
		for _, s := range p.Steps {
			if !seen[s.Kernel.Name] {
				seen[s.Kernel.Name] = true
				list = append(list, synth.Listed{Kernel: s.Kernel, For: kernelName(s.Kernel)})
			}
		}
	}
	return list, nil
}

// kernelName says what a kernel does.
func kernelName(k *synth.Kernel) string {
	if k.IR != nil {
		return k.IR.Name
	}
	return k.Name
}
