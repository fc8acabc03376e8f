package exec

import (
	"math"

	"nxvk/fallback/sched"
	"nxvk/ops"
)

// A program runs in two tiers. The first time, its instructions are carried out
// one by one, by kernels that other programs may have needed before. When it is
// seen again, its straight parts are cut into units (package synth), each a few
// kernels, which are compiled apart from the goroutine of the Executor; until a
// unit is ready its instructions go on one by one. Both give the same bits.

// tier is a program with the units of one set of literal parameters: kernels
// take those as push constants.
type tier struct {
	seen int    // how often it has been asked for
	body *block // nil until the units are known

	// See known.go.
	asked   bool     // its units have been asked for
	mark    string   // its name in the archive
	known   bool     // an earlier life has compiled it, and the first run waits for its units
	early   bool     // an earlier life has compiled it, and the first run does not wait
	failed  bool     // it cannot be cut
	forming bool     // its units or their kernels are being made
	units   []*fused // once they are known
	waiting []*Lane
}

// A program is compiled when it has been seen so often. The driver of a processor
// makes machine code of a kernel when that runs first, which takes as long as
// many runs do; that of a GPU does when it is compiled.
const (
	gpuSeen = 2
	cpuSeen = 12
	// earlySeen is how often where an earlier life has compiled it and the host stands in
	// for the first runs.
	earlySeen = 2
)

// tierOf returns the tier of a run, nil where there are none.
func (e *Executor) tierOf(p *Program, lits []*ops.Literal) *tier {
	if e.dev == nil || e.cfg.OneByOne {
		return nil
	}
	key := make([]byte, len(p.body.params))
	for i, param := range p.body.params {
		if lits[param.ID] != nil {
			key[i] = 1
		}
	}
	t := p.tiers[string(key)]
	if t == nil {
		if p.tiers == nil {
			p.tiers = make(map[string]*tier)
		}
		if len(p.tiers) >= maxTiers {
			delete(p.tiers, p.rarest())
		}
		t = e.newTier(p, key)
		p.tiers[string(key)] = t
	}
	if t.seen++; !t.asked && e.due(t) {
		t.asked = true
		e.fuse(p, t, key)
	} else if t.seen == 1 {
		e.askAhead(p.body, lits)
	}
	return t
}

// rarest is the key of the tier that has been asked for least.
func (p *Program) rarest() (key string) {
	least := math.MaxInt
	for k, t := range p.tiers {
		if t.seen < least || t.seen == least && k < key {
			key, least = k, t.seen
		}
	}
	return key
}

// maxTiers bounds the tiers of a program, by which parameters are literals.
const maxTiers = 16

// fuse cuts a program into units, apart from the goroutine of the Executor.
func (e *Executor) fuse(p *Program, t *tier, literal []byte) {
	target, eval := *e.target, e.evaluator()
	e.form(t)
	var c cutter
	var body *block
	e.Aside(nil, workPlan, func(*sched.Worker) (err error) {
		c = cutter{target: &target, eval: eval, holes: make(map[*ops.Literal]ops.ID), stand: make(map[ops.ID]*ops.Literal), types: make(map[ops.ID]ops.Type)}
		for i, param := range p.body.params {
			if literal[i] != 0 {
				c.hole(param)
			}
		}
		body, err = c.program(p.body)
		return err
	}, func(err error) {
		if err != nil {
			e.cfg.Log.Error().Err(err).Msg("cut a program into units; it runs one instruction at a time")
			t.failed = true
		} else {
			t.body, t.units = body, c.fused
			for _, u := range c.fused {
				u.plan = e.unitPlan(u)
			}
		}
		e.formed()
	})
}

// Enough is how often a program has to be seen to be compiled.
func (e *Executor) Enough() int { return e.enough }

// Building counts the plans and pipelines that are being made apart from the
// goroutine of the Executor.
func (e *Executor) Building() int { return e.building + e.kernels.Busy() }
