package exec

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"nxvk/ops"
	"nxvk/test/fewtest"
)

// unlucky bounds how often a test tries again where a software device ends the loop of a kernel that waits, as it does after 65,535
// rounds. What the ranks are told then is an error.
const unlucky = 50

// relaying is a fleet of two devices whose kernels wait for each other. A software device carries out as many workgroups at a time as
// there are processors, and those of one machine share these, so there are two, with a workgroup each. Package mesh/relay
// is tested with more.
func relaying(t *testing.T) *fleet {
	t.Helper()
	f := newFleet(t, "mapped", "mapped")
	t.Cleanup(f.release)
	for _, r := range f.rigs {
		sh := r.exec.sharing
		sh.relays, sh.exchanges = true, true
		sh.dispatcher.HostLimit, sh.dispatcher.Stead, r.exec.kernels.Stead = -1, false, false // the device computes everything
	}
	f.open("relays")
	for range unlucky {
		open := 0
		for rank, q := range f.qs {
			f.rigs[0].Until(func() bool { return q.port.tried })
			if q.port.open {
				open++
				continue
			}
			q.closePort()
			f.rigs[rank].exec.sharing.openPort(q)
		}
		if open == len(f.rigs) {
			return f
		}
	}
	t.Fatal("a device does not see what the host writes while a kernel runs")
	return nil
}

// relayed is how many collectives the ranks have carried out by kernels.
func (f *fleet) relayed() (n uint64) {
	for _, r := range f.rigs {
		n += r.exec.Counters().Relayed
	}
	return n
}

// missed reports whether a device has ended the waiting of a kernel by itself.
func missed(err error) bool {
	return err != nil && strings.Contains(err.Error(), "has not carried the collective out")
}

// try has all ranks carry out a collective in a program, in drawn order, and checks what they get. It reports the error of a device that has ended its
// waiting.
func (f *fleet) try(rng *rand.Rand, name string, round uint64, c *collectiveCase) (failed error) {
	f.Helper()
	for _, rank := range rng.Perm(len(f.rigs)) {
		r, q := f.rigs[rank], f.qs[rank]
		f.tensor(rank, 1, c.t, cast(f.T, c.t.DType, c.operands[rank]))
		last := len(c.t.Shape) - 1
		r.Define(q, name, &ops.Region{Params: []ops.Result{res(1, c.t)}, Body: []ops.Instr{
			{Op: ops.Reverse, Ins: uses(1), Outs: []ops.Result{res(4, c.t)}, Attrs: [][]int{{last}}},
			{Op: ops.Reverse, Ins: uses(4), Outs: []ops.Result{res(2, c.t)}, Attrs: [][]int{{last}}},
			{Op: c.op, Ins: uses(2), Outs: []ops.Result{res(3, c.out)}, Attrs: c.attrs(rank)},
			op(ops.Add, res(5, c.out), ref(3), ref(3))}, Values: uses(3, 5)})
		f.run(rank, name, round, []ops.Result{res(2, c.out), res(3, c.out)}, uses(1)...)
	}
	for rank := range f.rigs {
		got, err := f.rigs[rank].bytesOf(f.qs[rank], 2)
		want := cast(f.T, c.t.DType, c.want[rank])
		switch {
		case missed(err):
			failed = err
		case err != nil || !bytes.Equal(got, want):
			f.Fatalf("%s: %v %d of %v among %v: rank %d: %v; got %d bytes, want %d", name, c.op, c.operator, c.t, c.groups, rank, err, len(got), len(want))
		}
		if _, err := f.rigs[rank].bytesOf(f.qs[rank], 3); err != nil && !missed(err) {
			f.Fatal(err)
		}
		f.rigs[rank].Do(f.qs[rank], ops.Free, 0, ops.Type{}, [][]int{{1, 2, 3}})
	}
	return failed
}

