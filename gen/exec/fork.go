package exec

import (
	"slices"

	"nxvk/gen/exec/queue"
	"nxvk/gen/store"
	"nxvk/gen/wire"
	"nxvk/ops"
)

// A run that loops or calls back may take any time. It leaves the order of its
// session: it goes on in a lane of its own, a fork, and what it will make is
// pending. Whatever needs a pending value follows it there, and what needs
// values of two forks waits in one of them for the other; everything else goes
// on. Each fork has its requests in the order in which the session made them, so
// the oldest one of all can always go on.

// home is the lane of the session, which a fork left.
func (l *Lane) home() *Lane {
	if l.from != nil {
		return l.from
	}
	return l
}

// fork begins a lane for a run.
func (l *Lane) fork() *Lane {
	f := &Lane{Session: l.Session, Orphan: l.Orphan, from: l}
	l.forks = append(l.forks, f)
	return f
}

// expect notes that values are pending on a fork.
func (f *Lane) expect(outs []ops.Result) {
	home := f.from
	if home.pending == nil {
		home.pending, home.makers = make(map[ops.ID]*Lane), make(map[ops.ID]*Lane)
		home.wanted = make(map[ops.ID]int)
	}
	for _, o := range outs {
		home.pending[o.ID], home.makers[o.ID] = f, f
		home.Session.Last = max(home.Session.Last, o.ID)
	}
}

// detour hands a request of the home lane to the fork that has what it needs.
func (e *Executor) detour(l *Lane, r request) bool {
	if l.from != nil || len(l.pending) == 0 {
		return false
	}
	f := l.pending[r.read]
	if r.in != nil && f == nil {
		f = l.pendingOf(r.in)
	}
	if f == nil {
		return false
	}
	if r.in != nil {
		r.prog = l.programs.byKey[r.in.Key]
		r.held = l.hold(r.in)
		r.wants = l.want(r.in)
		f.expect(r.in.Outs)
	}
	f.queue = append(f.queue, r)
	e.advance(f)
	return true
}

// pendingOf finds a fork that an instruction needs a value of, or frees one of.
func (l *Lane) pendingOf(in *wire.Instr) *Lane {
	for i := range in.Ins {
		if f := l.pending[in.Ins[i].ID]; f != nil {
			return f
		}
	}
	if in.Op != ops.Free || in.Err != nil {
		return nil
	}
	// What is pending is freed there, the rest here and now.
	var f *Lane
	in.Attrs[0] = slices.DeleteFunc(in.Attrs[0], func(id int) bool {
		g := l.pending[ops.ID(id)]
		if g == nil {
			l.Session.Delete(ops.ID(id))
			return true
		}
		f = g
		delete(l.pending, ops.ID(id)) // whoever asks for it from now on is told so
		return false
	})
	return f
}

// want counts, among the requests in forks, those that work on a value which is
// pending: it is not freed before them.
func (l *Lane) want(in *wire.Instr) (wants []ops.ID) {
	for i := range in.Ins {
		if id := in.Ins[i].ID; l.pending[id] != nil {
			l.wanted[id]++
			wants = append(wants, id)
		}
	}
	return wants
}

// hold keeps what an instruction needs and is there: the session may free it
// before the turn of the instruction comes.
func (l *Lane) hold(in *wire.Instr) map[ops.ID]store.Value {
	var held map[ops.ID]store.Value
	for i := range in.Ins {
		id := in.Ins[i].ID
		v, ok := l.Session.Get(id)
		if in.Ins[i].Lit != nil || !ok || l.makers[id] != nil {
			continue
		}
		if _, have := held[id]; have {
			continue
		}
		if held == nil {
			held = make(map[ops.ID]store.Value)
		}
		if v.Mem != nil {
			v.Mem.Retain()
		}
		held[id] = v
	}
	return held
}

// release lets go of what a request held.
func (r *request) release() {
	for _, v := range r.held {
		if v.Mem != nil {
			v.Mem.Drop()
		}
	}
	r.held = nil
}

// elsewhere reports whether a fork has to wait for another one before it can
// carry out an instruction.
func (f *Lane) elsewhere(in *wire.Instr) bool {
	for i := range in.Ins {
		if g := f.from.makers[in.Ins[i].ID]; g != nil && g != f && in.Ins[i].Lit == nil {
			return true
		}
	}
	if in.Op == ops.Free && in.Err == nil {
		for _, id := range in.Attrs[0] {
			if g := f.from.makers[ops.ID(id)]; g != nil && g != f || f.from.wanted[ops.ID(id)] > 0 {
				return true
			}
		}
	}
	return false
}

// forked does what follows when a fork has served a request: what that made is
// there, and forks that wait for it go on.
func (e *Executor) forked(f *Lane, r *request) {
	home := f.from
	r.release()
	if r.in != nil {
		for _, id := range r.wants {
			if home.wanted[id]--; home.wanted[id] == 0 {
				delete(home.wanted, id)
			}
		}
		for _, o := range r.in.Outs {
			if home.makers[o.ID] == f {
				delete(home.makers, o.ID)
			}
			if home.pending[o.ID] == f {
				delete(home.pending, o.ID)
			}
		}
	}
	if len(f.queue) == 0 {
		home.forks = slices.DeleteFunc(home.forks, func(g *Lane) bool { return g == f })
	}
	for _, g := range slices.Clone(home.forks) {
		if g.awaits {
			g.awaits = false
			e.Resume(g)
		}
	}
}

// runApart gives a run that may take any time a fork. It reports false where
// the run has its place in the order of the session.
func (e *Executor) runApart(l *Lane, in *wire.Instr) bool {
	if l.from != nil || l.run != nil {
		return false
	}
	p, err := e.Program(l, in.Key)
	if err != nil || !p.open {
		return false
	}
	r, types, err := e.start(l, in)
	if err != nil {
		e.poison(l, in, types, err)
		return true
	}
	f := l.fork()
	f.run = r
	e.bounds(f, r)
	f.expect(in.Outs)
	f.queue = []request{{task: func(f *Lane) queue.Wait { return e.runProgram(f, in) }, in: in}}
	e.advance(f)
	return true
}

// end drops what a lane has in hand.
func (l *Lane) end() {
	for i := range l.queue {
		l.queue[i].release()
	}
	l.queue = nil
	if l.run != nil {
		l.run.drop()
		l.run = nil
	}
	for _, s := range []*segment{l.segment, l.running} {
		if s != nil {
			s.drop()
		}
	}
	l.segment, l.running = nil, nil
	l.dropJob()
	for _, x := range l.above {
		x.End()
	}
	l.above = nil
	l.dropVerdict()
	for _, f := range l.forks {
		f.end()
	}
	l.forks, l.pending, l.makers, l.wanted = nil, nil, nil, nil
}

// afterForks calls done when the forks of a lane have served what they have in
// hand now.
func (e *Executor) afterForks(l *Lane, done func()) {
	left := 1
	one := func() {
		if left--; left == 0 {
			done()
		}
	}
	for _, f := range slices.Clone(l.forks) {
		left++
		f.queue = append(f.queue, request{task: func(*Lane) queue.Wait {
			one()
			return 0
		}})
	}
	one()
}
