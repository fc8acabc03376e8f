package exec

import (
	"math"

	"nxvk/fallback/sched"
	"nxvk/ops"
)

// A program is compiled when it has been seen before. The first time, its instructions are carried out
// one by one, by kernels that other programs may have needed before. When it is
// seen again, its straight parts are cut into fusions (package synth), each a few
// kernels, which are compiled apart from the goroutine of the Executor; until a
// fusion is ready its instructions go on one by one. Both give the same bits.

// specialization is a program with the fusions of one set of literal parameters: kernels
// take those as push constants.
type specialization struct {
	seen int    // how often it has been asked for
	body *block // nil until the fusions are known

	// See warm_start.go.
	asked   bool      // its fusions have been asked for
	mark    string    // its name in the archive
	warm    bool      // an earlier life has compiled it, and the first run waits for its fusions
	early   bool      // an earlier life has compiled it, and the first run does not wait
	failed  bool      // it cannot be cut
	forming bool      // its fusions or their kernels are being made
	fusions []*fusion // once they are known
	waiting []*Queue
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

// specialize returns the specialization of a run, nil where there are none.
func (e *Executor) specialize(p *Program, lits []*ops.Literal) *specialization {
	if e.dev == nil || e.cfg.OneByOne {
		return nil
	}
	key := make([]byte, len(p.body.params))
	for i, param := range p.body.params {
		if lits[param.ID] != nil {
			key[i] = 1
		}
	}
	t := p.specializations[string(key)]
	if t == nil {
		if p.specializations == nil {
			p.specializations = make(map[string]*specialization)
		}
		if len(p.specializations) >= maxSpecializations {
			delete(p.specializations, p.rarest())
		}
		t = e.newSpecialization(p, key)
		p.specializations[string(key)] = t
	}
	if t.seen++; !t.asked && e.due(t) {
		t.asked = true
		e.partition(p, t, key)
	} else if t.seen == 1 {
		e.prefetch(p.body, lits)
	}
	return t
}

// rarest is the key of the specialization that has been asked for least.
func (p *Program) rarest() (key string) {
	least := math.MaxInt
	for k, t := range p.specializations {
		if t.seen < least || t.seen == least && k < key {
			key, least = k, t.seen
		}
	}
	return key
}

// maxSpecializations bounds the specializations of a program, by which parameters are literals.
const maxSpecializations = 16

// partition cuts a program into fusions, apart from the goroutine of the Executor.
func (e *Executor) partition(p *Program, t *specialization, literal []byte) {
	target, eval := *e.target, e.evaluator()
	e.startForming(t)
	var c partitioner
	var body *block
	e.Aside(nil, workPlan, func(*sched.Worker) (err error) {
		c = partitioner{target: &target, eval: eval, holes: make(map[*ops.Literal]ops.ID), stand: make(map[ops.ID]*ops.Literal), types: make(map[ops.ID]ops.Type)}
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
			t.body, t.fusions = body, c.fusions
			for _, u := range c.fusions {
				u.plan = e.planFusion(u)
			}
		}
		e.settleForming()
	})
}

// Enough is how often a program has to be seen to be compiled.
func (e *Executor) Enough() int { return e.enough }

// Building counts the plans and pipelines that are being made apart from the
// goroutine of the Executor.
func (e *Executor) Building() int { return e.building + e.kernels.Busy() }
