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

// Executor carries out the instructions of one device. It serves the queues of sessions and
// wires its members, each of which owns a part of the work, on the same goroutine.
type Executor struct {
	cfg     Config
	dev     *vulkan.Device
	target  *synth.Target // that of kernels
	bounds  *program.Bounds
	definer Definer // of shaders; nil where there are none

	queues  map[*store.Session]*Queue
	turns   queue.Turns[*Queue]
	imports []*Queue                 // queues that wait for another session
	exports []*export                // that wait for a value which has not been announced
	senders map[*devcopy.Sender]bool // of values that other devices import

	exchanges bool           // values and collectives go over memory that devices share: not those of a processor, whose memory the host has
	slots     *devcopy.Slots // that memory, for values that other devices import

	feeds       *feed.Feeds                  // what the device is given
	kernels     *kernels.Cache               // compiled code
	specializer *program.Specializer         // compiles programs
	memory      *memory.Manager[*Queue]      // who gets memory
	recorder    recorder                     // postpones instructions
	interpreter interpreter                  // runs programs
	dispatcher  *dispatch.Dispatcher[*Queue] // executes what is not control flow
	transfers   *transfer.Transfers[*Queue]  // bring values to the device and back
	jobs        *hostjob.Jobs[*Queue]        // computations of the host
	checker     checks.Checker               // what is wrong with indices
	observer    spans.Observer[*Queue]       // where the time of a request goes

	Counters Counters
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
	e := &Executor{
		cfg:     cfg,
		dev:     cfg.Device,
		queues:  make(map[*store.Session]*Queue),
		bounds:  program.NewBounds(),
		senders: make(map[*devcopy.Sender]bool),
		slots:   devcopy.NewSlots(),
	}
	e.recorder.exec, e.interpreter.exec = e, e
	e.jobs = hostjob.New(hostjob.Config[*Queue]{Work: cfg.Work, Post: cfg.Post, Log: &e.cfg.Log, Account: e.Account,
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
	e.target = e.kernels.Target()
	e.kernels.Stead = dispatch.MayStandIn(cfg.Device, &cfg.Target, cfg.HostLimit)
	processor, limit := false, cfg.HostLimit
	if e.dev != nil {
		info := e.dev.Info()
		processor = info.Kind == vulkan.CPU
		e.exchanges = !processor && info.Features.HostImport
		if limit == 0 {
			limit = placement.DefaultLimit(info)
		}
	}
	e.feeds = feed.New(feed.Config{Device: cfg.Device, Target: e.target, Post: cfg.Post, Log: &e.cfg.Log, Completed: cfg.Completed,
		Counters: &e.Counters.Counters})
	e.specializer = program.NewSpecializer(program.SpecializerConfig{Kernels: e.kernels, Log: cfg.Log, Post: cfg.Post, Aside: aside}, processor, limit)
	e.memory = newMemory(e)
	e.transfers = transfer.New(transfer.Config[*Queue]{Device: cfg.Device, Memory: e.memory, Feeds: e.feeds, Jobs: e.jobs,
		Session: sessionOf, Feed: e.Feed, Resume: e.resumeWith})
	e.dispatcher = newDispatcher(e, limit)
	e.recorder.signatures, e.recorder.traces = trace.NewSignatures(e.dispatcher.Plan), trace.NewCache(e.specializer, e.kernels)
	return e
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

// execute carries out one instruction. It reports true where the queue has to
// wait; the instruction is then tried again from the start.
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

// fuses reports whether programs are compiled into fusions.
func (e *Executor) fuses() bool { return e.dev != nil && !e.cfg.OneByOne }

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
	case program.IsControl(in.Op):
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
	w, err := e.gather(q, in)
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

// gather finds the operands of an instruction. A literal tensor becomes memory
// on the host; a literal scalar stays in the instruction. An operand that
// carries an error is that error, and one that is not held says which it is.
func (e *Executor) gather(q *Queue, in *wire.Instr) (w *placement.Work, first error) {
	w = placement.New(in)
	for i := range in.Ins {
		o := &in.Ins[i]
		if o.Lit != nil {
			w.Types[i] = o.Lit.Type
			continue
		}
		if lit := q.literal(o.ID); lit != nil {
			w.Replace(i, lit)
			continue
		}
		v, err := q.value(o.ID)
		if err != nil {
			err = &wire.Fault{Kind: wire.KindOf(err), Err: fmt.Errorf("operand %d: %w", i, err)}
		} else {
			err = v.Failure()
		}
		if err != nil && first == nil {
			first = err
		}
		w.Types[i], w.Args[i] = v.Type, v.Mem
	}
	return w, first
}

// note is what the client has said of where an instruction was sent, or the run that
// it is a part of.
func (q *Queue) note(in *wire.Instr) string {
	if in.Note == "" && q.run != nil && q.run.in != nil {
		return q.run.in.Note
	}
	return in.Note
}

// poison makes the results of an instruction carry an error. An error that
// came with an operand stays what it was.
func (e *Executor) poison(q *Queue, in *wire.Instr, types []ops.Type, err error) {
	if _, inherited := err.(*ops.Error); !inherited {
		err = in.Fail(q.note(in), types, err)
		e.Counters.Failed++
	}
	for _, out := range in.Outs {
		q.put(out.ID, store.Value{Type: out.Type, Err: err})
	}
	if len(in.Outs) == 0 && q.Orphan != nil {
		q.Orphan(err)
	}
}
