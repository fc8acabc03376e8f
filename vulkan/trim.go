package vulkan

// Trim gives free blocks back to the system and returns how many bytes that
// was. Blocks that running work still uses stay.
func (d *Device) Trim() uint64 {
	d.mem.mu.Lock()
	defer d.mem.mu.Unlock()
	return d.mem.trim()
}

func (m *memory) trim() uint64 {
	before := m.reserved
	for _, p := range m.pools {
		for c := range p.free {
			p.dissolve(c)
		}
		p.dropEmpty()
	}
	return before - m.reserved
}

// dissolve returns the slabs of a class that have no region in use to their
// blocks.
func (p *pool) dissolve(class int) {
	var empty []*slab
	kept := p.free[class][:0]
	for _, r := range p.free[class] {
		sl := r.slab
		if sl.used > 0 {
			kept = append(kept, r)
			continue
		}
		sl.span.last = max(sl.span.last, Ticket(r.last.Load()))
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

// dropEmpty destroys the blocks that nothing uses, on the device either.
func (p *pool) dropEmpty() {
	kept := p.blocks[:0]
	for _, b := range p.blocks {
		if !b.empty() || !p.mem.d.Done(b.free[0].last) {
			kept = append(kept, b)
			continue
		}
		b.destroy()
		p.mem.reserved -= b.size
	}
	clear(p.blocks[len(kept):])
	p.blocks = kept
}
