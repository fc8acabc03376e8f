// Package gemm runs plans of synth/gemm on a Vulkan device, so that every
// kernel and every tile can be checked and timed without a node around it.
// It serves the tests of this folder and the program test/bench/gemm.
package gemm

import (
	"context"
	"fmt"

	"nxvk/gen/exec/target"
	"nxvk/shaders"
	"nxvk/synth/gemm"
	"nxvk/vulkan"
)

// Runner records plans for one device.
type Runner struct {
	Device *vulkan.Device
	Target gemm.Target

	pipes map[string]*vulkan.Pipeline
}

// New returns a runner whose target is what the device prefers.
func New(d *vulkan.Device) *Runner {
	return &Runner{d, Target(d.Info()), make(map[string]*vulkan.Pipeline)}
}

// Target describes a device to synth/gemm.
func Target(i vulkan.Info) gemm.Target {
	t := target.Of(i)
	return gemm.Target{
		Matrices:       t.Matrices,
		CPU:            i.Kind == vulkan.CPU,
		Addresses:      !i.Bindings,
		SharedMemory:   i.Limits.SharedMemory,
		MaxInvocations: i.Limits.MaxWorkgroupInvocations,
		Subgroup:       i.Limits.Subgroup,
		MaxGroups:      i.Limits.MaxWorkgroupCount,
		MaxBinding:     int64(i.Limits.MaxStorageRange),
	}
}

// Operands are the buffers of a product.
type Operands struct{ A, B, C, Partial *vulkan.Buffer }

// Free frees them all.
func (o *Operands) Free() {
	for _, b := range []*vulkan.Buffer{o.A, o.B, o.C, o.Partial} {
		if b != nil {
			b.Free()
		}
	}
}

// Reserve makes room for the partial sums of a plan.
func (r *Runner) Reserve(o *Operands, p *gemm.Plan) error {
	if o.Partial != nil && int64(o.Partial.Len()) >= p.Partial || p.Partial == 0 {
		return nil
	}
	b, err := r.Device.Alloc(int(p.Partial))
	if err != nil {
		return err
	}
	if o.Partial != nil {
		o.Partial.Free()
	}
	o.Partial = b
	return nil
}

// Record appends the steps of a plan to a stream.
func (r *Runner) Record(s *vulkan.Stream, p *gemm.Plan, o *Operands) error {
	for i := range p.Steps {
		st := &p.Steps[i]
		pipe, err := r.Pipeline(st)
		if err != nil {
			return err
		}
		buffers := [...]*vulkan.Buffer{gemm.A: o.A, gemm.B: o.B, gemm.C: o.C, gemm.Partial: o.Partial}
		args := []vulkan.Arg{vulkan.ReadOnly(buffers[st.In[0]]), vulkan.ReadOnly(buffers[st.In[1]]),
			vulkan.WriteOnly(buffers[st.Out])}
		if err := s.Dispatch(pipe, args, st.Push, st.Grid[0], st.Grid[1], st.Grid[2]); err != nil {
			return err
		}
	}
	return nil
}

// Pipeline returns that of a step, made on first sight.
func (r *Runner) Pipeline(st *gemm.Step) (*vulkan.Pipeline, error) {
	name := fmt.Sprint(st.Kernel.Shader, st.Kernel.Spec)
	if p := r.pipes[name]; p != nil {
		return p, nil
	}
	code, err := shaders.Code(st.Kernel.Shader)
	if err != nil {
		return nil, err
	}
	p, err := r.Device.Pipeline(name, code, vulkan.Layout{
		Buffers: 3, PushBytes: len(st.Push), Addresses: r.Target.Addresses, Spec: st.Kernel.Spec,
	})
	if err == nil {
		r.pipes[name] = p
	}
	return p, err
}

// Finish submits a stream and waits for it.
func (r *Runner) Finish(s *vulkan.Stream) error {
	t, err := s.Submit()
	if err != nil {
		return err
	}
	return r.Device.Wait(context.Background(), t) // however long that takes here
}

// Read returns the bytes of a buffer.
func (r *Runner) Read(b *vulkan.Buffer) ([]byte, error) {
	s := r.Device.Stream()
	back, err := s.Download(b, 0, b.Len())
	if err != nil {
		return nil, err
	}
	defer back.Release()
	if err := r.Finish(s); err != nil {
		return nil, err
	}
	return append([]byte(nil), back.Bytes()...), nil
}
