package exchange

import (
	"fmt"
	"slices"
	"sync/atomic"

	"nxvk/gen/exec/feed"
	"nxvk/gen/exec/kernels"
	"nxvk/gen/exec/mesh/schedule"
	"nxvk/ops"
	"nxvk/vulkan"
)

// Config is what a Rank works with.
type Config struct {
	Device  *vulkan.Device
	Feeds   *feed.Feeds
	Kernels *kernels.Cache
	Post    func(func())      // runs a function on the goroutine of the Rank
	Error   func(error) error // gives an error of package vulkan its kind
}

// Rank is a device in a collective. All methods are for the goroutine of its Executor.
type Rank struct {
	cfg    Config
	in     *ops.Instr
	typ    ops.Type
	memory [3]*vulkan.Buffer     // by schedule.Memory
	plans  map[int]*kernels.Plan // of combinations, by bytes

	down, up, compute *feed.Feed // of this collective alone
}

// NewRank returns the part of a device in a collective on operands of a type.
func NewRank(cfg Config, in *ops.Instr, t ops.Type, operand, result *vulkan.Buffer) *Rank {
	r := &Rank{cfg: cfg, in: in, typ: t, memory: [3]*vulkan.Buffer{schedule.Operand: operand, schedule.Result: result},
		plans: make(map[int]*kernels.Plan)}
	r.down, r.up, r.compute = cfg.Feeds.Siblings()
	return r
}

// Streams are those of the rank.
func (r *Rank) Streams() []*vulkan.Stream {
	return []*vulkan.Stream{r.down.Stream(), r.up.Stream(), r.compute.Stream()}
}

// End gives up what the device has not begun.
func (r *Rank) End() {
	for _, f := range []*feed.Feed{r.down, r.up, r.compute} {
		f.End()
	}
}

// Open makes the device ready: it imports the shared memory, unless it has it, and compiles the kernels. ready is
// called once, with the buffer of the shared memory, or with the reason why the device cannot take part.
func (r *Rank) Open(mem *vulkan.HostMemory, have *vulkan.Buffer, s *schedule.Schedule, at int, ready func(*vulkan.Buffer, error)) {
	shared, fail := have, func(err error) { ready(nil, err) }
	if have == nil {
		var err error
		if shared, err = r.cfg.Device.Import(mem); err != nil {
			fail(err)
			return
		}
		fail = func(err error) {
			shared.Free()
			ready(nil, err)
		}
	}
	r.memory[schedule.Shared] = shared
	sizes := s.Combined(at)
	left := 1
	var failed error
	one := func(err error) {
		if failed == nil {
			failed = err
		}
		if left--; left > 0 {
			return
		}
		if failed != nil {
			fail(failed)
			return
		}
		ready(shared, nil)
	}
	for _, n := range sizes {
		left++
		r.prepare(n, s.Ranks(), s.Results(), one)
	}
	one(nil)
}

// prepare makes the kernel that combines n bytes of each rank, to so many places.
func (r *Rank) prepare(n, ranks, results int, done func(error)) {
	elements := n / r.typ.DType.Size()
	op, d := r.in.Combiner(), r.typ.DType
	p := r.cfg.Kernels.Fusion(combinationKey(op, d, ranks, results, elements), lowerCombination(op, d, ranks, results, elements))
	r.plans[n] = p
	made := func() {
		switch {
		case p.Err != nil:
			done(p.Err)
		case len(p.Temps) > 0 || p.Alias >= 0 || len(p.Checks) > 0:
			done(fmt.Errorf("the kernel that combines chunks needs more than its operands"))
		default:
			r.whenReady(p, done)
		}
	}
	if p.Err == kernels.ErrBeingMade {
		p.Then(made)
		return
	}
	made()
}

// whenReady calls then once the kernels of a plan are there.
func (r *Rank) whenReady(p *kernels.Plan, then func(error)) {
	k, err := r.cfg.Kernels.Ready(p)
	if k == nil {
		then(err)
		return
	}
	k.WhenReady(func() { r.whenReady(p, then) })
}

// Step carries out commands. given is called when the device has been given them, unless there is an error. done is called
// once, from any goroutine, when the device has carried them out, or with an error.
func (r *Rank) Step(list []schedule.Command, given func(), done func(error)) {
	for _, c := range list {
		if p := r.plans[c.Bytes]; len(c.From) > 1 {
			// Kernels that have not been used for long make room for others.
			if k, err := r.cfg.Kernels.Ready(p); k != nil || err != nil {
				r.whenReady(p, func(err error) {
					if err != nil {
						done(err)
						return
					}
					r.Step(list, given, done)
				})
				return
			}
		}
	}
	for _, c := range list {
		if err := r.record(c); err != nil {
			done(r.cfg.Error(err))
			return
		}
	}
	var tickets []vulkan.Ticket // also of those that do nothing in this step: steps are complete in their order
	for _, f := range []*feed.Feed{r.down, r.up, r.compute} {
		ticket, err := f.Submit()
		if err != nil {
			done(r.cfg.Error(err))
			return
		}
		if !r.cfg.Device.Done(ticket) {
			tickets = append(tickets, ticket)
		}
	}
	if len(tickets) == 0 {
		done(r.cfg.Error(r.cfg.Device.Lost()))
	} else {
		r.notify(tickets, done)
	}
	given()
}

// notify calls done once the device has completed all of what it was given, or with the first error.
func (r *Rank) notify(tickets []vulkan.Ticket, done func(error)) {
	var left atomic.Int32
	var failed atomic.Pointer[error]
	left.Store(int32(len(tickets)))
	for _, t := range tickets {
		r.cfg.Device.Notify(t, func(err error) {
			if err != nil {
				failed.CompareAndSwap(nil, &err)
			}
			if left.Add(-1) > 0 {
				return
			}
			if err := failed.Load(); err != nil {
				r.cfg.Post(func() { done(r.cfg.Error(*err)) })
				return
			}
			done(nil)
		})
	}
}

// record records a command: copies to and from the shared memory on a queue each that does nothing else, so that they go on
// beside kernels, and the others on the queue for little work.
func (r *Rank) record(c schedule.Command) error {
	f := r.compute
	if len(c.From) > 1 {
		return r.combine(c)
	}
	switch {
	case c.From[0].In == schedule.Shared:
		f = r.up
	case slices.ContainsFunc(c.To, func(to schedule.Ref) bool { return to.In == schedule.Shared }):
		f = r.down
	}
	for _, to := range c.To {
		dst, src := vulkan.Arg{Buffer: r.memory[to.In], Offset: to.Offset}, vulkan.Arg{Buffer: r.memory[c.From[0].In], Offset: c.From[0].Offset}
		if err := f.Stream().Copy(dst, src, c.Bytes); err != nil {
			return err
		}
		f.Note()
	}
	return nil
}
