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
}

// NewBounds returns the bounds of sessions that share a device.
func NewBounds() *Bounds { return &Bounds{Programs: MaxPrograms, Steps: maxSteps} }

// Library has the programs that a session has defined, by their keys. The zero Library is
// empty.
type Library struct {
	byKey  lru.Cache[*Program]
	weight int // instructions of all
}

// Find returns the program of a key, nil where there is none. That counts as a use.
func (m *Library) Find(key string) *Program {
	p, ok := m.byKey.Get(key)
	if ok {
		m.byKey.Touch(p)
	}
	return p
}

// Add keeps a program by a key that has none. Where the library is full, others go.
func (m *Library) Add(key string, p *Program, b *Bounds) {
	m.byKey.Tick()
	m.byKey.Evict(b.Programs, nil, m.drop)
	for m.weight+p.weight > b.Steps && m.byKey.Len() > 0 {
		m.byKey.Evict(m.byKey.Len(), nil, m.drop)
	}
	m.byKey.Add(key, p)
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
		if p, ok := m.byKey.Get(key); ok {
			m.drop(p)
			m.byKey.Delete(key)
		}
	}
}

// End lets go of all programs: the session has ended.
func (m *Library) End() {
	for p := range m.byKey.All() {
		p.gone.Store(true)
	}
	*m = Library{}
}

// Len returns how many programs there are, and how many instructions they have.
func (m *Library) Len() (programs, steps int) { return m.byKey.Len(), m.weight }
