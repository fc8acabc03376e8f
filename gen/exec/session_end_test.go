package exec

import (
	"slices"
	"testing"

	"nxvk/gen/exec/queue"
	"nxvk/gen/store"
	"nxvk/ops"
)

// The values of a session that ends are let go in slices, or at once for a server that stops.
func TestEndInSlices(t *testing.T) {
	rigs(t, func(r *rig) {
		const n = 5*queue.SliceSteps + 3
		for _, now := range []bool{false, true} {
			q, other := r.session(), r.session()
			r.Tensor(other, 1, 5, 6)
			var mems []*store.Storage
			for i := range n {
				r.Tensor(q, ops.ID(1+i), float32(i))
			}
			r.Until(func() bool { return q.waits == 0 && q.queue.Len() == 0 })
			for i := range n {
				v, _ := q.Session.Get(ops.ID(1 + i))
				mems = append(mems, v.Mem)
			}
			held := func() (k int) {
				for _, m := range mems {
					if m.Host != nil || m.Dev != nil {
						k++
					}
				}
				return k
			}
			if now {
				r.exec.EndNow(q.Session)
				if k := held(); k != 0 {
					r.Errorf("%d values are left", k)
				}
				continue
			}
			r.exec.End(q.Session)
			if q.Session.Bytes() != 0 || !q.Session.Ended {
				r.Error("the session has not ended")
			}
			left, answers := held(), 0
			if left < n-queue.SliceSteps {
				r.Errorf("%d of %d values are left after a slice", left, n)
			}
			for before := left; left > 0; before = left {
				r.exec.Read(other, 1, 0, 2, func(d Data, err error) {
					if err == nil && slices.Equal(d.Bytes, floats(5, 6)) {
						answers++
					}
				})
				(<-r.Posted)()
				if left = held(); left < before-queue.SliceSteps {
					r.Errorf("a slice lets %d values go", before-left)
				}
			}
			if answers < n/queue.SliceSteps {
				r.Errorf("another session had %d answers", answers)
			}
		}
	})
}
