package vulkan

// Trim gives free blocks back to the system and returns how many bytes that
// was. Blocks that running work still uses stay.
func (d *Device) Trim() uint64 {
	d.mem.mu.Lock()
	defer d.mem.mu.Unlock()
	return d.mem.trim()
}

func (m *memory) trim() uint64 {
	if m.d.gone() != nil {
		return 0 // what looks done may still run
	}
	before := m.reserved
	for _, p := range m.pools {
		for c := range p.free {
			p.dissolve(c, anyBlock)
		}
		p.dropEmpty(anyBlock)
	}
	return before - m.reserved
}

func anyBlock(*block) bool { return true }

// held reports whether submitted work keeps a block that is otherwise free.
func (m *memory) held() bool {
	for _, p := range m.pools {
		for _, b := range p.blocks {
			if b.empty() {
				return true
			}
		}
	}
	return false
}

// account notes that blocks of a pool were taken or given back.
func (m *memory) account(p *pool, bytes int64) {
	m.reserved += uint64(bytes)
	m.heaps[m.d.raw.Types[p.kind].Heap] += uint64(bytes)
}

// dissolve returns the slabs of a class that have no region in use to their
// blocks, of those that are meant.
func (p *pool) dissolve(class int, meant func(*block) bool) {
	var empty []*slab
	kept := p.free[class][:0]
	for _, r := range p.free[class] {
		sl := r.slab
		if sl.used > 0 || !meant(sl.blk) {
			kept = append(kept, r)
			continue
		}
		sl.span.uses = sl.span.uses.and(&r.uses)
		if r == &sl.regions[0] {
			empty = append(empty, sl)
		}
	}
	clear(p.free[class][len(kept):])
	p.free[class] = kept
	for _, sl := range empty {
		sl.blk.give(sl.span)
	}
}

// dropEmpty destroys the blocks that nothing uses, on the device either, of those
// that are meant.
func (p *pool) dropEmpty(meant func(*block) bool) {
	kept := p.blocks[:0]
	for _, b := range p.blocks {
		if !meant(b) || !b.empty() || !b.free[0].uses.idle() {
			kept = append(kept, b)
			continue
		}
		b.destroy()
		p.mem.account(p, -int64(b.size))
		p.refused = 0
	}
	clear(p.blocks[len(kept):])
	p.blocks = kept
}
