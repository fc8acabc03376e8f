package memory

import (
	"slices"

	"nxvk/vulkan/submit"
)

// Promise says that flows will write a region by batches that they have yet to submit. To others it is already written: what
// they record comes after these batches. The writers come after what used the region before the promise, and
// after nothing else.
type Promise struct {
	m       *Memory
	r       *Region
	writers []*submit.Flow
	stands  *submit.Submission // for wrote

	// Guarded by Memory.mu.
	before Uses
	wrote  []*submit.Submission
}

// Promise makes a promise of a region that is in use and has none.
func (m *Memory) Promise(r *Region, writers []*submit.Flow) *Promise {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := &Promise{m: m, r: r, writers: writers, stands: submit.NewPromise(), before: r.uses}
	r.uses = Uses{wrote: p.stands}
	r.promise.Store(p)
	return p
}

// Keep says that the writers have submitted everything, or will submit nothing more.
func (p *Promise) Keep() {
	p.m.mu.Lock()
	list := p.wrote
	p.before.each(func(s *submit.Submission) bool {
		if !s.Complete(false) {
			list = append(list, s)
		}
		return true
	})
	p.r.promise.Store(nil)
	p.m.mu.Unlock()
	p.m.q.Keep(p.stands, list)
}

// by reports whether a flow is one of the writers; that of no promise has none.
func (p *Promise) by(f *submit.Flow) bool { return p != nil && slices.Contains(p.writers, f) }

// add notes a submission of a writer.
func (p *Promise) add(s *submit.Submission) {
	if n := len(p.wrote); n == 0 || p.wrote[n-1] != s {
		p.wrote = append(p.wrote, s)
	}
}
