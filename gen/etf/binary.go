package etf

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// LargeBinary is the size from which a received binary lives in an
// Allocator's memory instead of the Go heap.
const LargeBinary = 16 << 10

// Binary is a large received binary. Its bytes lie outside of the Go heap, at the start
// of a block. The last Release frees them. The garbage collector frees a Binary that is
// dropped without a Release; messages that nobody reads end so, and no other code relies
// on it.
type Binary struct {
	hold *hold
}

// hold owns the block of a Binary. It is apart from Binary so that the cleanup of that
// may refer to it.
type hold struct {
	refs  atomic.Int32
	n     int
	mu    sync.Mutex
	block Block // nil once freed or taken
}

// NewBinary makes a Binary of the first n bytes of block, held once.
func NewBinary(block Block, n int) *Binary {
	if n > len(block.Bytes()) {
		panic("BUG: binary exceeds its block")
	}
	h := &hold{n: n, block: block}
	h.refs.Store(1)
	b := &Binary{hold: h}
	runtime.AddCleanup(b, (*hold).free, h)
	return b
}

// Len returns the size in bytes, also after the last Release.
func (b *Binary) Len() int { return b.hold.n }

// Bytes returns the contents, valid until the last Release or Take; nil after
// that. The caller keeps b alive while it uses them.
func (b *Binary) Bytes() []byte {
	b.hold.mu.Lock()
	defer b.hold.mu.Unlock()
	if b.hold.block == nil {
		return nil
	}
	return b.hold.block.Bytes()[:b.hold.n]
}

// Retain adds a holder.
func (b *Binary) Retain() {
	if b.hold.refs.Add(1) <= 1 {
		panic("BUG: retain of a released binary")
	}
}

// Release gives up one holder's share; the last one frees the block.
func (b *Binary) Release() {
	switch n := b.hold.refs.Add(-1); {
	case n == 0:
		b.hold.free()
	case n < 0:
		panic("BUG: binary released too often")
	}
}

// Take hands the block over to the caller, who frees it in the end. The contents are the
// first n bytes. Take returns nil where there are other holders or the block is freed;
// b stays as it is then. After a successful Take, Release does not free the block.
func (b *Binary) Take() (block Block, n int) {
	if b.hold.refs.Load() != 1 {
		return nil, 0
	}
	b.hold.mu.Lock()
	defer b.hold.mu.Unlock()
	block, b.hold.block = b.hold.block, nil
	return block, b.hold.n
}

func (h *hold) free() {
	h.mu.Lock()
	block := h.block
	h.block = nil
	h.mu.Unlock()
	if block != nil {
		block.Free()
	}
}

// Lost stands in a term for a large binary that the Allocator had no memory for. The rest
// of the term is whole, so that its reader can report the loss.
type Lost struct {
	Size int
	Err  error
}

// Outside is a binary to send. Its bytes are not copied and may lie outside of the Go
// heap. Release, if any, is called when the bytes have been written or never will be.
// Sending may fail before the encoder has seen the binary. So make it with NewOutside,
// and call Release when sending returns an error.
type Outside struct {
	Bytes   []byte
	Release func()
}

// NewOutside is an Outside whose Release calls release the first time only.
func NewOutside(p []byte, release func()) Outside {
	return Outside{Bytes: p, Release: sync.OnceFunc(release)}
}
