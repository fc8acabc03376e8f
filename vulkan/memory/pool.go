package memory

import (
	"errors"
	"slices"

	"nxvk/vulkan/logical"
)

// Pool is the memory of one type.
type Pool struct {
	mem                   *Memory
	kind                  int // index of the memory type
	blockSize             uint64
	mapped, local, cached bool
	imported              bool // the memory is the process's own
	blocks                []*block
	free                  [classCount][]*Region // the region freed last at the end

	// The driver has no block of that many bytes, so that the next request goes to the
	// overflow at once.
	refused uint64 // 0 where it has refused none
	refusal error
}

// Local reports whether the memory is the device's own.
func (p *Pool) Local() bool { return p.local }

// Mapped reports whether the host sees the memory.
func (p *Pool) Mapped() bool { return p.mapped }

// Cached reports whether the host reads the memory at full speed.
func (p *Pool) Cached() bool { return p.cached }

// BlockSize returns the bytes of a block.
func (p *Pool) BlockSize() uint64 { return p.blockSize }

// slab is a piece of a block, cut into regions of one class.
type slab struct {
	blk     *block
	span    span
	regions []Region
	used    int
}

// popScan bounds the search for a suitable region.
const popScan = 64

// pop takes a suitable free region of a class. It tries those freed last, which may still be
// in a cache, and those freed first, which the device completes first.
func (p *Pool) pop(class int, ok suitable) *Region {
	list := p.free[class]
	n := len(list)
	for k := range min(n, popScan) {
		i := n - 1 - k
		if ok == nil || ok(&list[i].uses) {
			return p.take(class, i)
		}
		if k < n/2 && ok(&list[k].uses) {
			return p.take(class, k)
		}
	}
	return nil
}

// take removes a region from the free list of its class, which keeps its order.
func (p *Pool) take(class, i int) *Region {
	r := p.free[class][i]
	p.free[class] = slices.Delete(p.free[class], i, i+1)
	r.state = live
	r.slab.used++
	return r
}

// addSlab cuts a slab into free regions of a class.
func (p *Pool) addSlab(class int, ok suitable) error {
	blk, s, err := p.carve(slabSize(class), ok)
	if err != nil {
		return err
	}
	size := classSize(class)
	sl := &slab{blk: blk, span: s, regions: make([]Region, s.size/size)}
	for i := len(sl.regions) - 1; i >= 0; i-- {
		r := &sl.regions[i]
		p.mem.ids++
		r.id, r.blk, r.off, r.size = p.mem.ids, blk, s.off+uint64(i)*size, size
		r.class, r.slab, r.state = class, sl, free
		r.uses = s.uses.union(&Uses{})
		p.free[class] = append(p.free[class], r)
	}
	return nil
}

// carve cuts size bytes out of a block, and takes another block from the driver where none
// has room.
func (p *Pool) carve(size uint64, ok suitable) (*block, span, error) {
	for _, b := range p.blocks {
		if i := b.bestFit(size, ok); i >= 0 {
			return b, b.take(i, size), nil
		}
	}
	if p.refused > 0 && size >= p.refused {
		return nil, span{}, p.refusal
	}
	n := max(p.blockSize, size)
	if size > p.blockSize/2 {
		n = size // large buffers get a block of their own size
	}
	b, err := p.newBlock(n)
	for errors.Is(err, logical.ErrOutOfMemory) && n > size {
		n = max(n/2/granule*granule, size)
		b, err = p.newBlock(n)
	}
	if err != nil {
		return nil, span{}, err
	}
	p.blocks = append(p.blocks, b)
	return b, b.take(0, size), nil
}
