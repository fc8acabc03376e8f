package main

import (
	"fmt"
	"math"
	"time"

	"nxvk/gen/exec/target"
	"nxvk/ops"
	"nxvk/synth"
	device "nxvk/test/gemm"
)

// runLowered times products of given types, sizes and layouts.
func runLowered(r *device.Runner, o *options) error {
	target, err := target.Probe(r.Device, nil)
	if err != nil {
		return err
	}
	return o.products(func(typ ops.DType, size, layout string) (wrong int, err error) {
		p, err := problem(typ, size, layout)
		if err != nil {
			return 0, err
		}
		x := outcome{drawn: drawn{typ: typ, m: p.M, n: p.N, k: p.K, batch: p.Batch, ta: layout[0] == 't', tb: layout[1] == 't'}}
		if err := x.measure(r, o, &target); err != nil {
			return 0, err
		}
		if x.wrong != "" {
			wrong = 1
		}
		fmt.Printf("%-34v first %8.1f ms %10.1f µs %10.2f TFLOP/s  %d steps %v µs %v %s\n", x.drawn, x.first*1e3, x.each*1e6, x.flops()/x.each/1e12,
			x.steps, x.parts, x.spec, x.wrong)
		return wrong, nil
	})
}

// measureInstr times an instruction of two operands and gives its result.
func (x *outcome) measureInstr(r *device.Runner, o *options, t *synth.Target, in *ops.Instr, types []ops.Type, data [2][]byte) ([]byte, error) {
	buffers := device.PlanBuffers{}
	defer buffers.Free()
	s := r.Device.Stream()
	for i, n := range []int{types[0].Bytes(), types[1].Bytes(), in.Outs[0].Type.Bytes()} {
		b, err := r.Device.Alloc(n)
		if err != nil {
			return nil, err
		}
		ref := synth.Ref{Kind: synth.Operand, Index: i}
		if i == 2 {
			ref = synth.Ref{Kind: synth.Result}
		}
		buffers[ref] = b
		if i < 2 {
			if err := s.Upload(b, 0, data[i]); err != nil {
				return nil, err
			}
		}
	}
	if err := r.Finish(s); err != nil {
		return nil, err
	}
	start := time.Now()
	plan, err := synth.Lower(in, types, t)
	if err == nil {
		err = buffers.Reserve(r.Device, plan)
	}
	if err != nil {
		return nil, err
	}
	x.steps, x.spec = len(plan.Steps), plan.Steps[len(plan.Steps)-1].Kernel.Spec
	if _, err := x.chain(r, plan, buffers, 1); err != nil {
		return nil, err
	}
	x.first = time.Since(start).Seconds()
	got, err := r.Read(buffers[synth.Ref{Kind: synth.Result}])
	if err != nil {
		return nil, err
	}
	for i := range plan.Steps {
		if !o.lowered {
			break
		}
		one := &synth.Plan{Steps: plan.Steps[i : i+1]}
		each, err := bestOf(o.budget.Seconds()/4, func(n int) (float64, error) { return x.chain(r, one, buffers, n) })
		if err != nil {
			return nil, err
		}
		x.parts = append(x.parts, math.Round(each*1e7)/10)
	}
	x.each, err = bestOf(o.budget.Seconds(), func(n int) (float64, error) { return x.chain(r, plan, buffers, n) })
	return got, err
}
