package exec

import (
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"time"

	"nxvk/fallback/sched"
	"nxvk/gen/etf"
	"nxvk/gen/exec/checks"
	"nxvk/gen/exec/devcopy"
	"nxvk/gen/exec/dispatch"
	"nxvk/gen/exec/feed"
	"nxvk/gen/exec/hostjob"
	"nxvk/gen/exec/kernels"
	"nxvk/gen/exec/memory"
	"nxvk/gen/exec/mesh"
	"nxvk/gen/exec/placement"
	"nxvk/gen/exec/program"
	"nxvk/gen/exec/queue"
	"nxvk/gen/exec/spans"
	"nxvk/gen/exec/trace"
	"nxvk/gen/exec/transfer"
	"nxvk/gen/store"
	"nxvk/gen/wire"
	"nxvk/ops"
	"nxvk/synth"
	"nxvk/vulkan"

	"github.com/rs/zerolog"
)

// Silence is how long the stream has to be quiet before gathered work is
// submitted although nobody reads.
const Silence = 50 * time.Microsecond

// Config is what an Executor works with.
type Config struct {
	Device    *vulkan.Device // nil computes everything on the host
	Host      *memory.Host   // of values on the host; nil is memory without a limit
	Work      *sched.Pool    // the processors that sessions share; nil is a pool of its own
	Target    synth.Target   // what Probe says of the device
	Post      func(func())   // runs a function in a turn of its own
	Call      func(Call)     // sends a hook or a callback
	Sweep     func() int     // asks sessions to free what they do not need; how many were asked
	Log       zerolog.Logger
	OneByOne  bool // programs are never fused
	WarmUp    bool // the host carries out kernels of a processor until compiling them pays
	HostLimit int  // elements up to which work on host operands stays there; 0 is the default of the device

	// Spans is told where the time of a run or a read with a trace context went; nil where nobody
	// asks.
	Spans func(*store.Session, spans.Report)

	Name        string                   // of the device server; an import that names it is of this device
	Incarnation uint64                   // of the device server
	Server      func(name string) Server // the server of another device of the node, nil where there is none
	Node        string                   // the name of this node
	Remote      Remote                   // takes values of other nodes; nil where there are none
	Meshes      *mesh.Meshes             // of the node; nil where this is its only device
	Tell        func(f, gone func())     // runs f on the goroutine of the Executor, or gone, on any one, where the server has ended; nil is Post

	// Completed is told how long each submission took; nil where nobody asks.
	Completed func(time.Duration)
}

// Executor carries out the instructions of one device. It begins and ends sessions, executes one instruction at a
// time, and is the face of its members, each of which owns a part of the work, on the same goroutine.
type Executor struct {
	*core      // the device, its loss, the counters
	*scheduler // serves the queues of sessions
	*reader    // gives values to those who read them
	*library   // has the programs of sessions
	*sharing   // brings values from other sessions, devices and nodes

	recorder    recorder    // postpones instructions
	interpreter interpreter // runs programs
	definer     Definer     // of shaders; nil where there are none

	kernels     *kernels.Cache               // compiled code
	specializer *program.Specializer         // compiles programs
	memory      *memory.Manager[*Queue]      // who gets memory
	dispatcher  *dispatch.Dispatcher[*Queue] // executes what is not control flow
	transfers   *transfer.Transfers[*Queue]  // bring values to the device and back
	jobs        *hostjob.Jobs[*Queue]        // computations of the host
	checker     checks.Checker               // what is wrong with indices
	observer    spans.Observer[*Queue]       // where the time of a request goes
}

// Counters counts what an Executor has done.
type Counters struct {
	Instructions  uint64 // executed, also those that failed
	Ahead         uint64 // rounds of loops that were begun before their condition was known
	Refused       uint64 // kernels that the driver does not compile
	Failed        uint64 // results that carry a new error
	LeapfrogSteps uint64 // steps that chains of the sampler have had the device take
	Imported      uint64 // bytes, from other devices of the node
	Exchanged     uint64 // bytes that collectives have read and written in memory that devices share

	dispatch.Counts // of where instructions are executed
	feed.Counters   // of what is given to the device

	Waits queue.Counts // by reason: how often a session's queue has had to wait
}

