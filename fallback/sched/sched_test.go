package sched

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// spin computes for about d, yielding as it goes, and adds what it has done to n.
func spin(w *Worker, n *atomic.Int64) error {
	for {
		if err := w.Yield(); err != nil {
			return err
		}
		for range 1000 {
			n.Add(1)
		}
	}
}

// A pool is idle where nobody computes or waits.
func TestIdle(t *testing.T) {
	p := NewPool(1)
	if !p.Idle() {
		t.Error("a new pool is not idle")
	}
	var ended sync.WaitGroup
	var n atomic.Int64
	a := p.Account()
	for range 2 { // one computes, one waits
		ended.Add(1)
		a.Start("spin", func(w *Worker) error { return spin(w, &n) }, func(error) { ended.Done() })
	}
	for n.Load() == 0 {
		runtime.Gosched()
	}
	if p.Idle() {
		t.Error("a pool that computes is idle")
	}
	a.End()
	ended.Wait()
	if !p.Idle() {
		t.Error("the pool is not idle when all has ended")
	}
}

// Accounts that compute without pause have equal shares, also where some of them have
// many computations.
func TestShares(t *testing.T) {
	p := NewPool(1) // so that one at a time looks at the clock
	p.now, p.patience = ticking(), time.Hour
	const accounts = 6
	var done [accounts]atomic.Int64
	var all [accounts]*Account
	var ended sync.WaitGroup
	for i := range all {
		all[i] = p.Account()
		for range i%3 + 1 {
			ended.Add(1)
			all[i].Start("spin", func(w *Worker) error { return spin(w, &done[i]) }, func(error) { ended.Done() })
		}
	}
	total := func() (n int64) {
		for i := range done {
			n += done[i].Load()
		}
		return n
	}
	for total() < 1<<22 {
		runtime.Gosched()
	}
	least, most := all[0].Used(), all[0].Used()
	for _, a := range all {
		least, most = min(least, a.Used()), max(most, a.Used())
	}
	if apart := most - least; apart > 10*slice {
		t.Errorf("accounts have used %v to %v", least, most)
	}
	for _, a := range all {
		a.End()
	}
	ended.Wait()
	if s := p.Stats(); s.Running != 0 || s.Waiting != 0 || s.Tasks != 0 {
		t.Errorf("%+v is left", s)
	}
}

// Accounts that compute without pause have shares by weight.
func TestWeights(t *testing.T) {
	p := NewPool(1)
	p.now, p.patience = ticking(), time.Hour
	weights := []float64{0.5, 1, 2, 7}
	var done atomic.Int64
	var all []*Account
	var ended sync.WaitGroup
	for _, weight := range weights {
		a := p.Account()
		a.SetWeight(weight)
		all = append(all, a)
		ended.Add(1)
		a.Start(fmt.Sprint(weight), func(w *Worker) error { return spin(w, &done) }, func(error) { ended.Done() })
	}
	for done.Load() < 1<<22 {
		runtime.Gosched()
	}
	spent := p.Stats().Spent
	for _, weight := range weights {
		if got := float64(spent[fmt.Sprint(weight)]) / float64(spent["1"]); math.Abs(got/weight-1) > 0.1 {
			t.Errorf("weight %v has %v times the time of weight 1", weight, got)
		}
	}
	for _, a := range all {
		a.End()
	}
	ended.Wait()
}

// One that has used little is served before those that wait longer.
func TestLittleFirst(t *testing.T) {
	p := NewPool(1)
	p.now, p.patience = ticking(), time.Hour
	var order []string // in which they ran: one at a time
	var ended sync.WaitGroup
	hog, small := p.Account(), p.Account()
	gate := make(chan struct{})
	begin := func(a *Account, name string) {
		ended.Add(1)
		a.Start(name, func(*Worker) error {
			<-gate
			order = append(order, name)
			return nil
		}, func(error) { ended.Done() })
	}
	for range 4 {
		begin(hog, "hog")
	}
	begin(small, "small")
	close(gate)
	ended.Wait()
	if order[0] != "hog" || order[1] != "small" {
		t.Errorf("the order is %v", order)
	}
}

