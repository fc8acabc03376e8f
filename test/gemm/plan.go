package gemm

import (
	"nxvk/gen/exec/target"
	"nxvk/synth"
	"nxvk/vulkan"
)

// PlanBuffers are what a plan of synth reads and writes, by name.
type PlanBuffers map[synth.Ref]*vulkan.Buffer

// Free frees them all.
func (b PlanBuffers) Free() {
	for _, x := range b {
		x.Free()
	}
}

// Reserve makes room for the temporaries of a plan.
func (b PlanBuffers) Reserve(d *vulkan.Device, p *synth.Plan) error {
	for i, n := range p.Temps {
		x, err := d.Alloc(int(n))
		if err != nil {
			return err
		}
		b[synth.Ref{Kind: synth.Temp, Index: i}] = x
	}
	return nil
}

// RecordStep appends a step of a plan of synth, whose literals are in push, to a
// stream.
func (r *Runner) RecordStep(s *vulkan.Stream, st *synth.Step, push []byte, buffers PlanBuffers) error {
	var args []vulkan.Arg
	for _, a := range st.Args {
		args = append(args, vulkan.Arg{Buffer: buffers[a.Ref], Access: vulkan.Access(a.Access)})
	}
	k := st.Kernel
	if k.Addresses {
		push = push[8*len(args):]
	}
	name := k.Name
	p := r.pipes[name]
	if p == nil {
		var err error
		if p, err = target.Compile(r.Device, k); err != nil {
			return err
		}
		r.pipes[name] = p
	}
	return s.Dispatch(p, args, push, st.Grid[0], st.Grid[1], st.Grid[2])
}
