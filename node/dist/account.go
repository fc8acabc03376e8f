package dist

import (
	"fmt"
	"sync"
	"sync/atomic"
)

// Budget is the memory that connections may take together: arriving messages,
// decoded ones that nobody has handled, queued replies, and what is monitored and
// linked. Large binaries are the Allocator's. Its methods may be called from any
// goroutine.
type Budget interface {
	// Take takes n bytes, or none and says why.
	Take(n int64) error
	// Give returns n bytes.
	Give(n int64)
}

// use is what a connection takes memory for.
type use int

const (
	assembling use = iota // messages that are arriving in pieces
	decoding              // terms, until their message has been handled
	queueing              // what waits for the peer to read
	signalling            // monitors and links of the peer
	uses
)

const (
	// accountStep is how much an account takes from the budget at a time.
	accountStep = 64 << 10
	// accountFloor is what every connection has for itself, so that one that is
	// idle or sends little costs the budget nothing.
	accountFloor = accountStep
)

// account is the memory of one connection, bounded and paid by the budget. What is
// in use changes with each message; the budget is asked in steps.
type account struct {
	budget Budget // nil where there is none
	most   int64

	used  atomic.Int64
	split [uses]atomic.Int64 // of used, but for decoding, which each message changes twice

	held   atomic.Int64 // taken from the budget, and the floor
	mu     sync.Mutex   // held changes under it
	closed bool         // nothing is held beyond what is used
}

func newAccount(budget Budget, most int64) *account {
	a := &account{budget: budget, most: most}
	a.held.Store(accountFloor)
	return a
}

// take takes n bytes. An error is one of ErrOverLimit. Of
// no account everything can be taken.
func (a *account) take(u use, n int64) error {
	if a == nil {
		return nil
	}
	used := a.used.Add(n)
	var err error
	switch {
	case used > a.most:
		err = fmt.Errorf("%w: the connection holds %d bytes, may hold %d and needs %d more", ErrOverLimit, used-n, a.most, n)
	case used > a.held.Load():
		err = a.grow()
	}
	if err != nil {
		a.used.Add(-n)
		return err
	}
	if u != decoding {
		a.split[u].Add(n)
	}
	return nil
}

// give returns n bytes.
func (a *account) give(u use, n int64) {
	if a == nil || n == 0 {
		return
	}
	if u != decoding {
		a.split[u].Add(-n)
	}
	if a.held.Load()-a.used.Add(-n) >= 2*accountStep {
		a.shrink()
	}
}

// in returns the bytes that are in use for something.
func (a *account) in(u use) int64 {
	if u != decoding {
		return a.split[u].Load()
	}
	n := a.used.Load()
	for i := range a.split {
		n -= a.split[i].Load()
	}
	return max(n, 0)
}

// grow takes from the budget what is in use and not held.
func (a *account) grow() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	lacking := a.used.Load() - a.held.Load()
	switch {
	case lacking <= 0:
		return nil
	case a.closed:
		return ErrClosed
	}
	steps := (lacking + accountStep - 1) / accountStep * accountStep
	if a.budget != nil {
		if err := a.budget.Take(steps); err != nil {
			return fmt.Errorf("%w: %w", ErrOverLimit, err)
		}
	}
	a.held.Add(steps)
	return nil
}

// shrink returns to the budget what is held and not in use, but for a step that the
// next message may need.
func (a *account) shrink() {
	a.mu.Lock()
	defer a.mu.Unlock()
	keep := (a.used.Load() + accountStep - 1) / accountStep * accountStep
	if !a.closed && keep > 0 {
		keep += accountStep
	}
	spare := a.held.Load() - max(keep, accountFloor)
	if spare <= 0 {
		return
	}
	a.held.Add(-spare)
	if a.budget != nil {
		a.budget.Give(spare)
	}
}

// close returns what the connection has no use for any more. Messages of it that
// have yet to be handled give theirs back when they are.
func (a *account) close() {
	a.mu.Lock()
	a.closed = true
	a.mu.Unlock()
	a.shrink()
}

// charge is what a message has taken of an account until it is handled.
type charge struct {
	from *account
	size int64
}

func (c charge) settle() {
	if c.from != nil {
		c.from.give(decoding, c.size)
	}
}

// Handled says that a message which an Inbox was given has been handled, once for
// each. Until then its terms count as its connection's memory.
func Handled(message any) {
	switch m := message.(type) {
	case Call:
		m.charge.settle()
	case Cast:
		m.charge.settle()
	case Message:
		m.charge.settle()
	}
}
