package exec

import (
	"math"
	"slices"
	"testing"
	"time"

	"nxvk/gen/etf"
	"nxvk/gen/wire"
	"nxvk/ops"
	"nxvk/vulkan"
)

// lazily runs a test where instructions are pending.
func lazily(t *testing.T, test func(r *rig)) {
	rigs(t, func(r *rig) {
		if r.Dev == nil {
			r.Skip("the host computes at once")
		}
		test(r)
	})
}

// point is an operation on elements whose results all have one type.
func (r *rig) point(q *Queue, op ops.Op, id ops.ID, t ops.Type, ins ...ops.Operand) {
	r.Do(q, op, id, t, nil, ins...)
}

// What is freed before it is read is not computed, and what only that needs is
// not, either.
func TestLazyDropsWhatIsFreed(t *testing.T) {
	lazily(t, func(r *rig) {
		q, v := r.session(), f32(1000)
		r.Do(q, ops.Iota, 1, v, [][]int{{-1}})
		r.want1(q, 1, 3, 3)
		dispatches, bytes := r.exec.Counters().Dispatches, q.Session.Bytes()
		r.point(q, ops.Add, 2, v, ref(1), ref(1))
		r.point(q, ops.Exp, 3, v, ref(2))
		r.point(q, ops.Multiply, 4, v, ref(1), ref(1))
		r.Free(q, 3)
		r.Free(q, 2)
		if n := q.Session.Bytes(); n != bytes {
			r.Errorf("the session is charged %d bytes for what is pending", n-bytes)
		}
		r.want1(q, 4, 3, 9)
		if n := r.exec.Counters().Dispatches - dispatches; n != 1 {
			r.Errorf("%d dispatches, want that of the product alone", n)
		}
		if n := q.Session.Bytes() - bytes; n != 4000 {
			r.Errorf("the results take %d bytes, want 4000", n)
		}
		r.WantKind(q, 2, wire.UnknownID)
		r.point(q, ops.Negate, 5, v, ref(4))
		r.Free(q, 5)
		r.Free(q, 4)
		r.Free(q, 1)
		r.Until(func() bool { return q.Session.Bytes() == 0 })
		if n := r.exec.Counters().Dispatches - dispatches; n != 1 {
			r.Errorf("%d dispatches, though all else was freed", n-1)
		}
	})
}

// want1 checks one element of a value.
func (r *rig) want1(q *Queue, id ops.ID, at int, want float32) {
	r.Helper()
	got, err := r.Read(q, id, at, 1)
	if err != nil || got[0] != want {
		r.Fatalf("element %d of value %d: got %v, %v, want %v", at, id, got, err, want)
	}
}

// A structure that is seen again runs in fewer dispatches and gives the same bits,
// though numbers differ and other values are named.
func TestLazyFuses(t *testing.T) {
	lazily(t, func(r *rig) {
		q, m, k := r.session(), f32(30, 70), f32(30, 1)
		x := make([]float32, 30*70)
		for i := range x {
			x[i] = float32(math.Sin(float64(i))) * 4
		}
		r.Do(q, ops.Tensor, 1, m, nil, ops.Operand{Lit: &ops.Literal{Type: m, Data: floats(x...)}})
		softmax := func(id ops.ID, scale float32, keep bool) (out []float32, dispatches uint64) {
			before := r.exec.Counters().Dispatches
			r.Do(q, ops.ReduceMax, id, k, [][]int{{1}, {1}}, ref(1))
			r.point(q, ops.Subtract, id+1, m, ref(1), ref(id))
			r.point(q, ops.Exp, id+2, m, ref(id+1))
			r.Do(q, ops.Sum, id+3, k, [][]int{{1}, {1}}, ref(id+2))
			r.point(q, ops.Divide, id+4, m, ref(id+2), ref(id+3))
			r.point(q, ops.Multiply, id+5, m, ref(id+4), scalar(scale))
			for i := range ops.ID(5) {
				if !keep || i != 2 {
					r.Free(q, id+i)
				}
			}
			out, err := r.Read(q, id+5, 0, len(x))
			if err != nil {
				r.Fatal(err)
			}
			dispatches = r.exec.Counters().Dispatches - before
			if keep {
				exps, err := r.Read(q, id+2, 0, len(x))
				if err != nil || len(exps) != len(x) || slices.Contains(exps, 0) {
					r.Fatalf("the exponentials are %v, %v", exps, err)
				}
				r.Free(q, id+2)
			}
			r.Free(q, id+5)
			return out, dispatches
		}
		first, plain := softmax(10, 2, false)
		var last uint64
		for i := range 6 {
			var again []float32
			again, last = softmax(ops.ID(20+10*i), 2, false)
			if !slices.Equal(first, again) {
				t.Fatalf("round %d differs from the first", i)
			}
			r.Built()
		}
		if last >= plain {
			t.Errorf("%d dispatches when seen again, %d the first time", last, plain)
		}
		doubled, n := softmax(100, 4, false)
		for i := range doubled {
			if doubled[i] != 2*first[i] {
				t.Fatalf("with another number element %d is %v, want %v", i, doubled[i], 2*first[i])
			}
		}
		if n != last {
			t.Errorf("with another number it takes %d dispatches, want %d", n, last)
		}
		for i := range 4 {
			if again, _ := softmax(ops.ID(200+10*i), 2, true); !slices.Equal(first, again) {
				t.Fatalf("with another value named, round %d differs", i)
			}
			r.Built()
		}
	})
}

