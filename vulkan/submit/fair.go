package submit

// Flows take turns by start-time fair queueing. Each flow has a tag: the seconds of the
// device that it has had, divided by its weight. The flow with the smallest tag is next. A
// flow that becomes active starts at the smallest tag of the active flows, so that nobody
// saves up time while idle. A tag first grows by the expected time of a batch, and is
// corrected by the measured time.

// account is the share of the device that a flow has had.
type account struct {
	weight float64 // its share relative to others
	tag    float64 // seconds of the device, divided by weight
	active bool    // it is in the clock
}

// virtualClock is the virtual time of all flows: the smallest tag of those that are active.
type virtualClock struct {
	now    float64    // when a flow was last active
	active []*account // flows with work that waits or runs
}

// activate notes that a flow has work, unless that is known.
func (c *virtualClock) activate(a *account) {
	if a.active {
		return
	}
	a.active = true
	a.tag = max(a.tag, c.time())
	c.active = append(c.active, a)
}

// shared reports whether flows other than this one are active.
func (c *virtualClock) shared(a *account) bool {
	return len(c.active) > 1 || len(c.active) == 1 && c.active[0] != a
}

// deactivate notes that a flow has no more work.
func (c *virtualClock) deactivate(a *account) {
	c.time()
	a.active = false
	for i, b := range c.active {
		if a == b {
			last := len(c.active) - 1
			c.active[i], c.active[last] = c.active[last], nil
			c.active = c.active[:last]
			break
		}
	}
	if len(c.active) == 0 {
		c.now = max(c.now, a.tag)
	}
}

// time returns the smallest tag of the active flows.
func (c *virtualClock) time() float64 {
	for i, a := range c.active {
		if i == 0 || a.tag < c.now {
			c.now = a.tag
		}
	}
	return c.now
}

// charge adds seconds of the device to a flow; a negative number corrects an expectation.
func (a *account) charge(seconds float64) { a.tag += seconds / a.weight }

// before reports whether a flow is served before another one, given the seconds of their
// next batches: of equal tags, the shorter batch is first.
func (a *account) before(b *account, mine, theirs float64) bool {
	if a.tag != b.tag {
		return a.tag < b.tag
	}
	return mine/a.weight < theirs/b.weight
}
