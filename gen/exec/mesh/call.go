package mesh

import (
	"slices"
	"time"

	"nxvk/gen/exec/devcopy"
	"nxvk/gen/exec/mesh/relay"
	"nxvk/gen/wire"
	"nxvk/ops"
	"nxvk/ops/shard"
)

// call is a collective of a group.
type call struct {
	meeting  *meeting
	seq      int // in its round
	group    []int
	in       *ops.Instr // of the rank that came first
	t        ops.Type   // of its operand
	parties  []member   // that have entered, in the order of the group once all have
	failed   error
	last     int                     // the place of the rank that entered last
	begun    bool                    // all ranks have entered
	came     []came                  // chunks of operands that came before
	here     int                     // ranks of this node
	far      *far                    // the part of other nodes; nil where all ranks are of this one
	exchange *exchange               // what it is where the devices share memory; nil where the host passes chunks on
	relayed  *relayed                // what it is where kernels pass their operands on; else nil
	chunks   map[int][]devcopy.Chunk // of a reduction, by offset, then in the order of the group; nil Bytes have not come
}

// came is a chunk of the rank at a place of the group.
type came struct {
	at    int
	chunk devcopy.Chunk
}

// member is a rank in a call.
type member struct {
	place  *Place
	at     int // in the group
	party  Party
	device Device // nil where its operand or result is on the host
	ahead  bool   // it wants to know when all ranks have entered
	sent   bool   // it has sent its operand before that

	kernel Kernel      // nil where no kernel of its device passes the operand on
	port   *relay.Port // by which it would
	reach  time.Time   // when the device is expected to come to it
}

// Entry is the part of a rank in a collective.
type Entry struct {
	call *call
	at   int
}

func newCall(mt *meeting, seq int, in *ops.Instr, t ops.Type) *call {
	c := &call{meeting: mt, seq: seq, group: in.Attrs[0], in: in, t: t, chunks: make(map[int][]devcopy.Chunk)}
	for _, r := range c.group {
		if mt.mesh.here(r) {
			c.here++
		}
	}
	return c
}

func (c *call) has(rank int) bool {
	return slices.ContainsFunc(c.parties, func(m member) bool { return m.place.rank == rank })
}

// compare is the error of a rank that asks for something else than those before it.
func (c *call) compare(rank int, in *ops.Instr, t ops.Type) error {
	if len(c.parties) == 0 || in.Op == c.in.Op && t.Equal(c.t) && slices.EqualFunc(in.Attrs, c.in.Attrs, slices.Equal) {
		return nil
	}
	return wrong("rank %d asks for %s, rank %d for %s: all ranks carry out the same collectives",
		rank, describe(in, t), c.parties[0].place.rank, describe(c.in, c.t))
}

// isNamed reports whether an error says whose it is.
func isNamed(err error) bool {
	return wire.KindOf(err) == wire.RankFailed
}

// Fail ends the collective for all of its ranks. The error is of the rank that calls it.
func (e *Entry) Fail(err error) {
	c := e.call
	var after actions
	mu := &c.meeting.mesh.all.mu
	mu.Lock()
	if e.at >= 0 && e.at < len(c.group) {
		err = named(c.group[e.at], err)
	}
	c.fail(err, &after)
	mu.Unlock()
	after.run()
}

// fail ends the call for those who have entered, and for those to come.
func (c *call) fail(err error, after *actions) {
	if c.failed != nil {
		return
	}
	c.failed = err
	for _, m := range c.parties {
		m.tell(after, func() { m.party.Fail(err) }, func() {})
	}
	for _, list := range c.chunks {
		for _, k := range list {
			if k.Bytes != nil {
				after.add(k.Release)
			}
		}
	}
	c.chunks = nil
	for _, k := range c.came {
		after.add(k.chunk.Release)
	}
	c.came = nil
	if c.far != nil {
		c.far.fail(err, after)
	}
	if c.exchange != nil {
		c.exchange.abort(after)
	}
	if c.relayed != nil {
		c.relayed.abort(after)
	}
}

// tell has the Executor of a rank run f, or gone where it has ended, in the order of the calls.
func (m member) tell(after *actions, f, gone func()) {
	m.place.told.add(func() { m.place.run(f, gone) })
	after.add(m.place.told.tell)
}

// begin begins what all ranks have entered.
func (c *call) begin(after *actions) {
	c.last = c.parties[len(c.parties)-1].at
	slices.SortFunc(c.parties, func(a, b member) int { return a.at - b.at })
	if c.relay(after) {
		return
	}
	c.met(after)
	if c.exchange = c.share(); c.exchange == nil {
		c.send(after)
		return
	}
	w := c.exchange.window
	w.waiting = append(w.waiting, c.exchange)
	w.next(after)
}

// met tells the ranks of this node that all have entered, where they want to know.
func (c *call) met(after *actions) {
	for _, m := range c.parties {
		if m.ahead {
			m.tell(after, m.party.Met, func() {})
		}
	}
}

// chunkBytes is the size of the chunks in which operands are sent.
func (c *call) chunkBytes() int {
	if c.far != nil {
		return WireBytes
	}
	return devcopy.ChunkBytes
}

// early reports whether ranks send their operands before the others have entered: small ones, of ranks of this node, unless
// a kernel may do that. By the time that the last one enters, they are there.
func (c *call) early() bool { return c.far == nil && c.t.Bytes() <= shard.HostBytes }

// send has the ranks send their operands, but for those that have done so early.
func (c *call) send(after *actions) {
	early := c.early()
	c.begun = true
	for _, k := range c.came {
		after.add(func() { c.arrived(k.at, k.chunk) })
	}
	c.came = nil
	for _, m := range c.parties {
		switch {
		case m.sent:
			continue
		case early && m.at == c.last: // this is its goroutine
			after.add(func() { c.sendOperand(m) })
			continue
		}
		m.tell(after, func() { c.sendOperand(m) }, func() {
			(&Entry{call: c, at: m.at}).Fail(failed("rank %d has ended with its device server", m.place.rank))
		})
	}
}

// sendOperand has a rank send its operand, where that is needed. Call it on the goroutine of the rank's Executor.
func (c *call) sendOperand(m member) {
	if c.in.Op == ops.CollectiveBroadcast && m.at > 0 {
		return
	}
	m.party.Send(c.chunkBytes(), func(k devcopy.Chunk, err error) {
		if err != nil {
			(&Entry{call: c, at: m.at}).Fail(err)
			return
		}
		c.arrived(m.at, k)
	})
}
