package sched

import (
	"container/heap"
	"runtime"
	"slices"
	"sync"
	"time"
)

const (
	// slice is the time that a computation keeps its slot while others wait.
	slice = time.Millisecond
	// patience is the time that a computation may hold a slot without a call of Yield
	// before others get one more slot.
	patience = 10 * time.Millisecond
)

// Pool is the processors of a machine. Its methods may be called from any
// goroutine.
type Pool struct {
	slots    int
	now      func() time.Time
	patience time.Duration // see the constant

	mu       sync.Mutex
	overdue  int                      // slots in use that others have another one for, see watch
	running  int                      // slots in use, without those that are overdue
	holders  map[*Worker]bool         // who computes
	waiting  queue                    // accounts that wait for slots
	waits    int                      // their requests
	clock    time.Duration            // the used time of the account that was served last
	serial   uint64                   // orders those that have used as much
	tasks    int                      // under way, also of accounts that have ended
	watching bool                     // watch runs
	started  map[string]uint64        // computations so far, by kind
	spent    map[string]time.Duration // processor time so far, by kind
	panics   uint64
	spare    []chan func() // threads without work
	spinner  spinner
}

// NewPool returns a pool with a number of processors; 0 means all processors of the machine.
func NewPool(processors int) *Pool {
	if processors <= 0 {
		processors = Processors()
	}
	p := &Pool{slots: processors, now: time.Now, patience: patience, holders: make(map[*Worker]bool),
		started: make(map[string]uint64), spent: make(map[string]time.Duration)}
	p.spinner.most = spinTimeOf(processors)
	return p
}

var processors = runtime.GOMAXPROCS(0)

// Processors returns how many processors computations may use at once. It is what
// runtime.GOMAXPROCS gave when the process began.
func Processors() int { return processors }

// SetClock replaces the clock of the pool, before the first computation begins. A worker reads
// the clock at each call of Yield, on its own thread, so a test can count these calls and act
// at one of them.
func (p *Pool) SetClock(now func() time.Time) { p.now = now }

// Reserve lets goroutines that do not compute run beside a full pool. It raises
// runtime.GOMAXPROCS by twice the slots of the pool: as many may be in use. A message is then
// handled as soon as the system gives its thread a processor. Without Reserve it would wait
// until Go preempts a computation, which takes 10 ms. Where the system has priorities of
// threads, threads that compute yield to others.
func (p *Pool) Reserve() { runtime.GOMAXPROCS(processors + 2*p.slots) }

// Idle reports whether nobody computes or waits for that.
func (p *Pool) Idle() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.holders) == 0 && len(p.waiting) == 0
}

// request asks for a slot. grant is called with the pool locked.
type request struct {
	of      *Account
	grant   func()
	granted bool
}

// queue is a heap of the accounts that ask for slots. The account that has used least is first,
// and of equal ones the account that asked first.
type queue []*Account

func (q queue) Len() int { return len(q) }
func (q queue) Less(i, j int) bool {
	if q[i].used != q[j].used {
		return q[i].used < q[j].used
	}
	return q[i].asked < q[j].asked
}
func (q queue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].at, q[j].at = i, j
}
func (q *queue) Push(x any) {
	a := x.(*Account)
	a.at = len(*q)
	*q = append(*q, a)
}
func (q *queue) Pop() any {
	old := *q
	a := old[len(old)-1]
	old[len(old)-1] = nil
	*q = old[:len(old)-1]
	return a
}

// ask requests a slot, which is granted at once where one is free. The pool is locked.
func (p *Pool) ask(a *Account, grant func()) *request {
	r := &request{of: a, grant: grant}
	a.requests = append(a.requests, r)
	p.waits++
	if len(a.requests) == 1 {
		p.serial++
		a.asked = p.serial
		heap.Push(&p.waiting, a)
	}
	p.serve()
	return r
}