// What is refused is refused in its place, and what does not depend on it is not
// hurt.
func TestLazyErrors(t *testing.T) {
	lazily(t, func(r *rig) {
		q, v := r.session(), f32(100)
		for round := range ops.ID(4) {
			id := 1 + 100*round
			r.Do(q, ops.Iota, id, v, [][]int{{-1}})
			r.point(q, ops.Add, id+1, v, ref(id), scalar(1))
			r.point(q, ops.Add, id+2, f32(99), ref(id+1), ref(id))            // the shape is wrong
			r.point(q, ops.Exp, id+3, v, ref(id+2))                           // has its error
			r.point(q, ops.Add, id+4, v, ref(id+1), ref(9999))                // no such value
			r.Do(q, ops.Dot, id+5, f32(), [][]int{{7}}, ref(id+1), ref(id+1)) // attributes are missing
			r.point(q, ops.Multiply, id+6, v, ref(id+1), scalar(2))
			r.want1(q, id+6, 4, 10)
			first := r.WantKind(q, id+2, wire.BadArgument)
			if again := r.WantKind(q, id+3, wire.BadArgument); again != first {
				r.Errorf("the dependent value has %v, want %v", again, first)
			}
			r.WantKind(q, id+4, wire.UnknownID)
			r.WantKind(q, id+5, wire.BadArgument)
			r.Built()
		}
	})
}

// An id that a client uses again stands for the new value from then on.
func TestLazyIdsAgain(t *testing.T) {
	lazily(t, func(r *rig) {
		q, v := r.session(), f32(50)
		r.Do(q, ops.Iota, 1, v, [][]int{{-1}})
		r.point(q, ops.Add, 2, v, ref(1), scalar(1))
		r.point(q, ops.Add, 2, v, ref(2), scalar(10))
		r.point(q, ops.Add, 3, v, ref(2), ref(1))
		r.Tensor(q, 1, make([]float32, 50)...)
		r.point(q, ops.Add, 4, v, ref(2), ref(1))
		r.want1(q, 3, 5, 21)
		r.want1(q, 4, 5, 16)
		r.point(q, ops.Add, 2, v, ref(2), ref(2))
		r.point(q, ops.Negate, 5, v, ref(2))
		r.Free(q, 2)
		r.want1(q, 5, 5, -32)
	})
}

// Memory that a session frees in the stream is there for what comes after it, and
// what has none is told so, in the place where it is.
func TestLazyLimit(t *testing.T) {
	lazily(t, func(r *rig) {
		q, v := r.session(), f32(1000)
		q.Session.Limit = 10000
		for round := range ops.ID(4) {
			id := 1 + 100*round
			r.Do(q, ops.Iota, id, v, [][]int{{-1}})
			for i := range ops.ID(20) {
				r.point(q, ops.Add, id+1+i, v, ref(id+i), scalar(1))
				r.Free(q, id+i)
			}
			r.want1(q, id+20, 1, 21)
			r.point(q, ops.Negate, id+21, v, ref(id+20))
			r.point(q, ops.Exp, id+22, v, ref(id+20))
			r.point(q, ops.Abs, id+23, v, ref(id+21))
			r.WantKind(q, id+22, wire.Limit)
			r.WantKind(q, id+23, wire.Limit)
			r.want1(q, id+21, 1, -21)
			for i := range ops.ID(24) {
				r.Free(q, id+i)
			}
			r.Built()
			r.Until(func() bool { return q.Session.Bytes() == 0 })
		}
	})
}

// When the device has no memory left in the middle of a trace, those results
// carry the error that have none, also when all are one kernel's.
func TestLazyOutOfMemory(t *testing.T) {
	r := newRig(t, device(t, vulkan.Options{MemoryLimit: 32 << 20, BlockSize: 4 << 20}))
	q, big := r.session(), f32(2<<20)
	for round := range ops.ID(4) {
		id := 1 + 100*round
		r.Do(q, ops.Iota, id, big, [][]int{{-1}})
		for i, op := range []ops.Op{ops.Negate, ops.Exp, ops.Abs, ops.Sqrt} {
			r.point(q, op, id+1+ops.ID(i), big, ref(id))
		}
		r.point(q, ops.Add, id+5, big, ref(id+4), ref(id))
		r.WantKind(q, id+5, wire.OutOfMemory)
		r.WantKind(q, id+4, wire.OutOfMemory)
		r.want1(q, id+1, 3, -3)
		r.want1(q, id+3, 3, 3)
		for i := range ops.ID(6) {
			r.Free(q, id+i)
		}
		r.Built()
		r.Until(func() bool { return q.Session.Bytes() == 0 })
	}
	r.Settle(50 * time.Millisecond)
	if used := r.Dev.Stats().InUse; used != 0 {
		t.Errorf("%d bytes are in use though everything is freed", used)
	}
}