// again tries until no device has ended its waiting.
func (f *fleet) again(rng *rand.Rand, name string, c *collectiveCase) {
	f.Helper()
	var err error
	for i := range unlucky {
		if err = f.try(rng, name, uint64(i+1)<<32|rng.Uint64()>>40+1, c); err == nil {
			return
		}
	}
	f.Fatal(err)
}

// drawSmall is a case for both ranks whose operands and results a workgroup passes on.
func drawSmall(rng *rand.Rand) collectiveCase {
	for {
		c := drawCollective(rng, 2, 4*(1+rng.IntN(400)))
		if len(c.groups) == 1 && c.t.Bytes()%4 == 0 && c.out.Bytes()%4 == 0 {
			return c
		}
	}
}

// TestRelay: small collectives of devices whose kernels wait for each other give what the definitions say, for all types and operators,
// and leave nothing behind.
func TestRelay(t *testing.T) {
	f := relaying(t)
	rng := rand.New(rand.NewPCG(23, 4))
	used := make(carried)
	for i := range fewtest.Of(60, 30) {
		c := drawSmall(rng)
		before := f.relayed()
		f.again(rng, fmt.Sprint("p", i), &c)
		if f.relayed() > before {
			used[c.op]++
		}
	}
	used.wantAll(t, "by kernels")
	f.endEmpty()
	for _, r := range f.rigs {
		r.Until(func() bool { return r.exec.core.dev.Stats().Buffers <= 1 }) // that of the words of the checks of the probe
	}
}

// TestRelayShared: kernels do not wait on a device that another session has just used. The host passes the operands on, with the same result.
func TestRelayShared(t *testing.T) {
	f := relaying(t)
	rng := rand.New(rand.NewPCG(23, 5))
	c := drawSmall(rng)
	r := f.rigs[1]
	q := r.session()
	r.Do(q, ops.Iota, 1, f32(100_000), [][]int{{0}})
	if _, err := r.bytesOf(q, 1); err != nil {
		t.Fatal(err)
	}
	before := f.relayed()
	f.again(rng, "shared", &c)
	if n := f.relayed() - before; n > 0 {
		t.Errorf("%d kernels wait on a device that another session uses", n)
	}
	r.exec.End(q.Session)
	f.again(rng, "alone", &c)
	if f.relayed() == before {
		t.Error("no kernel waits although the other session has ended")
	}
}

// TestRelayError: where the operand of a rank is an error, all ranks are told, by its number. The collective that follows is one.
func TestRelayError(t *testing.T) {
	f := relaying(t)
	typ := f32(300)
	index := ops.Type{DType: ops.S32, Shape: ops.Shape{300, 1}}
	p := &ops.Region{Params: []ops.Result{res(1, typ), res(2, index)}, Body: []ops.Instr{
		{Op: ops.Gather, Ins: uses(1, 2), Outs: []ops.Result{res(3, typ)}, Attrs: [][]int{{0}}},
		{Op: ops.AllReduce, Ins: uses(3), Outs: []ops.Result{res(4, typ)}, Attrs: [][]int{f.all(), {0}}},
		op(ops.Add, res(5, typ), ref(4), ref(4))}, Values: uses(5)}
	told := 0
	for round := 0; round < unlucky && told < 2; round++ {
		bad := told == 0
		for rank, r := range f.rigs {
			r.Define(f.qs[rank], "gather", p)
			at := make([]float64, 300)
			if bad && rank == 1 {
				at[7] = 300
			}
			f.tensor(rank, 1, typ, floats(alike(1, 300)...))
			f.tensor(rank, 2, index, cast(t, ops.S32, at))
			f.run(rank, "gather", uint64(round+1), []ops.Result{res(3, typ)}, uses(1, 2)...)
		}
		again := false
		for rank, r := range f.rigs {
			got, err := r.bytesOf(f.qs[rank], 3)
			switch {
			case missed(err):
				again = true
			case bad && (err == nil || !strings.Contains(err.Error(), "out of bounds") || rank != 1 && !strings.Contains(err.Error(), "rank 1")):
				t.Errorf("rank %d is told %v", rank, err)
			case !bad && (err != nil || f32At(got, 299) != 4):
				t.Errorf("rank %d: %v", rank, err)
			}
			r.Do(f.qs[rank], ops.Free, 0, ops.Type{}, [][]int{{1, 2, 3}})
		}
		if !again {
			told++
		}
	}
	if told < 2 || f.relayed() == 0 {
		t.Errorf("%d of 2 rounds were carried out, by %d kernels", told, f.relayed())
	}
}

