package exec

import (
	"strings"
	"testing"
	"time"

	"nxvk/gen/etf"
	"nxvk/gen/wire"
	"nxvk/ops"
)

var u8 = ops.Type{DType: ops.U8}

// run runs a program.
func (r *rig) run(q *Queue, key string, outs []ops.Result, ins ...ops.Operand) {
	r.exec.Stream(q, []wire.Instr{{Name: "run", Instr: ops.Instr{Op: ops.Run, Outs: outs, Ins: ins}, Defines: wire.Defines{Key: key}}})
}

// doubling doubles a vector while the sum of it is below a bound, and counts.
func doubling(n int) *ops.Region {
	v, s := f32(n), f32()
	sum := op(ops.Sum, res(13, s), ref(10))
	sum.Attrs = [][]int{{0}, {0}}
	return &ops.Region{
		Params: []ops.Result{res(1, v), res(2, s), res(3, s)},
		Values: uses(4, 5),
		Body: []ops.Instr{{Op: ops.While, Outs: []ops.Result{res(4, v), res(5, s)}, Ins: uses(1, 3),
			Attrs: [][]int{nil, nil}, Regions: []*ops.Region{
				{Params: []ops.Result{res(10, v), res(11, s)}, Values: uses(14),
					Body: []ops.Instr{sum, op(ops.Less, res(14, u8), ref(13), ref(2))}},
				{Params: []ops.Result{res(20, v), res(21, s)}, Values: uses(22, 23), Body: []ops.Instr{
					op(ops.Add, res(22, v), ref(20), ref(20)),
					op(ops.Add, res(23, s), ref(21), scalar(1)),
				}},
			}}},
	}
}

func TestRunWhile(t *testing.T) {
	rigs(t, func(r *rig) {
		q := r.session()
		r.Define(q, "double", doubling(3))
		r.Tensor(q, 1, 1, 2, 3)
		r.run(q, "double", []ops.Result{res(2, f32(3)), res(3, f32())}, ref(1), scalar(100), scalar(0))
		r.Do(q, ops.Negate, 4, f32(3), nil, ref(2))
		r.Want(q, 2, 32, 64, 96)
		r.Want(q, 3, 5)
		r.Want(q, 4, -32, -64, -96)
		// The same program, whose condition is false at once.
		r.run(q, "double", []ops.Result{res(5, f32(3)), res(6, f32())}, ref(1), scalar(0), scalar(7))
		r.Want(q, 5, 1, 2, 3)
		r.Want(q, 6, 7)
	})
}

// TestRunMemory: what a program makes on its way is gone when it ends.
func TestRunMemory(t *testing.T) {
	rigs(t, func(r *rig) {
		q := r.session()
		r.Define(q, "double", doubling(3))
		r.Tensor(q, 1, 1, 2, 3)
		before := q.Session.Bytes()
		r.run(q, "double", []ops.Result{res(2, f32(3)), res(3, f32())}, ref(1), scalar(1e6), scalar(0))
		r.Want(q, 3, 18)
		r.Free(q, 2)
		r.Free(q, 3)
		r.Settle(time.Millisecond)
		if got := q.Session.Bytes(); got != before {
			t.Errorf("%d bytes are charged, %d before the run", got, before)
		}
		if n := q.Session.Buffers(); n != 1 {
			t.Errorf("%d values are held, want 1", n)
		}
	})
}

// TestRunBranch: one region runs, and may use what is outside.
func TestRunBranch(t *testing.T) {
	rigs(t, func(r *rig) {
		q, v := r.session(), f32(2)
		r.Define(q, "either", &ops.Region{
			Params: []ops.Result{res(1, v), res(2, f32())}, Values: append(uses(4), scalar(9)),
			Body: []ops.Instr{
				op(ops.Negate, res(3, v), ref(1)),
				{Op: ops.Branch, Outs: []ops.Result{res(4, v)}, Ins: uses(2), Attrs: [][]int{nil, nil}, Regions: []*ops.Region{
					{Values: uses(5), Body: []ops.Instr{op(ops.Add, res(5, v), ref(3), ref(3))}},
					{Values: uses(1)},
				}},
			}})
		r.Tensor(q, 1, 1, 2)
		outs := func(a, b ops.ID) []ops.Result { return []ops.Result{res(a, v), res(b, f32())} }
		r.run(q, "either", outs(2, 3), ref(1), scalar(-1))
		r.run(q, "either", outs(4, 5), ref(1), scalar(0))
		r.Want(q, 2, -2, -4)
		r.Want(q, 4, 1, 2)
		r.Want(q, 5, 9)
	})
}

