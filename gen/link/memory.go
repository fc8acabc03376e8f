package link

import (
	"nxvk/gen/etf"
	"nxvk/gen/exec/devcopy"
	"nxvk/gen/wire"
)

// slotLeast is the size from which a binary may have a slot of its own.
const slotLeast = 1 << 20

// allocator gives large binaries slots that devices import while there are some, and other memory else.
type allocator struct {
	slots *devcopy.Slots
	other etf.Allocator
}

// Alloc implements etf.Allocator.
func (a *allocator) Alloc(n int) (etf.Block, error) {
	if n >= slotLeast && n <= devcopy.SlotBytes {
		if t := a.slots.Try(); t != nil {
			return (*slotBlock)(t), nil
		}
	}
	return a.other.Alloc(n)
}

// slotBlock is a slot as the memory of a binary.
type slotBlock devcopy.Slot

// Bytes implements etf.Block.
func (b *slotBlock) Bytes() []byte { return (*devcopy.Slot)(b).Bytes() }

// Free implements etf.Block.
func (b *slotBlock) Free() { (*devcopy.Slot)(b).Give() }

// Bytes returns the bytes of an answer as a chunk.
func Bytes(reply etf.Term) (c devcopy.Chunk, err error) {
	c.Release, c.Own = func() {}, true
	switch b := reply.(type) {
	case []byte:
		c.Bytes = b
	case *etf.Binary:
		c.Bytes, c.Release, c.Own = b.Bytes(), b.Release, false
		if block, n := b.Take(); block != nil {
			c.Bytes, c.Release, c.Own = block.Bytes()[:n], block.Free, true
			if t, ok := block.(*slotBlock); ok {
				c.Slot = (*devcopy.Slot)(t)
			}
		}
	case etf.Lost:
		return c, &wire.Fault{Kind: wire.OutOfMemory, Err: b.Err}
	default:
		return c, &wire.Fault{Kind: wire.Internal, Err: errSize}
	}
	return c, nil
}
