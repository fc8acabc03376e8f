package exec

import (
	"math"
	"slices"
	"testing"
	"time"

	"nxvk/gen/exec/kernels"
	"nxvk/gen/exec/queue"
	"nxvk/ops"
	"nxvk/vulkan"
)

// longPlan is a value whose plan has many steps: the order of n numbers.
func (r *rig) longPlan(q *Queue, n int) {
	r.Helper()
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(i * 7919 % n)
	}
	r.Do(q, ops.Tensor, 1, f32(n), nil, ops.Operand{Lit: &ops.Literal{Type: f32(n), Data: floats(x...)}})
	r.Do(q, ops.Sort, 2, f32(n), [][]int{{0}, {0}, {0}}, ref(1))
}

// recordsPart has a queue record a part of a plan.
func (r *rig) recordsPart(q *Queue) {
	r.Helper()
	r.exec.recorder.flushTrace(q)
	for !q.recording.Busy() {
		if q.trace == nil && q.running == nil && q.queue.Len() == 0 {
			r.Skip("the plan has few steps on this device")
		}
		(<-r.Posted)()
	}
}

// The steps of a plan are recorded in turns with other sessions, whatever else the session has
// in hand, and what has been recorded when it ends is let go.
func TestRecordingYields(t *testing.T) {
	r := newRig(t, device(t, vulkan.Options{}))
	r.exec.queues.turns.Time = 0 // a look at the clock ends the turn
	const n = 1 << 16
	q, other := r.session(), r.session()
	r.Tensor(other, 1, 5, 6)
	r.longPlan(q, n)
	answers := 0
	r.recordsPart(q)
	steps := 0
	r.exec.kernels.EachPlan(func(p *kernels.Plan) {
		if p.Plan != nil {
			steps = max(steps, len(p.Steps))
		}
	})
	for q.recording.Busy() {
		if q.waits != queue.ForTurn {
			t.Fatalf("it waits for %q", q.waits)
		}
		r.exec.Read(other, 1, 0, 2, func(d Data, err error) {
			if err == nil && slices.Equal(d.Bytes, floats(5, 6)) {
				answers++
			}
		})
		(<-r.Posted)()
	}
	if want := (steps - 1) / queue.Look; answers < want || want == 0 {
		t.Errorf("another session had %d answers beside %d steps", answers, steps)
	}
	got, err := r.Read(q, 2, 0, math.MaxInt)
	if err != nil || len(got) != n || !slices.IsSorted(got) || got[n-1] != n-1 {
		t.Errorf("%d numbers, sorted %v: %v", len(got), slices.IsSorted(got), err)
	}
	// A session that ends in the middle.
	r.exec.End(q.Session)
	r.exec.End(other.Session)
	q = r.session()
	r.longPlan(q, n)
	r.recordsPart(q)
	if r.Dev.Stats().InUse == 0 {
		t.Fatal("the recording has no memory")
	}
	r.exec.End(q.Session)
	r.Settle(50 * time.Millisecond)
	if used := r.Dev.Stats().InUse; used != 0 {
		t.Errorf("%d bytes are in use after the session has ended", used)
	}
}

// Streams give the same bits, and programs the same errors, where each look at the clock ends a
// turn.
func TestShortTurnsSame(t *testing.T) {
	lazily(t, func(r *rig) {
		plain := newRig(r.T, r.Dev)
		*plain.exec.core.target = *r.exec.core.target
		r.exec.queues.turns.Time = 0
		plain.exec.core.cfg.OneByOne = true
		for seed := range uint64(6) {
			a, b := r.session(), plain.session()
			sameStream(r, plain, a, b, seed)
		}
		if r.exec.Counters().Waits[queue.ForTurn] == 0 {
			r.Error("others had no turn")
		}
	})
}
