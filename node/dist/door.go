package dist

import "sync"

// door is what a socket passes on its way to becoming a connection. Once it is
// shut nobody is on the way, and nobody will be.
type door struct {
	mu     sync.Mutex
	closed bool
	inside sync.WaitGroup
}

// enter says whether a socket may go on; leave ends that.
func (d *door) enter() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return false
	}
	d.inside.Add(1)
	return true
}

func (d *door) leave() { d.inside.Done() }

// shut lets nobody in any more and waits until those inside have left.
func (d *door) shut() {
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	d.inside.Wait()
}
