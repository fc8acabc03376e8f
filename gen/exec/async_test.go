package exec

import (
	"testing"
	"time"

	"nxvk/gen/etf"
	"nxvk/gen/wire"
	"nxvk/ops"
)

// asks is a program that adds what a callback gives to its parameter.
func asks() *ops.Region {
	s := f32()
	return &ops.Region{Params: []ops.Result{res(1, s)}, Values: uses(3), Body: []ops.Instr{
		{Op: ops.Callback, Outs: []ops.Result{res(2, s)}, Attrs: [][]int{{0}}},
		op(ops.Add, res(3, s), ref(1), ref(2)),
	}}
}

var asked = etf.Pid{Node: "a@b", ID: 3}

// ask begins a run of asks, whose answer makes its result.
func (r *rig) ask(q *Queue, out ops.ID, in ops.Operand) {
	r.exec.Stream(q, []wire.Instr{{Name: "run", Defines: wire.Defines{Key: "asks", Callbacks: &asked},
		Instr: ops.Instr{Op: ops.Run, Outs: []ops.Result{res(out, f32())}, Ins: []ops.Operand{in}}}})
}

// async runs are rigs with the program and a list of what has been asked.
func asyncRuns(t *testing.T, test func(r *rig, q *Queue, answer func(run ops.ID, v float32))) {
	rigs(t, func(r *rig) {
		q := r.session()
		calls := make(map[ops.ID]Call)
		r.exec.core.cfg.Call = func(c Call) { calls[c.Run] = c }
		r.Define(q, "asks", asks())
		test(r, q, func(run ops.ID, v float32) {
			r.Until(func() bool { return calls[run].Ref != 0 })
			r.exec.Answer(asked, run, calls[run].Ref, [][]byte{floats(v)}, nil)
		})
		if len(q.asyncs) != 0 || len(q.pending) != 0 {
			t.Errorf("%d async runs and %d pending values are left", len(q.asyncs), len(q.pending))
		}
	})
}

// TestAsyncRunGoesOn: what needs nothing of a run does not wait for it.
func TestAsyncRunGoesOn(t *testing.T) {
	asyncRuns(t, func(r *rig, q *Queue, answer func(ops.ID, float32)) {
		r.Tensor(q, 1, 4)
		r.ask(q, 2, scalar(1))
		r.Do(q, ops.Negate, 3, f32(), nil, ref(2)) // waits
		r.Do(q, ops.Negate, 4, f32(1), nil, ref(1))
		r.Want(q, 4, -4)
		turned := false
		r.exec.Barrier(q, func(err error) { turned = err == nil })
		r.Until(func() bool { return turned })
		synced := false
		r.exec.Sync(q, func(err error) { synced = err == nil })
		r.Settle(10 * time.Millisecond)
		if synced {
			t.Error("sync did not wait for the run")
		}
		answer(2, 10)
		r.Want(q, 3, -11)
		r.Until(func() bool { return synced })
	})
}

// TestAsyncRunHolds: operands that are freed while an instruction waits are there
// when its turn comes, and gone after that.
func TestAsyncRunHolds(t *testing.T) {
	asyncRuns(t, func(r *rig, q *Queue, answer func(ops.ID, float32)) {
		r.Tensor(q, 1, 4)
		r.ask(q, 2, scalar(1))
		r.Do(q, ops.Add, 3, f32(1), nil, ref(1), ref(2))
		r.Free(q, 1)
		r.exec.Stream(q, []wire.Instr{{Name: "free", Instr: ops.Instr{Op: ops.Free, Attrs: [][]int{{1, 2}}}}})
		r.WantKind(q, 1, wire.UnknownID)
		answer(2, 10)
		r.Want(q, 3, 15)
		r.WantKind(q, 2, wire.UnknownID)
		r.Free(q, 3)
		r.Settle(time.Millisecond)
		if n := q.Session.Bytes(); n != 0 {
			t.Errorf("%d bytes are left", n)
		}
	})
}

// TestAsyncRunsMeet: an instruction that needs two runs waits for both, whichever
// ends first.
func TestAsyncRunsMeet(t *testing.T) {
	for _, order := range [][]ops.ID{{1, 2}, {2, 1}} {
		asyncRuns(t, func(r *rig, q *Queue, answer func(ops.ID, float32)) {
			r.ask(q, 1, scalar(1))
			r.ask(q, 2, scalar(2))
			r.Do(q, ops.Subtract, 3, f32(), nil, ref(1), ref(2))
			r.Do(q, ops.Subtract, 4, f32(), nil, ref(2), ref(1))
			r.ask(q, 5, ref(3)) // a run that needs a run
			r.Free(q, 1)
			r.Free(q, 2)
			for _, id := range order {
				answer(id, 10*float32(id))
			}
			answer(5, 100)
			r.Want(q, 3, -11)
			r.Want(q, 4, 11)
			r.Want(q, 5, 89)
		})
	}
}

// TestAsyncRunsFree: a value of a run that has ended is there for an instruction that waits for another run, although it
// is freed meanwhile.
func TestAsyncRunsFree(t *testing.T) {
	for _, first := range []ops.ID{1, 2} {
		asyncRuns(t, func(r *rig, q *Queue, answer func(ops.ID, float32)) {
			r.ask(q, 1, scalar(1))
			r.ask(q, 2, scalar(2))
			r.Do(q, ops.Subtract, 3, f32(), nil, ref(1), ref(2))
			answer(first, 10*float32(first))
			r.Until(func() bool { return q.pending[first] == nil })
			r.Free(q, first)
			answer(3-first, 10*float32(3-first))
			r.Free(q, 3-first)
			r.Want(q, 3, -11)
			r.WantKind(q, first, wire.UnknownID)
			r.Free(q, 3)
			r.Settle(time.Millisecond)
			if n := q.Session.Bytes(); n != 0 {
				t.Errorf("%d bytes are left", n)
			}
		})
	}
}

// TestAsyncRunEnds: a session that ends takes its async runs along, and what they hold.
func TestAsyncRunEnds(t *testing.T) {
	asyncRuns(t, func(r *rig, q *Queue, answer func(ops.ID, float32)) {
		r.Tensor(q, 1, 4)
		r.ask(q, 2, scalar(1))
		r.Do(q, ops.Add, 3, f32(1), nil, ref(1), ref(2))
		v, _ := q.Session.Get(1)
		r.exec.End(q.Session)
		r.Settle(time.Millisecond)
		if v.Mem.Host != nil || v.Mem.Dev != nil {
			t.Error("an operand of the instruction that waited is still held")
		}
	})
}

// TestAsyncRunImport: another session may import what is pending.
func TestAsyncRunImport(t *testing.T) {
	asyncRuns(t, func(r *rig, q *Queue, answer func(ops.ID, float32)) {
		r.ask(q, 2, scalar(1))
		other := r.session()
		r.exec.Stream(other, []wire.Instr{{Name: "import", Shared: &wire.Shared{
			ID: 2, Key: q.Session.Key, Owner: etf.Pid{Node: "test@host", ID: uint32(q.Session.Owner.ID), Creation: 7}},
			Instr: ops.Instr{Op: ops.Import, Outs: []ops.Result{res(1, f32())}}}})
		answer(2, 10)
		r.Want(other, 1, 11)
		r.Want(q, 2, 11)
	})
}