// New returns an Executor for a device, or for the host alone.
func New(cfg Config) *Executor {
	if cfg.Host == nil {
		cfg.Host = memory.NewHost(0)
	}
	if cfg.Tell == nil {
		cfg.Tell = func(f, _ func()) { cfg.Post(f) }
	}
	if cfg.Work == nil {
		cfg.Work = sched.NewPool(0)
	}
	if cfg.Meshes == nil {
		cfg.Meshes = mesh.NewMeshes(cfg.Work)
	}
	c := &core{cfg: cfg, dev: cfg.Device}
	e := &Executor{core: c, scheduler: &scheduler{core: c, queues: make(map[*store.Session]*Queue)}}
	c.late, e.scheduler.exec, e.scheduler.recorder = e.interpreter.stopLate, e, &e.recorder
	e.jobs = hostjob.New(hostjob.Config[*Queue]{Work: cfg.Work, Post: cfg.Post, Log: &c.cfg.Log, Account: e.Account,
		Slot: func(q *Queue) *hostjob.Slot { return &q.job }, Deadline: (*Queue).deadline, Resume: e.Resume, Fail: e.poison})
	aside := e.jobs.Aside
	e.checker = checks.Checker{Error: e.DeviceError, Aside: aside, Failed: &e.Counters.Failed}
	e.observer = spans.Observer[*Queue]{Tell: cfg.Spans, Session: sessionOf, Feed: e.Feed, Open: func(q *Queue) *spans.Open { return &q.observed }}
	e.turns = queue.NewTurns(cfg.Post, e.Resume)
	e.kernels = kernels.New(kernels.Config{
		Device: cfg.Device, Target: cfg.Target, Log: cfg.Log, Post: cfg.Post, Flush: e.Flush, Refused: e.noteRefused,
		Warm:  func(k *kernels.Kernel) (vulkan.Ticket, error) { return e.feeds.Warm(k) },
		Aside: aside,
	}, cfg.WarmUp)
	c.target = e.kernels.Target()
	e.kernels.Stead = dispatch.MayStandIn(cfg.Device, &cfg.Target, cfg.HostLimit)
	processor, limit := false, cfg.HostLimit
	if e.dev != nil {
		info := e.dev.Info()
		processor = info.Kind == vulkan.CPU
		if limit == 0 {
			limit = placement.DefaultLimit(info)
		}
	}
	c.feeds = feed.New(feed.Config{Device: cfg.Device, Target: c.target, Post: cfg.Post, Log: &c.cfg.Log, Completed: cfg.Completed,
		Counters: &c.Counters.Counters})
	e.specializer = program.NewSpecializer(program.SpecializerConfig{Kernels: e.kernels, Log: cfg.Log, Post: cfg.Post, Aside: aside}, processor, limit)
	e.memory = newMemory(e)
	e.transfers = transfer.New(transfer.Config[*Queue]{Device: cfg.Device, Memory: e.memory, Feeds: e.feeds, Jobs: e.jobs,
		Session: sessionOf, Feed: e.Feed, Resume: e.resumeWith})
	e.dispatcher = newDispatcher(e, limit)
	connect(e)
	return e
}

// connect gives the members that serve queues what they work with.
func connect(e *Executor) {
	c, s := e.core, e.scheduler
	e.reader = &reader{core: c, scheduler: s, observer: &e.observer}
	e.library = &library{core: c, scheduler: s, bounds: program.NewBounds(), specializer: e.specializer, kernels: e.kernels, jobs: e.jobs,
		onHost: e.dispatcher.OnHost}
	e.sharing = &sharing{core: c, scheduler: s, kernels: e.kernels, memory: e.memory, transfers: e.transfers, dispatcher: e.dispatcher, flush: e.recorder.flushTrace,
		senders: make(map[*devcopy.Sender]bool), slots: devcopy.NewSlots(), exchanges: exchanges(e.dev)}
	e.interpreter = interpreter{core: c, scheduler: s, programs: e.library, specializer: e.specializer, kernels: e.kernels, dispatcher: e.dispatcher,
		memory: e.memory, transfers: e.transfers, jobs: e.jobs, observer: &e.observer, execute: e.execute}
	e.recorder = recorder{core: c, scheduler: s, runs: &e.interpreter, dispatcher: e.dispatcher,
		signatures: trace.NewSignatures(e.dispatcher.Plan), traces: trace.NewCache(e.specializer, e.kernels)}
}

