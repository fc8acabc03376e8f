package memory

import (
	"errors"
	"fmt"

	"nxvk/vulkan/logical"
	"nxvk/vulkan/vk"
)

// block is one allocation of the driver, with a Vulkan buffer over all of it.
type block struct {
	pool   *Pool
	memory vk.Memory
	buffer vk.Buffer
	addr   uint64 // of the buffer, 0 without buffer device addresses
	size   uint64
	mapped []byte // nil where the host cannot see it
	free   []span // ascending, never adjacent
	live   int    // regions in use
	unused bool   // without a region in use since the last look of aging

	imported Imported // whose memory it is; nil where it is the driver's
}

// span is a free piece of a block, with the submissions that used any of it. The device may
// use it again after them, the host when they are complete.
type span struct {
	off, size uint64
	uses      Uses
}

// newBlock allocates a block from the driver.
func (p *Pool) newBlock(size uint64) (*block, error) {
	m := p.mem
	d := m.d
	if err := m.admit(p, size); err != nil {
		return nil, err
	}
	if f := d.Options.Fault.Alloc; f != nil && f(size) {
		return nil, fmt.Errorf("allocate %d bytes: %w: injected", size, logical.ErrOutOfMemory)
	}
	address := d.Info.Features.BufferDeviceAddress
	b := &block{pool: p, size: size}
	var r vk.Result
	var need vk.Requirements
	if b.buffer, need, r = vk.CreateBuffer(d.VK, size, address); r != vk.Success {
		return nil, d.Fail(fmt.Sprintf("create a buffer of %d bytes", size), r)
	}
	if b.memory, r = vk.AllocateMemory(d.VK, max(size, need.Size), p.kind, address); r != vk.Success {
		vk.DestroyBuffer(d.VK, b.buffer)
		return nil, p.refuse(size, d.Fail(fmt.Sprintf("allocate %d bytes", size), r))
	}
	if r = vk.BindBufferMemory(d.VK, b.buffer, b.memory); r == vk.Success && p.mapped {
		b.mapped, r = vk.MapMemory(d.VK, b.memory, size)
	}
	if r != vk.Success {
		b.destroy()
		return nil, p.refuse(size, d.Fail(fmt.Sprintf("bind and map %d bytes", size), r))
	}
	if address {
		b.addr = vk.GetBufferDeviceAddress(d.VK, b.buffer)
	}
	b.free = []span{{off: 0, size: size}}
	m.account(p, int64(size))
	d.Counts.Blocks.Add(1)
	return b, nil
}

// refuse remembers that the driver has no block of size bytes, where requests can go to the
// overflow.
func (p *Pool) refuse(size uint64, err error) error {
	if p == p.mem.Device && p.mem.overflow != nil && errors.Is(err, logical.ErrOutOfMemory) {
		p.refused, p.refusal = size, err
	}
	return err
}

// destroy returns the block to the driver.
func (b *block) destroy() {
	d := b.pool.mem.d
	d.Invalidate()
	vk.DestroyBuffer(d.VK, b.buffer)
	vk.FreeMemory(d.VK, b.memory)
	if b.imported != nil {
		b.imported.Drop()
	}
}

// empty reports whether no region of the block is in use.
func (b *block) empty() bool { return len(b.free) == 1 && b.free[0].size == b.size }

// bestFit returns the smallest suitable free span of at least size bytes, or -1.
func (b *block) bestFit(size uint64, ok suitable) int {
	best := -1
	for i := range b.free {
		s := &b.free[i]
		if s.size >= size && (best < 0 || s.size < b.free[best].size) && (ok == nil || ok(&s.uses)) {
			best = i
		}
	}
	return best
}

// take cuts size bytes off free span i.
func (b *block) take(i int, size uint64) span {
	s := &b.free[i]
	out := span{s.off, size, s.uses.union(&Uses{})}
	s.off += size
	s.size -= size
	if s.size == 0 {
		b.free = append(b.free[:i], b.free[i+1:]...)
	}
	return out
}

// give returns a span and joins it with its neighbours.
func (b *block) give(s span) {
	i := 0
	for i < len(b.free) && b.free[i].off < s.off {
		i++
	}
	b.free = append(b.free, span{})
	copy(b.free[i+1:], b.free[i:])
	b.free[i] = s
	if i+1 < len(b.free) && s.off+s.size == b.free[i+1].off {
		b.join(i)
	}
	if i > 0 && b.free[i-1].off+b.free[i-1].size == s.off {
		b.join(i - 1)
	}
}

// join merges span i with the one after it.
func (b *block) join(i int) {
	n := b.free[i+1]
	b.free[i].size += n.size
	b.free[i].uses = b.free[i].uses.union(&n.uses)
	b.free = append(b.free[:i+1], b.free[i+2:]...)
}
