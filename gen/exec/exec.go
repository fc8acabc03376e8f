package exec

import (
	"maps"
	"slices"
	"time"

	"nxvk/fallback/sched"
	"nxvk/gen/etf"
	"nxvk/gen/exec/checks"
	"nxvk/gen/exec/devcopy"
	"nxvk/gen/exec/dispatch"
	"nxvk/gen/exec/explain"
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
	"nxvk/synth/spmd"
	"nxvk/vulkan"
)

// Executor carries out the instructions of one device. It has its members, each of which owns a part of the work,
// and begins and ends sessions. Its methods are what a device server asks for; they are for one goroutine, that of
// the server. Services are what the sampler and the shaders of clients ask for.
type Executor struct {
	core        *core        // the device, its loss, the counters
	queues      *scheduler   // serves the queues of sessions
	evaluator   *evaluator   // carries out one instruction
	recorder    *recorder    // postpones instructions
	interpreter *interpreter // runs programs
	reader      *reader      // gives values to those who read them
	library     *library     // has the programs of sessions
	sharing     *sharing     // brings values from other sessions, devices and nodes

	kernels     *kernels.Cache               // compiled code
	specializer *program.Specializer         // compiles programs
	memory      *memory.Manager[*Queue]      // who gets memory
	dispatcher  *dispatch.Dispatcher[*Queue] // executes what is not control flow
	transfers   *transfer.Transfers[*Queue]  // bring values to the device and back
	jobs        *hostjob.Jobs[*Queue]        // computations of the host
	checker     checks.Checker               // what is wrong with indices
	observer    spans.Observer[*Queue]       // where the time of a request goes
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
	s := &scheduler{core: c, bySession: make(map[*store.Session]*Queue)}
	e := &Executor{core: c, queues: s}
	s.turns = queue.NewTurns(cfg.Post, s.Resume)
	e.jobs = hostjob.New(hostjob.Config[*Queue]{Work: cfg.Work, Post: cfg.Post, Log: &c.cfg.Log, Account: c.account,
		Slot: func(q *Queue) *hostjob.Slot { return &q.job }, Deadline: (*Queue).deadline, Resume: s.Resume, Fail: c.poison})
	aside := e.jobs.Aside
	e.kernels = kernels.New(kernels.Config{
		Device: cfg.Device, Target: cfg.Target, Log: cfg.Log, Post: cfg.Post, Flush: func() { c.feeds.Flush() }, Refused: c.noteRefused,
		Warm:  func(k *kernels.Kernel) (vulkan.Ticket, error) { return c.feeds.Warm(k) },
		Aside: aside,
	}, cfg.WarmUp)
	c.target = e.kernels.Target()
	e.kernels.Stead = dispatch.MayStandIn(cfg.Device, &cfg.Target, cfg.HostLimit)
	c.feeds = feed.New(feed.Config{Device: cfg.Device, Target: c.target, Post: cfg.Post, Log: &c.cfg.Log, Completed: cfg.Completed,
		Counters: &c.counters.Counters})
	e.checker = checks.Checker{Error: c.feeds.Error, Aside: aside, Failed: &c.counters.Failed}
	e.observer = spans.Observer[*Queue]{Tell: cfg.Spans, Session: sessionOf, Feed: c.feed, Open: func(q *Queue) *spans.Open { return &q.observed }}
	processor, limit := hostWork(&cfg)
	e.specializer = program.NewSpecializer(program.SpecializerConfig{Kernels: e.kernels, Log: cfg.Log, Post: cfg.Post, Aside: aside}, processor, limit)
	e.memory = newMemory(e)
	e.transfers = transfer.New(transfer.Config[*Queue]{Device: cfg.Device, Memory: e.memory, Feeds: c.feeds, Jobs: e.jobs,
		Session: sessionOf, Feed: c.feed, Resume: s.resumeWith})
	e.dispatcher = newDispatcher(e, limit)
	connect(e)
	return e
}

// hostWork says whether the device is a processor, and how many elements work on host operands has that stays there.
func hostWork(cfg *Config) (processor bool, limit int) {
	if cfg.Device == nil {
		return false, cfg.HostLimit
	}
	info := cfg.Device.Info()
	if limit = cfg.HostLimit; limit == 0 {
		limit = placement.DefaultLimit(info)
	}
	return info.Kind == vulkan.CPU, limit
}

