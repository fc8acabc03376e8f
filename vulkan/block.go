package vulkan

import (
	"errors"
	"fmt"

	"nxvk/vulkan/vk"
)

// block is one allocation from the device with a buffer over all of it.
type block struct {
	pool   *pool
	memory vk.Memory
	buffer vk.Buffer
	addr   uint64 // of the buffer, 0 without buffer device addresses
	size   uint64
	mapped []byte // nil when the host cannot see it
	free   []span // ascending, never adjacent
	live   int    // regions in use
	old    bool   // none was when it was last looked at, nor has been since
}

// span is a free piece of a block, with the submissions that used any of it: the
// device itself may reuse it behind them, the host when they are complete.
type span struct {
	off, size uint64
	uses      uses
}

// newBlock allocates from the device.
func (p *pool) newBlock(size uint64) (*block, error) {
	m := p.mem
	d := m.d
	if err := m.admit(p, size); err != nil {
		return nil, err
	}
	if f := d.opts.Fault.Alloc; f != nil && f(size) {
		return nil, fmt.Errorf("allocate %d bytes: %w: injected", size, ErrOutOfMemory)
	}
	address := d.info.Features.BufferDeviceAddress
	b := &block{pool: p, size: size}
	var r vk.Result
	var need vk.Requirements
	if b.buffer, need, r = vk.CreateBuffer(d.dev, size, address); r != vk.Success {
		return nil, d.fail(fmt.Sprintf("create a buffer of %d bytes", size), r)
	}
	if b.memory, r = vk.AllocateMemory(d.dev, max(size, need.Size), p.kind, address); r != vk.Success {
		vk.DestroyBuffer(d.dev, b.buffer)
		return nil, p.refuse(size, d.fail(fmt.Sprintf("allocate %d bytes", size), r))
	}
	if r = vk.BindBufferMemory(d.dev, b.buffer, b.memory); r == vk.Success && p.mapped {
		b.mapped, r = vk.MapMemory(d.dev, b.memory, size)
	}
	if r != vk.Success {
		b.destroy()
		return nil, p.refuse(size, d.fail(fmt.Sprintf("bind and map %d bytes", size), r))
	}
	if address {
		b.addr = vk.GetBufferDeviceAddress(d.dev, b.buffer)
	}
	b.free = []span{{off: 0, size: size}}
	m.account(p, int64(size))
	d.counts.blocks.Add(1)
	return b, nil
}

// refuse remembers that the driver has no block of size bytes, where there is
// an overflow to go to.
func (p *pool) refuse(size uint64, err error) error {
	if p == p.mem.device && p.mem.overflow != nil && errors.Is(err, ErrOutOfMemory) {
		p.refused, p.refusal = size, err
	}
	return err
}

func (b *block) destroy() {
	d := b.pool.mem.d
	d.queue.forget()
	vk.DestroyBuffer(d.dev, b.buffer)
	vk.FreeMemory(d.dev, b.memory)
}

// empty reports whether nothing of the block is in use.
func (b *block) empty() bool { return len(b.free) == 1 && b.free[0].size == b.size }

// fit returns the smallest free span of at least size bytes that fits, or -1.
func (b *block) fit(size uint64, fit fits) int {
	best := -1
	for i := range b.free {
		s := &b.free[i]
		if s.size >= size && (best < 0 || s.size < b.free[best].size) && (fit == nil || fit(&s.uses)) {
			best = i
		}
	}
	return best
}

// take cuts size bytes off free span i.
func (b *block) take(i int, size uint64) span {
	s := &b.free[i]
	out := span{s.off, size, s.uses.and(&uses{})}
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
	b.free[i].uses = b.free[i].uses.and(&n.uses)
	b.free = append(b.free[:i+1], b.free[i+2:]...)
}
