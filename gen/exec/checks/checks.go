package checks

import (
	"encoding/binary"
	"fmt"
	"slices"

	"nxvk/fallback"
	"nxvk/fallback/sched"
	"nxvk/gen/exec/feed"
	"nxvk/gen/exec/hostjob"
	"nxvk/gen/exec/kernels"
	"nxvk/gen/exec/placement"
	"nxvk/gen/store"
	"nxvk/gen/wire"
	"nxvk/ops"
	"nxvk/synth"
	"nxvk/vulkan"
)

// Checker finds the errors of checks. It is for one goroutine.
type Checker struct {
	Error  func(error) error                                                // gives an error of the device its kind
	Aside  func(what string, f func(*sched.Worker) error, then func(error)) // runs f elsewhere, and then there
	Failed *uint64                                                          // counts results that carry a new error
}

// Note says where the client has sent an instruction; empty where it has not said so.
type Note func(*wire.Instr) string

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

// List are the checks of a plan that is being recorded.
type List []*check

// Open begins the checks of a plan.
func (ck *Checker) Open(f *feed.Feed, note Note, w *placement.Work, p *kernels.Plan) (list List, err error) {
	for _, c := range p.Checks {
		k := ck.describe(note, w, c)
		k.word, err = f.OpenCheck(func(word uint32) { ck.conclude(f, k, word) })
		if err != nil {
			k.drop()
			list.drop()
			return nil, ck.Error(err)
		}
		list = append(list, k)
	}
	return list, nil
}

// drop ends checks whose plan is not recorded.
func (list List) drop() {
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

// Carried lists what values carry of checks.
func (list List) Carried() store.Checks {
	out := make(store.Checks, len(list))
	for i, c := range list {
		out[i] = &c.Check
	}
	return out
}

// Words lists the checks as the feed has them.
func (list List) Words() []*feed.Check {
	out := make([]*feed.Check, len(list))
	for i, c := range list {
		out[i] = c.word
	}
	return out
}

// Arg is the word of a check as a kernel has it.
func (list List) Arg(i int) vulkan.Arg { return list[i].word.Arg() }

// describe returns a check with all that its error needs.
func (ck *Checker) describe(note Note, w *placement.Work, c synth.Check) *check {
	in, types := w.Part(c.Instr)
	k := &check{in: ops.Instr{Op: in.Op, Attrs: in.Attrs}}
	if !c.Singular {
		k.shape, k.typ, k.indices = types[0].Shape, types[1], w.Args[c.Operand]
		k.indices.Retain()
	}
	of, text, types := wire.Instr{Name: in.Name, Instr: ops.Instr{Op: in.Op}}, note(in), slices.Clone(types)
	k.wrap = func(err error) error {
		*ck.Failed++
		return of.Fail(text, types, err)
	}
	return k
}

// Await calls resume when the submissions of a feed are complete if there are checks, which may hold
// indices that the session may have freed. It reports whether there is one to wait for.
func Await(f *feed.Feed, resume func()) bool {
	if f == nil || f.Checks() == 0 {
		return false
	}
	f.Flush()
	if f.InFlight() == 0 {
		return false
	}
	f.Throttle(resume)
	return true
}

// conclude settles a check of a feed, if need be when the host has the indices.
func (ck *Checker) conclude(f *feed.Feed, c *check, word uint32) {
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

// singular is the error that the host gives. It names the row of a triangle, or the matrix of
// a batch.
func (c *check) singular(word uint32) error {
	what := "matrix"
	if c.in.Op == ops.TriangularSolve {
		what = "row"
	}
	return c.wrap(placement.Fault(fmt.Errorf("%s %d: %w", what, word-1, fallback.ErrSingular)))
}

// findWrong gives end the error of the first index that is out of bounds.
func (ck *Checker) findWrong(c *check, data []byte, end func(error)) {
	ck.Aside(hostjob.WorkIndices, func(*sched.Worker) error {
		return fallback.CheckIndices(&c.in, c.shape, fallback.Value{Type: c.typ, Data: data[:c.typ.Bytes()]})
	}, func(err error) {
		if err == nil {
			err = fmt.Errorf("%v: an index is out of bounds", c.in.Op)
		}
		end(c.wrap(placement.Fault(err)))
	})
}

// OnHost lists the errors of the checks of a plan that the host has carried out; nil where there is none.
// The indices are on the host.
func (ck *Checker) OnHost(note Note, w *placement.Work, p *kernels.Plan, words [][]byte) []error {
	errs := make([]error, len(p.Checks))
	for i, word := range words {
		value := binary.LittleEndian.Uint32(word)
		if value == 0 {
			continue
		}
		c := ck.describe(note, w, p.Checks[i])
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
