package exec

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"nxvk/gen/exec/queue"
	"nxvk/gen/wire"
	"nxvk/ops"
	"nxvk/test/fewtest"
)

// TestDeviceImport: values of all types and sizes arrive as they are, whoever has them and however they
// were made; nothing is left on the way.
func TestDeviceImport(t *testing.T) {
	pairs(t, func(p *pair) {
		rng := rand.New(rand.NewPCG(17, 1))
		a, b := p.from.session(), p.to.session()
		sizes := []int{1, 16, 300, 4 << 10, 70_000, 1 << 20, 16<<20 - 8, 16 << 20, 50 << 20}
		for i, size := range append(sizes, sizes[:fewtest.Of(5, 1)]...) {
			id := ops.ID(10*i + 1)
			typ := p.from.random(rng, a, id, size)
			p.take(b, id, typ, a, id)
			want, err := p.from.bytesOf(a, id)
			if err != nil {
				t.Fatal(err)
			}
			got, err := p.to.bytesOf(b, id)
			if err != nil || !bytes.Equal(got, want) {
				t.Fatalf("%v: %v; %d bytes, want %d, equal: %v", typ, err, len(got), len(want), bytes.Equal(got, want))
			}
			if charged := b.Session.Bytes(); charged != int64(typ.Bytes()) {
				t.Fatalf("%v: %d bytes are charged", typ, charged)
			}
			p.from.Do(a, ops.Free, 0, ops.Type{}, [][]int{{int(id), int(id) + 1}})
			p.to.Free(b, id)
		}
		p.idle()
		if n := p.from.exec.sharing.slots.Taken(); (n > 0) != p.shares {
			t.Errorf("the devices have passed %d chunks to each other, share: %v", n, p.shares)
		}
		if p.to.exec.Counters().Imported == 0 || a.Session.Bytes() != 0 || b.Session.Bytes() != 0 || len(a.exports) != 0 {
			t.Errorf("counted %d bytes; the sessions hold %d and %d", p.to.exec.Counters().Imported, a.Session.Bytes(), b.Session.Bytes())
		}
	})
}

// TestDeviceImportOrder: an import may come before the value; only what needs its result waits.
func TestDeviceImportOrder(t *testing.T) {
	pairs(t, func(p *pair) {
		a, b, other := p.from.session(), p.to.session(), p.to.session()
		p.take(b, 1, f32(2), a, 1)
		p.to.Do(b, ops.Add, 2, f32(2), nil, ref(1), scalar(1))
		p.to.Tensor(b, 3, 5)
		p.to.Want(b, 3, 5)
		p.to.Tensor(other, 1, 6)
		p.to.Want(other, 1, 6)
		if _, ok := b.Session.Get(1); ok {
			t.Fatal("the value is there before it was made")
		}
		p.from.Tensor(a, 1, 1, 2)
		p.to.Want(b, 2, 2, 3)
		p.from.exec.End(a.Session)
		p.to.Want(b, 1, 1, 2)
	})
}

// TestDeviceImportPending: a value that an instruction makes is waited for, however long that takes.
func TestDeviceImportPending(t *testing.T) {
	asyncRuns(t, func(r *rig, q *Queue, answer func(ops.ID, float32)) {
		p := &pair{T: r.T, from: r, to: newRig(r.T, nil)}
		p.to.Posted = r.Posted
		r.exec.core.cfg.Name, r.exec.core.cfg.Incarnation = "nxvk_0", 7
		p.to.exec.core.cfg.Server = func(string) Server { return p }
		b := p.to.session()
		r.ask(q, 2, scalar(1))
		r.Do(q, ops.Add, 3, f32(), nil, ref(2), scalar(1))
		p.take(b, 1, f32(), q, 3)
		r.Settle(ImportTime + 50*time.Millisecond)
		if v, ok := b.Session.Get(1); ok {
			t.Fatalf("the import did not wait: %v", v.Err)
		}
		answer(2, 10)
		p.to.Want(b, 1, 12)
	})
}

// TestDeviceImportOvertakes: a value that has been made does not wait for what its session wants after
// that, such as a free that also frees what another import makes. Two sessions whose devices
// import from each other would wait for ever.
func TestDeviceImportOvertakes(t *testing.T) {
	asyncRuns(t, func(r *rig, q *Queue, answer func(ops.ID, float32)) {
		p := &pair{T: r.T, from: r, to: newRig(r.T, nil)}
		p.to.Posted = r.Posted
		r.exec.core.cfg.Name, r.exec.core.cfg.Incarnation = "nxvk_0", 7
		p.to.exec.core.cfg.Server = func(string) Server { return p }
		b := p.to.session()
		r.ask(q, 1, scalar(1))
		r.ask(q, 2, scalar(1))
		r.Do(q, ops.Add, 3, f32(), nil, ref(1), scalar(1))
		r.exec.Stream(q, []wire.Instr{{Name: "free", Instr: ops.Instr{Op: ops.Free, Attrs: [][]int{{2, 1}}}}})
		p.take(b, 1, f32(), q, 3)
		r.Settle(time.Millisecond)
		answer(1, 10)
		p.to.Want(b, 1, 12)
		if q.asyncs == nil {
			t.Fatal("the other run has ended: nothing was left to wait for")
		}
		answer(2, 10)
		r.Settle(time.Millisecond)
	})
}