// ticking is a clock that goes on by a slice whenever somebody looks at it, so that shares
// do not depend on how fast the machine is.
func ticking() func() time.Time {
	var ticks atomic.Int64
	return func() time.Time { return time.Unix(0, ticks.Add(int64(slice))) }
}

// Work that never yields does not keep others from the processors.
func TestOverdue(t *testing.T) {
	p := NewPool(1)
	gate, done := make(chan struct{}), make(chan error, 2)
	p.Account().Start("stubborn", func(*Worker) error { <-gate; return nil }, func(err error) { done <- err })
	p.Account().Start("other", func(*Worker) error { close(gate); return nil }, func(err error) { done <- err })
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if s := p.Stats(); s.Running != 0 || p.running != 0 {
		t.Errorf("%+v, %d slots in use", s, p.running)
	}
}

// A computation of an account that ends, or that is cancelled, stops, helpers and all.
func TestEnd(t *testing.T) {
	p := NewPool(2)
	for _, stopIt := range []func(*Account, *Task){
		func(a *Account, _ *Task) { a.End() },
		func(_ *Account, task *Task) { task.Cancel() },
	} {
		a := p.Account()
		began, done := make(chan struct{}), make(chan error)
		var once sync.Once
		task := a.Start("loop", func(w *Worker) error {
			w.For(1<<40, 1, func(*Worker, int, int) { once.Do(func() { close(began) }) })
			return nil
		}, func(err error) { done <- err })
		<-began
		stopIt(a, task)
		if err := <-done; !errors.Is(err, ErrCancelled) {
			t.Errorf("got %v", err)
		}
		a.End()
		a.Start("late", func(*Worker) error { t.Error("ran"); return nil }, func(err error) { done <- err })
		if err := <-done; !errors.Is(err, ErrCancelled) {
			t.Errorf("got %v", err)
		}
	}
	if s := p.Stats(); s.Running != 0 || s.Waiting != 0 {
		t.Errorf("%+v is left", s)
	}
}

// A panic ends its computation alone, wherever in it that happens.
func TestPanic(t *testing.T) {
	p := NewPool(2)
	done := make(chan error)
	for _, f := range []func(w *Worker){
		func(*Worker) { panic("here") },
		func(w *Worker) {
			w.For(1000, 1, func(_ *Worker, lo, _ int) {
				if lo == 500 {
					panic("here")
				}
			})
		},
	} {
		p.Account().Start("broken", func(w *Worker) error { f(w); return nil }, func(err error) { done <- err })
		var broken *PanicError
		if err := <-done; !errors.As(err, &broken) || broken.Value != "here" || len(broken.Stack) == 0 {
			t.Errorf("got %v", err)
		}
	}
	if s := p.Stats(); s.Panics != 2 || s.Running != 0 {
		t.Errorf("%+v", s)
	}
}

// For covers every index once, for any size, grain, and number of processors.
func TestFor(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		n, grain := r.IntN(500), r.IntN(60)
		count := make([]atomic.Int32, n)
		each := func(_ *Worker, lo, hi int) {
			for i := lo; i < hi; i++ {
				count[i].Add(1)
			}
		}
		want := int32(1)
		var none *Worker
		none.For(n, grain, each)
		if slots := r.IntN(4); slots > 0 {
			want++
			done := make(chan error)
			NewPool(slots).Account().Start("for", func(w *Worker) error { w.For(n, grain, each); return nil }, func(err error) { done <- err })
			if err := <-done; err != nil {
				t.Fatal(err)
			}
		}
		for i := range count {
			if got := count[i].Load(); got != want {
				t.Fatalf("n %d, grain %d: index %d %d times, want %d", n, grain, i, got, want)
			}
		}
	}
}

