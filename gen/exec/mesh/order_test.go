package mesh

import (
	"runtime"
	"slices"
	"testing"

	"nxvk/fallback/sched"
	"nxvk/gen/exec/devcopy"
	"nxvk/gen/exec/mesh/schedule"
	"nxvk/ops"
	"nxvk/test/fewtest"
	"nxvk/vulkan"
)

// orderly is a rank whose device takes any steps in the order of the schedule alone. Other goroutines notice that it has
// completed them.
type orderly struct {
	t        *testing.T
	at       int
	schedule *schedule.Schedule
	steps    int
	ended    chan error
}

func (o *orderly) Send(int, func(devcopy.Chunk, error)) {}
func (o *orderly) Ahead() bool                          { return true }
func (o *orderly) Met()                                 {}
func (o *orderly) Take(devcopy.Chunk)                   {}
func (o *orderly) Fail(err error)                       { o.ended <- err }
func (o *orderly) Device() Device                       { return o }
func (o *orderly) Kernel() Kernel                       { return nil }
func (o *orderly) Kind() string                         { return "orderly" }

func (o *orderly) Open(_ *vulkan.HostMemory, have *vulkan.Buffer, s *schedule.Schedule, at int, ready func(*vulkan.Buffer, error)) {
	o.schedule, o.at = s, at
	ready(have, nil)
}

func (o *orderly) Step(list []schedule.Command, last bool, done func(error)) {
	for o.steps < o.schedule.Steps()-1 && len(o.schedule.Commands(o.steps, o.at)) == 0 {
		o.steps++ // it has no commands
	}
	if want := o.schedule.Commands(o.steps, o.at); !slices.EqualFunc(list, want, equal) {
		o.t.Errorf("rank %d begins %v in place of step %d, %v", o.at, list, o.steps, want)
	}
	o.steps++
	go func() {
		runtime.Gosched()
		done(nil)
		if last {
			o.ended <- nil
		}
	}()
}

func equal(a, b schedule.Command) bool {
	return a.Bytes == b.Bytes && slices.Equal(a.From, b.From) && slices.Equal(a.To, b.To)
}

// TestOrder: the devices of an exchange begin its steps in order, although several goroutines notice at once that more may begin.
func TestOrder(t *testing.T) {
	const ranks = 2
	ms := NewMeshes(sched.NewPool(1))
	var rounds [ranks]*Round
	for rank := range rounds {
		executor := make(chan func(), 1<<10) // more than there are steps
		defer close(executor)
		go func() {
			for f := range executor {
				f()
			}
		}()
		p, err := ms.Join("orderly", rank, ranks, nil, func(f, _ func()) { executor <- f })
		if err != nil {
			t.Fatal(err)
		}
		defer p.Leave(nil)
		rounds[rank] = p.Begin(1)
	}
	in := &ops.Instr{Op: ops.AllReduce, Attrs: [][]int{{0, 1}, {0}}}
	typ := ops.Type{DType: ops.F32, Shape: ops.Shape{4 << 20}}
	for range fewtest.Of(2000, 500) {
		ended := make(chan error, ranks)
		for _, r := range rounds {
			r.Enter(r.Next(), in, typ, &orderly{t: t, ended: ended}, nil)
		}
		for range ranks {
			if err := <-ended; err != nil {
				t.Fatal(err)
			}
		}
		if t.Failed() {
			return
		}
	}
}
