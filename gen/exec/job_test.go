package exec

import (
	"math"
	"testing"
	"time"

	"nxvk/gen/exec/hostjob"
	"nxvk/gen/wire"
	"nxvk/ops"
)

// endless is a reduction whose function never ends.
func endless(id ops.ID) wire.Instr {
	loop := ops.Instr{Op: ops.While, Attrs: [][]int{{}, {}}, Ins: []ops.Operand{{ID: 1}}, Outs: []ops.Result{{ID: 3, Type: f32()}}, Regions: []*ops.Region{
		{Params: []ops.Result{{ID: 4, Type: f32()}}, Values: []ops.Operand{{Lit: &ops.Literal{Type: ops.Type{DType: ops.U8}, Data: []byte{1}}}}},
		{Params: []ops.Result{{ID: 5, Type: f32()}}, Values: []ops.Operand{{ID: 5}}},
	}}
	return wire.Instr{Name: "reduce", Instr: ops.Instr{Op: ops.ReduceFun, Attrs: [][]int{{0}, {0}, {}}, Ins: []ops.Operand{ref(1), scalar(0)},
		Outs: []ops.Result{{ID: id, Type: f32()}}, Regions: []*ops.Region{{
			Params: []ops.Result{{ID: 1, Type: f32()}, {ID: 2, Type: f32()}}, Body: []ops.Instr{loop}, Values: []ops.Operand{{ID: 3}}}}}}
}

// A function that never ends keeps nobody waiting but its own session, and stops with it.
func TestEndlessFunction(t *testing.T) {
	rigs(t, func(r *rig) {
		culprit, other := r.session(), r.session()
		r.Tensor(culprit, 1, 1, 2, 3)
		r.exec.Stream(culprit, []wire.Instr{endless(2)})
		r.Tensor(other, 1, 5, 6)
		r.Do(other, ops.Add, 2, f32(2), nil, ref(1), ref(1))
		r.Want(other, 2, 10, 12)
		r.Until(func() bool { return r.exec.core.cfg.Work.Stats().Started[hostjob.WorkInstruction] > 0 })
		r.exec.End(culprit.Session)
		r.Until(func() bool { return r.exec.core.cfg.Work.Stats().Tasks == 0 })
		r.Do(other, ops.Add, 3, f32(2), nil, ref(1), ref(1))
		r.Want(other, 3, 10, 12)
	})
}

// An instruction, or a run, that takes longer than the deadline of its session carries an
// error, and what comes after it goes on.
func TestDeadline(t *testing.T) {
	rigs(t, func(r *rig) {
		q := r.session()
		q.Session.Deadline = 10 * time.Millisecond
		r.Tensor(q, 1, 1, 2, 3)
		r.exec.Stream(q, []wire.Instr{endless(2)})
		r.Do(q, ops.Add, 3, f32(3), nil, ref(1), ref(1))
		r.WantKind(q, 2, wire.Deadline)
		q.Session.Deadline = time.Hour // a device may take long for what it does first
		r.Want(q, 3, 2, 4, 6)
		q.Session.Deadline = 10 * time.Millisecond
		body := endless(2).Instr
		r.exec.Stream(q, []wire.Instr{{Name: "program", Instr: ops.Instr{Op: ops.Program}, Defines: wire.Defines{Key: "slow",
			Program: &ops.Region{Params: []ops.Result{{ID: 1, Type: f32(3)}}, Body: []ops.Instr{body}, Values: []ops.Operand{{ID: 2}}}}},
			{Name: "run", Instr: ops.Instr{Op: ops.Run, Ins: []ops.Operand{ref(1)}, Outs: []ops.Result{{ID: 9, Type: f32()}}}, Defines: wire.Defines{Key: "slow"}}})
		r.WantKind(q, 9, wire.Deadline)
		q.Session.Deadline = time.Hour
		r.Want(q, 3, 2, 4, 6)
	})
}

