package mesh

import (
	"slices"
	"sync/atomic"

	"nxvk/gen/exec/devcopy"
	"nxvk/ops"
)

// begin begins the collective: all ranks of all nodes have entered it.
func (f *far) begin(after *actions) {
	c := f.call
	f.begun, f.wants = true, make(map[string][]chunkID)
	f.meeting.drop(c)
	self, m := f.meeting.mesh.all.peers.Self(), f.meeting.mesh
	for k := range f.chunks() {
		if reduces(c.in.Op) {
			owner := f.owner(k)
			for at, r := range c.group {
				switch node := m.of(r); {
				case owner == self && node != self:
					f.want(node, chunkID{at, k})
				case owner != self && node == self:
					f.due++
				}
			}
			for _, node := range f.others() {
				if owner == self && f.needs(node, All, k) {
					f.due++
				}
			}
			if owner != self && f.needs(self, All, k) {
				f.want(owner, chunkID{All, k})
			}
			continue
		}
		for at, r := range c.group {
			if c.in.Op == ops.CollectiveBroadcast && at > 0 {
				break
			}
			if node := m.of(r); node != self {
				if f.needs(self, at, k) {
					f.want(node, chunkID{at, k})
				}
				continue
			}
			for _, node := range f.others() {
				if f.needs(node, at, k) {
					f.due++
				}
			}
		}
	}
	for _, node := range f.others() {
		for range wireWindow {
			f.ask(node, after)
		}
	}
	c.met(after)
	c.send(after)
	f.settle(after)
}

// want notes that a chunk is to be asked for.
func (f *far) want(node string, id chunkID) {
	f.wants[node] = append(f.wants[node], id)
	f.due++
}

// chunks counts the chunks of an operand.
func (f *far) chunks() int { return (f.call.t.Bytes() + WireBytes - 1) / WireBytes }

// span is where a chunk is in the operand.
func (f *far) span(k int) (off, n int) {
	return k * WireBytes, min(WireBytes, f.call.t.Bytes()-k*WireBytes)
}

// owner is the node that combines a chunk: that of the rank which needs it, or the nodes in turns where all do.
func (f *far) owner(k int) string {
	if f.call.in.Op == ops.ReduceScatter {
		part := f.call.t.Bytes() / len(f.where.Group)
		return f.meeting.mesh.of(f.where.Group[k*WireBytes/part])
	}
	return f.nodes[k%len(f.nodes)]
}

// needs reports whether a rank of a node needs something of a chunk.
func (f *far) needs(node string, from, k int) bool {
	off, n := f.span(k)
	part := f.call.t.Bytes() / len(f.where.Group)
	for to, r := range f.where.Group {
		if f.meeting.mesh.of(r) != node {
			continue
		}
		if op := f.call.in.Op; op != ops.ReduceScatter && op != ops.AllToAll || off < (to+1)*part && to*part < off+n {
			return true
		}
	}
	return false
}

// ask asks a node for the next chunk.
func (f *far) ask(node string, after *actions) {
	list := f.wants[node]
	if len(list) == 0 || f.err != nil {
		return
	}
	id := list[0]
	f.wants[node] = list[1:]
	peers := f.meeting.mesh.all.peers
	after.add(func() {
		peers.Ask(node, Ask{Where: f.where, At: id.at, Chunk: id.chunk}, func(k devcopy.Chunk, err error) { f.came(node, id, k, err) })
	})
}

// came passes on what a node has answered, and asks for the next chunk.
func (f *far) came(node string, id chunkID, k devcopy.Chunk, err error) {
	c := f.call
	if err != nil {
		i := slices.IndexFunc(c.group, func(r int) bool { return f.meeting.mesh.of(r) == node })
		if id.at >= 0 {
			i = id.at
		}
		(&Entry{call: c, at: i}).Fail(err)
		return
	}
	if off, n := f.span(id.chunk); len(k.Bytes) == n {
		k.Offset = off
	} else {
		k.Release()
		(&Entry{call: c, at: -1}).Fail(failed("the node %s has sent a chunk of %d bytes in place of %d", node, len(k.Bytes), n))
		return
	}
	var after actions
	mu := &f.meeting.mesh.all.mu
	mu.Lock()
	if f.err != nil {
		mu.Unlock()
		k.Release()
		return
	}
	f.due--
	f.ask(node, &after)
	f.settle(&after)
	mu.Unlock()
	after.run()
	if id.at == All {
		c.deliver(0, k)
		return
	}
	c.pass(id.at, k)
}

