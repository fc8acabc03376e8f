package etf

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// LargeBinary is the size from which a received binary lives in an
// Allocator's memory instead of the Go heap.
const LargeBinary = 16 << 10

// Binary is a large received binary. Its bytes lie outside the Go heap, at
// the start of a block, and are freed by the last Release. A Binary that is
// dropped without one is freed when the garbage collector finds it, which is
// the path of messages that nobody reads, not a way to program.
type Binary struct {
	hold *hold
}

// hold owns the block for all copies of the pointer. It is apart from Binary
// so that a cleanup may refer to it.
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

// Take hands the block over to the caller, who frees it from then on. The
// contents are the first n bytes. It returns nil where other holders remain
// or the block is gone already; b then stays as it is. After a successful
// Take, Release does nothing to the block.
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

// Lost stands in a term where a large binary had no memory: the term is whole
// otherwise, and whoever reads it can say what happened.
type Lost struct {
	Size int
	Err  error
}

// Outside is a binary to send whose bytes are not copied and may lie outside
// the Go heap. Release, if any, is called when the bytes have been written or
// never will be. A message that cannot be sent may fail before or after its
// binaries were looked at, so make it with NewOutside and call Release when
// sending returns an error.
type Outside struct {
	Bytes   []byte
	Release func()
}

// NewOutside is an Outside whose Release calls release the first time only.
func NewOutside(p []byte, release func()) Outside {
	return Outside{Bytes: p, Release: sync.OnceFunc(release)}
}