// sums is a program that adds up the operands of all ranks, doubles that, and adds it up again.
func (f *fleet) sums(t ops.Type) *ops.Region {
	return &ops.Region{Params: []ops.Result{res(1, t)}, Body: []ops.Instr{
		{Op: ops.AllReduce, Ins: uses(1), Outs: []ops.Result{res(2, t)}, Attrs: [][]int{f.all(), {0}}}, op(ops.Add, res(3, t), ref(2), ref(2)),
		{Op: ops.AllReduce, Ins: uses(3), Outs: []ops.Result{res(4, t)}, Attrs: [][]int{f.all(), {0}}}}, Values: uses(4)}
}

// TestRelayLeft: where a rank leaves while the devices of the others have kernels that are to wait for it, these are told by its number.
func TestRelayLeft(t *testing.T) {
	f := relaying(t)
	typ := f32(500)
	before := f.relayed()
	f.held.Store(true)
	for rank, r := range f.rigs {
		r.Define(f.qs[rank], "sums", f.sums(typ))
		r.Do(f.qs[rank], ops.Iota, 1, typ, [][]int{{0}})
		f.run(rank, "sums", 1, []ops.Result{res(2, typ)}, uses(1)...)
	}
	f.rigs[0].Until(func() bool { return f.relayed() >= before+2 })
	f.rigs[1].exec.End(f.qs[1].Session)
	f.release()
	if _, err := f.rigs[0].bytesOf(f.qs[0], 2); err == nil || !strings.Contains(err.Error(), "rank 1") {
		t.Errorf("rank 0 is told %v", err)
	}
}

// TestRelayOrders: ranks have their runs in different orders, and their devices the kernels in one.
func TestRelayOrders(t *testing.T) {
	const ranks, runs = 2, 4
	f := relaying(t)
	rng := rand.New(rand.NewPCG(23, 7))
	typ := f32(500)
	for rank, r := range f.rigs {
		r.Define(f.qs[rank], "sums", f.sums(typ))
	}
	done := 0
	for round := 0; round < unlucky && done < fewtest.Of(10, 3); round++ {
		for rank := range f.rigs {
			for _, k := range rng.Perm(runs) {
				f.tensor(rank, ops.ID(10+k), typ, floats(alike(float32(k+1), 500)...))
				f.run(rank, "sums", uint64(round*runs+k+1), []ops.Result{res(ops.ID(20+k), typ)}, ref(ops.ID(10+k)))
			}
		}
		again := false
		for rank, r := range f.rigs {
			for k := range runs {
				got, err := r.bytesOf(f.qs[rank], ops.ID(20+k))
				switch want := float32(2 * ranks * ranks * (k + 1)); {
				case missed(err):
					again = true
				case err != nil || f32At(got, 0) != want || f32At(got, 499) != want:
					t.Fatalf("round %d, rank %d, run %d: %v, %v and %v in place of %v", round, rank, k, err, f32At(got, 0), f32At(got, 499), want)
				}
				r.Do(f.qs[rank], ops.Free, 0, ops.Type{}, [][]int{{10 + k, 20 + k}})
			}
		}
		if !again {
			done++
		}
	}
	if done == 0 || f.relayed() == 0 {
		t.Errorf("%d rounds were carried out, by %d kernels", done, f.relayed())
	}
}