// local passes on a chunk of a rank of this node.
func (f *far) local(at int, k devcopy.Chunk) {
	id := chunkID{at, k.Offset / WireBytes}
	if reduces(f.call.in.Op) {
		if f.owner(id.chunk) == f.meeting.mesh.all.peers.Self() {
			f.call.pass(at, k)
			return
		}
		f.hold(id, k, 1)
		return
	}
	f.both(id, k, func(k devcopy.Chunk) { f.call.pass(at, k) })
}

// combined passes on what this node has combined.
func (f *far) combined(k devcopy.Chunk) {
	f.both(chunkID{All, k.Offset / WireBytes}, k, func(k devcopy.Chunk) { f.call.deliver(0, k) })
}

// both passes a chunk to the ranks of this node and holds it for the other nodes that need it.
func (f *far) both(id chunkID, k devcopy.Chunk, pass func(devcopy.Chunk)) {
	n := 0
	for _, node := range f.others() {
		if f.needs(node, id.at, id.chunk) {
			n++
		}
	}
	if n == 0 {
		pass(k)
		return
	}
	k.Release = shared(2, k.Release)
	f.hold(id, k, n)
	pass(k)
}

// shared is a release that so many holders call.
func shared(holders int, release func()) func() {
	left := &atomic.Int32{}
	left.Store(int32(holders))
	return func() {
		if left.Add(-1) == 0 {
			release()
		}
	}
}

// hold holds a chunk until so many nodes have asked for it.
func (f *far) hold(id chunkID, k devcopy.Chunk, nodes int) {
	k.Release = shared(nodes, k.Release)
	var after actions
	mu := &f.meeting.mesh.all.mu
	mu.Lock()
	if f.err != nil {
		for range nodes {
			after.add(k.Release)
		}
	} else {
		f.held[id] = &held{k, nodes}
		for _, reply := range f.asked[id] {
			f.answer(id, reply, &after)
		}
		delete(f.asked, id)
		f.settle(&after)
	}
	mu.Unlock()
	after.run()
}

// serve answers a node that asks for a chunk, once there is one.
func (f *far) serve(a Ask, reply func(devcopy.Chunk, error), after *actions) {
	id := chunkID{a.At, a.Chunk}
	switch {
	case f.err != nil:
		after.add(func() { reply(devcopy.Chunk{}, f.err) })
	case f.held[id] != nil:
		f.answer(id, reply, after)
		f.settle(after)
	case f.begun && f.due == 0: // no node asks twice
		after.add(func() {
			reply(devcopy.Chunk{}, failed("the node %s has given this chunk to all who need it", f.meeting.mesh.all.peers.Self()))
		})
	case len(f.asked[id]) >= len(f.where.Group) || len(f.asked) >= maxEarly:
		after.add(func() { reply(devcopy.Chunk{}, failed("more chunks are asked for than a node needs at a time")) })
	default:
		f.asked[id] = append(f.asked[id], reply)
	}
}

// answer gives a held chunk to a node.
func (f *far) answer(id chunkID, reply func(devcopy.Chunk, error), after *actions) {
	h := f.held[id]
	if h == nil {
		after.add(func() { reply(devcopy.Chunk{}, failed("this chunk has been given to all who need it")) })
		return
	}
	f.due--
	f.out++
	k, sent := h.chunk, h.chunk.Release
	k.Release = func() {
		sent()
		f.sent()
	}
	if h.left--; h.left == 0 {
		delete(f.held, id)
	}
	after.add(func() { reply(k, nil) })
}

// sent notes that an answer has gone, or never will.
func (f *far) sent() {
	var after actions
	mu := &f.meeting.mesh.all.mu
	mu.Lock()
	f.out--
	f.settle(&after)
	mu.Unlock()
	after.run()
}
