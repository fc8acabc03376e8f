package store

import (
	"errors"
	"fmt"
	"math"
	"sync/atomic"
)

// ErrOutOfMemory reports that values on the host would take more than their
// Budget.
var ErrOutOfMemory = errors.New("out of host memory")

// Budget bounds the memory that values take on the host, over all sessions. Its
// methods may be called from any goroutine.
type Budget struct {
	limit int64
	used  atomic.Int64
	peak  atomic.Int64
}

// NewBudget returns a budget of so many bytes; 0 is no limit.
func NewBudget(limit int64) *Budget {
	if limit <= 0 {
		limit = math.MaxInt64
	}
	return &Budget{limit: limit}
}

// Limit returns the bytes that may be taken, math.MaxInt64 where there is no limit.
func (b *Budget) Limit() int64 { return b.limit }

// Used returns the bytes that are taken.
func (b *Budget) Used() int64 { return b.used.Load() }

// Peak returns the most bytes that have been taken at a time.
func (b *Budget) Peak() int64 { return b.peak.Load() }

// Over reports whether more is taken than the limit, which TakeEarly allows.
func (b *Budget) Over() bool { return b.used.Load() > b.limit }

// Take takes n bytes within the limit, or none and returns ErrOutOfMemory.
func (b *Budget) Take(n int64) error { return b.take(n, b.limit) }

// TakeEarly takes n bytes for data whose turn has not come: a quarter of the limit
// is for it alone, since whoever asks cannot have others free theirs. Whoever uses
// the data then has to check Over.
func (b *Budget) TakeEarly(n int64) error {
	return b.take(n, b.limit+min(b.limit/4, math.MaxInt64-b.limit))
}

func (b *Budget) take(n, most int64) error {
	for {
		used := b.used.Load()
		if n > most-used {
			return b.exhausted(n, used)
		}
		if b.used.CompareAndSwap(used, used+n) {
			b.notePeak(used + n)
			return nil
		}
	}
}

func (b *Budget) notePeak(used int64) {
	for {
		peak := b.peak.Load()
		if used <= peak || b.peak.CompareAndSwap(peak, used) {
			return
		}
	}
}

// Give returns n bytes.
func (b *Budget) Give(n int64) {
	if b.used.Add(-n) < 0 {
		panic("BUG: budget given more than was taken")
	}
}

// Exhausted is the error of n bytes that the budget does not have.
func (b *Budget) Exhausted(n int64) error { return b.exhausted(n, b.used.Load()) }

func (b *Budget) exhausted(n, used int64) error {
	return fmt.Errorf("allocate %d bytes: %w: %d of the limit of %d bytes are in use; free values, or start the node with a higher --memory-limit",
		n, ErrOutOfMemory, used, b.limit)
}
