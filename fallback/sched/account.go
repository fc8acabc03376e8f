package sched

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"
)

// ErrCancelled is the error of Yield in a computation that is cancelled.
var ErrCancelled = errors.New("the computation was cancelled")

// Account stands for a session, for which computations are done. Its computations together
// have one share of the processors.
type Account struct {
	pool *Pool

	// Guarded by pool.mu.
	weight   float64
	used     time.Duration // processor time over weight, on the clock of the pool
	requests []*request    // for slots
	at       int           // in the queue, where there are any
	asked    uint64        // when it joined the queue
	holding  int           // slots
	tasks    map[*Task]bool
	ended    bool
}

// Account returns a new account.
func (p *Pool) Account() *Account {
	return &Account{pool: p, weight: 1, tasks: make(map[*Task]bool)}
}

// SetWeight sets the share of the account beside the shares of others: an account of
// weight 2 gets twice the processor time of an account of weight 1, which all have at
// first. The weight is above 0.
func (a *Account) SetWeight(weight float64) {
	a.pool.mu.Lock()
	defer a.pool.mu.Unlock()
	a.weight = weight
}

// End cancels all computations of the account, and those that are still to come.
func (a *Account) End() {
	a.pool.mu.Lock()
	a.ended = true
	var cancels []context.CancelFunc
	for t := range a.tasks {
		cancels = append(cancels, t.cancel)
	}
	a.pool.mu.Unlock()
	for _, cancel := range cancels {
		cancel()
	}
}

// Used returns the processor time that the account has used, divided by its weight, and
// at least as much as others had when it began.
func (a *Account) Used() time.Duration {
	a.pool.mu.Lock()
	defer a.pool.mu.Unlock()
	return a.used
}

// Task is a computation under way.
type Task struct {
	account *Account
	what    string // the kind, for metrics
	ctx     context.Context
	cancel  context.CancelFunc
}

// PanicError is the error of a computation that panicked.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprint(e.Value) }

// Start begins a computation of a kind. It runs on a thread for computations once the
// account has a slot. done is called on that thread when f has returned, with its error
// or a *PanicError, and is not called twice; it must not block. Where the account has
// ended f does not run, and done gets ErrCancelled from another goroutine.
func (a *Account) Start(what string, f func(w *Worker) error, done func(error)) *Task {
	t := &Task{account: a, what: what}
	t.ctx, t.cancel = context.WithCancel(context.Background())
	p := a.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	if a.ended {
		t.cancel()
		go done(ErrCancelled)
		return t
	}
	a.begin(t)
	w := &Worker{task: t, turn: make(chan struct{}, 1)}
	p.ask(a, func() {
		p.take(w)
		p.thread(func() { w.run(f, done) })
	})
	return t
}

// Here carries out a short computation of a kind on the goroutine of the caller, as Start does on a thread for computations:
// loops have helpers. It does nothing, and reports false, where the account has ended or has no slot at once. The computation
// does not give its slot to others.
func (a *Account) Here(what string, f func(w *Worker) error) (ran bool, err error) {
	p := a.pool
	p.mu.Lock()
	if a.ended || p.running >= p.slots || len(p.waiting) > 0 {
		p.mu.Unlock()
		return false, nil
	}
	t := &Task{account: a, what: what}
	t.ctx, t.cancel = context.WithCancel(context.Background())
	a.begin(t)
	w := &Worker{task: t, here: true}
	p.ask(a, func() { p.take(w) })
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		w.leave()
		p.mu.Unlock()
		t.cancel()
	}()
	return true, p.guard(func() error { return f(w) })
}

// begin notes a computation that is to begin. The pool is locked.
func (a *Account) begin(t *Task) {
	if len(a.tasks) == 0 {
		a.used = max(a.used, a.pool.clock) // time in which it asked for nothing is no credit
	}
	a.tasks[t] = true
	a.pool.tasks++
	a.pool.started[t.what]++
}

// leave gives the slot of a computation that has ended back. The pool is locked.
func (w *Worker) leave() {
	t, p := w.task, w.task.account.pool
	p.put(w)
	delete(t.account.tasks, t)
	p.tasks--
}

// Cancel has the computation stop at its next call of Yield.
func (t *Task) Cancel() { t.cancel() }

// run carries out a computation from its first slot to its end.
func (w *Worker) run(f func(w *Worker) error, done func(error)) {
	t, p := w.task, w.task.account.pool
	var err error
	defer func() {
		p.mu.Lock()
		w.leave()
		p.mu.Unlock()
		t.cancel()
		done(err)
	}()
	if t.ctx.Err() != nil {
		err = ErrCancelled
		return
	}
	err = p.guard(func() error { return f(w) })
}

// guard calls f and returns a panic as an error.
func (p *Pool) guard(f func() error) (err error) {
	defer func() {
		r := recover()
		if r == nil {
			return
		}
		if _, ok := r.(stop); ok {
			err = ErrCancelled
			return
		}
		broken, ok := r.(*PanicError) // of a goroutine that helped
		if !ok {
			broken = &PanicError{Value: r, Stack: debug.Stack()}
		}
		p.mu.Lock()
		p.panics++
		p.mu.Unlock()
		err = broken
	}()
	return f()
}
