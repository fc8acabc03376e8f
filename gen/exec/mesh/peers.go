package mesh

import (
	"fmt"
	"slices"

	"nxvk/gen/exec/devcopy"
	"nxvk/ops"
)

// Peers reaches the meshes of other nodes. Its methods may be called from any goroutine and do not wait. What is told
// and asked of a node arrives there in this order.
type Peers interface {
	Self() string                                            // the name of this node
	Meet(node string, done func(error))                      // whether a node can be reached and is of this version
	Tell(node string, n Notice)                              // tells a node of something
	Ask(node string, a Ask, done func(devcopy.Chunk, error)) // asks for a chunk; done is called once, on any goroutine
	Watch(node string, ended func(error)) (stop func())      // ended is called where the node ends or is silent
	Cut(node string)                                         // drops what is on its way to a node that has ended
}

// Event is what a Notice tells of.
type Event int

// Events.
const (
	Entered Event = iota // all ranks of a node have entered a collective
	Failed               // a collective has failed
	Ended                // a rank has ended its part of a round
	Left                 // the session of a rank has ended
)

// Where is the place of a collective in a mesh.
type Where struct {
	Mesh        string
	Named, Turn uint64 // the round
	Seq         int    // in its round
	Group       []int
}

// Notice tells another node of something.
type Notice struct {
	Where
	Event Event
	Node  string // that tells it
	Rank  int    // of Ended and Left
	What  string // of Entered: the collective, its types and attributes
	Err   error  // of the others
}

// Ask asks for a chunk of the operand of the rank at a place of the group, or with All for what all ranks have
// combined.
type Ask struct {
	Where
	At    int
	Chunk int // its number
}

// All in place of a place of the group is what all ranks have combined.
const All = -1

// WireBytes is the size of chunks between nodes.
const WireBytes = 1 << 20

const (
	// wireWindow is how many chunks are asked of a node at a time.
	wireWindow = 16
	// maxEarly bounds the notices of a mesh that no session of this node has joined yet, and the number of such meshes.
	maxEarly = 1024
)

// Reach lets meshes have ranks of other nodes. It is called before the first Join.
func (ms *Meshes) Reach(p Peers) { ms.peers = p }

// Meet calls done, on any goroutine, when all other nodes of a mesh can be reached, or with the error of one.
func (ms *Meshes) Meet(nodes []string, done func(error)) {
	others := slices.Compact(slices.Sorted(slices.Values(nodes)))
	if ms.peers != nil {
		others = slices.DeleteFunc(others, func(n string) bool { return n == ms.peers.Self() })
	}
	switch {
	case len(others) == 0:
		done(nil)
		return
	case ms.peers == nil:
		done(wrong("this server reaches no other nodes, such as %s", others[0]))
		return
	}
	ms.meetNext(others, done)
}

func (ms *Meshes) meetNext(nodes []string, done func(error)) {
	if len(nodes) == 0 {
		done(nil)
		return
	}
	ms.peers.Meet(nodes[0], func(err error) {
		if err != nil {
			done(fmt.Errorf("the node %s of the mesh: %w", nodes[0], err))
			return
		}
		ms.meetNext(nodes[1:], done)
	})
}

// Notify has a mesh of this node learn what another node tells.
func (ms *Meshes) Notify(n Notice) {
	var after actions
	ms.mu.Lock()
	if m := ms.list[n.Mesh]; m != nil {
		m.notify(n, &after)
	} else if !ms.over[n.Mesh] {
		ms.early.add(n)
	}
	ms.mu.Unlock()
	after.run()
}

// Serve answers another node that asks for a chunk. reply is called once, on any goroutine; the chunk is released when it
// has been sent.
func (ms *Meshes) Serve(a Ask, reply func(devcopy.Chunk, error)) {
	var after actions
	ms.mu.Lock()
	m := ms.list[a.Mesh]
	var mt *meeting
	if m != nil {
		mt = m.meeting(roundKey{a.Named, a.Turn})
	}
	if mt != nil && !mt.full(a.Where) {
		mt.far(a.Seq, a.Group).serve(a, reply, &after)
	} else {
		after.add(func() {
			reply(devcopy.Chunk{}, failed("the node %s has no session of this mesh any more", ms.peers.Self()))
		})
	}
	ms.mu.Unlock()
	after.run()
}

// notify is Notify of a mesh.
func (m *mesh) notify(n Notice, after *actions) {
	mt := m.meeting(roundKey{n.Named, n.Turn})
	if mt.full(n.Where) {
		return
	}
	switch n.Event {
	case Entered:
		mt.far(n.Seq, n.Group).enteredAt(n.Node, n.What, after)
	case Failed:
		mt.far(n.Seq, n.Group).failedAt(n.Err, after)
	case Ended:
		if n.Node != "" && m.of(n.Rank) == n.Node {
			mt.end(n.Rank, n.Err, after)
		}
	case Left:
		if n.Node != "" && m.of(n.Rank) == n.Node {
			m.lose(n.Rank, n.Err, after)
		}
	}
}

// full reports whether a round has no room for another collective that this node does not know.
func (mt *meeting) full(w Where) bool {
	return len(mt.fars) >= maxEarly && mt.fars[farKey(w.Seq, w.Group)] == nil
}

// of is the node of a rank; empty where all ranks are of this one, or there is no such rank.
func (m *mesh) of(rank int) string {
	if m.nodes == nil || rank < 0 || rank >= len(m.nodes) {
		return ""
	}
	return m.nodes[rank]
}

// here reports whether a rank is of this node.
func (m *mesh) here(rank int) bool { return m.nodes == nil || m.of(rank) == m.all.peers.Self() }

// spans reports whether a group has ranks of other nodes.
func (m *mesh) spans(group []int) bool {
	return slices.ContainsFunc(group, func(r int) bool { return !m.here(r) })
}

// tellAll tells all other nodes of a mesh of something.
func (m *mesh) tellAll(n Notice, after *actions) {
	if m.nodes == nil {
		return
	}
	n.Mesh, n.Node = m.id, m.all.peers.Self()
	for _, node := range slices.Compact(slices.Sorted(slices.Values(m.nodes))) {
		if node != n.Node {
			after.add(func() { m.all.peers.Tell(node, n) })
		}
	}
}

// lose notes that a rank has left. Collectives that need it fail.
func (m *mesh) lose(rank int, err error, after *actions) {
	m.lost[rank] = err
	for _, mt := range m.rounds {
		mt.end(rank, err, after)
	}
}

// what describes a collective, for nodes to compare.
func (c *call) what() string { return fmt.Sprint(describe(c.in, c.t), " ", c.in.Attrs) }

// reduces reports whether a collective combines operands.
func reduces(op ops.Op) bool { return op == ops.AllReduce || op == ops.ReduceScatter }