// TestDeviceImportFaults: what is wrong with a value is its importer's error.
func TestDeviceImportFaults(t *testing.T) {
	pairs(t, func(p *pair) {
		a, b := p.from.session(), p.to.session()
		p.from.Tensor(a, 1, 1, 2)
		p.from.Do(a, ops.Add, 2, f32(2), nil, ref(1), ops.Operand{Lit: &ops.Literal{Type: f32(3), Data: floats(1, 2, 3)}})
		p.from.Do(a, ops.Slice, 3, f32(1), [][]int{{}, {1}, {1}}, ref(1), ops.Operand{Lit: &ops.Literal{Type: f32(), Data: floats(1)}})
		id := ops.ID(0)
		wrong := func(kind wire.Kind, text string, change func(*wire.Instr)) {
			t.Helper()
			id++
			in := p.importOf(id, f32(2), a, 1)
			change(&in)
			p.to.exec.Stream(b, []wire.Instr{in})
			p.to.Do(b, ops.Negate, id+100, f32(2), nil, ref(id))
			if err := p.to.WantKind(b, id+100, kind); !strings.Contains(err.Error(), text) {
				t.Errorf("the error %q has no %q", err, text)
			}
		}
		wrong(wire.NotShared, "value 1 of process", func(in *wire.Instr) { in.Shared.Key++ })
		wrong(wire.NotShared, "earlier run of nxvk_0", func(in *wire.Instr) { in.Shared.Incarnation++ })
		wrong(wire.BadArgument, `"nxvk_9"`, func(in *wire.Instr) { in.Shared.Server = "nxvk_9" })
		wrong(wire.UnknownID, "no instruction", func(in *wire.Instr) { in.Shared.ID = 99 })
		wrong(wire.BadArgument, "the value is f32{2}", func(in *wire.Instr) { in.Outs[0].Type = f32(3) })
		wrong(wire.BadArgument, "cannot broadcast", func(in *wire.Instr) { in.Shared.ID = 2 })
		wrong(wire.BadArgument, "one result", func(in *wire.Instr) { in.Outs = append(in.Outs, res(200, f32(2))) })
		p.from.Free(a, 1)
		wrong(wire.UnknownID, "freed", func(*wire.Instr) {})
		p.from.exec.End(a.Session)
		wrong(wire.NotShared, "it has ended", func(*wire.Instr) {})
		if n := b.Session.Bytes(); n != 0 {
			t.Errorf("%d bytes are charged for errors", n)
		}
	})
}

// TestDeviceImportCheck: an index that the device finds out of bounds later is the importer's error.
func TestDeviceImportCheck(t *testing.T) {
	p := newPair(t, "device", "host")
	a, b := p.from.session(), p.to.session()
	p.from.Tensor(a, 1, make([]float32, 9000)...)
	index := ops.Type{DType: ops.S32, Shape: ops.Shape{9000}}
	data := make([]byte, index.Bytes())
	data[4*8999+2] = 1
	p.from.Do(a, ops.Tensor, 2, index, nil, ops.Operand{Lit: &ops.Literal{Type: index, Data: data}})
	p.from.Do(a, ops.Take, 3, f32(9000), [][]int{{0}}, ref(1), ref(2))
	p.take(b, 1, f32(9000), a, 3)
	if err := p.to.WantKind(b, 1, wire.BadArgument); !strings.Contains(err.Error(), "index 65536") {
		t.Error(err)
	}
}

// TestDeviceImportLimit: the receiver pays, within its limit, from when its memory is taken.
func TestDeviceImportLimit(t *testing.T) {
	pairs(t, func(p *pair) {
		a, b := p.from.session(), p.to.session()
		p.from.Tensor(a, 1, make([]float32, 1000)...)
		b.Session.Limit = 7000
		p.take(b, 1, f32(1000), a, 1)
		p.take(b, 2, f32(1000), a, 1)
		p.to.Until(func() bool { return len(b.asyncs) == 0 })
		failed := 0
		for id := ops.ID(1); id <= 2; id++ {
			if _, err := p.to.bytesOf(b, id); err != nil {
				failed++
				p.to.WantKind(b, id, wire.Limit)
			}
		}
		if failed != 1 || b.Session.Bytes() != 4000 {
			t.Errorf("%d failed, %d bytes are charged", failed, b.Session.Bytes())
		}
		p.to.Do(b, ops.Free, 0, ops.Type{}, [][]int{{1, 2}})
		p.take(b, 3, f32(1000), a, 1)
		if _, err := p.to.bytesOf(b, 3); err != nil || b.Session.Bytes() != 4000 {
			t.Error(err, b.Session.Bytes())
		}
	})
}

