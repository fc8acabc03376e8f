package vulkan

// Streams take turns on the device by start-time fair queueing: each stream has a tag,
// the virtual time up to which it has been served, and the smallest goes next. A stream
// that was idle begins where the one is that has had least of those that were not, and
// not in the past: who has used little lately comes before those that use all they get,
// and nobody saves up. Tags are made of what pieces of work are expected to take, and
// corrected by what they took.

// account is what a stream has had of the device.
type account struct {
	weight float64 // its share, beside those of others
	tag    float64 // seconds of the device that it has had, for a weight of one
}

// virtual is the time that all accounts share.
type virtual struct {
	now    float64    // when somebody was last active
	active []*account // that have work, waiting or on its way
}

// arrive makes an account active.
func (c *virtual) arrive(a *account) {
	a.tag = max(a.tag, c.time())
	c.active = append(c.active, a)
}

// others reports whether other accounts than this are active.
func (c *virtual) others(a *account) bool {
	return len(c.active) > 1 || len(c.active) == 1 && c.active[0] != a
}

// leave notes that an account has no work any more.
func (c *virtual) leave(a *account) {
	c.time()
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

// time is the least tag of those that are active.
func (c *virtual) time() float64 {
	for i, a := range c.active {
		if i == 0 || a.tag < c.now {
			c.now = a.tag
		}
	}
	return c.now
}

// serve notes that an account gets so much more, or less, than was known.
func (a *account) serve(seconds float64) { a.tag += seconds / a.weight }

// before reports whether an account has its turn before another, with pieces of so
// many seconds: of equal tags the shorter one.
func (a *account) before(b *account, mine, theirs float64) bool {
	if a.tag != b.tag {
		return a.tag < b.tag
	}
	return mine/a.weight < theirs/b.weight
}