// withdraw takes a request back, unless it has been granted. The pool is locked.
func (p *Pool) withdraw(r *request) {
	if r.granted {
		return
	}
	a := r.of
	a.requests = slices.DeleteFunc(a.requests, func(x *request) bool { return x == r })
	p.waits--
	if len(a.requests) == 0 {
		heap.Remove(&p.waiting, a.at)
	}
}

// first removes the request that is due from the queue. The pool is locked.
func (p *Pool) first() *request {
	a := p.waiting[0]
	r := a.requests[0]
	a.requests = a.requests[1:]
	p.waits--
	if len(a.requests) == 0 {
		heap.Pop(&p.waiting)
	} else {
		p.serial++
		a.asked = p.serial // the others have their turn first
		heap.Fix(&p.waiting, 0)
	}
	return r
}

// serve grants free slots.
func (p *Pool) serve() {
	for p.running < p.slots && len(p.waiting) > 0 {
		r := p.first()
		r.granted = true
		r.of.holding++
		p.running++
		p.clock = max(p.clock, r.of.used)
		r.grant()
	}
	p.spinner.used.Store(int64(p.running)) // the thread that spins has its work before
	if len(p.waiting) > 0 && !p.watching {
		p.watching = true
		time.AfterFunc(p.patience, p.watch)
	}
}

// watch lends others a slot for each slot that has been held too long.
func (p *Pool) watch() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.watching = false
	now := p.now()
	for w := range p.holders {
		if !w.overdue && p.overdue < p.slots && now.Sub(w.since) >= p.patience {
			w.overdue = true
			p.overdue++
			p.running--
		}
	}
	p.serve()
}

// take notes that a worker holds a slot. The pool is locked.
func (p *Pool) take(w *Worker) {
	w.since, w.overdue = p.now(), false
	p.holders[w] = true
}

// put gives the slot of a worker back and charges its account. The pool is locked.
func (p *Pool) put(w *Worker) {
	p.charge(w)
	delete(p.holders, w)
	w.task.account.holding--
	if w.overdue {
		p.overdue--
	} else {
		p.running--
	}
	p.serve()
}

// charge adds the time since the last charge, divided by its weight, to what the account
// has used.
func (p *Pool) charge(w *Worker) {
	now := p.now()
	spent := now.Sub(w.since)
	w.since = now
	a := w.task.account
	a.used += time.Duration(float64(spent) / a.weight)
	if len(a.requests) > 0 {
		heap.Fix(&p.waiting, a.at)
	}
	p.spent[w.task.what] += spent
}

// thread runs f on a thread for computations. The pool is locked.
func (p *Pool) thread(f func()) {
	if n := len(p.spare); n > 0 {
		c := p.spare[n-1]
		p.spare = p.spare[:n-1]
		c <- f
		return
	}
	c := make(chan func(), 1)
	c <- f
	go p.compute(c)
}

// compute is the loop of a thread. As many threads are kept as there are slots.
func (p *Pool) compute(c chan func()) {
	runtime.LockOSThread() // ends with the goroutine, and takes its priority along
	yieldToOthers()
	for f := range c {
		f()
		p.mu.Lock()
		keep := len(p.spare) < p.slots
		if keep {
			p.spare = append(p.spare, c)
		}
		p.mu.Unlock()
		if !keep {
			return
		}
		p.spin(c)
	}
}

// Stats has the numbers of a pool.
type Stats struct {
	Slots   int
	Running int                      // computations that hold a slot
	Waiting int                      // requests for a slot
	Tasks   int                      // computations under way
	Started map[string]uint64        // computations so far, by kind
	Spent   map[string]time.Duration // processor time so far, by kind
	Panics  uint64                   // computations that ended so
}

// Stats returns the numbers of the pool.
func (p *Pool) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := Stats{Slots: p.slots, Running: len(p.holders), Waiting: p.waits, Tasks: p.tasks, Panics: p.panics,
		Started: make(map[string]uint64, len(p.started)), Spent: make(map[string]time.Duration, len(p.spent))}
	for what, n := range p.started {
		s.Started[what] = n
	}
	for what, d := range p.spent {
		s.Spent[what] = d
	}
	return s
}
