package exec

import (
	"nxvk/fallback/sched"
	"nxvk/gen/exec/feed"
	"nxvk/gen/exec/kernels"
	"nxvk/gen/exec/program"
	"nxvk/gen/exec/queue"
	"nxvk/gen/wire"
	"nxvk/ops"
	"nxvk/synth"
	"nxvk/vulkan"

	"github.com/rs/zerolog"
)

// Services are what packages above have an Executor do for a session: the sampler (gen/sample), and the dispatch of
// shaders that clients bring (gen/chain). The methods are for the goroutine of the Executor.
type Services struct{ e *Executor }

// Services returns what packages above have the Executor do.
func (e *Executor) Services() Services { return Services{e} }

// Definer takes what a stream says of code that the Executor does not know. Its methods run
// on the goroutine of the Executor.
type Definer interface {
	Define(q *Queue, in *wire.Instr)
	Forget(q *Queue, keys []string)
}

// SetDefiner says who takes the definitions of shaders. It comes before the first stream.
func (s Services) SetDefiner(d Definer) { s.e.evaluator.definer = d }

// Post runs a function on the goroutine of the Executor. It may be called from any other one.
func (s Services) Post(f func()) { s.e.core.cfg.Post(f) }

// Log is where the Executor logs.
func (s Services) Log() *zerolog.Logger { return &s.e.core.cfg.Log }

// Device returns the device, nil for the host alone.
func (s Services) Device() *vulkan.Device { return s.e.core.dev }

// Target returns what the device can do.
func (s Services) Target() synth.Target { return *s.e.core.target }

// Lost returns why the device is gone, or nil.
func (s Services) Lost() error { return s.e.core.feeds.Lost() }

// DeviceError gives an error of package vulkan its kind, and notes a loss.
func (s Services) DeviceError(err error) error { return s.e.core.feeds.Error(err) }

// Feed returns the feed of the session of a queue; nil for the host alone.
func (s Services) Feed(q *Queue) *feed.Feed { return s.e.core.feed(q) }

// HostLimit returns how many elements work of the host has at most.
func (s Services) HostLimit() int { return s.e.dispatcher.HostLimit }

// CountSteps counts leapfrog steps that the device has taken.
func (s Services) CountSteps(n int) { s.e.core.counters.LeapfrogSteps += uint64(n) }

// Account returns whose processor time the work of a session counts as.
func (s Services) Account(q *Queue) *sched.Account { return s.e.core.account(q) }

// Common returns whose processor time the work for all sessions counts as.
func (s Services) Common() *sched.Account { return s.e.jobs.Common() }

// Do runs a task after everything that the session asked for before. Where the task returns why its queue has to wait,
// it runs again after that.
func (s Services) Do(q *Queue, t func(*Queue) queue.Wait) { s.e.queues.Do(q, t) }

// DoWith is Do for a task with the operands of an instruction.
func (s Services) DoWith(q *Queue, in *wire.Instr, t func(*Queue) queue.Wait) {
	s.e.queues.DoWith(q, in, t)
}

// Resume serves a queue that has waited.
func (s Services) Resume(q *Queue) { s.e.queues.Resume(q) }

// Program finds the program that a request names.
func (s Services) Program(q *Queue, key string) (*program.Program, error) {
	return s.e.library.Program(q, key)
}

// HostOperand is an operand whose elements are on the host.
type HostOperand struct {
	ops.Type
	Data []byte // valid until the task ends
}

// OnHost gives the operands of an instruction to f, those that are only on the device when they
// have been read back: the queue waits. f runs before OnHost returns.
func (s Services) OnHost(q *Queue, in *wire.Instr, check func([]ops.Type) error, f func([]HostOperand)) (wait queue.Wait, err error) {
	if q.failed != nil {
		return 0, q.failed
	}
	w, err := q.gather(in)
	if err != nil {
		return 0, err
	}
	defer w.Release()
	if err := check(w.Types); err != nil {
		return 0, &wire.Fault{Kind: wire.BadArgument, Err: err}
	}
	for i, m := range w.Args {
		if m != nil && !m.Bring() {
			return s.e.transfers.ReadBack(q, m, w.Types[i])
		}
	}
	list := make([]HostOperand, len(w.Types))
	for i, t := range w.Types {
		list[i] = HostOperand{t, w.Data(i)[:t.Bytes()]}
	}
	f(list)
	return 0, nil
}

// TakeHost takes n bytes of the host's memory for work that is no value, such as chains: within the limit of the
// session, beside its values. Where there are none the queue waits, once, for others to free theirs. give returns
// the bytes, on any goroutine.
func (s Services) TakeHost(q *Queue, n int64) (give func(), wait queue.Wait, err error) {
	if wait, err = s.e.memory.Reserve(q, n); wait != 0 || err != nil {
		return nil, wait, err
	}
	if err = s.e.memory.Host.Take(n); err != nil {
		wait, err = s.e.memory.HostExhausted(q, err)
		return nil, wait, err
	}
	return func() { s.e.memory.Host.Give(n) }, 0, nil
}

// WithKernel calls then when the pipeline of a kernel is made, at once where it is.
func (s Services) WithKernel(k *synth.Kernel, then func(*kernels.Kernel, error)) {
	c := s.e.kernels.Kernel(k)
	tell := func() {
		if c.Gone() { // while others were told
			s.WithKernel(k, then)
			return
		}
		then(c, c.Err())
	}
	if !c.Done() {
		c.Then(tell)
		return
	}
	tell()
}

// Foreign returns the pipeline of code that a client brought. It is kept until its Release.
func (s Services) Foreign(name string, code []uint32, layout vulkan.Layout) *kernels.Kernel {
	return s.e.kernels.Foreign(name, code, layout)
}

// Ready reports whether the pipeline of a kernel is made; the queue waits for it. Where it
// is, the error says why it could not be made.
func (s Services) Ready(q *Queue, k *kernels.Kernel) (wait queue.Wait, err error) {
	if !k.Done() {
		k.Then(func() { s.Resume(q) })
		return queue.ForKernel, nil
	}
	return 0, k.Err()
}

// Trials is how many runs of the same work it takes until the host and a processor are both measured.
func (s Services) Trials() int { return s.e.dispatcher.Trials() }

// Enough is how often a program has to be seen to be compiled.
func (s Services) Enough() int { return s.e.specializer.Enough }

// Aside runs f for a queue, or for all sessions where q is nil, apart from the goroutine of
// the Executor, and then calls then there. A panic is an error.
func (s Services) Aside(q *Queue, what string, f func(*sched.Worker) error, then func(error)) {
	if q == nil {
		s.e.jobs.Aside(what, f, then)
		return
	}
	s.e.jobs.AsideFor(q, what, f, then)
}
