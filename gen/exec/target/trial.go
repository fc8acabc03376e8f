package target

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"time"
	"unsafe"

	"nxvk/ops"
	"nxvk/synth"
	"nxvk/vulkan"
)

// try computes an operation of the two halves of v on a device.
func try(d *vulkan.Device, t *synth.Target, op ops.Op, v []float32) ([]float32, error) {
	plan, err := probePlan(op, t)
	if err != nil {
		return nil, err
	}
	s, arity := d.Stream(), op.Info().Arity
	bufs := make([]*vulkan.Buffer, arity+1)
	for i := range bufs {
		if bufs[i], err = d.Alloc(4 * probed); err != nil {
			return nil, err
		}
		defer bufs[i].Free()
	}
	for i := range arity {
		if err := s.Upload(bufs[i], 0, encode(v[i*probed:(i+1)*probed])); err != nil {
			return nil, err
		}
	}
	if err := dispatch(d, s, plan, bufs); err != nil {
		return nil, err
	}
	b, err := read(d, s, bufs[arity])
	return floats(b), err
}

// convertProbe converts probed elements on a device, from type to type, in one kernel.
func convertProbe(d *vulkan.Device, t *synth.Target, x []byte, through ...ops.DType) ([]byte, error) {
	shape, f := ops.Shape{probed}, synth.Fusion{Ins: []ops.ID{1}}
	for i, typ := range through[1:] {
		f.Outs = []ops.Result{{ID: ops.ID(i + 2), Type: ops.Type{DType: typ, Shape: shape}}}
		f.Body = append(f.Body, ops.Instr{Op: ops.AsType, Ins: []ops.Operand{{ID: ops.ID(i + 1)}}, Outs: f.Outs})
	}
	plan, err := synth.LowerFusion(&f, func(id ops.ID) ops.Type { return ops.Type{DType: through[id-1], Shape: shape} }, t)
	if err != nil {
		return nil, err
	}
	s, bufs := d.Stream(), make([]*vulkan.Buffer, 2)
	for i, typ := range []ops.DType{through[0], through[len(through)-1]} {
		if bufs[i], err = d.Alloc(probed * typ.Size()); err != nil {
			return nil, err
		}
		defer bufs[i].Free()
	}
	if err := s.Upload(bufs[0], 0, x); err != nil {
		return nil, err
	}
	if err := dispatch(d, s, plan, bufs); err != nil {
		return nil, err
	}
	out, err := read(d, s, bufs[1])
	if err != nil {
		return nil, fmt.Errorf("probe conversions on %s: %w", d.Info().Name, err)
	}
	return out, nil
}

// probePlan plans an operation of probed elements of f32.
func probePlan(op ops.Op, t *synth.Target) (*synth.Plan, error) {
	typ := ops.Type{DType: ops.F32, Shape: ops.Shape{probed}}
	in := &ops.Instr{Op: op, Outs: []ops.Result{{ID: 1, Type: typ}}, Ins: make([]ops.Operand, op.Info().Arity)}
	types := make([]ops.Type, len(in.Ins))
	for i := range types {
		types[i] = typ
	}
	return synth.Lower(in, types, t)
}

// dispatch records the steps of a plan whose buffers are the operands and then
// the result.
func dispatch(d *vulkan.Device, s *vulkan.Stream, plan *synth.Plan, bufs []*vulkan.Buffer) error {
	for i := range plan.Steps {
		step := &plan.Steps[i]
		pipe, err := d.Pipeline(step.Kernel.Name, step.Kernel.Code, Layout(step.Kernel, d.Info()))
		if err != nil {
			return err
		}
		args := make([]vulkan.Arg, len(step.Args))
		for j, a := range step.Args {
			b := bufs[len(bufs)-1]
			if a.Ref.Kind == synth.Operand {
				b = bufs[a.Ref.Index]
			}
			args[j] = vulkan.Arg{Buffer: b, Access: vulkan.Access(a.Access)}
		}
		if err := s.Dispatch(pipe, args, Push(step), step.Grid[0], step.Grid[1], step.Grid[2]); err != nil {
			return err
		}
	}
	return nil
}

// Push is what a step pushes besides the addresses of its buffers, which the
// stream writes itself.
func Push(s *synth.Step) []byte {
	if s.Kernel.Addresses {
		return s.Push[8*len(s.Args):]
	}
	return s.Push
}

// read waits for a buffer and copies it.
func read(d *vulkan.Device, s *vulkan.Stream, b *vulkan.Buffer) ([]byte, error) {
	rb, err := s.Download(b, 0, b.Len())
	if err != nil {
		return nil, err
	}
	defer rb.Release()
	ticket, err := s.Submit()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := d.Wait(ctx, ticket); err != nil {
		return nil, err
	}
	return bytes.Clone(rb.Bytes()), nil
}

func floats(b []byte) []float32 {
	v := make([]float32, len(b)/4)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return v
}

func encode(v []float32) []byte {
	b := make([]byte, 0, 4*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

// Whole is memory that begins at a multiple of 8 bytes and ends at a whole word: the
// same where it does, or else a copy.
func Whole(b []byte) []byte {
	n := (len(b) + 3) / 4 * 4
	if n <= cap(b) && uintptr(unsafe.Pointer(unsafe.SliceData(b)))%8 == 0 {
		return b[:n]
	}
	return append(make([]byte, 0, n+8), b...)[:n]
}
