package vulkan

import (
	"runtime"
	"sync"
)

const (
	// stagingLeast and stagingSize bound a chunk.
	stagingLeast = 64 << 10
	stagingSize  = 16 << 20
	// stagingAlign is the alignment of data in a chunk: that of a cache line and of the
	// kernel that copies.
	stagingAlign = 256
	// parallelCopy is the size from which several goroutines copy: on an H200, one moves
	// about 10 GB/s into device memory, four move 30.
	parallelCopy   = 4 << 20
	copyGoroutines = 4
)

// staging is host memory for uploads that cannot be written in place. It is allocated in chunks,
// which are freed with the batch that copies out of them, so that nobody waits for the device.
type staging struct {
	s    *Stream
	buf  *Buffer // being filled, or nil
	fill int
}

// reserve returns up to n bytes of staging memory, which the host fills and commands of the
// current batch read.
func (g *staging) reserve(n int) (b *Buffer, at, got int, err error) {
	if g.buf != nil && g.fill == g.buf.Len() {
		// The device copies out of the full chunk while the host fills the next.
		if _, err := g.s.Submit(); err != nil {
			return nil, 0, 0, err
		}
	}
	if g.buf == nil {
		size := min(max(n, stagingLeast), g.most())
		if g.buf, err = g.s.d.alloc(g.s.d.mem.Host, size, true, g.s.flow); err != nil {
			return nil, 0, 0, err
		}
	}
	at = g.fill
	got = min(n, g.buf.Len()-at)
	g.fill = min((at+got+stagingAlign-1)/stagingAlign*stagingAlign, g.buf.Len())
	return g.buf, at, got, nil
}

// most returns the size of the largest chunk: small where blocks are small.
func (g *staging) most() int {
	return min(stagingSize, int(g.s.d.mem.Host.BlockSize()/2))
}

// release frees the chunk; the device keeps it as long as commands read it.
func (g *staging) release() {
	if g.buf != nil {
		g.buf.Free()
	}
	g.buf, g.fill = nil, 0
}

// copyBytes copies, with several goroutines where there is much data.
func copyBytes(dst, src []byte) {
	n := min(copyGoroutines, runtime.GOMAXPROCS(0))
	if len(src) < parallelCopy || n < 2 {
		copy(dst, src)
		return
	}
	part := (len(src)/n + 4095) &^ 4095
	var wg sync.WaitGroup
	for at := 0; at < len(src); at += part {
		end := min(at+part, len(src))
		wg.Go(func() { copy(dst[at:end], src[at:end]) })
	}
	wg.Wait()
}