// exchanges reports whether values of a device go to others over memory that devices share.
func exchanges(d *vulkan.Device) bool {
	return d != nil && d.Info().Kind != vulkan.CPU && d.Info().Features.HostImport
}

// newMemory has the members of an Executor give and free memory.
func newMemory(e *Executor) *memory.Manager[*Queue] {
	return memory.NewManager(memory.ManagerConfig[*Queue]{
		Device: e.dev, Post: e.cfg.Post, Flush: e.Flush, Error: e.DeviceError, Resume: e.Resume,
		AwaitChecks: func(q *Queue) bool { return checks.Await(e.Feed(q), func() { e.Resume(q) }) },
		Session:     sessionOf,
		Claim:       func(q *Queue) *memory.Claim { return &q.claim },
		Alloc:       func(q *Queue, n int) (*vulkan.Buffer, error) { return e.allocFeed(q).TryAlloc(n) },
		Sessions:    func(yield func(*store.Session) bool) { maps.Keys(e.queues)(yield) },
		Pending:     func() bool { return len(e.recorder.gathering) > 0 }, // who asks is not among them: it carries something out
		RunPending: func() {
			for _, g := range slices.Clone(e.recorder.gathering) {
				e.recorder.flushTrace(g)
			}
		},
	}, e.cfg.Host, e.cfg.Sweep)
}

// newDispatcher has the other members of an Executor and its queues serve the dispatcher.
func newDispatcher(e *Executor, limit int) *dispatch.Dispatcher[*Queue] {
	return dispatch.New(dispatch.Config[*Queue]{
		Device: e.dev, Kernels: e.kernels, Feeds: e.feeds, Memory: e.memory, Transfers: e.transfers, Jobs: e.jobs,
		Checker: &e.checker, Turns: &e.turns, Counts: &e.Counters.Counts,
		Session: sessionOf, Slot: func(q *Queue) *dispatch.Slot { return &q.recording }, Feed: e.Feed, Effort: (*Queue).effort,
		Note: func(q *Queue) checks.Note { return q.note }, Last: (*Queue).endsWith, Put: (*Queue).put, Resume: e.Resume, Yield: e.yield,
	}, limit, e.kernels.Stead)
}

// noteRefused counts and tells that the driver does not compile a kernel.
func (e *Executor) noteRefused(k *kernels.Kernel) {
	e.Counters.Refused++
	e.cfg.Log.Warn().Err(k.Err()).Str("kernel", k.Name).Msg("the driver does not compile a kernel; operations that need it run without it, on the host at worst")
}

// execute carries out one instruction, or returns why the queue has to wait; the instruction is then tried again
// from the start.
func (e *Executor) execute(q *Queue, in *wire.Instr) (wait queue.Wait) {
	if in.Op == ops.Run && in.Err == nil {
		if !e.interpreter.runAsync(q, in) {
			wait = e.interpreter.runProgram(q, in)
		}
	} else {
		wait = e.try(q, in)
	}
	if wait == 0 {
		e.Counters.Instructions++
		release(in)
	}
	return wait
}

// release gives back the memory of literals that nothing has taken over.
func release(in *wire.Instr) {
	for i := range in.Ins {
		if lit := in.Ins[i].Lit; lit != nil && lit.Hold != nil {
			lit.Hold.(*etf.Binary).Release()
			lit.Hold = nil
		}
	}
}

