package exec

import (
	"nxvk/gen/exec/queue"
	"nxvk/ops"
)

// await notes that a slot gets its value of a collective.
func (r *run) await(x *collective) {
	if r.coming == nil {
		r.coming = make(map[ops.ID]*collective)
	}
	r.coming[x.in.Outs[0].ID] = x
}

// needsComing reports whether what a frame does next needs the result of a collective that is under way: a step
// that reads it, or one with regions, which may, or the end of the block.
func (r *run) needsComing(f *frame) bool {
	if len(r.coming) == 0 {
		return false
	}
	if f.pc == len(f.Steps) || len(f.Steps[f.pc].Regions) > 0 {
		return true
	}
	for _, in := range f.Steps[f.pc].In.Ins {
		if r.coming[in.ID] != nil && in.Lit == nil {
			return true
		}
	}
	return false
}

// arrived notes that a slot has the value of its collective, or an error. The run goes on where it has
// waited for that.
func (r *run) arrived(e *Executor, x *collective) {
	id := x.in.Outs[0].ID
	if r.coming[id] != x {
		return
	}
	delete(r.coming, id)
	if q := x.owner; q.run == r && q.waits == queue.ForMesh {
		e.Resume(q)
	}
}

// giveUp ends the collectives that are under way.
func (r *run) giveUp(e *Executor, err error) {
	coming := r.coming
	r.coming = nil
	for _, x := range coming {
		x.drop(err)
		e.Resume(x.queue)
	}
}