// Many accounts begin, compute, and end at once.
func TestConcurrent(t *testing.T) {
	p := NewPool(2)
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			r := rand.New(rand.NewPCG(uint64(i), 9))
			a := p.Account()
			var ended sync.WaitGroup
			for range 5 {
				ended.Add(1)
				n := r.IntN(2000)
				a.Start("mixed", func(w *Worker) error {
					w.For(n, 7, func(w *Worker, lo, hi int) { w.For(hi-lo, 1, func(*Worker, int, int) {}) })
					return nil
				}, func(error) { ended.Done() })
			}
			if i%2 == 0 {
				a.End()
			}
			ended.Wait()
			a.End()
		})
	}
	all.Wait()
	if s := p.Stats(); s.Running != 0 || s.Waiting != 0 || s.Tasks != 0 || p.running != 0 {
		t.Errorf("%+v is left", s)
	}
}

// TestSpinner: a thread without work spins until it has some, and gives up where all slots are in use.
func TestSpinner(t *testing.T) {
	p := NewPool(2)
	p.spinner.most = time.Hour
	a := p.Account()
	run := func() {
		done := make(chan struct{})
		a.Start("short", func(*Worker) error { return nil }, func(error) { close(done) })
		<-done
	}
	await := func(spins bool) {
		t.Helper()
		for end := time.Now().Add(10 * time.Second); p.spinner.busy.Load() != spins; runtime.Gosched() {
			if time.Now().After(end) {
				t.Fatalf("a thread spins: %v, want %v", !spins, spins)
			}
		}
	}
	for range 3 {
		run()
		await(true)
	}
	stop := make(chan struct{})
	var ended sync.WaitGroup
	for range 2 {
		ended.Add(1)
		a.Start("long", func(*Worker) error { <-stop; return nil }, func(error) { ended.Done() })
	}
	await(false)
	close(stop)
	ended.Wait()
	await(true)
	p.spinner.used.Store(2) // ends the test's own thread
	await(false)
}

// TestNoSpinner: on one processor a thread sleeps at once.
func TestNoSpinner(t *testing.T) {
	if most := NewPool(1).spinner.most; most != 0 {
		t.Errorf("a thread spins for %v", most)
	}
}

// TestHere: a short computation runs on the goroutine that asks for it, with helpers, where a slot is free and nobody waits
// for one, and leaves nothing behind.
func TestHere(t *testing.T) {
	p := NewPool(2)
	a := p.Account()
	var sum atomic.Int64
	count := func(w *Worker) error {
		w.For(1000, 1, func(_ *Worker, lo, hi int) { sum.Add(int64(hi - lo)) })
		return w.Yield()
	}
	if ran, err := a.Here("count", count); !ran || err != nil || sum.Load() != 1000 {
		t.Errorf("it ran: %v, %v, with %d of 1000", ran, err, sum.Load())
	}
	broken := new(PanicError)
	if ran, err := a.Here("panic", func(*Worker) error { panic("no") }); !ran || !errors.As(err, &broken) || broken.Value != "no" {
		t.Errorf("a panic gives %v, %v", ran, err)
	}
	var n atomic.Int64
	var ended sync.WaitGroup
	other := p.Account()
	for range 3 { // all slots are taken, and somebody waits
		ended.Add(1)
		other.Start("spin", func(w *Worker) error { return spin(w, &n) }, func(error) { ended.Done() })
	}
	if ran, _ := a.Here("count", count); ran {
		t.Error("it ran where others wait for a slot")
	}
	other.End()
	ended.Wait()
	a.End()
	if ran, _ := a.Here("count", count); ran {
		t.Error("it ran for an account that has ended")
	}
	if s := p.Stats(); s.Running != 0 || s.Tasks != 0 || s.Waiting != 0 || s.Panics != 1 || !p.Idle() {
		t.Errorf("left are %+v", s)
	}
}
