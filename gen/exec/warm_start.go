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

// begin returns the specialization of a program for the literals that key marks.
func (z *Specializer) begin(p *Program, key []byte) *specialization {
	k := z.cfg.Kernels
	if k.Archive() == nil {
		return &specialization{}
	}
	target := *k.Target()
	target.Archive = nil
	t := &specialization{mark: fmt.Sprintf("program %+v %x ", target, key) + string(p.body.appendSignature(nil))}
	if k.Archive().Get(t.mark) != nil {
		t.warm, t.early = !k.Interprets(), k.Interprets()
	}
	return t
}

// due reports whether a specialization that has been seen so often gets its fusions.
func (z *Specializer) due(t *specialization) bool {
	return t.warm || t.seen >= z.Enough || t.early && t.seen >= earlySeen
}

// appendSignature appends what a block looks like, but for the values of literals. Two
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

// startForming notes that the fusions of a specialization are being made.
func (z *Specializer) startForming(t *specialization) {
	t.forming = true
	z.forming = append(z.forming, t)
}

// settleForming looks which specializations have all that they will have: runs that wait for them
// go on, and the archive is told.
func (z *Specializer) settleForming() {
	var done []*specialization
	z.forming = slices.DeleteFunc(z.forming, func(t *specialization) bool {
		if z.isForming(t) {
			return false
		}
		done = append(done, t)
		return true
	})
	k := z.cfg.Kernels
	for _, t := range done {
		t.forming, t.fusions = false, nil
		if k.Archive() != nil {
			k.Archive().Put(t.mark, []byte{1})
		}
		t.admit()
	}
	if len(done) > 0 {
		k.Save()
	}
}

// admit has the runs that wait for a specialization begin.
func (t *specialization) admit() {
	waiting := t.waiting
	t.waiting = nil
	for _, begin := range waiting {
		begin()
	}
}

// isForming reports whether anything of a specialization is still being made.
func (z *Specializer) isForming(t *specialization) bool {
	if t.body == nil && !t.failed {
		return true
	}
	for _, f := range t.fusions {
		if f.plan.Err == kernels.ErrBeingMade {
			return true
		}
		for _, k := range f.plan.Kernels {
			if k.Asked() && !k.Done() {
				k.Then(z.settleForming)
				return true
			}
		}
	}
	return false
}

// warmStartPatience is how long runs wait for a specialization at most: a driver may have lost
// what it had kept.
const warmStartPatience = 250 * time.Millisecond

// Awaited reports whether a run waits for the fusions of a specialization before it begins.
// One that an earlier life has compiled does; others begin with what there is.
func (t *specialization) Awaited() bool { return t.warm && t.forming }

// Await has begin called when a specialization that is awaited need not be any more.
func (z *Specializer) Await(t *specialization, begin func()) {
	if t.waiting == nil {
		time.AfterFunc(warmStartPatience, func() {
			z.cfg.Post(func() {
				t.warm = false
				t.admit()
			})
		})
	}
	t.waiting = append(t.waiting, begin)
}
