package exec

import (
	"slices"
	"testing"
	"time"

	"nxvk/ops"
)

// warmingUp runs a test on a device in whose stead the host carries out new kernels, with
// one beside it where it does not.
func warmingUp(t *testing.T, limit int, test func(r, plain *rig)) {
	lazily(t, func(r *rig) {
		if r.exec.core.target.Rounds == 0 || !r.exec.core.target.CPU {
			r.Skip("the host computes otherwise than the device")
		}
		plain := newRig(r.T, r.Dev)
		*plain.exec.core.target = *r.exec.core.target
		plain.limitHost(limit)
		r.limitHost(limit)
		r.exec.kernels.WarmUp = true
		test(r, plain)
	})
}

// What is new gives the bits of the device, and nothing is compiled for it.
func TestWarmUpSame(t *testing.T) {
	warmingUp(t, -1, func(r, plain *rig) {
		plain.exec.core.cfg.OneByOne = true
		for seed := range uint64(6) {
			a, b := r.session(), plain.session()
			sameStream(r, plain, a, b, seed)
			r.exec.End(a.Session)
			plain.exec.End(b.Session)
		}
		if c := r.exec.Counters(); c.Interpreted == 0 || c.Dispatches != 0 {
			r.Errorf("the host carried out %d dispatches, the device %d", c.Interpreted, c.Dispatches)
		}
	})
}

// What the host makes in the device's stead does not stay there for that: the same
// instructions are the host's own as when the device makes it.
func TestWarmUpPlaces(t *testing.T) {
	warmingUp(t, 64, func(r, plain *rig) {
		for _, x := range []*rig{r, plain} {
			q, v, s := x.session(), f32(100), f32(10)
			x.Do(q, ops.Iota, 1, v, [][]int{{-1}})
			x.point(q, ops.Sin, 2, v, ref(1))
			x.Do(q, ops.Slice, 3, s, [][]int{{5}, {10}, {1}}, ref(2))
			x.point(q, ops.Exp, 4, s, ref(3))
			x.Do(q, ops.Iota, 5, s, [][]int{{-1}})
			x.point(q, ops.Tanh, 6, s, ref(5))
			if _, err := x.Read(q, 4, 0, 10); err != nil {
				x.Fatal(err)
			}
			if _, err := x.Read(q, 6, 0, 10); err != nil {
				x.Fatal(err)
			}
		}
		if got, want := r.exec.Counters().Host, plain.exec.Counters().Host; got != want || want == 0 {
			r.Errorf("the host computes %d instructions, with the device %d", got, want)
		}
		if r.exec.Counters().Interpreted == 0 {
			r.Error("the host did nothing in the device's stead")
		}
	})
}

// A kernel that has cost the host as much as compiling it does goes to the device, and
// gives the same bits there. Results that the host made are at hand there.
func TestWarmUpEnds(t *testing.T) {
	warmingUp(t, -1, func(r, _ *rig) {
		r.exec.core.cfg.OneByOne = true
		q, v := r.session(), f32(1<<14)
		r.Do(q, ops.Iota, 1, v, [][]int{{-1}})
		var first []float32
		for round := 0; r.exec.Counters().Dispatches == 0; round++ {
			r.point(q, ops.Sin, 2, v, ref(1))
			got, err := r.Read(q, 2, 0, 1<<14)
			if err != nil {
				r.Fatal(err)
			}
			if round == 0 {
				first = got
			}
			if !slices.Equal(got, first) {
				r.Fatalf("round %d differs from the first", round)
			}
			r.Free(q, 2)
			r.Settle(100 * time.Microsecond) // the device server does other things, too
		}
		if r.exec.Counters().Interpreted < 10 {
			r.Errorf("the device was asked after %d dispatches", r.exec.Counters().Interpreted)
		}
	})
}

// A loop decides on values that the host has made.
func TestWarmUpLoop(t *testing.T) {
	warmingUp(t, -1, func(r, _ *rig) {
		q := r.session()
		r.Define(q, "double", doubling(3))
		r.Tensor(q, 1, 1, 2, 3)
		r.run(q, "double", []ops.Result{res(2, f32(3)), res(3, f32())}, ref(1), scalar(100), scalar(0))
		r.Want(q, 2, 32, 64, 96)
		r.Want(q, 3, 5)
		if c := r.exec.Counters(); c.Downloaded != 0 || c.Interpreted == 0 {
			r.Errorf("%d bytes were read back, the host carried out %d dispatches", c.Downloaded, c.Interpreted)
		}
	})
}

// A plan that is to be measured is carried out also where the stream has submitted by itself what is
// recorded, as it does when memory runs short: then no completion is to come that it could wait for.
func TestContestAfterOwnSubmission(t *testing.T) {
	warmingUp(t, -1, func(r, _ *rig) {
		r.exec.core.cfg.OneByOne = true
		r.exec.kernels.WarmUp, r.exec.kernels.Stead, r.exec.dispatcher.Stead = false, true, true
		q := r.session()
		v := f32(5000)
		r.Do(q, ops.Iota, 1, v, [][]int{{-1}})
		for id := ops.ID(2); id < ops.ID(2+2*r.exec.dispatcher.Trials()); id++ {
			f := r.exec.core.feed(q)
			f.Note()
			if _, err := f.Stream().Submit(); err != nil {
				r.Fatal(err)
			}
			r.point(q, ops.Sin, id, v, ref(1))
			if _, err := r.Read(q, id, 0, 10); err != nil {
				r.Fatal(err)
			}
		}
		if r.exec.Counters().Device == 0 || r.exec.Counters().Interpreted == 0 {
			r.Errorf("the device has carried out %d plans, the host %d kernels", r.exec.Counters().Device, r.exec.Counters().Interpreted)
		}
	})
}
