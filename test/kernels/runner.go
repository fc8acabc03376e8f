// Package kernels runs plans of synth on a Vulkan device, an instruction at
// a time, and compares what they give with package fallback: every operation of
// the table, every element type. It serves the tests of this folder.
package kernels

import (
	"context"
	"fmt"
	"time"

	"nxvk/fallback"
	"nxvk/ops"
	"nxvk/synth"
	"nxvk/vulkan"
)

// Runner carries out instructions on one device.
type Runner struct {
	Device *vulkan.Device
	Target synth.Target

	pipes map[string]*vulkan.Pipeline
}

// New returns a runner for a device.
func New(d *vulkan.Device) *Runner {
	return &Runner{d, Target(d.Info()), make(map[string]*vulkan.Pipeline)}
}

// Target describes a device to synth.
func Target(i vulkan.Info) synth.Target {
	f, l := i.Features, i.Limits
	cpu := i.Kind == vulkan.CPU
	return synth.Target{CPU: cpu, Addresses: !i.Bindings,
		Float64: f.Float64, Int64: f.Int64, Int16: f.Int16, Int8: f.Int8,
		Storage16: f.Storage16, Storage8: f.Storage8, PreciseDiv: cpu, Subnormals: cpu,
		SharedMemory: l.SharedMemory, MaxInvocations: l.MaxWorkgroupInvocations, SubgroupSize: l.Subgroup,
		MaxPush: l.MaxPush, MaxGroups: l.MaxWorkgroupCount, MaxBinding: int64(l.MaxStorageRange)}
}

// Loaded is a plan with its buffers, ready to be recorded.
type Loaded struct {
	Plan     *synth.Plan
	Operands []*vulkan.Buffer
	Result   *vulkan.Buffer
	temps    []*vulkan.Buffer
	lits     []fallback.Value
}

// Load plans an instruction and uploads its operands. A value without data gets
// a buffer that nobody has written.
func (r *Runner) Load(in *ops.Instr, args []fallback.Value) (*Loaded, error) {
	var types []ops.Type
	for _, a := range args {
		types = append(types, a.Type)
	}
	p, err := synth.Lower(in, types, &r.Target)
	if err != nil {
		return nil, err
	}
	l := &Loaded{Plan: p, lits: args}
	s := r.Device.Stream()
	for i, a := range args {
		var b *vulkan.Buffer
		if in.Ins[i].Lit == nil {
			if b, err = r.alloc(a.Type.Bytes()); err != nil {
				return nil, err
			}
		}
		l.Operands = append(l.Operands, b)
		if b != nil && a.Data != nil {
			if err := s.Upload(b, 0, a.Data); err != nil {
				return nil, err
			}
		}
	}
	for _, n := range p.Temps {
		b, err := r.alloc(int(n))
		if err != nil {
			return nil, err
		}
		l.temps = append(l.temps, b)
	}
	if l.Result, err = r.alloc(in.Outs[0].Type.Bytes()); err != nil {
		return nil, err
	}
	return l, r.Finish(s)
}

func (r *Runner) alloc(n int) (*vulkan.Buffer, error) { return r.Device.Alloc((n + 15) / 16 * 16) }

// Free lets go of the buffers.
func (l *Loaded) Free() {
	for _, b := range append(append(l.Operands, l.temps...), l.Result) {
		if b != nil {
			b.Free()
		}
	}
}

// Output is the buffer that holds the result.
func (l *Loaded) Output() *vulkan.Buffer {
	if l.Plan.Alias >= 0 {
		return l.Operands[l.Plan.Alias]
	}
	return l.Result
}

// Record appends the steps to a stream.
func (r *Runner) Record(s *vulkan.Stream, l *Loaded) error {
	for i := range l.Plan.Steps {
		st := &l.Plan.Steps[i]
		pipe, push, err := r.prepare(l, st)
		if err != nil {
			return err
		}
		var args []vulkan.Arg
		for _, a := range st.Args {
			b := map[synth.RefKind][]*vulkan.Buffer{synth.Operand: l.Operands, synth.Result: {l.Result},
				synth.Temp: l.temps}[a.Ref.Kind][a.Ref.Index]
			arg := vulkan.ReadOnly(b)
			if a.Access == synth.Write {
				arg = vulkan.WriteOnly(b)
			} else if a.Access != synth.Read {
				arg = vulkan.ReadWrite(b)
			}
			args = append(args, arg)
		}
		if err := s.Dispatch(pipe, args, push, st.Grid[0], st.Grid[1], st.Grid[2]); err != nil {
			return err
		}
	}
	return nil
}

// prepare finds the pipeline of a step and fills its literals in.
func (r *Runner) prepare(l *Loaded, st *synth.Step) (*vulkan.Pipeline, []byte, error) {
	push := append([]byte(nil), st.Push...)
	for _, lit := range st.Lits {
		v := fallback.Value{Type: ops.Type{DType: lit.As}, Data: push[lit.Offset : lit.Offset+lit.As.Size()]}
		if err := fallback.Convert(v, l.lits[lit.Operand]); err != nil {
			return nil, nil, err
		}
	}
	if st.Kernel.Addresses {
		push = push[8*st.Kernel.Buffers:]
	}
	k := st.Kernel
	name := k.Name + fmt.Sprint(k.Spec)
	p := r.pipes[name]
	if p == nil {
		var err error
		if p, err = r.Device.Pipeline(name, k.Code, vulkan.Layout{Buffers: k.Buffers, Addresses: k.Addresses,
			PushBytes: len(push), Spec: k.Spec}); err != nil {
			return nil, nil, err
		}
		r.pipes[name] = p
	}
	return p, push, nil
}

// Run carries out an instruction and returns the bytes of its result.
func (r *Runner) Run(in *ops.Instr, args []fallback.Value) ([]byte, error) {
	l, err := r.Load(in, args)
	if err != nil {
		return nil, err
	}
	defer l.Free()
	s := r.Device.Stream()
	if err := r.Record(s, l); err != nil {
		return nil, err
	}
	back, err := s.Download(l.Output(), 0, in.Outs[0].Type.Bytes())
	if err != nil {
		return nil, err
	}
	defer back.Release()
	if err := r.Finish(s); err != nil {
		return nil, err
	}
	return append([]byte(nil), back.Bytes()...), nil
}

// Finish submits a stream and waits for it.
func (r *Runner) Finish(s *vulkan.Stream) error {
	t, err := s.Submit()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	return r.Device.Wait(ctx, t)
}
