package store

import "slices"

// Check is an error that values may turn out to have. A device computes with indices while it
// checks them, so a result exists before it is known whether it is worth anything. Whoever
// reads the value waits for its checks.
type Check struct {
	settled bool
	err     error
	waiting []func()
}

// Settle ends a check: values that have it carry the error, unless it is nil.
func (c *Check) Settle(err error) {
	c.settled, c.err = true, err
	for _, f := range c.waiting {
		f()
	}
	c.waiting = nil
}

// then calls f when the check is settled, at once if it is.
func (c *Check) then(f func()) {
	if c.settled {
		f()
		return
	}
	c.waiting = append(c.waiting, f)
}

// maxChecks bounds the checks of a value. More become one, which settles with the last of them.
const maxChecks = 32

// Checks are those of a value, in the order of the instructions that made it. A list is never
// changed, so values may share it.
type Checks []*Check

// With is the union of two lists, without checks that found nothing.
func (cs Checks) With(more Checks) Checks {
	cs, more = cs.open(), more.open()
	switch {
	case len(cs) == 0:
		return more
	case len(more) == 0 || &cs[0] == &more[0] && len(cs) == len(more):
		return cs
	}
	all := slices.Clone(cs)
	for _, c := range more {
		if !slices.Contains(all, c) {
			all = append(all, c)
		}
	}
	if len(all) > maxChecks {
		return Checks{all.join()}
	}
	return all
}

// open is the list without checks that found nothing.
func (cs Checks) open() Checks {
	good := func(c *Check) bool { return c.settled && c.err == nil }
	if !slices.ContainsFunc(cs, good) {
		return cs
	}
	return slices.DeleteFunc(slices.Clone(cs), good)
}

// join is a check that is settled when all are, with the error of the first that has one.
func (cs Checks) join() *Check {
	all, left := &Check{}, len(cs)
	for _, c := range cs {
		c.then(func() {
			if left--; left == 0 {
				all.Settle(cs.Err())
			}
		})
	}
	return all
}

// Err is the first error that is known.
func (cs Checks) Err() error {
	for _, c := range cs {
		if c.err != nil {
			return c.err
		}
	}
	return nil
}

// Settled calls f when all checks are settled, at once if they are.
func (cs Checks) Settled(f func()) {
	for _, c := range cs {
		if !c.settled {
			c.then(func() { cs.Settled(f) })
			return
		}
	}
	f()
}

// Failure is the error that a value carries, as far as it is known.
func (v Value) Failure() error {
	if v.Err != nil || v.Mem == nil {
		return v.Err
	}
	return v.Mem.Checks.Err()
}
