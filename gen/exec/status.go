package exec

import (
	"encoding/binary"
	"fmt"

	"nxvk/fallback"
	"nxvk/gen/exec/placement"
	"nxvk/gen/exec/queue"
	"nxvk/gen/store"
	"nxvk/ops"
)

// Whether a system of equations has a solution, the values tell, and a kernel
// cannot give an error. A plan that needs one says so in its status, a word that
// is read back before anybody may have the results: meanwhile the queue waits.

// verdict is what is known of results that are recorded, until the queue comes back
// to the instruction.
type verdict struct {
	outs []*store.Storage // the results, if they may be used
	done bool
	word uint32 // the status
	err  error  // why there is none
}

// readStatus has the status of a plan read back. The results are held until then.
func (dp *dispatcher) readStatus(q *Queue, status *store.Storage, outs []*store.Storage) {
	v := &verdict{outs: append([]*store.Storage(nil), outs...)}
	for _, m := range outs {
		m.Retain()
	}
	q.verdict = v
	now := true
	// To look for the answer here and now completes a submission, and a queue that
	// waits for that must not go on in the middle of this instruction.
	poll := !dp.exec.Feed(q).Throttled()
	dp.exec.Feed(q).Fetch(status, 0, 4, poll, func(data []byte, release func(), err error) {
		if v.done, v.err = true, err; err == nil {
			v.word = binary.LittleEndian.Uint32(data)
			release()
		}
		if !now {
			dp.exec.Resume(q)
		}
	})
	now = false
}

// judge gives the results of an instruction their ids, or says what is wrong with
// them, once the status is there.
func (dp *dispatcher) judge(q *Queue, w *placement.Work) (wait queue.Wait, err error) {
	v := q.verdict
	if !v.done {
		return queue.ForStatus, nil
	}
	defer q.dropVerdict()
	switch {
	case v.err != nil:
		return 0, v.err
	case v.word != 0:
		return 0, placement.Fault(singular(w.In.Op, int(v.word-1)))
	}
	for i, m := range v.outs {
		dp.exec.keep(q, w.In.Outs[i], m)
	}
	dp.exec.Counters.Device++
	return 0, nil
}

// singular is the error that the host gives: which names the row of a triangle,
// or the matrix of a batch.
func singular(op ops.Op, which int) error {
	what := "matrix"
	if op == ops.TriangularSolve {
		what = "row"
	}
	return fmt.Errorf("%s %d: %w", what, which, fallback.ErrSingular)
}

// dropVerdict lets go of results that nobody has been given.
func (q *Queue) dropVerdict() {
	if q.verdict != nil {
		dropAll(q.verdict.outs)
		q.verdict = nil
	}
}
