package gate

import (
	"container/list"
	"net"
	"sync"
)

// Pending are the sockets that have not introduced themselves, at most Max. One more
// takes the place of the oldest, which is the least likely to be a node: nodes introduce
// themselves within milliseconds.
type Pending struct {
	Max int

	mu      sync.Mutex
	sockets list.List // of net.Conn, the oldest first
}

// Add adds a socket, and closes the oldest one where there are too many. remove takes
// it out again.
func (p *Pending) Add(c net.Conn) (remove func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.sockets.Len() == p.Max {
		p.sockets.Remove(p.sockets.Front()).(net.Conn).Close()
	}
	e := p.sockets.PushBack(c)
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.sockets.Remove(e)
	}
}
