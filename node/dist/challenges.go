package dist

import (
	"maps"
	"slices"
	"sync"
)

// challenges are those that this node has posed and that have not been answered. An
// answer proves that somebody knows the cookie, but not who: a peer that is dialled
// could pose a challenge that it was given on another connection, and answer that with
// what it learns. So no challenge that is in here is answered. Without challenges, nil,
// every handshake is for itself.
type challenges struct {
	mu   sync.Mutex
	open map[uint32]bool
}

// issue makes a challenge that no other handshake has. done is called when its own is
// over.
func (c *challenges) issue() (challenge uint32, done func()) {
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
func (c *challenges) has(challenge uint32) bool {
	if c == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.open[challenge]
}

func (c *challenges) all() []uint32 {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Collect(maps.Keys(c.open))
}
