package exec

import (
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"nxvk/gen/exec/kernels"
)

// A program, or a segment of a stream, that an earlier life of the node has compiled
// begins with its units: their kernels are in the archive, and what the driver made of
// them in its cache, so that waiting for them takes less time than compiling kernels for
// the single instructions would. What is archived of a program is only that it has been
// compiled; cutting it into units takes little time and gives the same ones.
//
// Where the host stands in for a processor (prompt.go), it has the first result sooner
// than units could be made, whatever is archived: such a program begins as one that
// nobody knows, so that no start is slower than the first, and gets its units when it is
// seen again. Those of their kernels of which the driver has made machine code in an
// earlier life, and so has it on disk, are made ready at once instead of being earned.
// Kernels themselves are not archived there: the host carries out what they are made of,
// which takes as long to make as their code.

// newTier returns the tier of a program for the literals that key marks.
func (e *Executor) newTier(p *Program, key []byte) *tier {
	if e.kernels.Archive() == nil {
		return &tier{}
	}
	target := *e.target
	target.Archive = nil
	t := &tier{mark: fmt.Sprintf("program %+v %x ", target, key) + string(p.body.structure(nil))}
	if e.kernels.Archive().Get(t.mark) != nil {
		t.known, t.early = !e.kernels.Interprets(), e.kernels.Interprets()
	}
	return t
}

// due reports whether a tier that has been seen so often gets its units.
func (e *Executor) due(t *tier) bool {
	return t.known || t.seen >= e.enough || t.early && t.seen >= earlySeen
}

// structure appends what a block looks like, but for the values of literals. Two
// programs that it takes for one are each compiled when first seen, no more.
func (b *block) structure(key []byte) []byte {
	key = binary.AppendUvarint(key, uint64(len(b.steps)))
	for _, p := range b.params {
		key = kernels.AppendType(key, p.Type)
	}
	for i := range b.steps {
		in := &b.steps[i].in
		key = binary.AppendUvarint(key, uint64(in.Op))
		for _, o := range in.Ins {
			key = binary.AppendUvarint(key, uint64(o.ID))
		}
		for _, o := range in.Outs {
			key = kernels.AppendType(key, o.Type)
		}
		key = kernels.AppendAttrs(key, in.Attrs)
		for _, r := range b.steps[i].regions {
			key = r.structure(key)
		}
	}
	return key
}

// form notes that the units of a tier are being made.
func (e *Executor) form(t *tier) {
	t.forming = true
	e.tiers = append(e.tiers, t)
}

// formed looks which tiers have all that they will have: runs that wait for them
// go on, and the archive is told.
func (e *Executor) formed() {
	var done []*tier
	e.tiers = slices.DeleteFunc(e.tiers, func(t *tier) bool {
		if e.makes(t) {
			return false
		}
		done = append(done, t)
		return true
	})
	for _, t := range done {
		t.forming, t.units = false, nil
		if e.kernels.Archive() != nil {
			e.kernels.Archive().Put(t.mark, []byte{1})
		}
		e.admit(t)
	}
	if len(done) > 0 {
		e.kernels.Save()
	}
}

// admit has the runs that wait for a tier begin.
func (e *Executor) admit(t *tier) {
	waiting := t.waiting
	t.waiting = nil
	for _, l := range waiting {
		e.Resume(l)
	}
}

// makes reports whether anything of a tier is still being made.
func (e *Executor) makes(t *tier) bool {
	if t.body == nil && !t.failed {
		return true
	}
	for _, f := range t.units {
		if f.plan.Err == kernels.ErrBeingMade {
			return true
		}
		for _, k := range f.plan.Kernels {
			if k.Asked() && !k.Done() {
				k.Then(e.formed)
				return true
			}
		}
	}
	return false
}

// tierPatience is how long runs wait for a tier at most: a driver may have lost
// what it had kept.
const tierPatience = 250 * time.Millisecond

// awaitsTier reports whether a run has to wait before it begins. One that an
// earlier life has compiled waits for its units; others begin with what there is.
func (e *Executor) awaitsTier(l *Lane, r *run) bool {
	t := r.tier
	if t == nil {
		return false
	}
	if t.known && t.forming && r.err == nil && e.lost == nil {
		if t.waiting == nil {
			time.AfterFunc(tierPatience, func() {
				e.cfg.Post(func() {
					t.known = false
					e.admit(t)
				})
			})
		}
		if !slices.Contains(t.waiting, l) {
			t.waiting = append(t.waiting, l)
		}
		return true
	}
	r.tier = nil
	if t.body != nil {
		r.stack[0].block = t.body
	}
	return false
}
