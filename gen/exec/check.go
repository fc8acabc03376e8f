package exec

import (
	"encoding/binary"
	"fmt"
	"slices"

	"nxvk/fallback"
	"nxvk/fallback/sched"
	"nxvk/gen/exec/feed"
	"nxvk/gen/exec/kernels"
	"nxvk/gen/exec/placement"
	"nxvk/gen/store"
	"nxvk/gen/wire"
	"nxvk/ops"
	"nxvk/synth"
)

// Kernels check the indices that they read and the pivots that they divide by, and nobody waits
// for what they find: a result carries its check, and so does everything that is computed from it.
// When the submission is complete, the host looks at the word of the check. If it says that an
// index is out of bounds, the host reads the indices and finds the error that it would have given
// itself. If it names a singular matrix, the word has all that the error needs.
// Whoever reads a value, or a predicate, waits for its checks.

// checker says what is wrong where a kernel has found an index out of bounds or a singular matrix.
type checker struct {
	feed        func(*Queue) *feed.Feed
	deviceError func(error) error // gives an error of the device its kind
	resume      func(*Queue)
	jobs        *jobs
	failed      *uint64 // counts results that carry a new error
}

// check is a check of a plan that has been recorded.
type check struct {
	store.Check
	word    *feed.Check
	in      ops.Instr
	shape   ops.Shape      // of the tensor that is indexed
	indices *store.Storage // held until the check is settled; nil if the check is singular
	typ     ops.Type       // of the indices
	wrap    func(error) error
}

// checks are those of a plan.
type checks []*check

// open begins the checks of a plan.
func (ck *checker) open(q *Queue, w *placement.Work, p *kernels.Plan) (list checks, err error) {
	f := ck.feed(q)
	for _, c := range p.Checks {
		k := ck.describe(q, w, c)
		k.word, err = f.OpenCheck(func(word uint32) { ck.conclude(f, k, word) })
		if err != nil {
			k.drop()
			list.drop()
			return nil, ck.deviceError(err)
		}
		list = append(list, k)
	}
	return list, nil
}

// drop ends checks whose plan is not recorded.
func (list checks) drop() {
	for _, c := range list {
		c.word.Drop()
		c.drop()
	}
}

// drop lets go of the indices.
func (c *check) drop() {
	if c.indices != nil {
		c.indices.Drop()
	}
}

// carried lists what values carry of checks.
func (list checks) carried() store.Checks {
	out := make(store.Checks, len(list))
	for i, c := range list {
		out[i] = &c.Check
	}
	return out
}

// words lists the checks as the feed has them.
func (list checks) words() []*feed.Check {
	out := make([]*feed.Check, len(list))
	for i, c := range list {
		out[i] = c.word
	}
	return out
}

// describe returns a check with all that its error needs.
func (ck *checker) describe(q *Queue, w *placement.Work, c synth.Check) *check {
	in, types := w.Part(c.Instr)
	k := &check{in: ops.Instr{Op: in.Op, Attrs: in.Attrs}}
	if !c.Singular {
		k.shape, k.typ, k.indices = types[0].Shape, types[1], w.Args[c.Operand]
		k.indices.Retain()
	}
	of, note, types := wire.Instr{Name: in.Name, Instr: ops.Instr{Op: in.Op}}, q.note(in), slices.Clone(types)
	k.wrap = func(err error) error {
		*ck.failed++
		return fault(&of, note, types, err)
	}
	return k
}

// await has a queue wait for the submissions of its session if there are checks, which may
// hold indices that the session may have freed. It reports whether there is one to wait for.
func (ck *checker) await(q *Queue) bool {
	f := ck.feed(q)
	if f == nil || f.Checks() == 0 {
		return false
	}
	f.Flush()
	if f.InFlight() == 0 {
		return false
	}
	f.Throttle(func() { ck.resume(q) })
	return true
}

// conclude settles a check of a feed, if need be when the host has the indices.
func (ck *checker) conclude(f *feed.Feed, c *check, word uint32) {
	switch {
	case word == 0:
		c.drop()
		c.Settle(nil)
		return
	case c.indices == nil:
		c.Settle(c.singular(word))
		return
	}
	end := func(err error) {
		c.indices.Drop()
		c.Settle(err)
	}
	if c.indices.Host != nil {
		ck.findWrong(c, c.indices.Host, end)
		return
	}
	f.Living().Fetch(c.indices, 0, c.typ.Bytes(), false, func(data []byte, release func(), err error) {
		if err != nil {
			end(err)
			return
		}
		ck.findWrong(c, data, func(err error) {
			release()
			end(err)
		})
	})
}

// singular is the error that the host gives: which names the row of a triangle, or the matrix of
// a batch.
func (c *check) singular(word uint32) error {
	what := "matrix"
	if c.in.Op == ops.TriangularSolve {
		what = "row"
	}
	return c.wrap(placement.Fault(fmt.Errorf("%s %d: %w", what, word-1, fallback.ErrSingular)))
}

// findWrong gives end the error of the first index that is out of bounds.
func (ck *checker) findWrong(c *check, data []byte, end func(error)) {
	ck.jobs.aside(nil, workIndices, func(*sched.Worker) error {
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
func (ck *checker) wrongIndices(q *Queue, w *placement.Work, p *kernels.Plan, words [][]byte) []error {
	errs := make([]error, len(p.Checks))
	for i, word := range words {
		value := binary.LittleEndian.Uint32(word)
		if value == 0 {
			continue
		}
		c := ck.describe(q, w, p.Checks[i])
		if c.indices == nil {
			errs[i] = c.singular(value)
			continue
		}
		err := fallback.CheckIndices(&c.in, c.shape, fallback.Value{Type: c.typ, Data: c.indices.Host[:c.typ.Bytes()]})
		c.indices.Drop()
		errs[i] = c.wrap(placement.Fault(err))
	}
	return errs
}
