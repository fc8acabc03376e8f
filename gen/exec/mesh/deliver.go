package mesh

import (
	"sync/atomic"

	"nxvk/fallback/sched"
	"nxvk/gen/exec/devcopy"
	"nxvk/ops"
	"nxvk/ops/shard"
)

// arrived passes a chunk of the operand of one rank of this node on.
func (c *call) arrived(from int, k devcopy.Chunk) {
	if c.far != nil {
		c.far.local(from, k)
		return
	}
	mu := &c.meeting.mesh.all.mu
	mu.Lock()
	begun, failed := c.begun, c.failed
	if !begun && failed == nil {
		c.came = append(c.came, came{from, k})
	}
	mu.Unlock()
	switch {
	case failed != nil:
		k.Release()
	case begun:
		c.pass(from, k)
	}
}

// pass passes a chunk of the operand of one rank on to the ranks of this node.
func (c *call) pass(from int, k devcopy.Chunk) {
	if len(c.in.Attrs) == 1 {
		c.deliver(from, k)
		return
	}
	mu := &c.meeting.mesh.all.mu
	mu.Lock()
	if c.failed != nil {
		mu.Unlock()
		k.Release()
		return
	}
	list := c.chunks[k.Offset]
	if list == nil {
		list = make([]devcopy.Chunk, len(c.group))
		c.chunks[k.Offset] = list
	}
	list[from] = k
	for i := range list {
		if list[i].Bytes == nil {
			mu.Unlock()
			return
		}
	}
	delete(c.chunks, k.Offset)
	mu.Unlock()
	c.reduce(list)
}

// reduce combines a chunk of all ranks and passes it on.
func (c *call) reduce(list []devcopy.Chunk) {
	var out []byte
	work := func(w *sched.Worker) (err error) {
		out, err = combine(w, c.in.Combiner(), c.t.DType, list)
		return err
	}
	done := func(err error) {
		free := func() {}
		for _, k := range list {
			if k.Own && len(out) > 0 && &k.Bytes[0] == &out[0] { // the result is in its place
				free = k.Release
				continue
			}
			k.Release()
		}
		if err != nil {
			(&Entry{call: c, at: -1}).Fail(failed("the node could not combine the operands: %w", err))
			return
		}
		sum := devcopy.Chunk{Offset: list[0].Offset, Bytes: out, Release: free}
		if c.far != nil {
			c.far.combined(sum)
			return
		}
		c.deliver(0, sum)
	}
	if len(list[0].Bytes) <= shard.HostBytes {
		done(work(nil))
		return
	}
	c.meeting.mesh.all.work.Start("collective", work, done)
}

// deliver gives the ranks their parts of a chunk. It is released when all of them have copied theirs.
func (c *call) deliver(from int, k devcopy.Chunk) {
	left := &atomic.Int32{}
	left.Store(1)
	release := func() {
		if left.Add(-1) == 0 {
			k.Release()
		}
	}
	var after actions
	mu := &c.meeting.mesh.all.mu
	mu.Lock()
	if c.failed == nil {
		for _, m := range c.parties {
			if piece, ok := c.piece(from, m.at, k); ok {
				left.Add(1)
				piece.Release = release
				m.tell(&after, func() { m.party.Take(piece) }, release)
			}
		}
	}
	mu.Unlock()
	after.run()
	release()
}

// piece is what one rank gets of a chunk of another one, or of a chunk that all have made.
func (c *call) piece(from, to int, k devcopy.Chunk) (piece devcopy.Chunk, ok bool) {
	whole := c.t.Bytes()
	part := whole / len(c.group) // of all_to_all and reduce_scatter
	switch c.in.Op {
	case ops.AllGather:
		return devcopy.Chunk{Offset: from*whole + k.Offset, Bytes: k.Bytes}, true
	case ops.AllToAll:
		return cut(k, to*part, part, from*part)
	case ops.ReduceScatter:
		return cut(k, to*part, part, 0)
	}
	return k, true
}

// cut is the bytes of a chunk between lo and lo + n, as a chunk of what has them from base on.
func cut(k devcopy.Chunk, lo, n, base int) (piece devcopy.Chunk, ok bool) {
	first, end := max(lo, k.Offset), min(lo+n, k.Offset+len(k.Bytes))
	if first >= end {
		return piece, false
	}
	return devcopy.Chunk{Offset: base + first - lo, Bytes: k.Bytes[first-k.Offset : end-k.Offset]}, true
}
