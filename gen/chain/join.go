package chain

import (
	"math"
	"slices"
	"sync/atomic"

	"nxvk/gen/sample"
	"nxvk/gen/wire"
	"nxvk/ops"
)

// Calls of a shader that come while others of it are on the device wait for one
// of these to end, and then share a dispatch. Instances do not see each other, so
// each call gets the same results as alone. A call that comes alone goes at once.
// Calls of different sessions stay apart: a shader is foreign code, and what it
// may read is its own session's.

// chainsAhead is how many dispatches of a kind are on the device at a time: while
// one computes, the rows of the other are on their way.
const chainsAhead = 2

// maxInstances is how many workgroups every device takes in a row.
const maxInstances = 65535

// chainKind is what calls have in common that one dispatch can serve.
type chainKind struct {
	k, d, obs int
	step      uint64 // its bits
	typ       ops.DType
}

// chainQueue is the calls of a kind.
type chainQueue struct {
	running int // dispatches
	waiting []chainCall
}

// chainCall is a call that waits.
type chainCall struct {
	*wire.Chain
	done func(sample.Rows, error)
}

// steps takes the steps of a call, alone or with those of others.
func (c *Chains) steps(s *shader, r *wire.Chain, done func(sample.Rows, error)) {
	if !s.about.ByGroup {
		c.dispatchSteps(s, r, done)
		return
	}
	kind := chainKind{r.K, r.D, r.NObs, math.Float64bits(r.Step), r.Type}
	q := s.queues[kind]
	if q == nil {
		if s.queues == nil {
			s.queues = make(map[chainKind]*chainQueue)
		}
		q = &chainQueue{}
		s.queues[kind] = q
	}
	q.waiting = append(q.waiting, chainCall{r, done})
	c.startChains(s, kind, q)
}

// startChains dispatches what waits, as far as there is room on the device.
func (c *Chains) startChains(s *shader, kind chainKind, q *chainQueue) {
	for q.running < chainsAhead && len(q.waiting) > 0 {
		calls := q.next(c.mostBound())
		q.running++
		c.dispatchSteps(s, joinChains(calls), func(r sample.Rows, err error) {
			q.running--
			shareRows(calls, r, err)
			c.startChains(s, kind, q)
		})
	}
	if q.running == 0 && s.queues[kind] == q {
		delete(s.queues, kind)
	}
}

// next takes calls for one dispatch, whose buffers take at most so many bytes.
func (q *chainQueue) next(most uint64) []chainCall {
	n, instances := 0, 0
	for _, c := range q.waiting {
		if all := instances + c.N; n > 0 && (all*c.K > maxChainSteps || all > maxInstances || boundBytes(c.Chain, all) > most) {
			break
		}
		n, instances = n+1, instances+c.N
	}
	calls := slices.Clone(q.waiting[:n])
	q.waiting = slices.Delete(q.waiting, 0, n)
	return calls
}

// joinChains is the call that is several, one after the other.
func joinChains(calls []chainCall) *wire.Chain {
	if len(calls) == 1 {
		return calls[0].Chain
	}
	all := *calls[0].Chain
	all.N, all.Q, all.P, all.Extras = 0, nil, nil, nil
	for _, c := range calls {
		all.N += c.N
		all.Q, all.P, all.Extras = append(all.Q, c.Q...), append(all.P, c.P...), append(all.Extras, c.Extras...)
	}
	return &all
}

// shareRows gives each call its part of the rows. They are released when the last
// one is.
func shareRows(calls []chainCall, r sample.Rows, err error) {
	if err != nil || len(calls) == 1 {
		for _, c := range calls {
			c.done(r, err)
		}
		return
	}
	var left atomic.Int32
	left.Store(int32(len(calls)))
	part := func(data *[]byte, n int) (own []byte) {
		own, *data = (*data)[:n:n], (*data)[n:]
		return own
	}
	rest := r
	for _, c := range calls {
		n := c.N * c.K * c.Type.Size()
		own := sample.Rows{Q: part(&rest.Q, n*c.D), P: part(&rest.P, n*c.D), Grad: part(&rest.Grad, n*c.D), LogP: part(&rest.LogP, n)}
		own.Release = func() {
			if left.Add(-1) == 0 {
				r.Free()
			}
		}
		c.done(own, nil)
	}
}
