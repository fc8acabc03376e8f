package vulkan

// hazards knows which ranges were read and written since the last barrier. It
// is a hash table by region; entries are forgotten by counting epochs.
type hazards struct {
	slots [hazardSlots]hazardSlot
	epoch uint32
	batch uint32
	used  int
}

const (
	hazardSlots = 1024
	hazardSpans = 4
)

// hazardSlot holds what was accessed of one region. Beyond hazardSpans ranges
// the last one grows over all that follow: that can ask for a barrier too many
// and never for one too few.
type hazardSlot struct {
	region uint64
	epoch  uint32
	batch  uint32 // the last one that used the region
	writes uint32 // the last one that wrote it
	n      int
	spans  [hazardSpans]accessSpan
}

type accessSpan struct {
	lo, hi uint64
	access Access
}

// begin forgets everything, as after a barrier.
func (h *hazards) begin() {
	h.epoch++
	h.used = 0
}

// full says that a barrier is due to make room.
func (h *hazards) full() bool { return h.used >= hazardSlots*3/4 }

// slot finds the entry of a region, or the free one where it belongs.
func (h *hazards) slot(region uint64) *hazardSlot {
	i := region * 0x9e3779b97f4a7c15 >> 32
	for {
		s := &h.slots[i%hazardSlots]
		if s.epoch != h.epoch || s.region == region {
			return s
		}
		i++
	}
}

// conflicts reports whether an access must wait for one since the last
// barrier: they overlap and one of them writes.
func (h *hazards) conflicts(region, lo, hi uint64, a Access) bool {
	s := h.slot(region)
	if s.epoch != h.epoch {
		return false
	}
	for i := range s.spans[:s.n] {
		if sp := &s.spans[i]; lo < sp.hi && sp.lo < hi && (a|sp.access)&Write != 0 {
			return true
		}
	}
	return false
}

// add notes an access. It reports whether the batch may be using the region
// for the first time, and whether it may be the first time that it writes it; a false
// answer is certain.
func (h *hazards) add(region, lo, hi uint64, a Access) (first, writes bool) {
	s := h.slot(region)
	if first = s.region != region || s.batch != h.batch; first {
		s.batch, s.writes = h.batch, h.batch-1
	}
	if writes = a&Write != 0 && s.writes != h.batch; writes {
		s.writes = h.batch
	}
	if s.epoch != h.epoch {
		s.region, s.epoch, s.n = region, h.epoch, 0
		h.used++
	}
	for i := range s.spans[:s.n] {
		if sp := &s.spans[i]; sp.lo == lo && sp.hi == hi {
			sp.access |= a
			return first, writes
		}
	}
	if s.n < hazardSpans {
		s.spans[s.n] = accessSpan{lo, hi, a}
		s.n++
		return first, writes
	}
	sp := &s.spans[s.n-1]
	sp.lo, sp.hi, sp.access = min(sp.lo, lo), max(sp.hi, hi), sp.access|a
	return first, writes
}
