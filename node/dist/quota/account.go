package quota

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
)

var (
	// ErrOverLimit says that an account may not hold so much, or that the budget
	// has not so much left.
	ErrOverLimit = errors.New("too little memory for what the peer sends")
	// ErrClosed says that the account's connection has ended.
	ErrClosed = errors.New("account closed")
)

// Budget is the memory that all connections share, in bytes. Large binaries are not
// part of it: an etf.Allocator provides theirs. Any goroutine may call its methods.
type Budget interface {
	// Take takes n bytes. An error says why there are none, and takes nothing.
	Take(n int64) error
	// Give returns n bytes.
	Give(n int64)
}

// Use is what memory is taken for.
type Use int

// The uses of a connection's memory.
const (
	Assembly Use = iota // messages that are arriving in pieces
	Terms               // decoded terms of messages that have not been handled
	Queue               // messages that wait for the peer to read
	Signals             // monitors and links of the peer
	uses
)

const (
	// step is how many bytes an account takes from the budget at a time.
	step = 64 << 10
	// floor is how many bytes every account has without the budget, so that a
	// connection that is idle or sends little costs the budget nothing.
	floor = step
)

// Account is the memory of one connection. Any goroutine may call its methods. A nil
// Account has no bound and counts nothing.
type Account struct {
	budget Budget // nil: no bound but max
	max    int64

	used  atomic.Int64
	split [uses]atomic.Int64 // of used; the rest is Terms, which each message changes twice

	held   atomic.Int64 // the floor and what is taken from the budget
	mu     sync.Mutex   // guards changes of held
	closed bool         // held does not exceed used
}

// NewAccount returns an account of at most max bytes, which budget pays for, unless it
// is nil.
func NewAccount(budget Budget, max int64) *Account {
	a := &Account{budget: budget, max: max}
	a.held.Store(floor)
	return a
}

// Take takes n bytes, or none and returns ErrOverLimit or ErrClosed.
func (a *Account) Take(u Use, n int64) error {
	if a == nil {
		return nil
	}
	used := a.used.Add(n)
	var err error
	switch {
	case used > a.max:
		err = fmt.Errorf("%w: the connection holds %d bytes, may hold %d and needs %d more", ErrOverLimit, used-n, a.max, n)
	case used > a.held.Load():
		err = a.grow()
	}
	if err != nil {
		a.used.Add(-n)
		return err
	}
	if u != Terms {
		a.split[u].Add(n)
	}
	return nil
}

// Give returns n bytes that were taken for the same use.
func (a *Account) Give(u Use, n int64) {
	if a == nil || n == 0 {
		return
	}
	if u != Terms {
		a.split[u].Add(-n)
	}
	if a.held.Load()-a.used.Add(-n) >= 2*step {
		a.shrink()
	}
}

// Used returns the bytes that are in use.
func (a *Account) Used() int64 { return a.used.Load() }

// UsedFor returns the bytes that are in use for something. While others take and give,
// the sum over all uses need not be Used.
func (a *Account) UsedFor(u Use) int64 {
	if u != Terms {
		return a.split[u].Load()
	}
	n := a.used.Load()
	for i := range a.split {
		n -= a.split[i].Load()
	}
	return max(n, 0)
}

// grow takes from the budget what is used and not held.
func (a *Account) grow() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	lacking := a.used.Load() - a.held.Load()
	switch {
	case lacking <= 0:
		return nil
	case a.closed:
		return ErrClosed
	}
	steps := roundUp(lacking)
	if a.budget != nil {
		if err := a.budget.Take(steps); err != nil {
			return fmt.Errorf("%w: %w", ErrOverLimit, err)
		}
	}
	a.held.Add(steps)
	return nil
}

// shrink returns memory that is held and not used to the budget. It keeps one step,
// which the next message may need.
func (a *Account) shrink() {
	a.mu.Lock()
	defer a.mu.Unlock()
	keep := roundUp(a.used.Load())
	if !a.closed && keep > 0 {
		keep += step
	}
	spare := a.held.Load() - max(keep, floor)
	if spare <= 0 {
		return
	}
	a.held.Add(-spare)
	if a.budget != nil {
		a.budget.Give(spare)
	}
}

func roundUp(n int64) int64 { return (n + step - 1) / step * step }

// Close returns what the connection does not use any more. Memory that is still in
// use, such as the terms of messages that wait to be handled, is returned when it is
// given back.
func (a *Account) Close() {
	a.mu.Lock()
	a.closed = true
	a.mu.Unlock()
	a.shrink()
}
