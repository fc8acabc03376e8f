package exec

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"nxvk/gen/exec/memory"
	"nxvk/gen/wire"
	"nxvk/ops"
	"nxvk/test/fewtest"
)

// futures has two ranks whose devices get nothing run a program with a collective, and again with its result: the runs end. It
// gives the ids of both results.
func futures(t *testing.T, f *fleet, n int) (first, second ops.ID) {
	typ := f32(n)
	p := &ops.Region{Params: []ops.Result{res(1, typ)}, Body: []ops.Instr{
		{Op: ops.AllReduce, Ins: uses(1), Outs: []ops.Result{res(2, typ)}, Attrs: [][]int{f.all(), {0}}},
		op(ops.Add, res(3, typ), ref(2), ref(2)), op(ops.Multiply, res(4, typ), ref(3), ref(1))}, Values: uses(4)}
	for round := range 2 { // the first time kernels are compiled
		f.held.Store(round == 1)
		first = ops.ID(10 * (round + 1))
		second = first + 1
		for rank, r := range f.rigs {
			if round == 0 {
				r.Define(f.qs[rank], "p", p)
				f.tensor(rank, 1, typ, floats(alike(1, n)...))
			}
			f.run(rank, "p", uint64(first), []ops.Result{res(first, typ)}, uses(1)...)
			f.run(rank, "p", uint64(second), []ops.Result{res(second, typ)}, uses(first)...)
		}
		for rank, r := range f.rigs {
			there := false
			r.exec.Describe(f.qs[rank], second, func(_ ops.Type, err error) {
				if there = true; err != nil {
					t.Error(err)
				}
			})
			f.rigs[0].Until(func() bool { return there })
			if round == 0 {
				f.wantAll(rank, f.qs[rank], second, 64)
			}
		}
	}
	return first, second
}

// alike is so many elements of one value.
func alike(x float32, n int) []float32 { return slices.Repeat([]float32{x}, n) }

// wantAll checks that all elements of a value are the same number.
func (f *fleet) wantAll(rank int, q *Queue, id ops.ID, x float32) {
	f.Helper()
	got, err := f.rigs[rank].bytesOf(q, id)
	if err != nil {
		f.Errorf("rank %d, value %d: %v", rank, id, err)
	}
	for i := range len(got) / 4 {
		if y := f32At(got, i); y != x {
			f.Fatalf("rank %d, value %d: element %d is %v, want %v", rank, id, i, y, x)
		}
	}
}

// release has the devices get what they were not given.
func (f *fleet) release() {
	f.held.Store(false)
	for _, r := range f.rigs { // something more has each device look again
		q := r.session()
		r.Do(q, ops.Iota, 1, f32(100_000), [][]int{{0}})
		r.exec.Sync(q, func(error) {})
	}
}

// TestFuture: runs go on with what a collective is to give, and get it.
func TestFuture(t *testing.T) {
	for _, kinds := range []string{"GPU GPU", "device device", "GPU | GPU", "GPU GPU exchanging", "GPU device exchanging"} {
		t.Run(kinds, func(t *testing.T) {
			for _, n := range []int{100_000, 300} {
				f := someFleet(t, kinds)
				if n < 1000 && !f.rigs[0].exec.sharing.exchanges {
					continue // so little the host gets, for whom a run waits
				}
				first, second := futures(t, f, n)
				f.release()
				for rank, r := range f.rigs {
					if r.exec.Counters().Futures == 0 {
						t.Errorf("%d elements: rank %d has waited for each result", n, rank)
					}
					f.wantAll(rank, f.qs[rank], first, 4)
					f.wantAll(rank, f.qs[rank], second, 64)
				}
				f.idle()
			}
		})
	}
}

// TestFutureLimit: what needs memory beyond the limit of the session waits for collectives whose results the runs have let go of.
func TestFutureLimit(t *testing.T) {
	for _, kinds := range []string{"GPU GPU", "GPU GPU exchanging"} {
		t.Run(kinds, func(t *testing.T) {
			f := someFleet(t, kinds)
			futures(t, f, 100_000)
			r, q := f.rigs[0], f.qs[0]
			q.Session.Limit = q.Session.Bytes()
			r.Do(q, ops.Negate, 40, f32(100_000), nil, ref(1))
			r.Settle(memory.SweepTime + 150*time.Millisecond) // by then it would be refused
			if _, there := q.Session.Get(40); there {
				t.Error("there is a result, or an error, before memory is let go")
			}
			f.release()
			f.wantAll(0, q, 40, -1)
		})
	}
}

