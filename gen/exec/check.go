package exec

import (
	"encoding/binary"
	"fmt"
	"slices"

	"nxvk/fallback"
	"nxvk/fallback/sched"
	"nxvk/gen/exec/kernels"
	"nxvk/gen/exec/placement"
	"nxvk/gen/store"
	"nxvk/gen/wire"
	"nxvk/ops"
	"nxvk/synth"
	"nxvk/vulkan"
)

// Kernels check the indices that they read, and nobody waits for what they find: a result
// carries its check, and so does everything that is computed from it. When the submission
// is complete, the host looks at the word of the check. If it says that an index is out of
// bounds, the host reads the indices and finds the error that it would have given itself.
// Whoever reads a value, or a predicate, waits for its checks.

// check is a check of a plan that has been recorded.
type check struct {
	store.Check
	feed    *Feed
	word    word
	ticket  vulkan.Ticket
	sent    bool // ticket is that of the submission that has the check, or of a later one
	in      ops.Instr
	shape   ops.Shape      // of the tensor that is indexed
	indices *store.Storage // held until the check is settled
	typ     ops.Type       // of the indices
	wrap    func(error) error
}

// word is the place of a word that kernels write and the host reads.
type word struct {
	page *vulkan.Buffer
	at   int // bytes
}

// Words are wordStride apart, which all devices can bind. A page has pageWords of them.
const (
	wordStride = 256
	pageWords  = 64
)

// words are those of a feed. The lowest one is taken first, so that a loop, which records the
// same each time, has the same words each time, and its command buffer can be used again.
type words struct {
	pages []*vulkan.Buffer
	taken []bool
}

// take returns a word that is 0.
func (s *words) take(f *Feed) (word, error) {
	i := slices.Index(s.taken, false)
	if i < 0 {
		page, err := f.stream.Zeroed(wordStride * pageWords)
		if err != nil {
			return word{}, err
		}
		i = len(s.taken)
		s.pages, s.taken = append(s.pages, page), append(s.taken, make([]bool, pageWords)...)
	}
	s.taken[i] = true
	return word{s.pages[i/pageWords], i % pageWords * wordStride}, nil
}

// give takes a word back, which no submitted work uses.
func (s *words) give(w word) {
	clear(w.page.Bytes()[w.at : w.at+4])
	s.taken[slices.Index(s.pages, w.page)*pageWords+w.at/wordStride] = false
}

// drop frees the pages.
func (s *words) drop() {
	for _, p := range s.pages {
		p.Free()
	}
	s.pages, s.taken = nil, nil
}

// failed reports whether the kernel has found an index that is out of bounds.
func (w word) failed() bool { return binary.LittleEndian.Uint32(w.page.Bytes()[w.at:]) != 0 }

// arg is the word as an argument of a dispatch.
func (w word) arg() vulkan.Arg {
	return vulkan.Arg{Buffer: w.page, Offset: w.at, Size: 4, Access: vulkan.Write}
}

// openChecks begins the checks of a plan.
func (e *Executor) openChecks(l *Queue, w *placement.Work, p *kernels.Plan) ([]*check, error) {
	if len(p.Checks) == 0 {
		return nil, nil
	}
	f := e.Feed(l)
	list := make([]*check, 0, len(p.Checks))
	for _, c := range p.Checks {
		at, err := f.words.take(f)
		if err != nil {
			f.closeChecks(list)
			return nil, e.DeviceError(err)
		}
		k := e.describe(l, w, c)
		k.feed, k.word = f, at
		list = append(list, k)
	}
	return list, nil
}

// ofChecks lists what values carry of checks.
func ofChecks(list []*check) store.Checks {
	out := make(store.Checks, len(list))
	for i, c := range list {
		out[i] = &c.Check
	}
	return out
}

// describe returns a check with all that its error needs.
func (e *Executor) describe(l *Queue, w *placement.Work, c synth.Check) *check {
	in, types := w.Part(c.Instr)
	k := &check{in: ops.Instr{Op: in.Op, Attrs: in.Attrs}, shape: types[0].Shape, typ: types[1], indices: w.Args[c.Operand]}
	k.indices.Retain()
	of, note, types := wire.Instr{Name: in.Name, Instr: ops.Instr{Op: in.Op}}, l.note(in), slices.Clone(types)
	k.wrap = func(err error) error {
		e.Counters.Failed++
		return fault(&of, note, types, err)
	}
	return k
}

