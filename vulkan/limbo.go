package vulkan

import "fmt"

// Memory freed while a batch that uses it is being recorded is in limbo until
// Submit. The stream itself may use it again at once: its commands run in
// order, and a hazard on the same region brings a barrier.

const (
	// limboScan bounds the search for memory in limbo.
	limboScan = 32
	// limboFresh is how much memory may lie in limbo before some is used again
	// at the price of a barrier.
	limboFresh = 64 << 20
)

// Alloc is [Device.Alloc] for memory that only this stream uses until it next
// submits. It can return what was freed since the last Submit, so that a long
// batch needs no more memory than it has values alive at once. It does not wait: where
// that would help, the error is [ErrBusy] as well.
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
	return s.d.alloc(s.d.mem.device, n, false, s.flow)
}

// revive takes a region of the right size out of a stream's limbo, one that
// brings no barrier if there is any.
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
	spare, total := -1, size
	for i := last; i >= 0 && i > last-limboScan; i-- {
		r := s.limbo[i]
		if r.class != class || r.size != size || r.blk.pool != m.device || !m.inLimbo(r, s) {
			continue
		}
		if s.hazards != nil && !s.hazards.conflicts(r.id, 0, r.size, Write) {
			return m.leave(s, i)
		}
		spare, total = i, total+size
	}
	if spare < 0 || total <= limboFresh {
		return nil
	}
	return m.leave(s, spare)
}

// leave takes a region out of limbo.
func (m *memory) leave(s *Stream, i int) *region {
	last := len(s.limbo) - 1
	r := s.limbo[i]
	s.limbo[i] = s.limbo[last]
	s.limbo = s.limbo[:last]
	r.state = live
	m.taken(r)
	return r
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
