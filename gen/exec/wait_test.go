package exec

import (
	"testing"

	"nxvk/gen/etf"
	"nxvk/gen/exec/queue"
	"nxvk/gen/wire"
	"nxvk/ops"
	"nxvk/vulkan"
)

// What a session waits for is told while it waits, and counted.
func TestWaits(t *testing.T) {
	r := newRig(t, device(t, vulkan.Options{}))
	waits := func(q *Queue, want queue.Wait) {
		t.Helper()
		before := r.exec.Counters().Waits[want]
		if q.Wait() != want || before == 0 {
			t.Errorf("it waits for %q, counted %d times; want %q", q.Wait(), before, want)
		}
		r.Until(func() bool { return q.Wait() != want })
	}
	q, other := r.session(), r.session()
	r.Tensor(q, 1, 3, 1, 2)
	r.Do(q, ops.Sort, 2, f32(3), [][]int{{0}, {0}, {0}}, ref(1))
	waits(q, queue.ForPlan)
	r.Want(q, 2, 1, 2, 3)
	r.exec.core.cfg.OneByOne = true
	r.Do(q, ops.Tanh, 3, f32(3), nil, ref(1))
	waits(q, queue.ForKernel)
	in := wire.Instr{Name: "import", Instr: ops.Instr{Op: ops.Import, Outs: []ops.Result{{ID: 1, Type: f32(3)}}}}
	in.Shared = &wire.Shared{ID: 9, Key: q.Session.Key, Owner: etf.Pid{Node: "test@host", ID: uint32(q.Session.Owner.ID), Creation: 7}}
	r.exec.Stream(other, []wire.Instr{in})
	if other.Wait() != queue.ForImport {
		t.Errorf("it waits for %q, want an import", other.Wait())
	}
	r.Tensor(q, 9, 4, 5, 6)
	r.Want(other, 1, 4, 5, 6)
	if r.exec.Counters().Waits[queue.ForImport] == 0 {
		t.Error("the import is not counted")
	}
}

// The waits of a program are told by the part in which they arose.
func TestExplainWaits(t *testing.T) {
	r := newRig(t, device(t, vulkan.Options{}))
	q := r.session()
	r.Define(q, "two", &ops.Region{Params: []ops.Result{res(1, f32(3))}, Values: uses(2, 3), Body: []ops.Instr{
		op(ops.Negate, res(2, f32(3)), ref(1)),
		{Op: ops.Sort, Outs: []ops.Result{res(3, f32(3))}, Ins: uses(1), Attrs: [][]int{{0}, {0}, {0}}},
	}})
	r.Tensor(q, 1, 3, 1, 2)
	r.run(q, "two", []ops.Result{res(2, f32(3)), res(3, f32(3))}, ref(1))
	r.Want(q, 3, 1, 2, 3)
	parts, err := r.explain(q, "two")
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range parts {
		// All kernels are asked for before the run, and so the second one may be there when its turn comes.
		if i == 0 && (p.Waits[queue.ForPlan] != 1 || p.Waits[queue.ForKernel] == 0) || p.Waits[queue.ForMemory] != 0 {
			t.Errorf("%v waits %v", p.Instructions, p.Waits)
		}
	}
}
