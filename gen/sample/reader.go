package sample

import (
	"context"
	"time"

	"nxvk/gen/exec"
)

// slowReader is how long a chain waits before it offers its chunk again.
const slowReader = 20 * time.Millisecond

// mostCredit bounds the chunks that a reader may ask for ahead.
const mostCredit = 1 << 30

// reader gets the chunks of a run, on the goroutine of the Executor. One that is
// limited gets as many as it has credit for; the others wait in line.
type reader struct {
	emit    func(Chunk) bool // reports false where it is to be asked again
	limited bool
	credit  int // chunks
	waiting []offer
}

// offer is a chunk of a chain that goes on when it has been taken.
type offer struct {
	ctx   context.Context
	chunk Chunk
	taken chan<- bool
}

// offer gives a chunk to the reader, or has it wait for credit.
func (r *reader) offer(o offer) {
	if r.limited && r.credit == 0 {
		r.waiting = append(r.waiting, o)
		return
	}
	taken := r.emit(o.chunk)
	if taken && r.limited {
		r.credit--
	}
	o.taken <- taken
}

// more gives credit for n chunks.
func (r *reader) more(n int) {
	r.credit = min(r.credit+n, mostCredit)
	for len(r.waiting) > 0 && r.credit > 0 {
		o := r.waiting[0]
		r.waiting = r.waiting[1:]
		if o.ctx.Err() == nil {
			r.offer(o)
		}
	}
}

// More lets n chunks more of a run go to its reader, who has been given credit
// when the run began. It reports false where there is no such run.
func (s *Sampler) More(q *exec.Queue, number, n int) bool {
	r := runsOf(q).active[number]
	if r == nil || r.reader == nil {
		return false
	}
	r.reader.more(n)
	return true
}

// conclude offers the last chunk of a chain, also where the run was stopped, and
// ends the chain with it: who has read the last of a run finds no run any more.
// It needs no credit.
func (s *Sampler) conclude(session context.Context, emit func() bool, end func()) {
	_ = s.deliver(session, func(taken chan<- bool) {
		ok := emit()
		if ok {
			end()
		}
		taken <- ok
	})
	s.e.Post(end) // where nobody is told any more
}

// deliver offers something on the goroutine of the Executor until it is taken, or
// nobody wants it any more.
func (s *Sampler) deliver(ctx context.Context, offer func(taken chan<- bool)) error {
	for {
		taken := make(chan bool, 1)
		s.e.Post(func() {
			if ctx.Err() == nil {
				offer(taken)
			}
		})
		select {
		case ok := <-taken:
			if ok {
				return ctx.Err()
			}
		case <-ctx.Done():
			return ctx.Err()
		}
		select {
		case <-time.After(slowReader):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
