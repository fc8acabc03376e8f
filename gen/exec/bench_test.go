package exec

import (
	"testing"

	"nxvk/gen/exec/exectest/harness"
	"nxvk/gen/store"
	"nxvk/gen/wire"
	"nxvk/ops"
	"nxvk/synth"
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

// BenchmarkRound is what a kernel costs in the rounds of a loop, as a generation has them: 300 kernels that depend on
// one another, of which each has memory of its own.
func BenchmarkRound(b *testing.B) {
	const kernels = 300
	d := harness.Open(b, vulkan.Options{})
	posted := make(chan func(), 1<<16)
	known := harness.Target(b, d)
	known.Off = ^synth.Rules(0)
	if known.CPU && d.Info().Features.BufferDeviceAddress {
		known.Addresses, known.CPU = true, false
	}
	e := New(Config{Device: d, Target: known, HostLimit: -1, Post: func(f func()) { posted <- f }})
	q := e.Queue(store.NewSession(gen.PID{Node: "bench"}))
	n := b.N + 1
	v, s := f32(512), f32()
	body := []ops.Instr{op(ops.Add, res(23, s), ref(21), scalar(1))}
	last := ops.ID(20)
	for i := range ops.ID(kernels) {
		body = append(body, op(ops.Add, res(100+i, v), ref(last), ref(20)))
		last = 100 + i
	}
	loop := &ops.Region{Params: []ops.Result{res(1, v), res(2, s)}, Values: uses(4, 5),
		Body: []ops.Instr{{Op: ops.While, Outs: []ops.Result{res(4, v), res(5, s)}, Ins: []ops.Operand{ref(1), scalar(0)},
			Attrs: [][]int{nil, nil}, Regions: []*ops.Region{
				{Params: []ops.Result{res(10, v), res(11, s)}, Values: uses(14), Body: []ops.Instr{op(ops.Less, res(14, u8), ref(11), ref(2))}},
				{Params: []ops.Result{res(20, v), res(21, s)}, Values: uses(last, 23), Body: body},
			}}}}
	e.Stream(q, []wire.Instr{
		{Name: "program", Defines: wire.Defines{Key: "loop", Program: loop}, Instr: ops.Instr{Op: ops.Program}},
		{Name: "iota", Instr: ops.Instr{Op: ops.Iota, Outs: []ops.Result{{ID: 1, Type: v}}, Attrs: [][]int{{-1}}}}})
	id := ops.ID(2)
	run := func(rounds int) {
		e.Stream(q, []wire.Instr{{Name: "run", Defines: wire.Defines{Key: "loop"},
			Instr: ops.Instr{Op: ops.Run, Outs: []ops.Result{res(id, v), res(id+1, s)}, Ins: []ops.Operand{ref(1), scalar(float32(rounds))}}}})
		done := false
		e.Read(q, id+1, 0, 1, func(Data, error) { done = true })
		for !done {
			(<-posted)()
		}
		id += 2
	}
	for range 4 {
		run(2)
	}
	b.ResetTimer()
	run(n)
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n*kernels), "ns/kernel")
}
