package exec

import (
	"encoding/binary"
	"fmt"
	"strings"

	"nxvk/gen/exec/kernels"
	"nxvk/gen/exec/queue"
	"nxvk/gen/wire"
	"nxvk/ops"
	"nxvk/synth"
)

// fusion is a step that carries out several instructions.
type fusion struct {
	unit  synth.Fusion
	key   string
	types map[ops.ID]ops.Type
	body  []wire.Instr // the instructions, one by one
	inner []ops.ID     // slots that they make and nobody else needs
	ends  [][]ops.ID   // for each instruction, those that end with it
	plan  *kernels.Plan
	needs []synth.Needs // see needed
}

// mostNames bounds the operations by which a fusion is called.
const mostNames = 6

// nameOf is what errors call a fusion: its operations in order, as add+multiply+sum.
func nameOf(body []wire.Instr) string {
	var names []string
	for i := range body {
		if n := len(names); n == 0 || names[n-1] != body[i].Name {
			names = append(names, body[i].Name)
		}
	}
	if len(names) > mostNames {
		names = append(names[:mostNames], "…")
	}
	return strings.Join(names, "+")
}

// innerOf lists the values of a fusion that end with it.
func innerOf(u *synth.Fusion) (ids []ops.ID) {
	outs := make(map[ops.ID]bool)
	for _, o := range u.Outs {
		outs[o.ID] = true
	}
	for i := range u.Body {
		for _, o := range u.Body[i].Outs {
			if !outs[o.ID] {
				ids = append(ids, o.ID)
			}
		}
	}
	return ids
}

// fusionKey is the structure of a fusion: what its plan depends on.
func fusionKey(u *synth.Fusion, types map[ops.ID]ops.Type) string {
	names := make(map[ops.ID]uint64)
	key := []byte("unit")
	for _, id := range u.Ins {
		names[id] = uint64(len(names))
		key = kernels.AppendType(key, types[id])
	}
	lits := make(map[*ops.Literal]uint64)
	for _, l := range u.Lits {
		lits[l] = uint64(len(lits))
		key = kernels.AppendType(key, l.Type)
	}
	for i := range u.Body {
		in := &u.Body[i]
		key = binary.AppendUvarint(key, uint64(in.Op))
		for _, o := range in.Ins {
			if o.Lit != nil {
				key = binary.AppendUvarint(append(key, 1), lits[o.Lit])
			} else {
				key = binary.AppendUvarint(append(key, 0), names[o.ID])
			}
		}
		for _, o := range in.Outs {
			names[o.ID] = uint64(len(names))
			key = kernels.AppendType(key, o.Type)
		}
		key = kernels.AppendAttrs(key, in.Attrs)
	}
	for _, o := range u.Outs {
		key = binary.AppendUvarint(key, names[o.ID])
	}
	return string(key)
}

func lowerFusion(u *synth.Fusion, types map[ops.ID]ops.Type, t *synth.Target) (p *synth.Plan, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	return synth.LowerFusion(u, func(id ops.ID) ops.Type { return types[id] }, t)
}

// runFusion carries out a step of several instructions: by its plan, or one by one
// where the plan is not there, or where there is so little to do that the host
// does it.
func (e *Executor) runFusion(l *Queue, r *run, s *step) (wait queue.Wait) {
	f, at := s.fusion, r.top()
	if l.job != nil && l.job.of == &s.in {
		if wait, again := e.collect(l, &s.in); !again {
			if wait == 0 {
				e.Counters.Instructions += uint64(len(f.body))
			}
			return wait
		}
	}
	if at.part > 0 || l.job != nil {
		return e.runOneByOne(l, r, f, at)
	}
	w, err := e.gather(l, &s.in)
	w.fusion = f
	defer w.drop()
	if err == nil && f.plan != nil && e.kernels.Made(f.plan) && e.lost == nil && !e.small(w) {
		if wait, done := e.runByPlan(l, w, s); wait != 0 || done {
			return wait
		}
	}
	return e.runOneByOne(l, r, f, at)
}

// runOneByOne carries out the instructions of a fusion, from where the frame stands.
func (e *Executor) runOneByOne(l *Queue, r *run, f *fusion, at *frame) (wait queue.Wait) {
	if f.ends == nil {
		f.ends = f.endings()
	}
	for ; at.part < len(f.body); at.part++ {
		if wait := e.execute(l, &f.body[at.part]); wait != 0 {
			return wait
		}
		for _, id := range f.ends[at.part] {
			r.clear(id)
		}
	}
	return 0
}

// endings lists, for each instruction, the inner slots that none after it needs.
func (f *fusion) endings() [][]ops.ID {
	inner := make(map[ops.ID]bool, len(f.inner))
	for _, id := range f.inner {
		inner[id] = true
	}
	ends := make([][]ops.ID, len(f.body))
	end := func(i int, id ops.ID) {
		if inner[id] {
			delete(inner, id)
			ends[i] = append(ends[i], id)
		}
	}
	for i := len(f.body) - 1; i >= 0; i-- {
		for _, o := range f.body[i].Ins {
			end(i, o.ID)
		}
		for _, o := range f.body[i].Outs {
			end(i, o.ID)
		}
	}
	return ends
}

// runByPlan carries out a fusion by its plan. It is not done where there is too little
// memory for all results at once: one by one, some of them may have it.
func (e *Executor) runByPlan(l *Queue, w *work, s *step) (wait queue.Wait, done bool) {
	if l.failed != nil {
		e.poison(l, &s.in, w.types, l.failed)
		return 0, true
	}
	w.settleLiterals()
	wait, err := e.carryOut(l, w, s.fusion.plan)
	if wait != 0 {
		return wait, false
	}
	if kernels.Refused(err) {
		return 0, false
	}
	if kind := wire.KindOf(err); err != nil && (kind == wire.OutOfMemory || kind == wire.Limit) {
		return 0, false
	}
	e.Counters.Instructions += uint64(len(s.fusion.body))
	if err != nil {
		e.poison(l, &s.in, w.types, err)
	}
	return 0, true
}
