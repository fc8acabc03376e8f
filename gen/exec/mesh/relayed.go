package mesh

import (
	"errors"
	"slices"
	"time"

	"nxvk/gen/exec/devcopy"
	"nxvk/gen/exec/mesh/relay"
	"nxvk/ops"
)

// mostApart is how much later than the first device the last one may be expected to come to a collective that kernels wait for: a
// device computes nothing else meanwhile.
const mostApart = 100 * time.Millisecond

// Kernel is a rank whose device passes the operand on and gets the result by a kernel, for which nobody else has to wait. Its methods are called on the goroutine of
// the Executor of its session.
type Kernel interface {
	Port() *relay.Port
	Reach() time.Time // when the device is expected to come to the collective
	// Relay has the device carry out a turn of the port. done is called once: when the device has done so, or never will. missed says
	// that it has got no result, and err that the operand is none.
	Relay(number uint32, done func(missed bool, err error))
	// Settle says whether what the device has got is a result, once all ranks know.
	Settle(error)
}

// relayed is a collective whose operands kernels pass on. What a rank has got is a result once the kernels of all ranks have ended, and
// their operands were no errors.
type relayed struct {
	call *call
	turn *relay.Turn
	done []bool // by place
}

// relay has kernels pass the operands on, where all ranks can, and none would wait for long. In the order in which it is called, the devices
// carry out what comes of it.
func (c *call) relay(after *actions) bool {
	first, last := c.parties[0].reach, c.parties[0].reach
	ports := make([]*relay.Port, len(c.parties))
	for i, m := range c.parties {
		if m.kernel == nil || len(c.parties) < 2 || !m.port.Holds(c.t.Bytes(), c.resultBytes()) {
			return false
		}
		if ports[i] = m.port; m.reach.Before(first) {
			first = m.reach
		}
		if m.reach.After(last) {
			last = m.reach
		}
	}
	if last.Sub(first) > mostApart {
		return false
	}
	x := &relayed{call: c, done: make([]bool, len(ports))}
	mesh := c.meeting.mesh
	if x.turn = mesh.all.relay.Begin(ports, c.t.Bytes(), c.results, x.failed); x.turn == nil {
		return false
	}
	c.relayed, mesh.relayed = x, append(mesh.relayed, x)
	for i, m := range c.parties {
		m.tell(after, func() {
			m.kernel.Relay(x.turn.Number(i), func(missed bool, err error) { x.report(i, missed, err) })
		}, func() { x.report(i, true, failed("rank %d has ended with its device server", m.place.rank)) })
	}
	return true
}

// resultBytes is the size of what each rank gets.
func (c *call) resultBytes() int {
	switch n := c.t.Bytes(); c.in.Op {
	case ops.AllGather:
		return n * len(c.group)
	case ops.ReduceScatter:
		return n / len(c.group)
	default:
		return n
	}
}

// results makes what each rank gets of the operands of all.
func (c *call) results(operands [][]byte) ([][]byte, error) {
	var chunks []devcopy.Chunk
	for _, data := range operands {
		chunks = append(chunks, devcopy.Chunk{Bytes: data, Own: true})
	}
	if len(c.in.Attrs) > 1 {
		out, err := combine(nil, c.in.Combiner(), c.t.DType, chunks)
		if err != nil {
			return nil, err
		}
		chunks = []devcopy.Chunk{{Bytes: out}}
	}
	if c.in.Op == ops.AllReduce || c.in.Op == ops.CollectiveBroadcast {
		return slices.Repeat([][]byte{chunks[0].Bytes}, len(operands)), nil
	}
	results := make([][]byte, len(operands))
	for to := range results {
		results[to] = make([]byte, c.resultBytes())
		for from, k := range chunks {
			if piece, ok := c.piece(from, to, k); ok {
				copy(results[to][piece.Offset:], piece.Bytes)
			}
		}
	}
	return results, nil
}

// failed ends the collective because the host has no result.
func (x *relayed) failed(err error) {
	c := x.call
	var late *relay.LateError
	var after actions
	mu := &c.meeting.mesh.all.mu
	mu.Lock()
	if errors.As(err, &late) {
		err = failed("the device of rank %d of the mesh has not come to the collective within %v of the first one", c.group[late.Places[0]], relay.Patience)
	} else {
		err = failed("the node could not combine the operands: %w", err)
	}
	c.fail(err, &after)
	mu.Unlock()
	after.run()
}

// abort ends the waiting of the devices.
func (x *relayed) abort(after *actions) {
	after.add(func() { x.call.meeting.mesh.all.relay.End(x.turn) })
}

// report notes how the part of a rank has ended.
func (x *relayed) report(i int, missed bool, err error) {
	var after actions
	mu := &x.call.meeting.mesh.all.mu
	mu.Lock()
	x.ended(i, missed, err, &after)
	mu.Unlock()
	after.run()
}

// ended is report; the lock of the meshes is held.
func (x *relayed) ended(i int, missed bool, err error, after *actions) {
	if x.done[i] {
		return
	}
	x.done[i] = true
	c := x.call
	switch rank := c.group[i]; {
	case err != nil:
		c.fail(named(rank, err), after)
	case missed || !x.turn.Answered():
		c.fail(failed("the device of rank %d of the mesh has not carried the collective out", rank), after)
	}
	if slices.Contains(x.done, false) {
		return
	}
	m := c.meeting.mesh
	m.relayed = slices.DeleteFunc(m.relayed, func(o *relayed) bool { return o == x })
	for _, p := range c.parties {
		p.tell(after, func() { p.kernel.Settle(c.failed) }, func() {})
	}
}

// leaveRelayed ends the parts of a session that leaves.
func (m *mesh) leaveRelayed(p *Place, err error, after *actions) {
	for _, x := range slices.Clone(m.relayed) {
		for i, o := range x.call.parties {
			if o.place == p {
				x.ended(i, true, err, after)
			}
		}
	}
}