// closeChecks drops checks whose plan is not recorded.
func (f *Feed) closeChecks(list []*check) {
	for _, c := range list {
		f.words.give(c.word)
		c.indices.Drop()
	}
}

// mark notes which submission has the checks that have been recorded.
func (f *Feed) mark(t vulkan.Ticket) (any bool) {
	for _, c := range f.checks {
		if !c.sent {
			c.ticket, c.sent, any = t, true, true
		}
	}
	return any
}

// addChecks has checks settled when their plan, all of which has been recorded, has run.
func (e *Executor) addChecks(f *Feed, list []*check) {
	if len(list) == 0 {
		return
	}
	f.checks = append(f.checks, list...)
	if !slices.Contains(e.checking, f) {
		e.checking = append(e.checking, f)
	}
	if f.stream.Pending() == 0 {
		e.markLatest(f)
	}
}

// markLatest has the checks that have been recorded settled after the latest submission of a feed,
// which has nothing recorded.
func (e *Executor) markLatest(f *Feed) {
	if ticket, err := f.stream.Submit(); err == nil && f.mark(ticket) {
		e.dev.Notify(ticket, func(error) { e.cfg.Post(e.settleChecks) })
	}
}

// awaitChecks has a queue wait for the submissions of its session if there are checks, which
// hold indices that the session may have freed. It reports whether there is one to wait for.
func (e *Executor) awaitChecks(l *Queue) bool {
	f := e.Feed(l)
	if f == nil || len(f.checks) == 0 {
		return false
	}
	e.flush(f)
	if f.inFlight == 0 {
		return false
	}
	f.throttled = append(f.throttled, l)
	return true
}

// settleChecks looks at the words of all checks whose submission is complete.
func (e *Executor) settleChecks() {
	for i := 0; i < len(e.checking); {
		f := e.checking[i]
		for len(f.checks) > 0 && f.checks[0].sent && e.dev.Done(f.checks[0].ticket) {
			c := f.checks[0]
			f.checks = f.checks[1:]
			e.conclude(c)
		}
		if len(f.checks) > 0 {
			i++
			continue
		}
		e.checking = slices.DeleteFunc(e.checking, func(g *Feed) bool { return g == f })
		if f.ended {
			f.words.drop()
		}
	}
}

// conclude settles a check whose submission is complete, if need be when the host has the
// indices.
func (e *Executor) conclude(c *check) {
	failed := c.word.failed() && e.dev.Lost() == nil
	c.feed.words.give(c.word)
	if !failed {
		c.indices.Drop()
		c.Settle(nil)
		return
	}
	end := func(err error) {
		c.indices.Drop()
		c.Settle(err)
	}
	if c.indices.Host != nil {
		e.findWrong(c, c.indices.Host, end)
		return
	}
	feed := c.feed
	if feed.ended {
		feed = e.own
	}
	e.fetch(feed, c.indices, 0, c.typ.Bytes(), false, func(data []byte, release func(), err error) {
		if err != nil {
			end(err)
			return
		}
		e.findWrong(c, data, func(err error) {
			release()
			end(err)
		})
	})
}

// findWrong gives end the error of the first index that is out of bounds.
func (e *Executor) findWrong(c *check, data []byte, end func(error)) {
	e.Aside(nil, workIndices, func(*sched.Worker) error {
		return fallback.CheckIndices(&c.in, c.shape, fallback.Value{Type: c.typ, Data: data[:c.typ.Bytes()]})
	}, func(err error) {
		if err == nil {
			err = fmt.Errorf("%v: an index is out of bounds", c.in.Op)
		}
		end(c.wrap(placement.Fault(err)))
	})
}

// wrongIndices lists the errors of the checks of a plan that the host has carried out; nil
// where there is none. The indices are on the host.
func (e *Executor) wrongIndices(l *Queue, w *placement.Work, p *kernels.Plan, words [][]byte) []error {
	errs := make([]error, len(p.Checks))
	for i, word := range words {
		if binary.LittleEndian.Uint32(word) == 0 {
			continue
		}
		c := e.describe(l, w, p.Checks[i])
		err := fallback.CheckIndices(&c.in, c.shape, fallback.Value{Type: c.typ, Data: c.indices.Host[:c.typ.Bytes()]})
		c.indices.Drop()
		errs[i] = c.wrap(placement.Fault(err))
	}
	return errs
}