// connect makes the members that serve queues, and gives each what it works with.
func connect(e *Executor) {
	c, s := e.core, e.queues
	e.reader = &reader{core: c, queues: s, observer: &e.observer}
	e.library = &library{core: c, queues: s, bounds: program.NewBounds(), specializer: e.specializer, kernels: e.kernels, jobs: e.jobs,
		onHost: e.dispatcher.OnHost}
	e.evaluator = &evaluator{core: c, library: e.library, dispatcher: e.dispatcher, jobs: e.jobs}
	e.interpreter = &interpreter{core: c, queues: s, programs: e.library, specializer: e.specializer, kernels: e.kernels, dispatcher: e.dispatcher,
		memory: e.memory, transfers: e.transfers, jobs: e.jobs, observer: &e.observer, execute: e.evaluator.execute}
	e.recorder = &recorder{core: c, queues: s, runs: e.interpreter, dispatcher: e.dispatcher,
		signatures: trace.NewSignatures(e.dispatcher.Plan), traces: trace.NewCache(e.specializer, e.kernels)}
	e.sharing = &sharing{core: c, queues: s, kernels: e.kernels, memory: e.memory, transfers: e.transfers, dispatcher: e.dispatcher,
		flush: e.recorder.flushTrace, senders: make(map[*devcopy.Sender]bool), slots: devcopy.NewSlots(), exchanges: exchanges(c.dev), relays: relays(c.dev)}
	e.evaluator.interpreter, e.evaluator.sharing = e.interpreter, e.sharing
	c.late = e.interpreter.stopLate
	s.recorder, s.execute, s.cancel, s.retryShared = e.recorder, e.evaluator.execute, e.interpreter.cancel, e.sharing.retryShared
}

// exchanges reports whether values of a device go to others over memory that devices share.
func exchanges(d *vulkan.Device) bool {
	return d != nil && d.Info().Kind != vulkan.CPU && d.Info().Features.HostImport
}

// newMemory has the members of an Executor give and free memory.
func newMemory(e *Executor) *memory.Manager[*Queue] {
	c, s := e.core, e.queues
	return memory.NewManager(memory.ManagerConfig[*Queue]{
		Device: c.dev, Post: c.cfg.Post, Flush: c.feeds.Flush, Error: c.feeds.Error, Resume: s.Resume,
		AwaitChecks: func(q *Queue) bool { return checks.Await(c.feed(q), func() { s.Resume(q) }) },
		Leaving:     leaving,
		Session:     sessionOf,
		Claim:       func(q *Queue) *memory.Claim { return &q.claim },
		Alloc:       func(q *Queue, n int) (*vulkan.Buffer, error) { return e.sharing.allocFeed(q).TryAlloc(n) },
		Sessions:    func(yield func(*store.Session) bool) { maps.Keys(s.bySession)(yield) },
		Pending:     func() bool { return len(e.recorder.gathering) > 0 }, // who asks is not among them: it carries something out
		RunPending:  func() { e.recorder.flushTraces() },
	}, c.cfg.Host, c.cfg.Sweep)
}

// newDispatcher has the other members of an Executor and its queues serve the dispatcher.
func newDispatcher(e *Executor, limit int) *dispatch.Dispatcher[*Queue] {
	c, s := e.core, e.queues
	return dispatch.New(dispatch.Config[*Queue]{
		Device: c.dev, Kernels: e.kernels, Feeds: c.feeds, Memory: e.memory, Transfers: e.transfers, Jobs: e.jobs,
		Checker: &e.checker, Turns: &s.turns, Counts: &c.counters.Counts,
		Session: sessionOf, Slot: func(q *Queue) *dispatch.Slot { return &q.recording }, Feed: c.feed, Effort: (*Queue).effort,
		Note: func(q *Queue) checks.Note { return q.note }, Last: (*Queue).endsWith, Put: (*Queue).put, Resume: s.Resume, Yield: s.yield,
	}, limit, e.kernels.Stead)
}

// Queue returns the queue of a session, which begins with it.
func (e *Executor) Queue(of *store.Session) *Queue { return e.queues.Queue(of) }

// Stream carries out instructions after everything that the session asked for before.
func (e *Executor) Stream(q *Queue, instrs []wire.Instr) { e.queues.Stream(q, instrs) }

// Do runs a task after everything that the session asked for before.
func (e *Executor) Do(q *Queue, t func(*Queue) queue.Wait) { e.queues.Do(q, t) }

