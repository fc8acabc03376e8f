package explain

import (
	"encoding/binary"
	"time"

	"nxvk/gen/exec/feed"
	"nxvk/gen/exec/kernels"
	"nxvk/gen/exec/target"
	"nxvk/vulkan"
)

// profileRounds is how often a part of a program is measured; the fastest counts.
const profileRounds = 4

// wakeTime is how long parts are measured for nothing: a device that has been idle, as while kernels are compiled, raises its
// clock after some time only. An H200 took 3.5 times as long for the parts of a training step before.
const wakeTime = 300 * time.Millisecond

// Profiler is what parts are measured with.
type Profiler struct {
	Device  *vulkan.Device
	Feeds   *feed.Feeds
	Kernels *kernels.Cache
	Post    func(func()) // runs a function on the goroutine of the three
}

// profile measures the parts of a program by the device's clock, one after the
// other, each on operands of zeros: no run is disturbed, and nothing is kept.
type profile struct {
	Profiler
	x    *Explanation
	done func([]Part, error)

	begun time.Time // when the first part was measured
	last  bool      // whether what is measured counts
	some  bool      // whether a part has been measured since the first
}

// Measure measures the parts of a program that the device carries out, and then calls done.
// Where the device has no clock, none is measured.
func (p Profiler) Measure(x *Explanation, done func([]Part, error)) {
	if !p.Device.Info().Features.Timestamps {
		done(x.Parts, nil)
		return
	}
	(&profile{Profiler: p, x: x, done: done}).from(0)
}

// from measures the parts from i on, and then all again until the device is awake.
func (p *profile) from(i int) {
	if !p.compiled() {
		return // goes on from the first
	}
	for {
		for ; i < len(p.x.plans) && p.Feeds.Lost() == nil; i++ {
			if p.x.plans[i].Plan != nil && p.measure(i) {
				p.some = true
				return // goes on with the next
			}
		}
		if p.last || !p.some || p.Feeds.Lost() != nil {
			break
		}
		p.last = time.Since(p.begun) > wakeTime
		i, p.some = 0, false
	}
	p.done(p.x.Parts, p.Feeds.Lost())
}

// compiled reports whether the kernels of all parts are there. Where some are being made, the profile begins when they are.
func (p *profile) compiled() bool {
	if !p.begun.IsZero() {
		return true
	}
	var waits *kernels.Kernel
	for _, x := range p.x.plans {
		if x.Plan == nil {
			continue
		}
		for k := range x.Steps {
			if x.Kernels[k] = p.Kernels.Kernel(x.Steps[k].Kernel); !x.Kernels[k].Done() {
				waits = x.Kernels[k]
			}
		}
	}
	if waits != nil {
		waits.Then(func() { p.from(0) })
		return false
	}
	p.begun = time.Now()
	return true
}

// measure submits a part. It reports false where the part stays unmeasured, for
// want of memory or of a kernel.
func (p *profile) measure(i int) bool {
	plan, stream := p.x.plans[i], p.Feeds.Own().Stream()
	for _, c := range plan.Kernels {
		if c.Err() != nil {
			return false
		}
	}
	var all []vulkan.Arg
	defer func() { freeAll(all) }()
	take := func(n int) (*vulkan.Buffer, error) {
		b, err := stream.Alloc(n)
		if err != nil {
			return nil, err
		}
		all = append(all, vulkan.WriteOnly(b))
		return b, stream.Fill(vulkan.WriteOnly(b), 0, n)
	}
	refs, err := plan.memory(take)
	if err != nil {
		return false
	}
	clock, err := take(16 * profileRounds)
	if err != nil {
		return false
	}
	for k := range profileRounds {
		if err := p.recordTimed(plan.Plan, refs, vulkan.Arg{Buffer: clock, Offset: 16 * k}); err != nil {
			return false
		}
	}
	if _, err := p.Feeds.Own().Submit(); err != nil { // the clock is written at the end of a batch
		return false
	}
	back, err := stream.Download(clock, 0, clock.Len())
	if err != nil {
		return false
	}
	ticket, err := p.Feeds.Own().Submit()
	if err != nil {
		back.Release()
		return false
	}
	p.Device.Notify(ticket, func(err error) {
		p.Post(func() {
			if err == nil {
				p.x.Parts[i].Measured = fastest(back.Bytes()) * p.Device.Info().Limits.TimestampPeriod / 1e9
			}
			back.Release()
			p.from(i + 1)
		})
	})
	return true
}

// recordTimed records the steps of a plan between two looks at the clock.
func (p *profile) recordTimed(plan *kernels.Plan, refs buffers, clock vulkan.Arg) error {
	stream := p.Feeds.Own().Stream()
	if err := stream.Timestamp(clock); err != nil {
		return err
	}
	for i := range plan.Steps {
		s := &plan.Steps[i]
		var args []vulkan.Arg
		for _, a := range s.Args {
			args = append(args, vulkan.Arg{Buffer: refs[a.Ref.Kind][a.Ref.Index], Offset: a.Offset, Size: a.Bytes, Access: vulkan.Access(a.Access)})
		}
		if err := stream.Dispatch(plan.Kernels[i].Pipeline(), args, target.Push(s), s.Grid[0], s.Grid[1], s.Grid[2]); err != nil {
			return err
		}
	}
	clock.Offset += 8
	return stream.Timestamp(clock)
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