func TestRunFaults(t *testing.T) {
	rigs(t, func(r *rig) {
		q := r.session()
		outs := func(a ops.ID) []ops.Result { return []ops.Result{res(a, f32(3)), res(a+1, f32())} }
		r.Tensor(q, 1, 1, 2, 3)
		r.run(q, "none", outs(10), ref(1))
		r.WantKind(q, 10, wire.UnknownProgram)

		broken := doubling(3)
		broken.Values = uses(22, 5)
		r.Define(q, "broken", broken)
		r.run(q, "broken", outs(12), ref(1), scalar(1), scalar(0))
		if err := r.WantKind(q, 12, wire.BadArgument); !strings.Contains(err.Error(), "id 22 is not defined here") {
			t.Error(err)
		}

		r.Define(q, "double", doubling(3))
		r.run(q, "double", outs(14), ref(1))
		r.WantKind(q, 14, wire.BadArgument)
		r.run(q, "double", []ops.Result{res(16, f32(4)), res(17, f32())}, ref(1), scalar(1), scalar(0))
		r.WantKind(q, 16, wire.BadArgument)
		// An operand that carries an error is that error.
		r.run(q, "double", outs(18), ref(16), scalar(1), scalar(0))
		r.WantKind(q, 18, wire.BadArgument)
		// Instructions of programs do not belong in the stream.
		r.Do(q, ops.Branch, 20, f32(), nil, scalar(1))
		r.WantKind(q, 20, wire.BadArgument)
		r.Want(q, 1, 1, 2, 3)
	})
}

// forever is a loop that does not end.
func forever() *ops.Region {
	s := f32()
	return &ops.Region{Params: []ops.Result{res(1, s)}, Values: uses(2), Body: []ops.Instr{{
		Op: ops.While, Outs: []ops.Result{res(2, s)}, Ins: uses(1), Attrs: [][]int{nil, nil}, Regions: []*ops.Region{
			{Params: []ops.Result{res(3, s)}, Values: []ops.Operand{scalar(1)}},
			{Params: []ops.Result{res(4, s)}, Values: uses(5), Body: []ops.Instr{op(ops.Add, res(5, s), ref(4), scalar(1))}},
		}}}}
}

// TestCancel: a loop without end holds nobody else up, and ends when asked.
func TestCancel(t *testing.T) {
	rigs(t, func(r *rig) {
		q, other := r.session(), r.session()
		r.Define(q, "forever", forever())
		r.run(q, "forever", []ops.Result{res(1, f32())}, scalar(0))
		r.Tensor(other, 1, 4, 5)
		r.Want(other, 1, 4, 5)
		r.Do(q, ops.Cancel, 0, ops.Type{}, [][]int{{1}})
		r.WantKind(q, 1, wire.Cancelled)
		r.Tensor(q, 2, 6)
		r.Want(q, 2, 6)
	})
}

// TestEndOfRun: a session that ends takes its loop along.
func TestEndOfRun(t *testing.T) {
	rigs(t, func(r *rig) {
		q := r.session()
		r.Define(q, "forever", forever())
		r.run(q, "forever", []ops.Result{res(1, f32())}, scalar(0))
		r.exec.End(q.Session)
		r.Settle(50 * time.Millisecond)
		if q.run != nil {
			t.Error("the loop goes on")
		}
	})
}

// TestCallback: hooks are sent and forgotten, callbacks are answered.
func TestCallback(t *testing.T) {
	rigs(t, func(r *rig) {
		q, v := r.session(), f32(2)
		pid := etf.Pid{Node: "a@b", ID: 3}
		r.Define(q, "ask", &ops.Region{Params: []ops.Result{res(1, v)}, Values: uses(3), Body: []ops.Instr{
			op(ops.Negate, res(2, v), ref(1)),
			{Op: ops.Hook, Ins: uses(1, 2), Attrs: [][]int{{7}}},
			{Op: ops.Callback, Ins: uses(2), Outs: []ops.Result{res(3, v)}, Attrs: [][]int{{8}}},
		}})
		var calls []Call
		r.exec.core.cfg.Call = func(c Call) { calls = append(calls, c) }
		run := func(id ops.ID) Call {
			calls = nil
			r.exec.Stream(q, []wire.Instr{{Name: "run", Defines: wire.Defines{Key: "ask", Callbacks: &pid},
				Instr: ops.Instr{Op: ops.Run, Outs: []ops.Result{res(id, v)}, Ins: uses(1)}}})
			r.Until(func() bool { return len(calls) == 2 })
			return calls[1]
		}
		r.Tensor(q, 1, 1, 2)
		c := run(2)
		if calls[0].Index != 7 || calls[0].Ref != 0 || len(calls[0].Data) != 2 {
			t.Errorf("hook %+v", calls[0])
		}
		r.exec.Answer(etf.Pid{Node: "x@y"}, c.Run, c.Ref, [][]byte{floats(0, 0)}, nil) // somebody else
		r.exec.Answer(pid, c.Run, c.Ref, [][]byte{floats(5, 6)}, nil)
		r.Want(q, 2, 5, 6)

		c = run(3)
		r.exec.Answer(pid, c.Run, c.Ref, [][]byte{floats(5)}, nil)
		r.WantKind(q, 3, wire.CallbackFailed)

		c = run(4)
		r.exec.interpreter.cancel(q, []int{4})
		r.WantKind(q, 4, wire.Cancelled)
		r.exec.Answer(pid, c.Run, c.Ref, [][]byte{floats(5, 6)}, nil) // too late
		r.run(q, "ask", []ops.Result{res(5, v)}, ref(1))
		r.WantKind(q, 5, wire.BadArgument)
	})
}
