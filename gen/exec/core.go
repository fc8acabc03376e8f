package exec

import (
	"time"

	"nxvk/gen/exec/feed"
	"nxvk/gen/store"
	"nxvk/gen/wire"
	"nxvk/ops"
	"nxvk/synth"
	"nxvk/vulkan"

	"github.com/rs/zerolog"
)

// core is what the members of an Executor share: the device and whether it is lost, the way to the goroutine of
// the Executor, the counters, and how a result gets an error.
type core struct {
	cfg    Config
	dev    *vulkan.Device
	target *synth.Target // that of kernels
	feeds  *feed.Feeds   // what the device is given

	late func(home *Queue, err error) // ends the runs of a session that the device has come to too late

	Counters Counters
}

// fuses reports whether programs are compiled into fusions.
func (c *core) fuses() bool { return c.dev != nil && !c.cfg.OneByOne }

// poison makes the results of an instruction carry an error. An error that
// came with an operand stays what it was.
func (c *core) poison(q *Queue, in *wire.Instr, types []ops.Type, err error) {
	if _, inherited := err.(*ops.Error); !inherited {
		err = in.Fail(q.note(in), types, err)
		c.Counters.Failed++
	}
	for _, out := range in.Outs {
		q.put(out.ID, store.Value{Type: out.Type, Err: err})
	}
	if len(in.Outs) == 0 && q.Orphan != nil {
		q.Orphan(err)
	}
}

// Feed returns the feed of the session of a queue.
func (c *core) Feed(q *Queue) *feed.Feed {
	h := q.home()
	if h.feed == nil && c.dev != nil {
		h.feed = c.feeds.Feed(h.Session, func(err error) { c.late(h, err) })
	}
	return h.feed
}

// Post runs a function on the goroutine of the Executor.
func (c *core) Post(f func()) { c.cfg.Post(f) }

// Log is where the Executor logs.
func (c *core) Log() *zerolog.Logger { return &c.cfg.Log }

// Device returns the device, nil for the host alone.
func (c *core) Device() *vulkan.Device { return c.dev }

// Target returns what the device can do.
func (c *core) Target() synth.Target { return *c.target }

// Lost returns why the device is gone, or nil.
func (c *core) Lost() error { return c.feeds.Lost() }

// DeviceError gives an error of package vulkan its kind, and notes a loss.
func (c *core) DeviceError(err error) error { return c.feeds.Error(err) }

// Flush submits what has gathered.
func (c *core) Flush() { c.feeds.Flush() }

// Oldest returns when the oldest submission that has not completed went to the
// device; the zero time where there is none.
func (c *core) Oldest() time.Time { return c.feeds.Oldest() }