// TestFutureFails: where a collective fails whose result a run has got beforehand, all that was computed from it carries an error that
// names the rank, also in other sessions. What was not computed from it is there.
func TestFutureFails(t *testing.T) {
	for end, fail := range map[string]func(f *fleet){
		"session": func(f *fleet) { f.rigs[1].exec.End(f.qs[1].Session) },
		"killed":  func(f *fleet) { f.rigs[1].exec.EndExports(errSessionEnded); f.rigs[1].exec.EndNow(f.qs[1].Session) },
		"late": func(f *fleet) {
			for _, a := range f.qs[1].asyncs {
				if a.incoming != nil {
					a.incoming.fail(wire.Late(time.Second))
				}
			}
		},
	} {
		for _, kinds := range []string{"GPU GPU", "GPU GPU exchanging"} {
			t.Run(kinds+" "+end, func(t *testing.T) {
				f := someFleet(t, kinds)
				first, second := futures(t, f, 100_000)
				r, q := f.rigs[0], f.qs[0]
				other := r.session()
				v, _ := q.Session.Get(second)
				v.Mem.Retain()
				other.Session.Put(5, v)
				r.Do(other, ops.Negate, 6, v.Type, nil, ref(5))
				r.Do(q, ops.Negate, 30, v.Type, nil, ref(1))
				fail(f)
				f.release()
				check := func(q *Queue, id ops.ID) {
					t.Helper()
					_, err := r.bytesOf(q, id)
					if wire.KindOf(err) != wire.RankFailed || !strings.Contains(err.Error(), "rank 1") {
						t.Errorf("value %d: %v", id, err)
					}
				}
				check(q, first)
				check(q, second)
				check(other, 6)
				f.wantAll(0, q, 30, -1)
				r.Do(q, ops.Negate, 31, v.Type, nil, ref(second))
				check(q, 31)
				f.idle()
			})
		}
	}
}

// someFleet is a fleet of kinds of devices, which share memory with exchanging.
func someFleet(t *testing.T, kinds string) *fleet {
	if kinds, ok := strings.CutSuffix(kinds, " exchanging"); ok {
		return exchanging(t, kinds)
	}
	return newFleet(t, strings.Fields(kinds)...)
}

// TestFutureOrders: ranks have their runs in different orders, each with collectives whose results they get beforehand. No rank waits
// for another one that waits for it.
func TestFutureOrders(t *testing.T) {
	for _, kinds := range []string{"GPU GPU", "GPU GPU exchanging", "GPU device GPU exchanging", "device device exchanging", "GPU | GPU device"} {
		t.Run(kinds, func(t *testing.T) {
			f := someFleet(t, kinds)
			const runs = 5
			rng := rand.New(rand.NewPCG(17, 42))
			for _, n := range []int{40_000, 500} {
				f.manyOrders(rng, n, runs)
			}
			f.idle()
			for rank, q := range f.qs {
				if len(q.asyncs) != 0 {
					t.Errorf("rank %d: %d async runs are left", rank, len(q.asyncs))
				}
			}
		})
	}
}

// manyOrders has the ranks run a program on so many values of n elements each, in different orders.
func (f *fleet) manyOrders(rng *rand.Rand, n, runs int) {
	typ, ranks := f32(n), float32(len(f.rigs))
	sum := func(out, in ops.ID) ops.Instr {
		return ops.Instr{Op: ops.AllReduce, Ins: uses(in), Outs: []ops.Result{res(out, typ)}, Attrs: [][]int{f.all(), {0}}}
	}
	p := &ops.Region{Params: []ops.Result{res(1, typ)}, Body: []ops.Instr{sum(2, 1), op(ops.Negate, res(3, typ), ref(1)), sum(4, 3),
		op(ops.Add, res(5, typ), ref(2), ref(2)), op(ops.Add, res(6, typ), ref(5), ref(4)), sum(7, 6)}, Values: uses(7)}
	for rank, r := range f.rigs {
		r.Define(f.qs[rank], fmt.Sprint("p", n), p)
		for i := range runs {
			f.tensor(rank, ops.ID(1+i), typ, floats(alike(float32(i), n)...))
		}
	}
	for round := range fewtest.Of(12, 4) {
		for rank := range f.rigs {
			for _, i := range rng.Perm(runs) {
				f.run(rank, fmt.Sprint("p", n), uint64(n+round*runs+i), []ops.Result{res(ops.ID(10+i), typ)}, ref(ops.ID(1+i)))
			}
		}
		for rank, r := range f.rigs {
			for i := range runs {
				f.wantAll(rank, f.qs[rank], ops.ID(10+i), float32(i)*ranks*ranks)
				r.Free(f.qs[rank], ops.ID(10+i))
			}
		}
	}
	for rank, r := range f.rigs {
		for i := range runs {
			r.Free(f.qs[rank], ops.ID(1+i))
		}
	}
}
