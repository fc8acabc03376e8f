package program

import (
	"errors"

	"github.com/rs/zerolog"

	"nxvk/fallback/sched"
	"nxvk/gen/exec/kernels"
	"nxvk/gen/exec/queue"
	"nxvk/ops"
	"nxvk/synth"
	"nxvk/synth/graph"
)

// A program is compiled when it has been seen before, or goes round a loop. The first time, its instructions are carried out
// one by one, by kernels that other programs may have needed before. When it is
// seen again, its straight parts are cut into fusions (package synth), each a few
// kernels, which are compiled apart from the goroutine of the owner; until a
// fusion is ready its instructions go on one by one. Both give the same bits.

// A program is compiled when it has been seen so often. The driver of a processor
// makes machine code of a kernel when that runs first, which takes as long as
// many runs do; that of a GPU does when it is compiled.
const (
	gpuSeen = 2
	cpuSeen = 12
	// earlySeen is how often where an earlier life has compiled it and the host stands in
	// for the first runs.
	earlySeen = 2
	// oftenEnough is how many times as often as others a variant of a trace is seen before it
	// is compiled, where a compiled one gives more than its values.
	oftenEnough = 8
)

// SpecializerConfig is what a Specializer works with.
type SpecializerConfig struct {
	Kernels *kernels.Cache
	Log     zerolog.Logger

	Post  func(func())                                                     // runs a function on the goroutine of the owner
	Aside func(what string, f func(*sched.Worker) error, then func(error)) // runs f elsewhere, and then there
}

// Specializer compiles programs and traces for a device. It is for one goroutine.
type Specializer struct {
	Enough    int // how often a program has to be seen to be compiled
	HostLimit int // elements up to which work on host operands stays there
	Cutting   Cutting

	Noted int // how often something that a specialization waited for has been made

	cfg SpecializerConfig
}

// NewSpecializer returns a Specializer for a device; cpu says that this is a processor.
func NewSpecializer(cfg SpecializerConfig, cpu bool, hostLimit int) *Specializer {
	z := &Specializer{cfg: cfg, Enough: gpuSeen, HostLimit: hostLimit, Cutting: usualCutting}
	if cpu {
		z.Enough = cpuSeen
	}
	return z
}

// Evaluator computes scalars of literals ahead, where the host would do so when the program runs,
// too: so they have the same bits.
func (z *Specializer) Evaluator() graph.Eval {
	if z.HostLimit < 1 {
		return nil
	}
	return Eval
}

// Specialize returns the specialization of a run with literals, by their slots, and has it
// compiled when it has been seen often enough.
func (z *Specializer) Specialize(p *Program, lits []*ops.Literal) *Specialization {
	key := p.literalKey(lits)
	t := p.specialization(string(key), func() *Specialization { return z.newSpecialization(p, key) })
	t.literal = key
	if t.seen++; !t.asked && z.isDue(t) {
		t.asked = true
		z.partition(p, t, key)
	} else if t.seen == 1 {
		z.prefetch(p, lits)
	}
	return t
}

// CountRound counts a round of a loop in a run that has begun without the fusions of its specialization. A loop of many rounds
// gets them while it runs.
func (z *Specializer) CountRound(p *Program, t *Specialization) {
	if t.rounds++; !t.asked && t.rounds >= z.Enough {
		t.asked = true
		z.partition(p, t, t.literal)
	}
}

// SpecializeBlock is Specialize for the instructions b of a trace with so many slots, which has the
// specialization t so far. asked says that it is being compiled: others have b from now on.
func (z *Specializer) SpecializeBlock(t *Specialization, b *Block, slots int, literal []byte) (_ *Specialization, asked bool) {
	p := &Program{Body: b, Slots: slots}
	if t.seen == 1 || t.archiveKey == "" {
		seen := t.seen
		t = z.newSpecialization(p, literal)
		t.seen = seen
	}
	if !z.isDue(t) {
		return t, false
	}
	t.asked = true
	z.partition(p, t, literal)
	return t, true
}

// Count counts a use of a trace, and reports whether SpecializeBlock has something to do.
func (z *Specializer) Count(t *Specialization) bool {
	t.seen++
	return !t.asked && (t.seen == 1 || z.isDue(t))
}

// Reuse reports whether a trace does with a specialization that gives more than its values,
// rather than to have its own compiled, and counts that.
func (z *Specializer) Reuse(t *Specialization) bool {
	if t.seen >= z.Enough*oftenEnough {
		return false
	}
	t.seen++
	return true
}

// partition cuts a program into fusions, apart from the goroutine of the owner.
func (z *Specializer) partition(p *Program, t *Specialization, literal []byte) {
	target := *z.cfg.Kernels.Target()
	t.startCompiling()
	c := NewPartitioner(&target, z.Evaluator(), p, literal)
	c.cutting = z.Cutting
	var body *Block
	z.cfg.Aside(kernels.WorkPlan, func(w *sched.Worker) (err error) {
		c.yield = func() error {
			if p.Gone() {
				return sched.ErrCancelled
			}
			return w.Yield()
		}
		body, err = c.Partition(p.Body)
		return err
	}, func(err error) {
		if err != nil {
			if !errors.Is(err, sched.ErrCancelled) {
				z.cfg.Log.Error().Err(err).Msg("a program could not be partitioned into fusions; it runs one instruction at a time")
			}
			z.finish(t)
			return
		}
		z.planAll(p, t, body, c.fusions)
	})
}

// planAll asks for the plans of all fusions of a program, in slices: there may be thousands. Runs
// use the fusions from when all have been asked for. A program that goes meanwhile needs none.
func (z *Specializer) planAll(p *Program, t *Specialization, body *Block, fusions []*Fusion) {
	asked := make(map[*kernels.Plan]bool)
	queue.InSlices(z.cfg.Post, len(fusions), func(i int) bool {
		if p.Gone() {
			return false
		}
		f := fusions[i]
		f.Plan = z.cfg.Kernels.Fusion(f.key, z.lower(f))
		if !asked[f.Plan] { // fusions that are alike share one
			asked[f.Plan] = true
			z.await(t, f.Plan)
		}
		return true
	}, func(all bool) {
		if all && !p.Gone() {
			t.Body = body
		}
		z.finish(t)
	})
}

// lower returns what makes the plan of a fusion. It may be called from any goroutine.
func (z *Specializer) lower(f *Fusion) func(*synth.Target) (*synth.Plan, error) {
	return func(t *synth.Target) (*synth.Plan, error) {
		p, err := f.Lower(t)
		if err != nil {
			z.cfg.Log.Debug().Err(err).Int("instructions", len(f.Body)).Msg("fusion without a kernel")
		}
		return p, err
	}
}
