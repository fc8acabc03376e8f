package exec

import (
	"encoding/binary"

	"nxvk/gen/exec/explain"
	"nxvk/gen/exec/kernels"
	"nxvk/gen/exec/target"
	"nxvk/vulkan"
)

// profileRounds is how often a part of a program is measured; the fastest counts.
const profileRounds = 4

// profiler measures the parts of a program by the device's clock, one after the
// other, each on operands of zeros: no run is disturbed, and nothing is kept.
type profiler struct {
	e    *Executor
	x    *explain.Explanation
	done func([]explain.Part, error)
}

// profile measures the parts of a program and then calls done.
func (e *Executor) profile(x *explain.Explanation, done func([]explain.Part, error)) {
	p := &profiler{e: e, x: x, done: done}
	if !e.dev.Info().Features.Timestamps {
		done(x.Parts, nil)
		return
	}
	p.from(0)
}

// from measures the parts from i on.
func (p *profiler) from(i int) {
	for ; i < len(p.x.Plans); i++ {
		if p.x.Plans[i].Plan == nil {
			continue
		}
		if !p.compiled(i) {
			return // goes on from here
		}
		if p.e.Lost() != nil {
			break
		}
		if p.measure(i) {
			return // goes on with the next
		}
	}
	p.done(p.x.Parts, p.e.Lost())
}

// compiled reports whether the kernels of a part are there. Where one is being
// made, the profiler goes on when it is.
func (p *profiler) compiled(i int) bool {
	plan := p.x.Plans[i].Plan
	for k := range plan.Steps {
		c := p.e.kernels.Kernel(plan.Steps[k].Kernel)
		if !c.Done() {
			c.Then(func() { p.from(i) })
			return false
		}
		plan.Kernels[k] = c
	}
	return true
}

// measure submits a part. It reports false where the part stays unmeasured, for
// want of memory or of a kernel.
func (p *profiler) measure(i int) bool {
	e, plan := p.e, p.x.Plans[i]
	for _, c := range plan.Kernels {
		if c.Err() != nil {
			return false
		}
	}
	var all []vulkan.Arg
	defer func() { freeAll(all) }()
	take := func(n int) (*vulkan.Buffer, error) {
		b, err := e.feeds.Own().Stream().Alloc(n)
		if err != nil {
			return nil, err
		}
		all = append(all, vulkan.WriteOnly(b))
		return b, e.feeds.Own().Stream().Fill(vulkan.WriteOnly(b), 0, n)
	}
	refs, err := plan.Memory(take)
	if err != nil {
		return false
	}
	clock, err := take(16 * profileRounds)
	if err != nil {
		return false
	}
	for k := range profileRounds {
		if err := e.timed(plan.Plan, refs, vulkan.Arg{Buffer: clock, Offset: 16 * k}); err != nil {
			return false
		}
	}
	if _, err := e.feeds.Own().Submit(); err != nil { // the clock is written at the end of a batch
		return false
	}
	back, err := e.feeds.Own().Stream().Download(clock, 0, clock.Len())
	if err != nil {
		return false
	}
	ticket, err := e.feeds.Own().Submit()
	if err != nil {
		back.Release()
		return false
	}
	e.dev.Notify(ticket, func(err error) {
		e.cfg.Post(func() {
			if err == nil {
				p.x.Parts[i].Measured = fastest(back.Bytes()) * e.dev.Info().Limits.TimestampPeriod / 1e9
			}
			back.Release()
			p.from(i + 1)
		})
	})
	return true
}

// timed records the steps of a plan between two looks at the clock.
func (e *Executor) timed(p *kernels.Plan, refs explain.Buffers, clock vulkan.Arg) error {
	if err := e.feeds.Own().Stream().Timestamp(clock); err != nil {
		return err
	}
	for i := range p.Steps {
		s := &p.Steps[i]
		var args []vulkan.Arg
		for _, a := range s.Args {
			args = append(args, vulkan.Arg{Buffer: refs[a.Ref.Kind][a.Ref.Index], Offset: a.Offset, Size: a.Bytes, Access: vulkan.Access(a.Access)})
		}
		if err := e.feeds.Own().Stream().Dispatch(p.Kernels[i].Pipeline(), args, target.Push(s), s.Grid[0], s.Grid[1], s.Grid[2]); err != nil {
			return err
		}
	}
	clock.Offset += 8
	return e.feeds.Own().Stream().Timestamp(clock)
}

// fastest is the shortest time between pairs of looks at the clock, in ticks.
func fastest(b []byte) float64 {
	least := uint64(0)
	for ; len(b) > 0; b = b[16:] {
		ticks := binary.LittleEndian.Uint64(b[8:]) - binary.LittleEndian.Uint64(b)
		if least == 0 || ticks < least {
			least = ticks
		}
	}
	return float64(least)
}

func freeAll(args []vulkan.Arg) {
	for _, a := range args {
		a.Buffer.Free()
	}
}