// Another session that wants a pending value gets it; that the first one ends in
// the middle leaves nothing.
func TestLazyQueues(t *testing.T) {
	lazily(t, func(r *rig) {
		a, b, v := r.session(), r.session(), f32(200)
		r.Do(a, ops.Iota, 1, v, [][]int{{-1}})
		r.point(a, ops.Add, 2, v, ref(1), scalar(1))
		in := wire.Instr{Name: "import", Instr: ops.Instr{Op: ops.Import, Outs: []ops.Result{{ID: 7, Type: v}}}}
		in.Shared = &wire.Shared{ID: 2, Key: a.Session.Key,
			Owner: etf.Pid{Node: "test@host", ID: uint32(a.Session.Owner.ID), Creation: 7}}
		r.exec.Stream(b, []wire.Instr{in})
		r.point(b, ops.Multiply, 8, v, ref(7), ref(7))
		r.want1(b, 8, 3, 16)
		r.point(a, ops.Negate, 3, v, ref(2))
		r.point(b, ops.Negate, 9, v, ref(8))
		r.exec.End(a.Session)
		r.want1(b, 9, 3, -16)
		r.point(b, ops.Negate, 10, v, ref(9))
		r.exec.End(b.Session)
		r.Settle(20 * time.Millisecond)
		if used := r.Dev.Stats().InUse; used != 0 {
			r.Errorf("%d bytes are in use after both sessions ended", used)
		}
		if n := len(r.exec.recorder.gathering); n != 0 {
			r.Errorf("%d queues are gathering after their sessions ended", n)
		}
	})
}

// What nobody reads is carried out all the same when the stream falls silent.
func TestLazySilence(t *testing.T) {
	lazily(t, func(r *rig) {
		q, v := r.session(), f32(100)
		r.Do(q, ops.Iota, 1, v, [][]int{{-1}})
		r.point(q, ops.Add, 2, v, ref(1), scalar(1))
		if r.exec.Counters().Dispatches != 0 {
			r.Fatal("nothing was pending")
		}
		r.Until(func() bool {
			_, there := q.Session.Get(2)
			return there && r.exec.Counters().Submits > 0 && r.exec.core.feeds.Idle()
		})
	})
}

// A loop without reads is cut into traces of one structure, though the stream
// falls silent now and then; so it comes to run as fusions.
func TestLazyLoop(t *testing.T) {
	body := []ops.Op{ops.Cos, ops.Abs, ops.Sqrt, ops.Negate, ops.Exp, ops.Sqrt, ops.Negate, ops.Abs, ops.Exp, ops.Negate, ops.Abs}
	loop := func(r *rig, pauses bool) (out []float32, dispatches uint64) {
		q, v := r.session(), f32(600)
		r.Do(q, ops.Iota, 1, v, [][]int{{-1}})
		w := ops.ID(1)
		rounds := func(n int) {
			for i := range n {
				for k, op := range body {
					r.point(q, op, w+1, v, ref(w))
					r.Free(q, w)
					if w++; pauses && k == i%len(body) && i%40 == 7 {
						r.Settle(3 * time.Millisecond)
					}
				}
			}
		}
		rounds(200)
		r.Until(func() bool { return q.queue.Len() == 0 })
		r.Built()
		before := r.exec.Counters().Dispatches
		rounds(100)
		out, err := r.Read(q, w, 0, 600)
		if err != nil {
			r.Fatal(err)
		}
		return out, r.exec.Counters().Dispatches - before
	}
	lazily(t, func(r *rig) {
		plain := newRig(r.T, r.Dev)
		*plain.exec.core.target = *r.exec.core.target
		plain.exec.core.cfg.OneByOne = true
		want, all := loop(plain, false)
		for _, pauses := range []bool{false, true} {
			got, n := loop(r, pauses)
			if !slices.Equal(got, want) {
				r.Errorf("with pauses %v: got %v ..., want %v ...", pauses, got[:3], want[:3])
			}
			// It is about a tenth. A busy machine makes pauses of its own.
			r.Logf("with pauses %v: %d dispatches, one by one %d", pauses, n, all)
			if n > all/2 {
				r.Errorf("with pauses %v: %d dispatches in 100 rounds, one by one it is %d", pauses, n, all)
			}
		}
	})
}