func (e *Executor) try(q *Queue, in *wire.Instr) (wait queue.Wait) {
	defer func() {
		if r := recover(); r != nil {
			e.cfg.Log.Error().Str("op", in.Name).Bytes("stack", debug.Stack()).Msgf("instruction failed: %v", r)
			e.poison(q, in, nil, &wire.Fault{Kind: wire.Internal, Err: fmt.Errorf("%v", r)})
			wait = 0
		}
	}()
	switch {
	case in.Op.IsCollective():
		return e.communicate(q, in)
	case in.Err != nil:
		e.poison(q, in, nil, in.Err)
	case in.Op == ops.Free:
		for _, id := range in.Attrs[0] {
			q.Session.Delete(ops.ID(id))
		}
	case in.Op == ops.Program:
		return e.define(q, in)
	case in.Op == ops.Shader:
		if e.definer != nil {
			e.definer.Define(q, in)
		}
	case in.Op == ops.Forget:
		q.home().programs.Forget(in.Keys)
		if e.definer != nil {
			e.definer.Forget(q, in.Keys)
		}
	case q.run == nil && program.OnlyPrograms(in.Op): // a program carries out its control itself
		e.poison(q, in, nil, &wire.Fault{Kind: wire.BadArgument, Err: errProgramOnly})
	case in.Op == ops.Import:
		return e.importValue(q, in)
	case e.Lost() != nil && !q.job.Busy():
		e.poison(q, in, nil, e.Lost())
	case q.failed != nil:
		e.poison(q, in, nil, q.failed)
	default:
		return e.compute(q, in)
	}
	return 0
}

var errProgramOnly = errors.New("belongs in a program, not in the stream")

// compute carries out an instruction that makes values.
func (e *Executor) compute(q *Queue, in *wire.Instr) (wait queue.Wait) {
	if q.job.Busy() {
		if wait, again := e.jobs.Collect(q, in); !again {
			return wait
		}
	}
	w, err := q.gather(in)
	if err != nil {
		e.poison(q, in, w.Types, err)
		return 0
	}
	defer w.Release()
	if err := w.In.Check(w.Types); err != nil {
		e.poison(q, in, w.Types, &wire.Fault{Kind: wire.BadArgument, Err: err})
		return 0
	}
	wait, err = e.dispatcher.Run(q, w)
	if wait != 0 {
		return wait
	}
	if err != nil {
		e.poison(q, in, w.Types, err)
	}
	return 0
}

// End forgets a session: its queue is dropped and its values are let go, in slices where there are
// many.
func (e *Executor) End(s *store.Session) { endSession(e, s, e.cfg.Post) }

// EndNow is End without slices, for when nothing that is posted will run.
func (e *Executor) EndNow(s *store.Session) { endSession(e, s, func(f func()) { f() }) }

func endSession(e *Executor, s *store.Session, post func(func())) {
	q := e.queues[s]
	if q != nil {
		q.end()
		if q.worker != nil {
			q.worker.End()
		}
		delete(e.queues, s)
		e.recorder.gathering = slices.DeleteFunc(e.recorder.gathering, func(g *Queue) bool { return g == q })
	}
	mems := s.End()
	queue.InSlices(post, len(mems), func(i int) bool {
		mems[i].Drop()
		return true
	}, func(bool) {
		if q != nil && q.feed != nil {
			q.feed.End()
		}
		e.memory.Retry()
	})
}

// Abandon answers everything that waits with the loss of the device and
// forgets the queues.
func (e *Executor) Abandon() {
	e.EndExports(e.Lost())
	queues := e.queues
	e.queues = make(map[*store.Session]*Queue)
	e.imports = nil
	e.memory.Abandon()
	for _, q := range queues {
		if q.feed != nil {
			q.feed.Release()
		}
		for _, f := range append(slices.Clone(q.asyncs), q) {
			f.waits = 0
			e.advance(f)
		}
	}
	e.queues = queues
}

// cancel ends runs of a queue.
func (e *Executor) cancel(q *Queue, ids []int) { e.interpreter.cancel(q, ids) }

// Answer gives the answer to a callback of a run. from is who sent it; an answer that nobody waits for is dropped.
func (e *Executor) Answer(from etf.Pid, run ops.ID, ref uint64, data [][]byte, err error) {
	e.interpreter.answer(from, run, ref, data, err)
}
