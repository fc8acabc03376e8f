package exec

import (
	"testing"
	"time"

	"nxvk/gen/store"
	"nxvk/ops"
	"nxvk/vulkan"
)

// TestSessionsHaveStreams: what a session has recorded stays where it is while another
// one submits and reads.
func TestSessionsHaveStreams(t *testing.T) {
	r := newRig(t, device(t, vulkan.Options{}))
	q, other := r.session(), r.session()
	for _, q := range []*Queue{q, other} {
		r.Tensor(q, 1, 1, 2, 3)
		r.Do(q, ops.Negate, 2, f32(3), nil, ref(1))
		r.Want(q, 2, -1, -2, -3) // the kernel is there from now on
	}
	r.Do(other, ops.Negate, 3, f32(3), nil, ref(2))
	r.Do(q, ops.Negate, 3, f32(3), nil, ref(2))
	r.exec.recorder.flushTrace(q)
	recorded := r.exec.core.feed(q).Recorded()
	if recorded == 0 {
		t.Fatal("nothing is recorded")
	}
	done := false
	r.exec.Read(other, 3, 0, 1, func(d Data, err error) {
		if done = true; err != nil {
			t.Error(err)
		} else if d.Release != nil {
			d.Release()
		}
	})
	if n := r.exec.core.feed(q).Recorded(); n != recorded {
		t.Errorf("%d dispatches are recorded after another session submitted, want %d", n, recorded)
	}
	r.Until(func() bool { return done })
}

// TestLoopsLeaveTurns: two sessions whose loops do not end leave others their turns, and
// stop with their sessions.
func TestLoopsLeaveTurns(t *testing.T) {
	rigs(t, func(r *rig) {
		hogs := []*Queue{r.session(), r.session()}
		for _, q := range hogs {
			r.Define(q, "forever", forever())
			r.run(q, "forever", []ops.Result{res(1, f32())}, scalar(0))
		}
		q := r.session()
		for id := ops.ID(1); id < 60; id += 2 {
			r.Tensor(q, id, 1, float32(id))
			r.Do(q, ops.Negate, id+1, f32(2), nil, ref(id))
			r.Want(q, id+1, -1, -float32(id))
		}
		for _, q := range hogs {
			r.exec.End(q.Session)
		}
		r.Settle(50 * time.Millisecond)
		was := r.exec.Counters().Instructions
		r.Settle(50 * time.Millisecond)
		if n := r.exec.Counters().Instructions; n != was {
			t.Errorf("%d instructions after their sessions ended", n-was)
		}
	})
}

// TestEndDropsWork: what a session has had recorded and submitted is gone with it, also
// where the device is far behind, but for what another one has of it.
func TestEndDropsWork(t *testing.T) {
	r := newRig(t, device(t, vulkan.Options{}))
	keeper := r.session()
	for round := range 5 {
		q := r.session()
		n := 1 << 18
		r.Do(q, ops.Iota, 1, f32(n), [][]int{{-1}})
		for id := ops.ID(2); id < 300; id++ {
			r.Do(q, ops.Add, id, f32(n), nil, ref(id-1), scalar(1))
			if id != 200 {
				r.Free(q, id-1)
			}
		}
		var shared store.Value
		r.Until(func() (ok bool) {
			r.exec.recorder.flushTrace(q)
			shared, ok = q.Session.Get(299)
			return ok
		})
		shared.Mem.Retain()
		kept := ops.ID(1 + round)
		keeper.Session.Put(kept, shared)
		r.exec.End(q.Session)
		got, err := r.Read(keeper, kept, 5, 1)
		if err != nil || got[0] != 5+298 {
			t.Fatalf("got %v, %v, want %d", got, err, 5+298)
		}
	}
	r.exec.End(keeper.Session)
	r.Settle(50 * time.Millisecond)
	if st := r.Dev.Stats(); st.InUse != 0 || st.InFlight != 0 {
		t.Errorf("left behind: %+v", st)
	}
}
