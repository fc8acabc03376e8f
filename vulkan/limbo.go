package vulkan

import "fmt"

// Memory freed while a batch that uses it is being recorded is in limbo until
// Submit. The stream itself may use it again at once: its commands run in
// order, and a hazard on the same region brings a barrier.

// limboScan bounds the search for memory in limbo.
const limboScan = 32

// Alloc is [Device.Alloc] for memory that only this stream uses until it next
// submits. It can return what was freed since the last Submit, so that a long
// batch needs no more memory than it has values alive at once.
func (s *Stream) Alloc(n int) (*Buffer, error) {
	if n < 0 {
		return nil, fmt.Errorf("allocate %d bytes: %w", n, ErrInvalid)
	}
	if err := s.d.gone(); err != nil {
		return nil, err
	}
	if r := s.d.mem.revive(s, uint64(n)); r != nil {
		return &Buffer{d: s.d, r: r, n: n}, nil
	}
	return s.d.Alloc(n)
}

// revive takes a region of the right size out of a stream's limbo.
func (m *memory) revive(s *Stream, n uint64) *region {
	if n > m.d.info.Limits.MaxAllocation {
		return nil
	}
	n = max(n, 1)
	class, size := -1, roundUp(n, granule)
	if n <= largest {
		class = classOf(n)
		size = classSize(class)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	last := len(s.limbo) - 1
	for i := last; i >= 0 && i > last-limboScan; i-- {
		r := s.limbo[i]
		if r.class != class || r.size != size || r.blk.pool != m.device || !m.inLimbo(r, s) {
			continue
		}
		s.limbo[i] = s.limbo[last]
		s.limbo = s.limbo[:last]
		r.state = live
		m.taken(r)
		return r
	}
	return nil
}

// inLimbo reports whether a released region waits for the stream's batch and
// for nothing else.
func (m *memory) inLimbo(r *region, s *Stream) bool {
	return r.state == released && r.refs.Load() == 1 && r.user.Load() == s
}

// leaveLimbo forgets a stream's limbo at the end of a batch: its regions are
// reclaimed like all that the batch used.
func (m *memory) leaveLimbo(s *Stream) {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(s.limbo)
	s.limbo = s.limbo[:0]
}
