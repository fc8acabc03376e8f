package sched

import (
	"context"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

// Worker is a goroutine that computes. It belongs to that goroutine. A nil Worker is
// one that shares with nobody: it may use all processors and is never cancelled.
type Worker struct {
	task    *Task
	turn    chan struct{} // a slot is granted
	since   time.Time     // when the account was charged last; guarded by Pool.mu
	overdue bool          // others have a slot in place of this one's; guarded by Pool.mu
	looked  time.Time     // when Yield looked for others last
	here    bool          // it keeps its slot until it ends, see Account.Here
}

// stop is what Check panics with.
type stop struct{}

// Context ends when the computation is cancelled.
func (w *Worker) Context() context.Context {
	if w == nil {
		return context.Background()
	}
	return w.task.ctx
}

// Yield lets others compute where they have used less. A computation calls it about
// once in a millisecond, or more often. It returns ErrCancelled where the computation
// is to stop.
func (w *Worker) Yield() error {
	if w == nil {
		return nil
	}
	if w.task.ctx.Err() != nil {
		return ErrCancelled
	}
	if now := w.task.account.pool.now(); !w.here && now.Sub(w.looked) >= slice {
		w.looked = now
		w.share()
	}
	if w.task.ctx.Err() != nil {
		return ErrCancelled
	}
	return nil
}

// Check is Yield for code that cannot return an error: where the computation is to stop
// it unwinds the goroutine to Account.Start or to Caught.
func (w *Worker) Check() {
	if w.Yield() != nil {
		panic(stop{})
	}
}

// Caught calls f, and gives ErrCancelled where a call of Check unwinds it.
func Caught(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(stop); !ok {
				panic(r)
			}
			err = ErrCancelled
		}
	}()
	return f()
}

// share gives the slot to whoever has used least, and waits for another one.
func (w *Worker) share() {
	p, a := w.task.account.pool, w.task.account
	p.mu.Lock()
	p.charge(w)
	if !w.overdue && (len(p.waiting) == 0 || p.waiting[0] == a || p.waiting[0].used > a.used) {
		p.mu.Unlock()
		return
	}
	p.put(w)
	p.ask(a, func() {
		p.take(w)
		w.turn <- struct{}{}
	})
	p.mu.Unlock()
	<-w.turn
}

// Rest gives the slot up while f waits for something.
func (w *Worker) Rest(f func()) {
	if w == nil || w.here {
		f()
		return
	}
	p := w.task.account.pool
	p.mu.Lock()
	p.put(w)
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		p.ask(w.task.account, func() {
			p.take(w)
			w.turn <- struct{}{}
		})
		p.mu.Unlock()
		<-w.turn
	}()
	f()
}

// For calls f for ranges that cover [0, n), of grain indices each but for the last, on
// as many processors as there are for the account. f gets the worker that calls it.
// Between ranges the worker yields; where the computation is to stop For unwinds as
// Check does. A panic of f is the caller's.
func (w *Worker) For(n, grain int, f func(w *Worker, lo, hi int)) {
	grain = max(grain, 1)
	parts := (n + grain - 1) / grain
	if parts <= 1 {
		if n > 0 {
			f(w, 0, n)
		}
		return
	}
	l := &loop{n: n, grain: grain, f: f}
	var helpers int
	if w == nil {
		helpers = min(Processors(), parts) - 1
		l.helpers.Add(helpers)
		for range helpers {
			go func() {
				defer l.helpers.Done()
				l.work(nil)
			}()
		}
	} else {
		helpers = min(w.task.account.pool.slots, parts) - 1
		defer w.assist(l, helpers)()
	}
	l.work(w)
	if w == nil {
		l.helpers.Wait()
		l.settle()
	}
}

// loop is a For under way.
type loop struct {
	n, grain int
	f        func(w *Worker, lo, hi int)
	next     atomic.Int64 // the first index that nobody has taken
	helpers  sync.WaitGroup
	helping  atomic.Int32 // helpers that have not ended
	failed   atomic.Pointer[PanicError]
	stopped  atomic.Bool
}

// work takes ranges until none is left.
func (l *loop) work(w *Worker) {
	defer func() {
		switch r := recover().(type) {
		case nil:
			return
		case stop:
			l.stopped.Store(true)
		case *PanicError:
			l.failed.CompareAndSwap(nil, r)
		default:
			l.failed.CompareAndSwap(nil, &PanicError{Value: r, Stack: debug.Stack()})
		}
		l.next.Store(int64(l.n)) // the others end too
	}()
	for {
		hi := int(l.next.Add(int64(l.grain)))
		lo := hi - l.grain
		if lo >= l.n || lo < 0 {
			return
		}
		l.f(w, lo, min(hi, l.n))
		w.Check()
	}
}

// settle passes on how the loop ended.
func (l *loop) settle() {
	if f := l.failed.Load(); f != nil {
		panic(f)
	}
	if l.stopped.Load() {
		panic(stop{})
	}
}

// assist asks for slots for helpers of a loop. The function that it returns withdraws
// the requests that were not granted, and waits for the helpers.
func (w *Worker) assist(l *loop, helpers int) (settle func()) {
	p, a := w.task.account.pool, w.task.account
	asked := make([]*request, helpers)
	began := 0
	p.mu.Lock()
	for i := range asked {
		h := &Worker{task: w.task, turn: make(chan struct{}, 1)}
		asked[i] = p.ask(a, func() {
			began++
			l.helpers.Add(1)
			l.helping.Add(1)
			p.take(h)
			p.thread(func() { h.assistIn(l) })
		})
	}
	p.mu.Unlock()
	return func() {
		p.mu.Lock()
		for _, r := range asked {
			p.withdraw(r)
		}
		helped := began > 0
		p.mu.Unlock()
		if helped {
			p.spinFor(l)
			w.Rest(l.helpers.Wait)
		}
		l.settle()
	}
}

// assistIn is the life of a helper.
func (w *Worker) assistIn(l *loop) {
	defer l.helpers.Done()
	l.work(w)
	p := w.task.account.pool
	p.mu.Lock()
	p.put(w)
	p.mu.Unlock()
	l.helping.Add(-1)
}
