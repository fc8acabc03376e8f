package exec

import (
	"time"

	"nxvk/fallback/sched"
	"nxvk/gen/exec/dispatch"
	"nxvk/gen/exec/feed"
	"nxvk/gen/exec/kernels"
	"nxvk/gen/exec/memory"
	"nxvk/gen/exec/mesh"
	"nxvk/gen/exec/queue"
	"nxvk/gen/exec/spans"
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

// Counters counts what an Executor has done.
type Counters struct {
	Instructions  uint64 // executed, also those that failed
	Ahead         uint64 // rounds of loops that were begun before their condition was known
	Futures       uint64 // results of collectives that a run went on with before they were there
	Refused       uint64 // kernels that the driver does not compile
	Failed        uint64 // results that carry a new error
	LeapfrogSteps uint64 // steps that chains of the sampler have had the device take
	Imported      uint64 // bytes, from other devices of the node
	Exchanged     uint64 // bytes that collectives have read and written in memory that devices share
	Relayed       uint64 // collectives whose operand a kernel has passed on

	dispatch.Counts // of where instructions are executed
	feed.Counters   // of what is given to the device

	Waits queue.Counts // by reason: how often a session's queue has had to wait
}

// core is what the members of an Executor share: the device and whether it is lost, the way to the goroutine of
// the Executor, the counters, and how a result gets an error.
type core struct {
	cfg    Config
	dev    *vulkan.Device
	target *synth.Target // that of kernels
	feeds  *feed.Feeds   // what the device is given

	late func(home *Queue, err error) // ends the runs of a session that the device has come to too late

	counters Counters
}

// fuses reports whether programs are compiled into fusions.
func (c *core) fuses() bool { return c.dev != nil && !c.cfg.OneByOne }

// poison makes the results of an instruction carry an error. An error that
// came with an operand stays what it was.
func (c *core) poison(q *Queue, in *wire.Instr, types []ops.Type, err error) {
	if _, inherited := err.(*ops.Error); !inherited {
		err = in.Fail(q.note(in), types, err)
		c.counters.Failed++
	}
	for _, out := range in.Outs {
		q.put(out.ID, store.Value{Type: out.Type, Err: err})
	}
	if len(in.Outs) == 0 && q.Orphan != nil {
		q.Orphan(err)
	}
}

// feed returns the feed of the session of a queue.
func (c *core) feed(q *Queue) *feed.Feed {
	h := q.home()
	if h.feed == nil && c.dev != nil {
		h.feed = c.feeds.Feed(h.Session, func(err error) { c.late(h, err) })
	}
	return h.feed
}

// account returns whose processor time the work of a session counts as.
func (c *core) account(q *Queue) *sched.Account {
	home := q.home()
	if home.worker == nil {
		home.worker = c.cfg.Work.Account()
		home.worker.SetWeight(home.Session.Weight)
	}
	return home.worker
}

// noteRefused counts and tells that the driver does not compile a kernel.
func (c *core) noteRefused(k *kernels.Kernel) {
	c.counters.Refused++
	c.cfg.Log.Warn().Err(k.Err()).Str("kernel", k.Name).Msg("the driver does not compile a kernel; operations that need it run without it, on the host at worst")
}