// Much work on the host is a job, with the results that it has at once; what it works on
// may be freed meanwhile.
func TestJobs(t *testing.T) {
	r := newRig(t, nil)
	q := r.session()
	const n = 1 << 18
	r.Do(q, ops.Iota, 1, f32(n), [][]int{{-1}})
	r.Do(q, ops.Add, 2, f32(n), nil, ref(1), ref(1))
	r.Do(q, ops.Sort, 3, f32(n), [][]int{{0}, {1}, {0}}, ref(2))
	r.Free(q, 1)
	r.Free(q, 2)
	got, err := r.Read(q, 3, 0, math.MaxInt)
	if err != nil {
		t.Fatal(err)
	}
	for i, x := range got {
		if want := float32(2 * (n - 1 - i)); x != want {
			t.Fatalf("element %d is %v, want %v", i, x, want)
		}
	}
	if s := r.exec.core.cfg.Work.Stats(); s.Started[hostjob.WorkInstruction] < 3 {
		t.Errorf("%+v", s)
	}
	if q.Session.Buffers() != 1 {
		t.Errorf("%d values are left", q.Session.Buffers())
	}
}

// A queue with much in hand does not keep another one from its turn.
func TestTurns(t *testing.T) {
	r := newRig(t, nil)
	busy, other := r.session(), r.session()
	r.Tensor(busy, 1, 1, 2, 3)
	var many []wire.Instr
	for i := range 200_000 {
		many = append(many, wire.Instr{Name: "add", Instr: ops.Instr{Op: ops.Add, Ins: []ops.Operand{ref(1), ref(1)},
			Outs: []ops.Result{{ID: ops.ID(2 + i%5), Type: f32(3)}}}})
	}
	r.exec.Stream(busy, many)
	if busy.queue.Len() == 0 {
		t.Fatal("all was done in one turn")
	}
	r.Tensor(other, 1, 5, 6)
	r.Do(other, ops.Add, 2, f32(2), nil, ref(1), ref(1))
	r.Want(other, 2, 10, 12)
	if busy.queue.Len() == 0 {
		t.Error("the other one waited for all of it")
	}
	r.Want(busy, 2, 2, 4, 6)
}

// Queues that always have more have turns by the weights of their sessions.
func TestTurnWeights(t *testing.T) {
	r := newRig(t, nil)
	weights := []float64{0.1, 1, 2.5, 10}
	queues, had := make([]*Queue, len(weights)), make([]int, len(weights))
	for i, w := range weights {
		queues[i] = r.session()
		r.exec.SetWeight(queues[i], w)
		r.exec.queues.yield(queues[i])
	}
	for had[0] < 20 {
		(<-r.Posted)()
		for i, q := range queues {
			if q.waits == 0 {
				had[i]++
				r.exec.queues.yield(q)
			}
		}
	}
	for i, w := range weights {
		if got := float64(had[i]) / float64(had[1]); math.Abs(got/w-1) > 0.1 {
			t.Errorf("weight %v has %v times the turns of weight 1", w, got)
		}
	}
}

// What the host computes for a run that is ended holds nothing any more, whether the run has a queue of its own or not.
func TestEndedRunHoldsNothing(t *testing.T) {
	rigs(t, func(r *rig) {
		for _, loops := range []bool{false, true} {
			q := r.session()
			x := res(1, f32(3))
			body := []ops.Instr{endless(2).Instr}
			if loops { // a run that loops leaves the queue of its session
				inner := endless(6).Instr
				inner.Ins = []ops.Operand{ref(5), scalar(0)}
				body = []ops.Instr{{Op: ops.While, Attrs: [][]int{nil, nil}, Ins: uses(1), Outs: []ops.Result{res(2, f32(3))}, Regions: []*ops.Region{
					{Params: []ops.Result{res(4, f32(3))}, Values: []ops.Operand{scalar(1)}},
					{Params: []ops.Result{res(5, f32(3))}, Values: uses(7), Body: []ops.Instr{inner, op(ops.Add, res(7, f32(3)), ref(5), ref(6))}},
				}}}
			}
			out := f32()
			if loops {
				out = f32(3)
			}
			r.Define(q, "slow", &ops.Region{Params: []ops.Result{x}, Values: uses(2), Body: body})
			r.Tensor(q, 1, 1, 2, 3)
			started := r.exec.core.cfg.Work.Stats().Started[hostjob.WorkInstruction]
			r.run(q, "slow", []ops.Result{res(9, out)}, ref(1))
			r.Until(func() bool { return r.exec.core.cfg.Work.Stats().Started[hostjob.WorkInstruction] > started })
			v, _ := q.Session.Get(1)
			r.Do(q, ops.Cancel, 0, ops.Type{}, [][]int{{9}})
			r.WantKind(q, 9, wire.Cancelled)
			r.Do(q, ops.Free, 0, ops.Type{}, [][]int{{1, 9}})
			r.Until(func() bool { return v.Mem.Host == nil && v.Mem.Dev == nil })
		}
	})
}
