package hostjob

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

	"github.com/rs/zerolog"
)

// Config is what Jobs work with, for queues of type Q.
type Config[Q any] struct {
	Work *sched.Pool
	Post func(func()) // runs a function on the goroutine of the Executor
	Log  *zerolog.Logger

	Account  func(Q) *sched.Account                  // whose processor time the work of a queue counts as
	Slot     func(Q) *Slot                           // has the job of a queue
	Deadline func(Q) time.Duration                   // of the instruction at the front; 0 where it has none of its own
	Resume   func(Q)                                 // goes on with a queue that has waited for its job
	Fail     func(Q, *wire.Instr, []ops.Type, error) // makes the results of an instruction carry an error
}

// Jobs have the host compute apart from the goroutine of the Executor. The methods are for that goroutine.
type Jobs[Q any] struct {
	cfg      Config[Q]
	common   *sched.Account
	building int
}

// New returns Jobs.
func New[Q any](cfg Config[Q]) *Jobs[Q] {
	return &Jobs[Q]{cfg: cfg, common: cfg.Work.Account()}
}

// Common returns whose processor time the work for all sessions counts as.
func (js *Jobs[Q]) Common() *sched.Account { return js.common }

// Building counts the functions of Aside that have not returned: plans, programs and pipelines that are being
// made, and copies.
func (js *Jobs[Q]) Building() int { return js.building }

// Slot has the job of the request at the front of a queue.
type Slot struct{ job *job }

// Busy reports whether there is a job.
func (s *Slot) Busy() bool { return s.job != nil }

// WorksOn reports whether there is a job, and it is that of an instruction.
func (s *Slot) WorksOn(in *wire.Instr) bool { return s.job != nil && s.job.of == in }

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
	behind bool        // the device is ready to do the work sooner, see Overtaken
	late   *time.Timer // ends it at the deadline of its session
}

// Kinds of computations, as metrics show them, beside those of package kernels and of packages above.
const (
	WorkInstruction = "instruction" // an operation that the host computes
	WorkKernel      = "kernel"      // a kernel in the stead of a processor
	WorkCopy        = "copy"        // of much memory
	WorkIndices     = "indices"     // the one that is out of bounds is looked for
	WorkExplain     = "explain"
)

// Idle reports whether nobody computes on the processors that sessions share, or waits for that.
func (js *Jobs[Q]) Idle() bool { return js.cfg.Work.Idle() }

// Here has f run at once, for the instruction at the front of a queue, on the goroutine of the Executor and on free processors
// of those that sessions share, where it is known to be short. It reports false where it has not run, because others compute.
func (js *Jobs[Q]) Here(q Q, w *placement.Work, what string, f func(*sched.Worker) error) (ran bool, err error) {
	if ran, err = js.cfg.Account(q).Here(what, f); err != nil {
		err = js.fault(w.From, err)
	}
	return ran, err
}

// Start has f run on the processors that sessions share, for the instruction at the front
// of a queue. The queue waits, and meets the outcome in Collect when it goes on. What the
// work reads and writes is held until it has ended. finish runs where f gives no error, on
// the goroutine of the Executor.
func (js *Jobs[Q]) Start(q Q, w *placement.Work, what string, results []*store.Storage, f func(*sched.Worker) error, finish func() error) {
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
	slot := js.cfg.Slot(q)
	slot.job = j
	if d := js.cfg.Deadline(q); d > 0 {
		j.late = time.AfterFunc(d, func() { js.cfg.Post(func() { j.expire(d) }) })
	}
	j.task = js.cfg.Account(q).Start(what, f, func(err error) {
		js.cfg.Post(func() { js.end(q, j, err) })
	})
}

// end notes the end of a job.
func (js *Jobs[Q]) end(q Q, j *job, err error) {
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
		store.DropAll(j.hold)
		return
	}
	js.cfg.Resume(q)
}

// expire ends a job that takes longer than its session allows.
func (j *job) expire(deadline time.Duration) {
	if !j.done && !j.gone {
		j.err = wire.Late(deadline)
		j.task.Cancel()
	}
}

// Overtaken returns a function that ends the job of a queue because the device does its work
// sooner. The instruction is then carried out from the start.
func (js *Jobs[Q]) Overtaken(q Q) func() {
	slot := js.cfg.Slot(q)
	j := slot.job
	return func() {
		if slot.job == j && !j.done && !j.gone {
			j.behind = true
			j.task.Cancel()
		}
	}
}

// Collect gives the results of the job of a queue their ids. again says that there was none for the
// instruction, or that it goes on from here.
func (js *Jobs[Q]) Collect(q Q, in *wire.Instr) (wait queue.Wait, again bool) {
	slot := js.cfg.Slot(q)
	j := slot.job
	if j == nil || j.of != in {
		return 0, true
	}
	if !j.done {
		return queue.ForHost, false
	}
	slot.job = nil
	defer store.DropAll(j.hold)
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
		js.cfg.Fail(q, in, j.types, err)
	}
	return 0, false
}

// fault gives an error of a job its kind.
func (js *Jobs[Q]) fault(in *wire.Instr, err error) error {
	var broken *sched.PanicError
	switch {
	case wire.KindOf(err) == wire.Deadline:
		return err
	case errors.Is(err, sched.ErrCancelled):
		return &wire.Fault{Kind: wire.Cancelled, Err: fmt.Errorf("the run was cancelled")}
	case errors.As(err, &broken):
		js.cfg.Log.Error().Str("op", in.Name).Bytes("stack", broken.Stack).Msgf("an instruction caused a panic and failed; please report this as a bug: %v", broken.Value)
		return &wire.Fault{Kind: wire.Internal, Err: broken}
	}
	return placement.Fault(err)
}

// Stop has the job end with an error: its run has ended.
func (s *Slot) Stop() {
	if s.job != nil {
		s.job.behind = false
		s.job.task.Cancel()
	}
}

// Drop has the job of a queue that ends stop, and what it holds be let go then.
func (s *Slot) Drop() {
	j := s.job
	if j == nil {
		return
	}
	s.job = nil
	j.gone = true
	j.task.Cancel()
	if j.done {
		store.DropAll(j.hold)
	}
}

// AsideFor is Aside for a queue.
func (js *Jobs[Q]) AsideFor(q Q, what string, f func(*sched.Worker) error, then func(error)) {
	js.aside(js.cfg.Account(q), what, f, then)
}

// Aside runs f for all sessions apart from the goroutine of the Executor, and then calls then there. A
// panic is an error.
func (js *Jobs[Q]) Aside(what string, f func(*sched.Worker) error, then func(error)) {
	js.aside(js.common, what, f, then)
}

func (js *Jobs[Q]) aside(account *sched.Account, what string, f func(*sched.Worker) error, then func(error)) {
	js.building++
	account.Start(what, f, func(err error) {
		js.cfg.Post(func() {
			js.building--
			var broken *sched.PanicError
			if errors.As(err, &broken) {
				js.cfg.Log.Error().Str("work", what).Bytes("stack", broken.Stack).Msgf("work of the host caused a panic and failed; please report this as a bug: %v", broken.Value)
			}
			then(err)
		})
	})
}
