package hazard

import "sync"

// Access says whether a command reads or writes a range, or both.
type Access uint8

// Accesses.
const (
	Read Access = 1 << iota
	Write
)

// Tracker keeps the accesses since the last barrier. It is for one goroutine.
type Tracker struct {
	slots [slotCount]slot
	epoch uint32 // number of the barrier; a slot of another epoch is free
	batch uint32
	used  int // slots of this epoch
}

const (
	slotCount = 1024
	spanCount = 4
)

// slot holds the accesses to one region.
type slot struct {
	region uint64
	epoch  uint32
	batch  uint32 // the last batch that used the region
	writes uint32 // the last batch that wrote it
	n      int
	spans  [spanCount]span
}

// span is the bytes lo to hi of a region.
type span struct {
	lo, hi uint64
	access Access
}

// NextBatch forgets all accesses, and all uses that Add reports.
func (t *Tracker) NextBatch() {
	t.Barrier()
	t.batch++
}

// Barrier forgets all accesses: the next command comes after them.
func (t *Tracker) Barrier() {
	t.epoch++
	t.used = 0
}

// Full reports whether the next command needs a barrier to make room in the table.
func (t *Tracker) Full() bool { return t.used >= slotCount*3/4 }

// slot finds the entry of a region, or the free one where it belongs.
func (t *Tracker) slot(region uint64) *slot {
	i := region * 0x9e3779b97f4a7c15 >> 32
	for {
		s := &t.slots[i%slotCount]
		if s.epoch != t.epoch || s.region == region {
			return s
		}
		i++
	}
}

// Conflicts reports whether an access to the bytes lo to hi needs a barrier.
func (t *Tracker) Conflicts(region, lo, hi uint64, a Access) bool {
	s := t.slot(region)
	if s.epoch != t.epoch {
		return false
	}
	for i := range s.spans[:s.n] {
		if sp := &s.spans[i]; lo < sp.hi && sp.lo < hi && (a|sp.access)&Write != 0 {
			return true
		}
	}
	return false
}

// Add notes an access. It reports whether this is the first use of the region in the
// batch, and whether it is the first write: true may be wrong, false is certain.
func (t *Tracker) Add(region, lo, hi uint64, a Access) (first, writes bool) {
	s := t.slot(region)
	if first = s.region != region || s.batch != t.batch; first {
		s.batch, s.writes = t.batch, t.batch-1
	}
	if writes = a&Write != 0 && s.writes != t.batch; writes {
		s.writes = t.batch
	}
	if s.epoch != t.epoch {
		s.region, s.epoch, s.n = region, t.epoch, 0
		t.used++
	}
	for i := range s.spans[:s.n] {
		if sp := &s.spans[i]; sp.lo == lo && sp.hi == hi {
			sp.access |= a
			return first, writes
		}
	}
	if s.n < spanCount {
		s.spans[s.n] = span{lo, hi, a}
		s.n++
		return first, writes
	}
	sp := &s.spans[s.n-1]
	sp.lo, sp.hi, sp.access = min(sp.lo, lo), max(sp.hi, hi), sp.access|a
	return first, writes
}

// Pool lends trackers to the streams of a device: a tracker takes 130 KiB, and most streams
// have nothing recorded most of the time.
type Pool struct {
	mu   sync.Mutex
	free []*Tracker
}

// Take returns a tracker of an empty batch.
func (p *Pool) Take() *Tracker {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.free)
	if n == 0 {
		t := &Tracker{}
		t.NextBatch()
		return t
	}
	t := p.free[n-1]
	p.free = p.free[:n-1]
	t.NextBatch()
	return t
}

// Give takes a tracker back.
func (p *Pool) Give(t *Tracker) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free = append(p.free, t)
}
