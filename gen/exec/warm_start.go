package exec

import (
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"nxvk/gen/exec/kernels"
)

// A program, or a trace of a stream, that an earlier life of the node has compiled
// begins with its fusions: their kernels are in the archive, and what the driver made of
// them in its cache, so that waiting for them takes less time than compiling kernels for
// the single instructions would. What is archived of a program is only that it has been
// compiled; cutting it into fusions takes little time and gives the same ones.
//
// Where the host stands in for a processor (interpret.go), it has the first result sooner
// than fusions could be made, whatever is archived: such a program begins as one that
// nobody knows, so that no start is slower than the first, and gets its fusions when it is
// seen again. Those of their kernels of which the driver has made machine code in an
// earlier life, and so has it on disk, are made ready at once instead of being earned.
// Kernels themselves are not archived there: the host carries out what they are made of,
// which takes as long to make as their code.

// newSpecialization returns the specialization of a program for the literals that key marks.
func (e *Executor) newSpecialization(p *Program, key []byte) *specialization {
	if e.kernels.Archive() == nil {
		return &specialization{}
	}
	target := *e.target
	target.Archive = nil
	t := &specialization{mark: fmt.Sprintf("program %+v %x ", target, key) + string(p.body.appendSignature(nil))}
	if e.kernels.Archive().Get(t.mark) != nil {
		t.warm, t.early = !e.kernels.Interprets(), e.kernels.Interprets()
	}
	return t
}

// due reports whether a specialization that has been seen so often gets its fusions.
func (e *Executor) due(t *specialization) bool {
	return t.warm || t.seen >= e.enough || t.early && t.seen >= earlySeen
}

// structure appends what a block looks like, but for the values of literals. Two
// programs that it takes for one are each compiled when first seen, no more.
func (b *block) appendSignature(key []byte) []byte {
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
			key = r.appendSignature(key)
		}
	}
	return key
}

// form notes that the fusions of a specialization are being made.
func (e *Executor) startForming(t *specialization) {
	t.forming = true
	e.forming = append(e.forming, t)
}

// settleForming looks which specializations have all that they will have: runs that wait for them
// go on, and the archive is told.
func (e *Executor) settleForming() {
	var done []*specialization
	e.forming = slices.DeleteFunc(e.forming, func(t *specialization) bool {
		if e.isForming(t) {
			return false
		}
		done = append(done, t)
		return true
	})
	for _, t := range done {
		t.forming, t.fusions = false, nil
		if e.kernels.Archive() != nil {
			e.kernels.Archive().Put(t.mark, []byte{1})
		}
		e.admit(t)
	}
	if len(done) > 0 {
		e.kernels.Save()
	}
}

// admit has the runs that wait for a specialization begin.
func (e *Executor) admit(t *specialization) {
	waiting := t.waiting
	t.waiting = nil
	for _, l := range waiting {
		e.Resume(l)
	}
}

// isForming reports whether anything of a specialization is still being made.
func (e *Executor) isForming(t *specialization) bool {
	if t.body == nil && !t.failed {
		return true
	}
	for _, f := range t.fusions {
		if f.plan.Err == kernels.ErrBeingMade {
			return true
		}
		for _, k := range f.plan.Kernels {
			if k.Asked() && !k.Done() {
				k.Then(e.settleForming)
				return true
			}
		}
	}
	return false
}

// warmStartPatience is how long runs wait for a specialization at most: a driver may have lost
// what it had kept.
const warmStartPatience = 250 * time.Millisecond

// awaitWarmStart reports whether a run has to wait before it begins. One that an
// earlier life has compiled waits for its fusions; others begin with what there is.
func (e *Executor) awaitWarmStart(l *Queue, r *run) bool {
	t := r.specialization
	if t == nil {
		return false
	}
	if t.warm && t.forming && r.err == nil && e.lost == nil {
		if t.waiting == nil {
			time.AfterFunc(warmStartPatience, func() {
				e.cfg.Post(func() {
					t.warm = false
					e.admit(t)
				})
			})
		}
		if !slices.Contains(t.waiting, l) {
			t.waiting = append(t.waiting, l)
		}
		return true
	}
	r.specialization = nil
	if t.body != nil {
		r.stack[0].block = t.body
	}
	return false
}
