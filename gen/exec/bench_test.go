package exec

import (
	"encoding/binary"
	"slices"
	"testing"

	"nxvk/gen/exec/exectest/harness"
	"nxvk/gen/store"
	"nxvk/gen/wire"
	"nxvk/ops"
	"nxvk/synth/synthtest"
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

// BenchmarkRound is a round of a generation: small layers of a transformer for one position, with caches that the loop
// carries. Where a device takes less for the kernels, it is what the host takes to record them.
func BenchmarkRound(b *testing.B) {
	const layers, positions = 28, 256
	d := harness.Open(b, vulkan.Options{})
	posted := make(chan func(), 1<<16)
	known := harness.Target(b, d)
	if known.CPU && d.Info().Features.BufferDeviceAddress {
		known.Addresses, known.CPU = true, false
	}
	e := New(Config{Device: d, Target: known, HostLimit: -1, Post: func(f func()) { posted <- f }})
	e.specializer.Enough = 2
	q := e.Queue(store.NewSession(gen.PID{Node: "bench"}))
	loop := generation(synthtest.NewBlock(b, ops.BF16, 64, 64, 2, 32, positions), layers)
	list := []wire.Instr{{Name: "program", Defines: wire.Defines{Key: "loop", Program: loop}, Instr: ops.Instr{Op: ops.Program}}}
	var ins []ops.Operand
	for i, p := range loop.Params[2:] {
		ins = append(ins, ref(ops.ID(i+1)))
		list = append(list, wire.Instr{Name: "iota", Instr: ops.Instr{Op: ops.Iota, Outs: []ops.Result{{ID: ops.ID(i + 1), Type: p.Type}}, Attrs: [][]int{{-1}}}})
	}
	e.Stream(q, list)
	id := ops.ID(len(ins) + 1)
	run := func(rounds int) {
		number := func(n int) ops.Operand {
			return ops.Operand{Lit: &ops.Literal{Type: ops.Type{DType: ops.S32}, Data: binary.LittleEndian.AppendUint32(nil, uint32(n))}}
		}
		e.Stream(q, []wire.Instr{{Name: "run", Defines: wire.Defines{Key: "loop"}, Instr: ops.Instr{Op: ops.Run,
			Outs: []ops.Result{{ID: id, Type: loop.Params[2].Type}}, Ins: append([]ops.Operand{number(0), number(rounds)}, ins...)}}})
		done := false
		e.Read(q, id, 0, 1, func(_ Data, err error) {
			if done = true; err != nil {
				b.Fatal(err)
			}
		})
		for !done {
			(<-posted)()
		}
		id++
	}
	for range 4 {
		run(2)
		for e.Building() > 0 {
			(<-posted)()
		}
	}
	before := e.Counters().Dispatches
	b.ResetTimer()
	for left := b.N; left > 0; left -= positions { // a later position would be an error
		run(min(left, positions))
	}
	n := float64(e.Counters().Dispatches-before) / float64(b.N)
	b.ReportMetric(n, "kernels/op")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/kernel")
}

// generation is a loop through so many layers. Its parameters are the first position and that where it ends, what the
// first layer reads, and the other parameters of the layers, which have the tables of angles in common. It gives what the
// last layer does.
func generation(block *synthtest.Block, layers int) *ops.Region {
	one := block.Region()
	next := ops.ID(1)
	fresh := func(t ops.Type) ops.Result { next++; return ops.Result{ID: next, Type: t} }
	at, end, x := fresh(one.Params[1].Type), fresh(one.Params[1].Type), fresh(one.Params[0].Type)
	body := &ops.Region{Params: []ops.Result{at, end, x}}
	var state []ops.Operand // of the next round
	from := x.ID
	var tables []ops.ID
	for layer := range layers {
		names := map[ops.ID]ops.ID{one.Params[0].ID: from, one.Params[1].ID: at.ID}
		caches := one.Values[1:]
		known := tables
		for _, p := range one.Params[2:] {
			table := p.Type.DType == ops.F32
			if table && layer > 0 {
				names[p.ID], known = known[0], known[1:]
				continue
			}
			r := fresh(p.Type)
			names[p.ID], body.Params = r.ID, append(body.Params, r)
			if table {
				tables = append(tables, r.ID)
			}
		}
		for _, in := range one.Body {
			in.Ins = slices.Clone(in.Ins)
			for k, o := range in.Ins {
				if o.Lit == nil {
					in.Ins[k].ID = names[o.ID]
				}
			}
			r := fresh(in.Outs[0].Type)
			names[in.Outs[0].ID], in.Outs = r.ID, []ops.Result{r}
			body.Body = append(body.Body, in)
		}
		for _, p := range one.Params[2:] {
			if p.Type.DType == ops.F32 && layer > 0 {
				continue
			}
			o := ref(names[p.ID])
			if len(p.Type.Shape) == 4 {
				o, caches = ref(names[caches[0].ID]), caches[1:]
			}
			state = append(state, o)
		}
		from = names[one.Values[0].ID]
	}
	step := fresh(at.Type)
	body.Body = append(body.Body, op(ops.Add, step, ref(at.ID), ops.Operand{Lit: &ops.Literal{Type: at.Type, Data: []byte{1, 0, 0, 0}}}))
	body.Values = append([]ops.Operand{ref(step.ID), ref(end.ID), ref(from)}, state...)
	cond := &ops.Region{}
	loop := ops.Instr{Op: ops.While, Attrs: [][]int{nil, nil}}
	whole := &ops.Region{}
	for _, p := range body.Params {
		cond.Params = append(cond.Params, fresh(p.Type))
		r, out := fresh(p.Type), fresh(p.Type)
		whole.Params, loop.Ins, loop.Outs = append(whole.Params, r), append(loop.Ins, ref(r.ID)), append(loop.Outs, out)
	}
	less := fresh(u8)
	cond.Body, cond.Values = []ops.Instr{op(ops.Less, less, ref(cond.Params[0].ID), ref(cond.Params[1].ID))}, []ops.Operand{ref(less.ID)}
	loop.Regions = []*ops.Region{cond, body}
	whole.Body, whole.Values = []ops.Instr{loop}, []ops.Operand{ref(loop.Outs[2].ID)}
	return whole
}
