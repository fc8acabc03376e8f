package vulkan

// hazards knows which ranges were read and written since the last barrier. It
// is a small hash table by region; entries are forgotten by counting epochs.
type hazards struct {
	slots [hazardSlots]hazardSlot
	epoch uint32
	used  int
}

const hazardSlots = 1024

// hazardSlot holds, for one region, the hull of the ranges read and written.
type hazardSlot struct {
	region      uint64
	epoch       uint32
	rlo, rhi    uint64
	wlo, whi    uint64
	read, wrote bool
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

// conflicts reports whether an access must wait for one since the last barrier.
func (h *hazards) conflicts(region, lo, hi uint64, a Access) bool {
	s := h.slot(region)
	if s.epoch != h.epoch {
		return false
	}
	if s.wrote && lo < s.whi && s.wlo < hi {
		return true
	}
	return a&Write != 0 && s.read && lo < s.rhi && s.rlo < hi
}

// add notes an access.
func (h *hazards) add(region, lo, hi uint64, a Access) {
	s := h.slot(region)
	if s.epoch != h.epoch {
		*s = hazardSlot{region: region, epoch: h.epoch}
		h.used++
	}
	if a&Read != 0 {
		s.rlo, s.rhi, s.read = hull(s.rlo, s.rhi, lo, hi, s.read)
	}
	if a&Write != 0 {
		s.wlo, s.whi, s.wrote = hull(s.wlo, s.whi, lo, hi, s.wrote)
	}
}

func hull(lo, hi, lo2, hi2 uint64, have bool) (uint64, uint64, bool) {
	if !have {
		return lo2, hi2, true
	}
	return min(lo, lo2), max(hi, hi2), true
}
