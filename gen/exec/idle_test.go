package exec

import (
	"sync"
	"testing"
	"time"

	"nxvk/gen/exec/memory"
	"nxvk/ops"
	"nxvk/vulkan"
)

// aging gathers what is to run after a while.
type aging struct {
	mu  sync.Mutex
	due []func()
}

func (c *aging) after(_ time.Duration, f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.due = append(c.due, f)
}

// pass lets the time pass until nothing is due.
func (c *aging) pass() {
	for {
		c.mu.Lock()
		due := c.due
		c.due = nil
		c.mu.Unlock()
		if len(due) == 0 {
			return
		}
		for _, f := range due {
			f()
		}
	}
}

// end ends a session and lets the time pass when nothing is under way any more.
func (r *rig) end(q *Queue, clock *aging) {
	r.Helper()
	r.exec.core.feeds.Flush()
	r.Until(func() bool { return r.exec.core.feeds.InFlight() == 0 && len(r.exec.recorder.gathering) == 0 })
	r.exec.End(q.Session)
	r.Until(func() bool { return len(r.Posted) == 0 }) // reads let go of what they held
	clock.pass()
}

// What a session has used is the driver's and the system's again when it ends, also
// while another one goes on.
func TestMemoryReturns(t *testing.T) {
	var clock aging
	r := newRig(t, device(t, vulkan.Options{BlockSize: 8 << 20, After: clock.after}))
	r.exec.memory.Host = memory.NewHost(0)
	r.exec.memory.Host.ReturnIdle(clock.after)
	stays := r.session()
	r.Tensor(stays, 1, 1, 2, 3)
	r.Do(stays, ops.Add, 2, f32(3), nil, ref(1), ref(1))
	r.Want(stays, 2, 2, 4, 6)
	clock.pass()
	little := r.Dev.Stats().Reserved
	for range 2 {
		q := r.session()
		const n = 2 << 20
		for i := range ops.ID(6) {
			if err := r.arrive(q, 2*i+1, n); err != nil {
				t.Fatal(err)
			}
			r.Do(q, ops.Exp, 2*i+2, f32(n), nil, ref(2*i+1))
			if x, err := r.Read(q, 2*i+2, 0, 4); err != nil || x[0] != 1 {
				t.Fatalf("got %v, %v", x, err)
			}
		}
		if got := r.Dev.Stats(); got.Reserved < 48<<20 {
			t.Fatalf("%d bytes are reserved, want much", got.Reserved)
		}
		r.end(q, &clock)
		if got := r.Dev.Stats(); got.Reserved > little {
			t.Errorf("%d bytes are reserved beside the other session, which has %d: %+v", got.Reserved, little, got)
		}
		if got := r.exec.memory.Host.Kept(); got != 0 {
			t.Errorf("%d bytes of the host are kept", got)
		}
	}
	r.end(stays, &clock)
	if got := r.Dev.Stats(); got.Reserved != 0 {
		t.Errorf("without sessions: %+v", got)
	}
}
