package kernels

import (
	"math"

	"nxvk/fallback/sched"
	"nxvk/synth"
)

// Where a fusion has so little to do that its work stays on the host, an instruction takes a microsecond or two however
// few elements it computes. So the host interprets one kernel for all of them (package simt): a run of 120
// integer instructions, which is what splits the key of a random generator, takes a twelfth of the time
// (BenchmarkLittleFusion in gen/exec).

// processor is the host as a device.
var processor = synth.Target{
	CPU: true, PreciseDiv: true, Subnormals: true, Rounds: synth.Twice,
	Float64: true, Int64: true, Int16: true, Int8: true, Float16: true, Storage16: true, Storage8: true,
	Preserve32: true, Preserve64: true, RoundEven32: true, RoundEven64: true, Denorm32: true, Denorm64: true,
	MaxPush: 256, MaxGroups: [3]uint32{math.MaxInt32, math.MaxUint16, math.MaxUint16}, MaxBinding: math.MaxInt32,
}

// Little returns the plan by which the host carries out a fusion of little work, whose plan for the device is p. It is
// nil where the host has none, and until that is made, which the first call has done apart from the goroutine
// of the Cache.
func (c *Cache) Little(p *Plan, lower func(*synth.Target) (*synth.Plan, error)) *Plan {
	if p.littleAsked {
		return p.little
	}
	p.littleAsked = true
	var made *Plan
	c.cfg.Aside(WorkPlan, func(*sched.Worker) error {
		plan, err := lower(&processor)
		if err == nil {
			made = interpretable(plan)
		}
		return nil // without it the instructions go one by one
	}, func(error) { p.little = made })
	return nil
}

// interpretable returns a plan of the host as the interpreter takes it; nil where it cannot. What a kernel
// checks is not read back.
func interpretable(plan *synth.Plan) *Plan {
	if len(plan.Steps) == 0 || len(plan.Checks) > 0 || len(plan.Temps) > 0 || plan.Alias >= 0 {
		return nil
	}
	p := &Plan{Plan: plan}
	for i := range plan.Steps {
		k := plan.Steps[i].Kernel
		host := processor.OnHost(k)
		if host == nil {
			return nil
		}
		p.Kernels = append(p.Kernels, &Kernel{Kernel: k, host: host})
	}
	return p
}
