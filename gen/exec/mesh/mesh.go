package mesh

import (
	"fmt"
	"slices"
	"sync"

	"nxvk/fallback/sched"
	"nxvk/gen/exec/mesh/relay"
	"nxvk/gen/exec/mesh/schedule"
	"nxvk/gen/wire"
	"nxvk/ops"
)

// Meshes are the meshes of a node, by the id that their sessions share. The methods may be called from any
// goroutine.
type Meshes struct {
	// Options choose the schedule of a collective of devices that share memory: schedule.Best, but for measurements.
	Options func(op ops.Op, ranks, bytes int, alike bool) schedule.Options

	mu    sync.Mutex
	list  map[string]*mesh
	work  *sched.Account  // whose processor time combining takes
	peers Peers           // nil where meshes are of this node alone
	over  map[string]bool // ids of meshes of several nodes that have ended here, at most maxEarly
	early early           // notices of meshes that no session of this node has joined yet
	relay relay.Relay     // of collectives whose operands kernels pass on
}

// Relay is what answers the kernels that pass operands on.
func (ms *Meshes) Relay() *relay.Relay { return &ms.relay }

// NewMeshes returns an empty list.
func NewMeshes(work *sched.Pool) *Meshes {
	return &Meshes{Options: schedule.Best, list: make(map[string]*mesh), work: work.Account(), over: make(map[string]bool)}
}

// mesh is as many places as it has ranks.
type mesh struct {
	all     *Meshes
	id      string
	nodes   []string // by rank; nil where all ranks are of this node
	places  []*Place // nil where no session has the rank
	lost    []error  // why the latest session of a rank has left; nil where none has
	rounds  map[roundKey]*meeting
	order   []roundKey         // of rounds, oldest first
	windows map[string]*window // by group
	relayed []*relayed         // not settled
}

// Place is a session in a mesh.
type Place struct {
	mesh *mesh
	rank int
	size int
	run  func(f, gone func()) // has the Executor of the session run f, or gone, on any goroutine, where it has ended
	turn uint64               // eager collectives so far
	told line
}

// Join gives a session a rank of a mesh, which the first session of an id begins. nodes has the node of each rank; it is
// nil where all are of this one.
func (ms *Meshes) Join(id string, rank, size int, nodes []string, run func(f, gone func())) (*Place, error) {
	var after actions
	ms.mu.Lock()
	defer func() {
		ms.mu.Unlock()
		after.run()
	}()
	m := ms.list[id]
	if m == nil {
		m = &mesh{all: ms, id: id, nodes: nodes, places: make([]*Place, size), lost: make([]error, size), rounds: make(map[roundKey]*meeting),
			windows: make(map[string]*window)}
	}
	switch {
	case ms.over[id]:
		return nil, wrong("a mesh of this id has ended: begin another one, with another id")
	case !slices.Equal(m.nodes, nodes):
		return nil, wrong("rank %d says that the mesh has the nodes %v, others say %v: open all with the same nodes", rank, nodes, m.nodes)
	case !m.here(rank):
		return nil, wrong("rank %d of the mesh is of the node %s, this is %s", rank, m.of(rank), ms.peers.Self())
	case m.nodes != nil && m.lost[rank] != nil:
		return nil, wrong("the mesh of several nodes has lost rank %d: begin another one, with another id", rank)
	case len(m.places) != size:
		return nil, wrong("rank %d says that the mesh has %d ranks, others say %d: open all with the same size", rank, size, len(m.places))
	case m.places[rank] != nil:
		return nil, wrong("another session has rank %d of the mesh: give each session a rank of its own", rank)
	}
	ms.list[id] = m
	p := &Place{mesh: m, rank: rank, size: size, run: run}
	if m.lost[rank] != nil {
		p.turn = m.turns() // it goes on where the others are
	}
	m.places[rank], m.lost[rank] = p, nil
	for _, n := range ms.early.take(id) {
		m.notify(n, &after)
	}
	return p, nil
}

// turns is how many eager collectives the sessions have had.
func (m *mesh) turns() (n uint64) {
	for _, p := range m.places {
		if p != nil {
			n = max(n, p.turn)
		}
	}
	return n
}

// Is reports whether the place has this rank of this mesh.
func (p *Place) Is(id string, rank, size int) bool {
	return p.mesh.id == id && p.rank == rank && p.size == size
}

// Leave ends the place. Collectives that need the rank fail for all others of their group.
func (p *Place) Leave(cause error) {
	m := p.mesh
	var after actions
	m.all.mu.Lock()
	if m.places[p.rank] == p {
		err := failed("rank %d has left the mesh: %v", p.rank, cause)
		m.places[p.rank] = nil
		m.lose(p.rank, err, &after)
		m.tellAll(Notice{Event: Left, Rank: p.rank, Err: err}, &after)
		m.closeWindows(p.rank, err, &after)
		m.leaveRelayed(p, err, &after)
		m.forget()
	}
	m.all.mu.Unlock()
	after.run()
}

// closeWindows drops the memory that a rank shares, since the next session of the rank may be of another device.
func (m *mesh) closeWindows(rank int, err error, after *actions) {
	for key, w := range m.windows {
		if !w.has(rank) {
			continue
		}
		delete(m.windows, key)
		if x := w.busy; x != nil && !x.givenAll() {
			x.call.fail(err, after)
		}
		if w.closed = true; w.busy == nil {
			w.drop()
		}
	}
}

// forget drops a mesh without sessions.
func (m *mesh) forget() {
	for _, p := range m.places {
		if p != nil {
			return
		}
	}
	if m.all.list[m.id] != m {
		return
	}
	delete(m.all.list, m.id)
	if m.nodes != nil {
		for id := range m.all.over {
			if len(m.all.over) < maxEarly {
				break
			}
			delete(m.all.over, id)
		}
		m.all.over[m.id] = true
	}
}

// Count returns how many meshes there are.
func (ms *Meshes) Count() int {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	return len(ms.list)
}

// line has a rank told what happens in the order in which it happens. That is known with the lock of the meshes and told
// without it, and two goroutines may do so at once.
type line struct {
	mu      sync.Mutex
	waiting []func()
	telling bool
}

// add is called with the lock of the meshes; tell comes after it, without.
func (l *line) add(f func()) {
	l.mu.Lock()
	l.waiting = append(l.waiting, f)
	l.mu.Unlock()
}

// tell runs what waits, unless another goroutine does so, which then runs all of it.
func (l *line) tell() {
	l.mu.Lock()
	if l.telling {
		l.mu.Unlock()
		return
	}
	l.telling = true
	for len(l.waiting) > 0 {
		list := l.waiting
		l.waiting = nil
		l.mu.Unlock()
		for _, f := range list {
			f()
		}
		l.mu.Lock()
	}
	l.telling = false
	l.mu.Unlock()
}

// actions are done without the lock: they may run on the goroutine of the caller.
type actions []func()

func (a *actions) add(f func()) { *a = append(*a, f) }

func (a actions) run() {
	for _, f := range a {
		f()
	}
}

func wrong(format string, args ...any) error {
	return &wire.Fault{Kind: wire.BadArgument, Err: fmt.Errorf(format, args...)}
}

func failed(format string, args ...any) error {
	return &wire.Fault{Kind: wire.RankFailed, Err: fmt.Errorf(format, args...)}
}
