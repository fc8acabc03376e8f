package exec

import (
	"slices"

	"nxvk/fallback"
	"nxvk/gen/exec/program"
	"nxvk/gen/exec/queue"
	"nxvk/gen/store"
	"nxvk/ops"
)

// A GPU would be idle in each round of a loop whose condition it computes: until the host has read the condition, and
// has recorded enough of the next round. So a run takes it that the condition holds, and records the round before it
// knows. It waits for the condition before whatever others could see: a hook, a callback, a collective, the end of another
// region. What the loop gives if the condition does not hold is kept.

const (
	// mostAhead is how many rounds a run begins before it knows of the first whether it takes place. With one, the device has
	// nothing to do where recording a round takes as long as carrying it out.
	mostAhead = 2
	// aheadBytes bounds what a run keeps for the case that a condition does not hold: it cannot be updated in place
	// meanwhile.
	aheadBytes = 1 << 20
)

// guess is a round that a run has begun before its condition is known.
type guess struct {
	step   *program.Step
	depth  int           // of the stack, without the loop
	result []store.Value // of the loop, if the condition does not hold; nothing where nobody needs it
	known  bool
	holds  bool
	err    error // why the condition has no value
	waits  bool  // the queue does
}

func (g *guess) release() {
	for _, v := range g.result {
		if v.Mem != nil {
			v.Mem.Drop()
		}
	}
}

// ask has the condition of a loop read that is on the device. It gives nil where the condition is not there, or where no round
// begins without it.
func (ip *interpreter) ask(q *Queue, r *run, f *frame, s *program.Step) *guess {
	o := f.Values[0]
	if ip.dev == nil || ip.target.CPU || o.Lit != nil || r.lits[o.ID] != nil || q.failed != nil || ip.keeps(s) > aheadBytes {
		return nil
	}
	v := r.slots[o.ID]
	if v.Failure() != nil || v.Mem == nil || v.Mem.Bring() || ip.feeds.Lost() != nil {
		return nil
	}
	g := &guess{step: s}
	v.Mem.Retain()
	ip.feed(q).Fetch(v.Mem, 0, v.Type.Bytes(), false, func(data []byte, release func(), err error) {
		if g.known, g.err = true, err; err == nil {
			g.holds = fallback.Nonzero(fallback.Value{Type: v.Type, Data: data})
		}
		if data != nil {
			release()
		}
		v.Mem.Drop()
		if g.waits {
			ip.queues.Resume(q)
		}
	})
	return g
}

// guess begins a round of a loop whose condition is not known yet.
func (ip *interpreter) guess(q *Queue, r *run, f *frame, g *guess) {
	g.result = make([]store.Value, len(f.Params))
	state := make([]store.Value, len(f.Params))
	for i, p := range f.Params {
		state[i] = ip.valueOf(q, r, ops.Operand{ID: p.ID})
		if g.step.Wanted(i) {
			g.result[i] = ip.valueOf(q, r, ops.Operand{ID: p.ID})
		}
	}
	ip.counters.Ahead++
	r.pop(f)
	g.depth = len(r.stack)
	r.guesses = append(r.guesses, g)
	ip.enter(q, r, g.step, 1, state)
}

// decide ends the condition of a loop: its parameters, the state, go to the body
// or are the results. See guess for a condition that is on the device: it is asked for before those of other rounds are
// confirmed, so that the device gets the round and the copy of its condition at once.
func (ip *interpreter) decide(q *Queue, r *run, f *frame, s *program.Step) (wait queue.Wait) {
	if r.asked == nil {
		r.asked = ip.ask(q, r, f, s)
	}
	g, most := r.asked, 0
	if g != nil && !g.known {
		most = mostAhead - 1
	}
	wait, over := ip.confirm(q, r, most)
	if wait != 0 {
		return wait
	}
	if r.asked = nil; over {
		return 0
	}
	var yes bool
	var err error
	switch {
	case g == nil:
		if yes, wait, err = ip.readPredicate(q, r, f.Values[0]); wait != 0 {
			return wait
		}
	case g.known:
		yes, err = g.holds, g.err
	default:
		ip.guess(q, r, f, g)
		return 0
	}
	state := make([]store.Value, len(f.Params))
	for i, p := range f.Params {
		state[i] = ip.valueOf(q, r, ops.Operand{ID: p.ID})
	}
	r.pop(f)
	switch {
	case err != nil:
		for _, v := range state {
			if v.Mem != nil {
				v.Mem.Drop()
			}
		}
		ip.fail(r, s, err)
	case yes:
		ip.enter(q, r, s, 1, state)
	default:
		r.give(s, state)
	}
	return 0
}

// keeps is the size of what a loop gives and somebody needs.
func (ip *interpreter) keeps(s *program.Step) (n int64) {
	for i, o := range s.In.Outs {
		if s.Wanted(i) {
			n += int64(o.Type.Bytes())
		}
	}
	return n
}

// confirm waits until the conditions of all rounds under way but so many are known. over says that one does not hold: the loop
// has ended with what that was given, and the rounds from it on have gone.
func (ip *interpreter) confirm(q *Queue, r *run, most int) (wait queue.Wait, over bool) {
	for len(r.guesses) > most {
		g := r.guesses[0]
		if !g.known {
			g.waits = true
			ip.feed(q).Flush() // the device goes on meanwhile
			return queue.ForReadback, false
		}
		if g.err != nil || !g.holds {
			ip.endLoop(q, r)
			return 0, true
		}
		g.release()
		r.guesses = slices.Delete(r.guesses, 0, 1)
	}
	return 0, false
}

// endLoop ends a loop whose first round under way does not take place.
func (ip *interpreter) endLoop(q *Queue, r *run) {
	g := r.guesses[0]
	for _, later := range r.guesses[1:] {
		later.release()
	}
	r.guesses = r.guesses[:0]
	q.failed = nil
	for len(r.stack) > g.depth {
		r.pop(r.top())
	}
	if g.err != nil {
		g.release()
		ip.fail(r, g.step, g.err)
		return
	}
	for i, o := range g.step.In.Outs {
		if g.step.Wanted(i) {
			r.set(o.ID, g.result[i])
		}
	}
	r.passed(g.step)
}

// readPredicate reads a predicate: whether a scalar is anything but zero. One that is
// only on the device is read back first.
func (ip *interpreter) readPredicate(q *Queue, r *run, o ops.Operand) (yes bool, wait queue.Wait, err error) {
	lit := o.Lit
	if lit == nil {
		lit = r.lits[o.ID]
	}
	if lit != nil {
		return fallback.Nonzero(fallback.Value{Type: lit.Type, Data: lit.Data}), 0, nil
	}
	v := r.slots[o.ID]
	switch {
	case v.Failure() != nil:
		return false, 0, v.Failure()
	case q.failed != nil:
		err, q.failed = q.failed, nil
		return false, 0, err
	case !v.Mem.Bring():
		wait, err = ip.transfers.ReadBack(q, v.Mem, v.Type)
		return false, wait, err
	}
	return fallback.Nonzero(fallback.Value{Type: v.Type, Data: v.Mem.Host[:v.Type.Bytes()]}), 0, nil
}
