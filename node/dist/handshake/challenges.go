package handshake

import (
	"maps"
	"slices"
	"sync"
)

// Challenges are the challenges that this node has posed and that have not been
// answered. An answer proves that its sender knows the cookie, but not who the sender
// is. A peer that this node dials could pose a challenge that it was given on another
// connection, and use the answer there. So this node answers no challenge that is one
// of its own. Any goroutine may call the methods, also of nil, which remembers
// nothing.
type Challenges struct {
	mu   sync.Mutex
	open map[uint32]bool
}

// issue makes a challenge that no other handshake has. done is called when its
// handshake is over.
func (c *Challenges) issue() (challenge uint32, done func()) {
	if c == nil {
		return newChallenge(), func() {}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open == nil {
		c.open = make(map[uint32]bool)
	}
	challenge = newChallenge()
	for c.open[challenge] {
		challenge = newChallenge()
	}
	c.open[challenge] = true
	return challenge, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.open, challenge)
	}
}

// has says whether a challenge is one of those.
func (c *Challenges) has(challenge uint32) bool {
	if c == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.open[challenge]
}

func (c *Challenges) all() []uint32 {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Collect(maps.Keys(c.open))
}
