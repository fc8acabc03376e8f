package exec

import (
	"errors"
	"fmt"
	"time"

	"nxvk/fallback/sched"
	"nxvk/gen/exec/placement"
	"nxvk/gen/exec/queue"
	"nxvk/gen/store"
	"nxvk/gen/wire"
	"nxvk/ops"
)

// Work of the host that may take more than some hundred microseconds is a job: it runs
// apart from the goroutine of the Executor, on processors that all sessions share
// (package sched), and its queue waits. A job ends within about a millisecond of the end
// of its session.

// jobs have the host compute apart from the goroutine of the Executor.
type jobs struct {
	cfg    *Config // Post, Log and Work
	resume func(*Queue)
	poison func(*Queue, *wire.Instr, []ops.Type, error)

	common   *sched.Account // of computations for all sessions
	building int            // plans and pipelines that are being made, or destroyed
}

// job is what the request at the front of a queue waits for.
type job struct {
	of     *wire.Instr // the instruction whose work it is
	task   *sched.Task
	done   bool
	err    error
	finish func() error // gives the results
	hold   []*store.Storage
	types  []ops.Type
	gone   bool        // the queue has ended
	behind bool        // the device is ready to do the work sooner, see overtaken
	late   *time.Timer // ends it at the deadline of its session
}

// Kinds of computations, as metrics show them, beside those of package kernels.
const (
	workInstruction = "instruction" // an operation that the host computes
	workKernel      = "kernel"      // a kernel in the stead of a processor
	workCopy        = "copy"        // of much memory
	workIndices     = "indices"     // the one that is out of bounds is looked for
	WorkExplain     = "explain"
	workLeapfrog    = "leapfrog" // steps that a client asks for
	workChain       = "chain"    // of the sampler, where the host evaluates the density
)

// account is whose processor time the work of a queue counts as.
func (js *jobs) account(q *Queue) *sched.Account {
	home := q.home()
	if home.worker == nil {
		home.worker = js.cfg.Work.Account()
		home.worker.SetWeight(home.Session.Weight)
	}
	return home.worker
}

// start has f run on the processors that sessions share, for the instruction at the front
// of a queue. The queue waits, and meets the outcome in collect when it goes on. What the
// work reads and writes is held until it has ended. finish runs where f gives no error, on
// the goroutine of the Executor.
func (js *jobs) start(q *Queue, w *placement.Work, what string, results []*store.Storage, f func(*sched.Worker) error, finish func() error) {
	j := &job{of: w.From, finish: finish, types: w.Types}
	for _, list := range [][]*store.Storage{w.Args, results} {
		for _, m := range list {
			if m != nil {
				m.Retain()
				m.Pins++
				j.hold = append(j.hold, m)
			}
		}
	}
	q.job = j
	if d := q.Session.Deadline; d > 0 && q.run == nil { // that of a run is its own, see runProgram
		j.late = time.AfterFunc(d, func() { js.cfg.Post(func() { js.expire(q, j) }) })
	}
	j.task = js.account(q).Start(what, f, func(err error) {
		js.cfg.Post(func() { js.end(q, j, err) })
	})
}

// end notes the end of a job.
func (js *jobs) end(q *Queue, j *job, err error) {
	if j.late != nil {
		j.late.Stop()
	}
	j.done = true
	if j.err == nil {
		j.err = err
	}
	for _, m := range j.hold {
		m.Pins--
	}
	if j.gone {
		dropAll(j.hold)
		return
	}
	js.resume(q)
}

// expire ends a job that takes longer than its session allows.
func (js *jobs) expire(q *Queue, j *job) {
	if !j.done && !j.gone {
		j.err = late(q.Session.Deadline)
		j.task.Cancel()
	}
}

func late(d time.Duration) error {
	return &wire.Fault{Kind: wire.Deadline, Err: fmt.Errorf("it has taken longer than the deadline of the session, %v; raise that, or ask for less at a time", d)}
}

// overtaken returns a function that ends a job of a queue because the device does its work
// sooner. The instruction is then carried out from the start.
func (js *jobs) overtaken(l *Queue, j *job) func() {
	return func() {
		if l.job == j && !j.done && !j.gone {
			j.behind = true
			j.task.Cancel()
		}
	}
}

// collect gives the results of a job their ids. again says that there was none for the
// instruction, or that it goes on from here.
func (js *jobs) collect(q *Queue, in *wire.Instr) (wait queue.Wait, again bool) {
	j := q.job
	if j == nil || j.of != in {
		return 0, true
	}
	if !j.done {
		return queue.ForHost, false
	}
	q.job = nil
	defer dropAll(j.hold)
	err := j.err
	if j.behind && errors.Is(err, sched.ErrCancelled) {
		return 0, true
	}
	switch {
	case err != nil:
		err = js.fault(in, err)
	default:
		err = j.finish()
	}
	if err != nil {
		js.poison(q, in, j.types, err)
	}
	return 0, false
}

// fault gives an error of a job its kind.
func (js *jobs) fault(in *wire.Instr, err error) error {
	var broken *sched.PanicError
	switch {
	case wire.KindOf(err) == wire.Deadline:
		return err
	case errors.Is(err, sched.ErrCancelled):
		return &wire.Fault{Kind: wire.Cancelled, Err: fmt.Errorf("the run was cancelled")}
	case errors.As(err, &broken):
		js.cfg.Log.Error().Str("op", in.Name).Bytes("stack", broken.Stack).Msgf("instruction failed: %v", broken.Value)
		return &wire.Fault{Kind: wire.Internal, Err: broken}
	}
	return placement.Fault(err)
}

// dropJob has the job of a queue that ends stop, and what it holds be let go then.
func (q *Queue) dropJob() {
	j := q.job
	if j == nil {
		return
	}
	q.job = nil
	j.gone = true
	j.task.Cancel()
	if j.done {
		dropAll(j.hold)
	}
}

// aside runs f for a queue, or for all sessions where q is nil, apart from the goroutine of
// the Executor, and then calls then there. A panic is an error.
func (js *jobs) aside(q *Queue, what string, f func(*sched.Worker) error, then func(error)) {
	account := js.common
	if q != nil {
		account = js.account(q)
	}
	js.building++
	account.Start(what, f, func(err error) {
		js.cfg.Post(func() {
			js.building--
			var broken *sched.PanicError
			if errors.As(err, &broken) {
				js.cfg.Log.Error().Bytes("stack", broken.Stack).Msgf("%s failed: %v", what, broken.Value)
			}
			then(err)
		})
	})
}
