package memory

// Trim returns free blocks to the driver, except those that running work uses. It returns how
// many bytes that was.
func (m *Memory) Trim() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.trim()
}

func (m *Memory) trim() uint64 {
	if m.d.Gone() != nil {
		return 0 // work that counts as complete may still run
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

// dropImported gives imported memory back that nothing uses.
func (p *Pool) dropImported() {
	if p.imported && p.mem.d.Gone() == nil {
		p.dropEmpty(anyBlock)
	}
}

func anyBlock(*block) bool { return true }

// held reports whether submitted work keeps a block that is otherwise free.
func (m *Memory) held() bool {
	for _, p := range m.pools {
		for _, b := range p.blocks {
			if b.empty() {
				return true
			}
		}
	}
	return false
}

// account notes that a pool got blocks from the driver, or returned some.
func (m *Memory) account(p *Pool, bytes int64) {
	if p.imported {
		return
	}
	m.reserved += uint64(bytes)
	m.heaps[m.d.Raw.Types[p.kind].Heap] += uint64(bytes)
}

// dissolve returns the slabs of a class without a region in use to their blocks, as far as
// those are selected.
func (p *Pool) dissolve(class int, selected func(*block) bool) {
	var empty []*slab
	kept := p.free[class][:0]
	for _, r := range p.free[class] {
		sl := r.slab
		if sl.used > 0 || !selected(sl.blk) {
			kept = append(kept, r)
			continue
		}
		sl.span.uses = sl.span.uses.union(&r.uses)
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

// dropEmpty destroys the selected blocks that neither a buffer nor running work uses.
func (p *Pool) dropEmpty(selected func(*block) bool) {
	kept := p.blocks[:0]
	for _, b := range p.blocks {
		if !selected(b) || !b.empty() || !b.free[0].uses.complete() {
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
