package vulkan

import (
	"runtime"
	"sync"
)

const (
	stagingChunks = 4
	stagingSize   = 16 << 20
	// parallelCopy is the size from which several goroutines copy: one
	// moves about 10 GB/s into device memory, four 30.
	parallelCopy   = 4 << 20
	copyGoroutines = 4
)

// staging is a ring of host memory for uploads that cannot be written in place.
// While the device copies out of one chunk the host fills the next. The stream's
// goroutine uses it; mu is for the one that gives back what is idle.
type staging struct {
	s      *Stream
	mu     sync.Mutex
	chunks [stagingChunks]chunk
	now    int // index of the chunk in use
}

type chunk struct {
	buf    *Buffer
	fill   int
	open   bool   // the batch being recorded reads it, or is about to
	old    bool   // it was unused when it was last looked at, and has been since
	ticket Ticket // of the last submission that reads it
}

// reserve returns up to n bytes of staging memory. It submits what is recorded
// when the ring comes round, and waits for the device when it must.
func (g *staging) reserve(n int) (b *Buffer, at, got int, err error) {
	if g.full() {
		if _, err := g.s.Submit(); err != nil {
			return nil, 0, 0, err
		}
		if err := g.next(); err != nil {
			return nil, 0, 0, err
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	c := &g.chunks[g.now]
	if c.buf == nil {
		if c.buf, err = g.s.d.alloc(g.s.d.mem.host, g.size(), true); err != nil {
			return nil, 0, 0, err
		}
		c.fill = 0
		g.s.d.mem.idle.holding(g, true)
		defer g.s.d.watchIdle()
	}
	c.open, c.old = true, false
	at = c.fill
	got = min(n, c.buf.Len()-at)
	// Pieces start on a cache line, and on what a copy kernel wants.
	c.fill = min(int(roundUp(uint64(at+got), alignment)), c.buf.Len())
	return c.buf, at, got, nil
}

// full reports whether nothing is left of the current chunk.
func (g *staging) full() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	c := &g.chunks[g.now]
	return c.buf != nil && c.fill == c.buf.Len()
}

// next goes to the next chunk, when the device has read it.
func (g *staging) next() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.now = (g.now + 1) % stagingChunks
	c := &g.chunks[g.now]
	if err := g.s.d.queue.wait(c.ticket); err != nil {
		return err
	}
	c.fill = 0
	return nil
}

// size keeps the ring small where blocks are.
func (g *staging) size() int {
	return min(stagingSize, int(g.s.d.mem.host.blockSize/2))
}

// submitted notes the ticket of the batch.
func (g *staging) submitted(t Ticket) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i := range g.chunks {
		if c := &g.chunks[i]; c.open {
			c.open = false
			c.ticket = max(c.ticket, t)
		}
	}
}

// free gives the ring back; work that reads it keeps it as long as needed.
func (g *staging) free() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i := range g.chunks {
		if b := g.chunks[i].buf; b != nil {
			b.Free()
		}
		g.chunks[i] = chunk{}
	}
	g.s.d.mem.idle.holding(g, false)
}

// relax gives back the chunks that were unused when it was last called and have been
// since. It reports whether there are others.
func (g *staging) relax() (left bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i := range g.chunks {
		c := &g.chunks[i]
		switch unused := !c.open && g.s.d.Done(c.ticket); {
		case c.buf == nil:
			continue
		case unused && c.old:
			c.buf.Free()
			*c = chunk{}
			continue
		default:
			c.old, left = unused, true
		}
	}
	if !left {
		g.s.d.mem.idle.holding(g, false)
	}
	return left
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
