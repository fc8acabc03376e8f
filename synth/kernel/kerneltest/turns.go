package kerneltest

import (
	"fmt"
	"iter"
)

// stopped unwinds an invocation of a workgroup that has failed.
type stopped struct{}

// byTurns runs the invocations of a workgroup on one goroutine: each goes on until it waits
// at a barrier. A barrier that some do not reach panics.
func (r *runner) byTurns(all []*invocation) {
	next := make([]func() (struct{}, bool), len(all))
	for i, v := range all {
		resume, stop := iter.Pull(func(yield func(struct{}) bool) {
			defer func() {
				if x := recover(); x != nil && x != (stopped{}) {
					panic(x)
				}
			}()
			v.pause = func() {
				if !yield(struct{}{}) {
					panic(stopped{})
				}
			}
			v.run()
		})
		defer stop()
		next[i] = resume
	}
	for left := len(all); left > 0; {
		passed := r.passed
		ended := 0
		for i := range next {
			if next[i] == nil {
				continue
			}
			if _, waits := next[i](); !waits {
				next[i] = nil
				ended++
			}
		}
		left -= ended
		if ended == 0 && r.passed == passed {
			panic(fmt.Sprintf("kernel %q: %d invocations wait at a barrier that the others do not reach", r.k.Name, left))
		}
	}
}

// barrier holds invocations until all have come.
type barrier struct{ size, waiting, round int }

func newBarrier(n int) *barrier { return &barrier{size: n} }

// await waits at a barrier. It reports whether the invocation was the last to come.
func (v *invocation) await(b *barrier) (last bool) {
	b.waiting++
	if b.waiting == b.size {
		b.waiting, b.round = 0, b.round+1
		v.passed++
		return true
	}
	for round := b.round; round == b.round; {
		v.pause()
	}
	return false
}
