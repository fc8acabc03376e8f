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
	waits := func(l *Queue, want queue.Wait) {
		t.Helper()
		before := r.exec.Counters.Waits[want]
		if l.Wait() != want || before == 0 {
			t.Errorf("it waits for %q, counted %d times; want %q", l.Wait(), before, want)
		}
		r.Until(func() bool { return l.Wait() != want })
	}
	l, other := r.session(), r.session()
	r.Tensor(l, 1, 3, 1, 2)
	r.Do(l, ops.Sort, 2, f32(3), [][]int{{0}, {0}, {0}}, ref(1))
	waits(l, queue.ForPlan)
	r.Want(l, 2, 1, 2, 3)
	r.exec.cfg.OneByOne = true
	r.Do(l, ops.Tanh, 3, f32(3), nil, ref(1))
	waits(l, queue.ForKernel)
	in := wire.Instr{Name: "import", Instr: ops.Instr{Op: ops.Import, Outs: []ops.Result{{ID: 1, Type: f32(3)}}}}
	in.Shared = &wire.Shared{ID: 9, Key: l.Session.Key, Owner: etf.Pid{Node: "test@host", ID: uint32(l.Session.Owner.ID), Creation: 7}}
	r.exec.Stream(other, []wire.Instr{in})
	if other.Wait() != queue.ForImport {
		t.Errorf("it waits for %q, want an import", other.Wait())
	}
	r.Tensor(l, 9, 4, 5, 6)
	r.Want(other, 1, 4, 5, 6)
	if r.exec.Counters.Waits[queue.ForImport] == 0 {
		t.Error("the import is not counted")
	}
}

// The waits of a program are told by the part in which they arose.
func TestExplainWaits(t *testing.T) {
	r := newRig(t, device(t, vulkan.Options{}))
	l := r.session()
	r.Define(l, "two", &ops.Region{Params: []ops.Result{res(1, f32(3))}, Values: uses(2, 3), Body: []ops.Instr{
		op(ops.Negate, res(2, f32(3)), ref(1)),
		{Op: ops.Sort, Outs: []ops.Result{res(3, f32(3))}, Ins: uses(1), Attrs: [][]int{{0}, {0}, {0}}},
	}})
	r.Tensor(l, 1, 3, 1, 2)
	r.run(l, "two", []ops.Result{res(2, f32(3)), res(3, f32(3))}, ref(1))
	r.Want(l, 3, 1, 2, 3)
	parts, err := r.explain(l, "two")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range parts {
		if p.Waits[queue.ForPlan] != 1 || p.Waits[queue.ForKernel] == 0 || p.Waits[queue.ForMemory] != 0 {
			t.Errorf("%v waits %v", p.Instructions, p.Waits)
		}
	}
}
