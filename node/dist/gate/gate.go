package gate

import "sync"

// Gate is what everybody passes who is to become a connection. Once it is shut nobody
// is on the way, and nobody will be. The zero value is open.
type Gate struct {
	mu     sync.Mutex
	shut   bool
	inside sync.WaitGroup
}

// Enter reports whether the gate is open. Who has entered calls Leave in the end.
func (g *Gate) Enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut {
		return false
	}
	g.inside.Add(1)
	return true
}

// Leave says that somebody who entered is on the way no more.
func (g *Gate) Leave() { g.inside.Done() }

// Shut lets nobody in any more and waits until those inside have left.
func (g *Gate) Shut() {
	g.mu.Lock()
	g.shut = true
	g.mu.Unlock()
	g.inside.Wait()
}

// IsShut reports whether Shut has been called.
func (g *Gate) IsShut() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.shut
}
