package exec

import (
	"nxvk/fallback/sched"
	"nxvk/gen/exec/kernels"
	"nxvk/gen/exec/queue"
	"nxvk/gen/wire"
	"nxvk/ops"
	"nxvk/synth"
	"nxvk/vulkan"
)

// This file is what packages above have an Executor do for a session: the sampler
// (gen/sample), and the dispatch of shaders that clients bring (gen/chain).

// Definer takes what a stream says of code that the Executor does not know. Its methods run
// on the goroutine of the Executor.
type Definer interface {
	Define(q *Queue, in *wire.Instr)
	Forget(q *Queue, keys []string)
}

// SetDefiner says who takes the definitions of shaders. It comes before the first stream.
func (e *Executor) SetDefiner(d Definer) { e.definer = d }

// HostLimit returns how many elements work of the host has at most.
func (e *Executor) HostLimit() int { return e.dispatcher.HostLimit }

// Kernels calls f with each kernel that the device has run and that has not made room for others.
func (e *Executor) Kernels(f func(name string, a kernels.Activity)) {
	e.kernels.Each(func(k *kernels.Kernel) {
		if a := k.Activity(); a.Dispatches > 0 && k.Kernel != nil {
			f(k.Name, a)
		}
	})
}

// Account returns whose processor time the work of a session counts as.
func (e *Executor) Account(q *Queue) *sched.Account {
	home := q.home()
	if home.worker == nil {
		home.worker = e.cfg.Work.Account()
		home.worker.SetWeight(home.Session.Weight)
	}
	return home.worker
}

// Common returns whose processor time the work for all sessions counts as.
func (e *Executor) Common() *sched.Account { return e.jobs.Common() }

// Ender is what a package above keeps for a session. It ends with the session.
type Ender interface{ End() }

// Above returns what the package of a key keeps for the session of a queue; the first time
// make says what that is.
func (q *Queue) Above(key any, make func() Ender) Ender {
	home := q.home()
	x := home.above[key]
	if x == nil {
		x = make()
		if home.above == nil {
			home.above = map[any]Ender{}
		}
		home.above[key] = x
	}
	return x
}

// Peek returns what the package of a key keeps for the session of a queue; nil for nothing.
func (q *Queue) Peek(key any) Ender { return q.home().above[key] }

// Home returns the queue of the session; q itself may be that of an async run of the session.
func (q *Queue) Home() *Queue { return q.home() }

// HostOperand is an operand whose elements are on the host.
type HostOperand struct {
	ops.Type
	Data []byte // valid until the task ends
}

// OnHost gives the operands of an instruction to f, those that are only on the device when they
// have been read back: the queue waits. f runs before OnHost returns.
func (e *Executor) OnHost(q *Queue, in *wire.Instr, check func([]ops.Type) error, f func([]HostOperand)) (wait queue.Wait, err error) {
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
			return e.transfers.ReadBack(q, m, w.Types[i])
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
func (e *Executor) TakeHost(q *Queue, n int64) (give func(), wait queue.Wait, err error) {
	if wait, err = e.memory.Reserve(q, n); wait != 0 || err != nil {
		return nil, wait, err
	}
	if err = e.memory.Host.Take(n); err != nil {
		wait, err = e.memory.HostExhausted(q, err)
		return nil, wait, err
	}
	return func() { e.memory.Host.Give(n) }, 0, nil
}

// WithKernel calls then when the pipeline of a kernel is made, at once where it is.
func (e *Executor) WithKernel(k *synth.Kernel, then func(*kernels.Kernel, error)) {
	c := e.kernels.Kernel(k)
	tell := func() {
		if c.Gone() { // while others were told
			e.WithKernel(k, then)
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
func (e *Executor) Foreign(name string, code []uint32, layout vulkan.Layout) *kernels.Kernel {
	return e.kernels.Foreign(name, code, layout)
}

// Ready reports whether the pipeline of a kernel is made; the queue waits for it. Where it
// is, the error says why it could not be made.
func (e *Executor) Ready(q *Queue, k *kernels.Kernel) (wait queue.Wait, err error) {
	if !k.Done() {
		k.Then(func() { e.Resume(q) })
		return queue.ForKernel, nil
	}
	return 0, k.Err()
}

// Trials is how many runs of the same work it takes until the host and a processor are both measured.
func (e *Executor) Trials() int { return e.dispatcher.Trials() }

// Enough is how often a program has to be seen to be compiled.
func (e *Executor) Enough() int { return e.specializer.Enough }

// Building counts the plans and pipelines that are being made apart from the
// goroutine of the Executor.
func (e *Executor) Building() int { return e.jobs.Building() + e.kernels.Busy() }

// Swept continues the queues that wait for memory: all sessions have answered.
func (e *Executor) Swept() { e.memory.Retry() }

// Aside runs f for a queue, or for all sessions where q is nil, apart from the goroutine of
// the Executor, and then calls then there. A panic is an error.
func (e *Executor) Aside(q *Queue, what string, f func(*sched.Worker) error, then func(error)) {
	if q == nil {
		e.jobs.Aside(what, f, then)
		return
	}
	e.jobs.AsideFor(q, what, f, then)
}

// Wait is why the first request of a session cannot go on, 0 where it can.
func (q *Queue) Wait() queue.Wait { return q.waits }

// Waiting counts the requests of a session that have not been carried out:
// pending instructions, those behind a request that cannot go on, and those of
// runs that have left the session's order.
func (q *Queue) Waiting() int {
	n := q.queue.Len() + q.trace.Len()
	for _, f := range q.asyncs {
		n += f.Waiting()
	}
	return n
}
