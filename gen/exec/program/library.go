package program

import (
	"nxvk/gen/exec/lru"
)

// A session keeps so many programs, and so many instructions of all of them; above
// that, those that have run least recently go. A client that forgets what it does
// not need (instruction forget) before either bound is reached never meets it.
const (
	MaxPrograms = 1 << 14
	maxSteps    = 1 << 20
)

// Bounds bound the Library of each session.
type Bounds struct {
	Programs int // of a session
	Steps    int // instructions of all its programs
	clock    lru.Clock
}

// NewBounds returns the bounds of sessions that share a device.
func NewBounds() *Bounds { return &Bounds{Programs: MaxPrograms, Steps: maxSteps} }

// Library has the programs that a session has defined, by their keys. The zero Library is
// empty.
type Library struct {
	byKey  map[string]*Program
	weight int // instructions of all
}

// Find returns the program of a key, nil where there is none. That counts as a use.
func (m *Library) Find(key string, b *Bounds) *Program {
	p := m.byKey[key]
	if p != nil {
		b.use(p)
	}
	return p
}

// use notes that a program is used.
func (b *Bounds) use(p *Program) {
	b.clock.Tick()
	p.Touch(&b.clock)
}

// Add keeps a program by a key that has none. Where the library is full, others go.
func (m *Library) Add(key string, p *Program, b *Bounds) {
	if m.byKey == nil {
		m.byKey = make(map[string]*Program)
	}
	b.use(p)
	lru.Evict(m.byKey, b.Programs, &b.clock, nil, m.drop)
	for m.weight+p.weight > b.Steps && len(m.byKey) > 0 {
		lru.Evict(m.byKey, 0, &b.clock, nil, m.drop)
	}
	m.byKey[key] = p
	m.weight += p.weight
}

// drop notes that a program is no longer in the library.
func (m *Library) drop(p *Program) {
	m.weight -= p.weight
	p.gone.Store(true)
}

// Forget lets go of the programs of keys. Who holds one may still run it.
func (m *Library) Forget(keys []string) {
	for _, key := range keys {
		if p := m.byKey[key]; p != nil {
			m.drop(p)
			delete(m.byKey, key)
		}
	}
}

// End lets go of all programs: the session has ended.
func (m *Library) End() {
	for _, p := range m.byKey {
		p.gone.Store(true)
	}
	*m = Library{}
}

// Len returns how many programs there are, and how many instructions they have.
func (m *Library) Len() (programs, steps int) { return len(m.byKey), m.weight }