// TestDeviceImportFreed: what is freed on its way is charged until it arrives, and another import waits for that rather than
// to be refused.
func TestDeviceImportFreed(t *testing.T) {
	const large, small = 40 << 18, 1 << 18 // elements: the large value takes many chunks
	pairs(t, func(p *pair) {
		a, b := p.from.session(), p.to.session()
		p.from.Do(a, ops.Iota, 1, f32(large), [][]int{{0}})
		p.from.Do(a, ops.Iota, 2, f32(small), [][]int{{0}})
		b.Session.Limit, p.to.exec.memory.Sweep = 4*large, nil // a sweep would give it some time
		p.take(b, 1, f32(large), a, 1)
		for b.asyncs[0].incoming.receiver == nil {
			(<-p.from.Posted)()
		}
		p.to.Do(b, ops.Free, 0, ops.Type{}, [][]int{{1}})
		p.take(b, 2, f32(small), a, 2)
		if _, err := p.to.bytesOf(b, 2); err != nil || b.Session.Bytes() != 4*small {
			t.Error(err, b.Session.Bytes())
		}
	})
}

// TestDeviceImportEnds: sessions and servers end, deadlines pass and clients cancel at any time. Either
// the value arrives whole, or it has the error, and no memory is left on either side.
func TestDeviceImportEnds(t *testing.T) {
	const size = 40 << 20
	ends := []struct {
		name string
		kind wire.Kind
		end  func(p *pair, a, b *Queue)
	}{
		{"source", wire.NotShared, func(p *pair, a, _ *Queue) { p.from.exec.End(a.Session) }},
		{"destination", "", func(p *pair, _, b *Queue) { p.to.exec.End(b.Session) }},
		{"server", wire.ServerDown, func(p *pair, a, _ *Queue) {
			p.down = true
			p.from.exec.EndExports(&wire.Fault{Kind: wire.ServerDown, Err: fmt.Errorf("ended")})
		}},
		{"cancel", wire.Cancelled, func(p *pair, _, b *Queue) {
			p.to.exec.Stream(b, []wire.Instr{{Name: "cancel", Instr: ops.Instr{Op: ops.Cancel, Attrs: [][]int{{1}}}}})
		}},
		{"deadline", wire.Deadline, func(p *pair, _, b *Queue) {
			for _, f := range b.asyncs {
				if x := f.incoming; x != nil && x.receiver != nil {
					x.fail(wire.Late(time.Second))
				}
			}
		}},
	}
	pairs(t, func(p *pair) {
		rng := rand.New(rand.NewPCG(17, 2))
		typ := f32(size / 4)
		data := make([]byte, size)
		for i := 0; i < size; i += 8 {
			data[i] = byte(rng.Uint32())
		}
		round := func(end func(p *pair, a, b *Queue), kind wire.Kind, steps int) (arrived bool) {
			p.down = false
			a, b := p.from.session(), p.to.session()
			p.from.Do(a, ops.Tensor, 1, typ, nil, ops.Operand{Lit: &ops.Literal{Type: typ, Data: data}})
			p.take(b, 1, typ, a, 1)
			for ; steps > 0; steps-- {
				select {
				case f := <-p.from.Posted:
					f()
				case <-time.After(20 * time.Millisecond):
				}
			}
			end(p, a, b)
			if !b.Session.Ended {
				got, err := p.to.bytesOf(b, 1)
				arrived = err == nil
				if err == nil && !bytes.Equal(got, data) {
					t.Fatal("the value arrived changed")
				} else if err != nil && wire.KindOf(err) != kind {
					t.Fatalf("%v is of kind %s, want %s", err, wire.KindOf(err), kind)
				}
			}
			p.from.exec.End(a.Session)
			p.to.exec.End(b.Session)
			p.idle()
			return arrived
		}
		round(func(*pair, *Queue, *Queue) {}, "", 0)
		from, to := p.from.used(), p.to.used()
		for _, e := range ends {
			arrived := false
			for steps := 0; steps < 14 || e.kind == wire.Cancelled && !arrived; steps++ {
				if steps < 14 && !fewtest.Step(steps, 14) {
					continue
				}
				arrived = round(e.end, e.kind, steps)
				if arrived && steps == 0 && e.kind != wire.Deadline {
					t.Errorf("%s: the value arrived before it was asked for", e.name)
				}
				p.from.Until(func() bool { return p.from.used() <= from && p.to.used() <= to })
			}
		}
	})
}

// TestDeviceImportWait: a session that imports shows that it waits, and for what.
func TestDeviceImportWait(t *testing.T) {
	p := newPair(t, "host", "host")
	a, b := p.from.session(), p.to.session()
	p.take(b, 1, f32(1), a, 1)
	if b.Waiting() != 1 || b.asyncs[0].Wait() != queue.ForImport {
		t.Errorf("%d requests wait, for %v", b.Waiting(), b.asyncs[0].Wait())
	}
	synced := false
	p.to.exec.Sync(b, func(error) { synced = true })
	p.from.Settle(time.Millisecond)
	if synced {
		t.Error("sync did not wait for the import")
	}
	p.from.Tensor(a, 1, 3)
	p.to.Until(func() bool { return synced })
	p.to.Want(b, 1, 3)
}