// SetWeight sets the share of a session of the processors, of the device and of the goroutine of the Executor, beside
// those of other sessions. The usual share is 1.
func (e *Executor) SetWeight(q *Queue, weight float64) { e.queues.SetWeight(q, weight) }

// Read gives count elements of a value from offset on, after everything that the session asked for before. done runs
// on the goroutine of the Executor.
func (e *Executor) Read(q *Queue, id ops.ID, offset, count int, done func(Data, error)) {
	e.reader.Read(q, id, offset, count, done)
}

// ReadTraced is Read with a trace context, or nil.
func (e *Executor) ReadTraced(q *Queue, c *wire.Context, r Range, done func(Data, error)) {
	e.reader.ReadTraced(q, c, r, done)
}

// Describe gives the type of a value, after everything before.
func (e *Executor) Describe(q *Queue, id ops.ID, done func(ops.Type, error)) {
	e.reader.Describe(q, id, done)
}

// Sync calls done when everything that the session asked for before has been computed.
func (e *Executor) Sync(q *Queue, done func(error)) { e.reader.Sync(q, done) }

// Barrier calls done when everything that the session asked for before has been computed, except async runs and what
// needs their results.
func (e *Executor) Barrier(q *Queue, done func(error)) { e.reader.Barrier(q, done) }

// Explain tells how a program of the session is carried out once it has been seen before, in the order in which it
// runs. Loops are told once.
func (e *Executor) Explain(q *Queue, key string, way Explanations, done func([]explain.Part, error)) {
	e.library.Explain(q, key, way, done)
}

// Shares tells how the values of a program are divided over its mesh, and which collectives that takes.
func (e *Executor) Shares(q *Queue, key string, done func(*spmd.Result, error)) {
	e.library.Shares(q, key, done)
}

// JoinMesh gives a session a rank of a mesh, in place of the one that it had. done is called when everything before
// has been carried out.
func (e *Executor) JoinMesh(q *Queue, o wire.Mesh, done func(error)) { e.sharing.JoinMesh(q, o, done) }

// EndExports ends all that other devices import, with an error: the server ends.
func (e *Executor) EndExports(err error) { e.sharing.EndExports(err) }

// Answer gives the answer to a callback of a run. from is who sent it; an answer that nobody waits for is dropped.
func (e *Executor) Answer(from etf.Pid, run ops.ID, ref uint64, data [][]byte, err error) {
	e.interpreter.answer(from, run, ref, data, err)
}

// Swept continues the queues that wait for memory: all sessions have answered.
func (e *Executor) Swept() { e.memory.Swept() }

// Counters returns what the Executor has done so far.
func (e *Executor) Counters() Counters { return e.core.counters }

// Lost returns why the device is gone, or nil.
func (e *Executor) Lost() error { return e.core.feeds.Lost() }

// Oldest returns when the oldest submission that has not completed went to the device; the zero time where there is
// none.
func (e *Executor) Oldest() time.Time { return e.core.feeds.Oldest() }

// Kernels calls f with each kernel that the device has run and that has not made room for others.
func (e *Executor) Kernels(f func(name string, a kernels.Activity)) {
	e.kernels.Each(func(k *kernels.Kernel) {
		if a := k.Activity(); a.Dispatches > 0 && k.Kernel != nil {
			f(k.Name, a)
		}
	})
}

// Building counts the plans and pipelines that are being made apart from the goroutine of the Executor.
func (e *Executor) Building() int { return e.jobs.Building() + e.kernels.Busy() }

// End forgets a session: its queue is dropped and its values are let go, in slices where there are
// many.
func (e *Executor) End(s *store.Session) { e.endSession(s, e.core.cfg.Post) }

// EndNow is End without slices, for when nothing that is posted will run.
func (e *Executor) EndNow(s *store.Session) { e.endSession(s, func(f func()) { f() }) }

func (e *Executor) endSession(s *store.Session, post func(func())) {
	q := e.queues.bySession[s]
	if q != nil {
		q.end()
		if q.worker != nil {
			q.worker.End()
		}
		delete(e.queues.bySession, s)
		e.recorder.drop(q)
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
	queues := e.queues.bySession
	e.queues.bySession = make(map[*store.Session]*Queue)
	e.sharing.imports = nil
	e.memory.Abandon()
	for _, q := range queues {
		if q.feed != nil {
			q.feed.Release()
		}
		for _, f := range append(slices.Clone(q.asyncs), q) {
			f.waits = 0
			e.queues.advance(f)
		}
	}
	e.queues.bySession = queues
}
