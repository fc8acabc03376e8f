package relay

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// Patience is how long the words of a turn may take after the first of them. It is less than what a device that ends
	// nothing is given (vulkan/submit), and less than kernels wait.
	Patience = 20 * time.Second
	// deepest bounds the turns of a port that are not over, so that each has a word to end it.
	deepest = ended / 2
	// spin is how long the goroutine of a Relay polls without a pause, where others have processors to themselves. After that it sleeps
	// in between, which costs devices that wait as much. With spinFew it leaves the processors to those that record.
	spin    = 2 * time.Millisecond
	spinFew = 100 * time.Microsecond
	few     = 4 // processors
	// pause is how long it sleeps.
	pause = 50 * time.Microsecond
	// look is the time between two looks.
	look = time.Microsecond
)

// Relay answers turns. Its methods may be called from any goroutine.
type Relay struct {
	mu      sync.Mutex
	ports   []*Port // with turns that are not over
	running bool
}

// Turn is a collective of some ports.
type Turn struct {
	ports    []*Port
	numbers  []uint32
	data     [][]byte // by port: what has come
	got      []int    // words
	combine  func(operands [][]byte) (results [][]byte, err error)
	fail     func(err error)
	since    time.Time // when the first words came
	failed   bool      // fail has been called
	over     bool
	answered atomic.Bool
}

// LateError says that the words of some ports have not come within Patience of the first ones.
type LateError struct {
	Places []int // of the ports
}

func (e *LateError) Error() string {
	return fmt.Sprintf("the devices at %v have not come to it within %v of the first one", e.Places, Patience)
}

// Number is the number of the turn for the port at a place.
func (t *Turn) Number(at int) uint32 { return t.numbers[at] }

// Answered reports whether the devices have been given results.
func (t *Turn) Answered() bool { return t.answered.Load() }

// Begin begins a turn of ports that send so many bytes each. Whoever calls it has their devices carry out
// turns in the order in which they have begun. combine makes the results by place, and keeps nothing. fail is told, without a lock, why there
// is no result; then the turn goes on until End. Begin returns nil where a device would wait for itself or for too much: two ports are
// of one device, another port of a device has turns, or a port has many.
func (r *Relay) Begin(ports []*Port, bytes int, combine func([][]byte) ([][]byte, error), fail func(error)) *Turn {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, p := range ports {
		other := func(q *Port) bool { return q != p && q.device == p.device }
		if p.closed || len(p.queue) >= deepest || slices.ContainsFunc(ports[:i], other) || slices.ContainsFunc(r.ports, other) {
			return nil
		}
	}
	t := &Turn{ports: ports, combine: combine, fail: fail, got: make([]int, len(ports))}
	for _, p := range ports {
		t.numbers = append(t.numbers, p.next())
		t.data = append(t.data, make([]byte, bytes))
		if len(p.queue) == 0 {
			r.ports = append(r.ports, p)
		}
		p.queue = append(p.queue, t)
	}
	if !r.running {
		r.running = true
		go r.run()
	}
	return t
}

// Unanswered returns the number of a turn of a port that nobody answers.
func (r *Relay) Unanswered(p *Port) uint32 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return p.next()
}

// End ends a turn without a result, unless it is over: no device waits for it any more.
func (r *Relay) End(t *Turn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.end(t)
}

func (r *Relay) end(t *Turn) {
	if t.over {
		return
	}
	for i, p := range t.ports {
		if !p.closed {
			p.endAt(t.numbers[i]%ended, t.numbers[i])
		}
	}
	drain()
	r.drop(t)
}

// drop takes a turn from the queues of its ports.
func (r *Relay) drop(t *Turn) {
	t.over = true
	for _, p := range t.ports {
		p.queue = slices.DeleteFunc(p.queue, func(o *Turn) bool { return o == t })
		if len(p.queue) == 0 {
			r.ports = slices.DeleteFunc(r.ports, func(o *Port) bool { return o == p })
		}
	}
}

// Close ends the turns of a port. Its memory is not used any more.
func (r *Relay) Close(p *Port) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range slices.Clone(p.queue) {
		r.end(t)
	}
	p.closed = true
}

// run answers turns until there are none.
func (r *Relay) run() {
	long := spin
	if runtime.GOMAXPROCS(0) < few {
		long = spinFew
	}
	for last := time.Now(); ; {
		r.mu.Lock()
		if len(r.ports) == 0 {
			r.running = false
			r.mu.Unlock()
			return
		}
		moved, tell := r.pass()
		r.mu.Unlock()
		for _, f := range tell {
			f()
		}
		now := time.Now()
		switch {
		case moved:
			last = now
		case now.Sub(last) > long:
			time.Sleep(pause)
		default:
			for time.Since(now) < look {
				runtime.Gosched()
			}
		}
	}
}

// pass looks once for words of all turns that are the first ones of their ports. mu is held; what it returns is called without.
func (r *Relay) pass() (moved bool, tell []func()) {
	for _, p := range slices.Clone(r.ports) {
		if len(p.queue) == 0 || p.queue[0].ports[0] != p || !p.queue[0].first() || p.queue[0].failed {
			continue
		}
		t := p.queue[0]
		came, all := t.take()
		moved = moved || came
		var err error
		switch {
		case all:
			if err = t.answer(); err == nil {
				r.drop(t)
			}
		case !came && !t.since.IsZero() && time.Since(t.since) > Patience:
			err = &LateError{t.missing()}
		}
		if err != nil {
			t.failed = true
			tell = append(tell, func() { t.fail(err) })
		}
	}
	return moved, tell
}

// first reports whether a turn is the first one of all its ports.
func (t *Turn) first() bool {
	return !slices.ContainsFunc(t.ports, func(p *Port) bool { return p.queue[0] != t })
}

// take reads what has come, and reports whether that is anything, and whether it is all.
func (t *Turn) take() (came, all bool) {
	all = true
	for i, p := range t.ports {
		if 4*t.got[i] == len(t.data[i]) {
			continue
		}
		n := p.take(t.numbers[i], t.got[i], t.data[i])
		came = came || n > t.got[i]
		t.got[i] = n
		all = all && 4*n == len(t.data[i])
	}
	if came && t.since.IsZero() {
		t.since = time.Now()
	}
	return came, all
}

// missing lists the places whose words have not all come.
func (t *Turn) missing() (list []int) {
	for i := range t.got {
		if 4*t.got[i] < len(t.data[i]) {
			list = append(list, i)
		}
	}
	return list
}

// answer gives the devices their results.
func (t *Turn) answer() (err error) {
	defer func() {
		if x := recover(); x != nil {
			err = fmt.Errorf("the host could not combine the operands: %v", x)
		}
	}()
	results, err := t.combine(t.data)
	if err != nil {
		return err
	}
	t.answered.Store(true)
	for i, p := range t.ports {
		p.give(t.numbers[i], results[i])
	}
	drain()
	return nil
}
