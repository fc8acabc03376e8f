package vulkan

import (
	"runtime"
	"sync"
)

const (
	// stagingLeast and stagingSize bound a chunk.
	stagingLeast = 64 << 10
	stagingSize  = 16 << 20
	// parallelCopy is the size from which several goroutines copy: one
	// moves about 10 GB/s into device memory, four 30.
	parallelCopy   = 4 << 20
	copyGoroutines = 4
)

// staging is host memory for uploads that cannot be written in place. A chunk that is
// full goes back to where it came from when the device has copied out of it, and
// nobody waits for that.
type staging struct {
	s    *Stream
	buf  *Buffer // being filled, or nil
	fill int
}

// reserve returns up to n bytes of staging memory, to be filled by the host and read by
// commands of the batch being recorded.
func (g *staging) reserve(n int) (b *Buffer, at, got int, err error) {
	if g.buf != nil && g.fill == g.buf.Len() {
		// The device copies out of this one while the host fills the next.
		if _, err := g.s.Submit(); err != nil {
			return nil, 0, 0, err
		}
	}
	if g.buf == nil {
		size := min(max(n, stagingLeast), g.most())
		if g.buf, err = g.s.d.alloc(g.s.d.mem.host, size, true, g.s.flow); err != nil {
			return nil, 0, 0, err
		}
	}
	at = g.fill
	got = min(n, g.buf.Len()-at)
	// Pieces start on a cache line, and on what a copy kernel wants.
	g.fill = min(int(roundUp(uint64(at+got), alignment)), g.buf.Len())
	return g.buf, at, got, nil
}

// most keeps chunks small where blocks are.
func (g *staging) most() int {
	return min(stagingSize, int(g.s.d.mem.host.blockSize/2))
}

// submitted lets go of the chunk: the device keeps it as long as commands read it.
func (g *staging) submitted() {
	if g.buf != nil {
		g.buf.Free()
	}
	g.buf, g.fill = nil, 0
}

// copyBytes copies with several goroutines when that is worth it.
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
