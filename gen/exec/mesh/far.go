package mesh

import (
	"fmt"
	"slices"

	"nxvk/gen/exec/devcopy"
)

// A collective of ranks of several nodes begins on a node when all ranks of all nodes have entered it. Then each node
// asks the others for the chunks that its ranks need. Those of a reduction have an owner each, a node of the group in
// turns: it asks for the chunks of all ranks, combines them in the order of the group, and the others ask it for the
// result (Rabenseifner's algorithm, by chunks). So each node sends and receives, for N nodes of one rank, 2(N - 1)/N times
// the operand. A node holds a chunk until all have asked for it that need it.

// far is the part of other nodes in a collective.
type far struct {
	meeting *meeting
	where   Where
	call    *call             // nil before a rank of this node has entered
	entered map[string]string // by node: what its ranks have entered
	begun   bool
	err     error
	told    bool     // the other nodes know err
	stops   []func() // of watching them

	nodes []string          // of the group, in its order
	held  map[chunkID]*held // that others have yet to ask for
	asked map[chunkID][]func(devcopy.Chunk, error)
	wants map[string][]chunkID // by node: what is yet to be asked for
	due   int                  // chunks that are yet to come, and answers that are yet to be given
	out   int                  // answers on their way, which hold memory of values
}

// chunkID names a chunk: of the rank at a place of the group, or of what all have combined.
type chunkID struct{ at, chunk int }

// held is a chunk for other nodes.
type held struct {
	chunk devcopy.Chunk // whose Release is for one node
	left  int           // nodes that have yet to ask for it
}

// farKey names a collective of a round.
func farKey(seq int, group []int) string { return fmt.Sprint(seq, group) }

// far returns the part of other nodes in a collective.
func (mt *meeting) far(seq int, group []int) *far {
	key := farKey(seq, group)
	f := mt.fars[key]
	if f == nil {
		f = &far{meeting: mt, where: Where{Mesh: mt.mesh.id, Named: mt.key.named, Turn: mt.key.turn, Seq: seq, Group: group},
			entered: make(map[string]string), held: make(map[chunkID]*held), asked: make(map[chunkID][]func(devcopy.Chunk, error))}
		if mt.fars == nil {
			mt.fars = make(map[string]*far)
		}
		mt.fars[key] = f
	}
	return f
}

// join connects a call of this node, whose first rank has entered it.
func (f *far) join(c *call, after *actions) {
	f.call, c.far = c, f
	m := f.meeting.mesh
	for _, r := range f.where.Group {
		if node := m.of(r); node != "" && !slices.Contains(f.nodes, node) {
			f.nodes = append(f.nodes, node)
		}
	}
	for _, node := range f.others() {
		after.add(func() {
			stop := m.all.peers.Watch(node, func(err error) { f.nodeEnded(node, err) })
			m.all.mu.Lock()
			defer m.all.mu.Unlock()
			if f.over() {
				go stop()
				return
			}
			f.stops = append(f.stops, stop)
		})
	}
}

// others are the other nodes of the group.
func (f *far) others() (list []string) {
	self := f.meeting.mesh.all.peers.Self()
	for _, n := range f.nodes {
		if n != self {
			list = append(list, n)
		}
	}
	return list
}

// over reports whether nothing is left to be done.
func (f *far) over() bool { return f.out == 0 && (f.err != nil || f.begun && f.due == 0) }

// settle ends the watches once nothing is left to be done.
func (f *far) settle(after *actions) {
	if f.over() {
		for _, stop := range f.stops {
			after.add(stop)
		}
		f.stops = nil
	}
}

// nodeEnded fails the collective because a node has ended.
func (f *far) nodeEnded(node string, err error) {
	m := f.meeting.mesh
	var after actions
	after.add(func() { m.all.peers.Cut(node) })
	m.all.mu.Lock()
	for r, n := range m.nodes {
		if n == node && m.lost[r] == nil {
			m.lose(r, failed("rank %d has ended with its node: %v", r, err), &after)
		}
	}
	if !f.over() && f.call != nil {
		f.call.fail(failed("rank %d has ended with its node: %v", f.first(node), err), &after)
	}
	m.all.mu.Unlock()
	after.run()
}

// complete notes that all ranks of this node have entered.
func (f *far) complete(after *actions) {
	m := f.meeting.mesh
	self := m.all.peers.Self()
	f.tell(Notice{Event: Entered, What: f.call.what()}, after)
	f.enteredAt(self, f.call.what(), after)
}

// tell tells the other nodes of the group of something.
func (f *far) tell(n Notice, after *actions) {
	peers := f.meeting.mesh.all.peers
	n.Where, n.Node = f.where, peers.Self()
	for _, node := range f.others() {
		after.add(func() { peers.Tell(node, n) })
	}
}

// enteredAt notes that all ranks of a node have entered.
func (f *far) enteredAt(node, what string, after *actions) {
	f.entered[node] = what
	if f.clash(after) {
		return
	}
	if f.call == nil || f.begun || f.err != nil || len(f.entered) < len(f.nodes) || f.entered[f.meeting.mesh.all.peers.Self()] == "" {
		return
	}
	for other, w := range f.entered {
		if w != f.call.what() {
			f.call.fail(wrong("rank %d asks for %s, rank %d for %s: all ranks carry out the same collectives",
				f.first(other), w, f.call.parties[0].place.rank, f.call.what()), after)
			return
		}
	}
	f.begin(after)
}

// first is the first rank of the group that a node has.
func (f *far) first(node string) int {
	i := slices.IndexFunc(f.where.Group, func(r int) bool { return f.meeting.mesh.of(r) == node })
	return f.where.Group[max(i, 0)]
}

// clash fails collectives at the same place of the round whose nodes do not agree on the group.
func (f *far) clash(after *actions) (found bool) {
	for _, g := range f.meeting.fars {
		if g == f || g.where.Seq != f.where.Seq || !slices.ContainsFunc(g.where.Group, func(r int) bool { return slices.Contains(f.where.Group, r) }) {
			continue
		}
		for one, what := range f.entered {
			for other, asked := range g.entered {
				err := wrong("rank %d asks for %s among ranks %v, rank %d for %s among ranks %v: all ranks of a group name it alike",
					f.first(one), what, f.where.Group, g.first(other), asked, g.where.Group)
				for _, x := range []*far{f, g} {
					if x.call != nil {
						x.call.fail(err, after)
						found = true
					}
				}
			}
		}
	}
	return found
}

// failedAt notes that another node has given the collective up.
func (f *far) failedAt(err error, after *actions) {
	f.told = true
	if f.call != nil {
		f.call.fail(err, after)
		return
	}
	f.fail(err, after)
}

// fail ends the collective.
func (f *far) fail(err error, after *actions) {
	if f.err != nil {
		return
	}
	f.err = err
	if !f.told {
		f.told = true
		f.tell(Notice{Event: Failed, Err: err}, after)
	}
	for _, list := range f.asked {
		for _, reply := range list {
			after.add(func() { reply(devcopy.Chunk{}, err) })
		}
	}
	for _, h := range f.held {
		for range h.left {
			after.add(h.chunk.Release)
		}
	}
	clear(f.asked)
	clear(f.held)
	f.settle(after)
}
