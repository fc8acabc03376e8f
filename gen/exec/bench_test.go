package exec

import (
	"testing"

	"nxvk/gen/exec/exectest/harness"
	"nxvk/gen/store"
	"nxvk/gen/wire"
	"nxvk/ops"
	"nxvk/vulkan"

	"ergo.services/ergo/gen"
)

// BenchmarkRecord is what an instruction costs until it is recorded, the
// device's part left out as far as that goes.
func BenchmarkRecord(b *testing.B) {
	d := harness.Open(b, vulkan.Options{})
	posted := make(chan func(), 1<<16)
	e := New(Config{Device: d, Target: harness.Target(b, d), HostLimit: -1, Post: func(f func()) { posted <- f }})
	q := e.Queue(store.NewSession(gen.PID{Node: "bench"}))
	typ := f32(16)
	add := func(id ops.ID, x, y ops.Operand) {
		e.Stream(q, []wire.Instr{{Name: "add", Instr: ops.Instr{
			Op: ops.Add, Outs: []ops.Result{{ID: id, Type: typ}}, Ins: []ops.Operand{x, y}}}})
	}
	e.Stream(q, []wire.Instr{{Name: "iota", Instr: ops.Instr{
		Op: ops.Iota, Outs: []ops.Result{{ID: 1, Type: typ}}, Attrs: [][]int{{-1}}}}})
	id := ops.ID(1)
	for b.Loop() {
		add(id+1, ref(id), ref(1))
		if id > 1 {
			e.Stream(q, []wire.Instr{{Name: "free", Instr: ops.Instr{Op: ops.Free, Attrs: [][]int{{int(id)}}}}})
		}
		id++
		for len(posted) > 0 {
			(<-posted)()
		}
		for q.queue.Len() > 0 {
			(<-posted)()
		}
	}
}
