package program

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"time"

	"nxvk/gen/exec/kernels"
)

// A program, or a trace of a stream, that an earlier life of the node has compiled
// begins with its fusions: their kernels are in the archive, and what the driver made of
// them in its cache, so that waiting for them takes less time than compiling kernels for
// the single instructions would. What is archived of a program is only that it has been
// compiled; cutting it into fusions takes little time and gives the same ones.
//
// Where the host stands in for a processor (the warm-up of package kernels), it has the first result sooner
// than fusions could be made, whatever is archived: such a program begins as one that
// nobody knows, so that no start is slower than the first, and gets its fusions when it is
// seen again. If the driver has made machine code of a kernel in an earlier life of the
// node, and so has it on disk, the kernel is made ready at once instead of being earned.
// Kernels themselves are not archived there: the host carries out what they are made of,
// which takes as long to make as their code.

// newSpecialization returns the specialization of a program for the literals that key marks.
func (z *Specializer) newSpecialization(p *Program, key []byte) *Specialization {
	k := z.cfg.Kernels
	if k.Archive() == nil {
		return &Specialization{}
	}
	target := *k.Target()
	target.Archive = nil
	t := &Specialization{archiveKey: fmt.Sprintf("program %+v %x %x", target, key, p.signed())}
	if k.Archive().Get(t.archiveKey) != nil {
		t.warm, t.early = !k.Interprets(), k.Interprets()
	}
	return t
}

// isDue reports whether a specialization that has been seen so often gets its fusions.
func (z *Specializer) isDue(t *Specialization) bool {
	return t.warm || t.seen >= z.Enough || t.early && t.seen >= earlySeen
}

// signed returns the hash of what the program looks like, which New makes with the program:
// there it holds nobody up.
func (p *Program) signed() []byte {
	if p.signature == nil {
		sum := sha256.Sum256(p.Body.appendSignature(nil))
		p.signature = sum[:]
	}
	return p.signature
}

// appendSignature appends what a block looks like, but for the values of literals. Two
// programs that it takes for one are each compiled when first seen, no more.
func (b *Block) appendSignature(key []byte) []byte {
	key = binary.AppendUvarint(key, uint64(len(b.Steps)))
	for _, p := range b.Params {
		key = kernels.AppendType(key, p.Type)
	}
	for i := range b.Steps {
		in := &b.Steps[i].In
		key = binary.AppendUvarint(key, uint64(in.Op))
		for _, o := range in.Ins {
			key = binary.AppendUvarint(key, uint64(o.ID))
		}
		for _, o := range in.Outs {
			key = kernels.AppendType(key, o.Type)
		}
		key = kernels.AppendAttrs(key, in.Attrs)
		for _, r := range b.Steps[i].Regions {
			key = r.appendSignature(key)
		}
	}
	return key
}

// startCompiling notes that the fusions of a specialization are being made. finish ends that.
func (t *Specialization) startCompiling() { t.compiling, t.missing = true, 1 }

// await counts what is being made of a plan until it is.
func (z *Specializer) await(t *Specialization, p *kernels.Plan) {
	if p.Err == kernels.ErrBeingMade {
		t.missing++
		p.Then(func() {
			z.await(t, p)
			z.finish(t)
		})
		return
	}
	for _, k := range p.Kernels {
		if k.Asked() && !k.Done() {
			t.missing++
			k.Then(func() { z.finish(t) })
		}
	}
}

// finish notes that something of a specialization is made. When it has all that it will have,
// the runs that wait for it go on, and the archive is told.
func (z *Specializer) finish(t *Specialization) {
	if z.Noted++; t.missing > 1 {
		t.missing--
		return
	}
	t.compiling, t.missing = false, 0
	if k := z.cfg.Kernels; t.Body != nil {
		if k.Archive() != nil {
			k.Archive().Put(t.archiveKey, []byte{1})
		}
		k.Save()
	}
	t.admit()
}

// admit has the runs that wait for a specialization begin.
func (t *Specialization) admit() {
	waiting := t.waiting
	t.waiting = nil
	for _, begin := range waiting {
		begin()
	}
}

// warmStartPatience is how long runs wait for a specialization at most: a driver may have lost
// what it had kept.
const warmStartPatience = 250 * time.Millisecond

// Awaited reports whether a run waits for the fusions of a specialization before it begins.
// One that an earlier life has compiled does; others begin with what there is.
func (t *Specialization) Awaited() bool { return t.warm && t.compiling }

// Await has begin called when a specialization that is awaited need not be any more.
func (z *Specializer) Await(t *Specialization, begin func()) {
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
