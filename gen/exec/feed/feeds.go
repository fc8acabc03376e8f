package feed

import (
	"errors"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"nxvk/gen/exec/kernels"
	"nxvk/gen/store"
	"nxvk/gen/wire"
	"nxvk/synth"
	"nxvk/vulkan"
)

// Config is what Feeds work with.
type Config struct {
	Device    *vulkan.Device      // nil is a machine without one, which has no feeds
	Target    *synth.Target       // what the device can do
	Post      func(func())        // runs a function on the goroutine of the owner
	Log       *zerolog.Logger     // may change
	Completed func(time.Duration) // is told how long each submission took; may be nil
	Counters  *Counters
}

// Counters counts what is given to a device.
type Counters struct {
	Dispatches uint64 // recorded
	Submits    uint64 // batches given to the device
	Downloaded uint64 // bytes
}

// Feeds are those of a device.
type Feeds struct {
	cfg      Config
	dev      *vulkan.Device
	own      *Feed                       // for what no session asks for
	open     []*Feed                     // with work that is not submitted
	checking []*Feed                     // with checks that are not settled
	inFlight int                         // submissions that have not completed
	departed map[vulkan.Ticket]time.Time // these, and when they went to the device
	cancels  int                         // deadlines that have had work of the device taken back
	lost     error                       // the device is gone
}

// New returns the feeds of a device, so far one of its own.
func New(cfg Config) *Feeds {
	fs := &Feeds{cfg: cfg, dev: cfg.Device, departed: make(map[vulkan.Ticket]time.Time)}
	if fs.dev != nil {
		fs.own = fs.Feed(nil, nil)
	}
	return fs
}

// Own is the feed of what no session asks for.
func (fs *Feeds) Own() *Feed { return fs.own }

// Warm submits a kernel without work.
func (fs *Feeds) Warm(k *kernels.Kernel) (vulkan.Ticket, error) {
	stream := fs.own.Stream()
	b, err := stream.Alloc(16)
	if err != nil {
		return vulkan.Ticket{}, err
	}
	defer b.Free()
	if err := stream.Warm(k.Pipeline(), b); err != nil {
		return vulkan.Ticket{}, err
	}
	return fs.own.Submit()
}

// Feed returns a feed for a session, or for nobody where that is nil. late is told when a
// deadline has had the work of the feed cancelled.
func (fs *Feeds) Feed(s *store.Session, late func(error)) *Feed {
	f := &Feed{feeds: fs, stream: fs.dev.Stream(), session: s, late: late}
	if s != nil {
		f.stream.SetWeight(s.Weight)
	}
	return f
}

// CopyFeed returns a feed for nobody that only copies, on one of the queues that the device has for that
// (vulkan.Device.CopyStream).
func (fs *Feeds) CopyFeed(queue int) *Feed {
	return &Feed{feeds: fs, stream: fs.dev.CopyStream(queue)}
}

// Siblings returns feeds for nobody of the streams that vulkan.Device.Siblings returns.
func (fs *Feeds) Siblings() (down, up, compute *Feed) {
	d, u, c := fs.dev.Siblings()
	return &Feed{feeds: fs, stream: d}, &Feed{feeds: fs, stream: u}, &Feed{feeds: fs, stream: c}
}

// Device is the device, nil on a machine without one.
func (fs *Feeds) Device() *vulkan.Device { return fs.dev }

// Lost returns why the device is gone, or nil.
func (fs *Feeds) Lost() error { return fs.lost }

// Error gives an error of package vulkan its kind, and notes a loss.
func (fs *Feeds) Error(err error) error {
	switch {
	case err == nil:
		return nil
	case wire.KindOf(err) == wire.Deadline:
		return err
	case errors.Is(err, vulkan.ErrDeviceLost):
		fs.lost = &wire.Fault{Kind: wire.DeviceLost, Err: err}
		return fs.lost
	case errors.Is(err, vulkan.ErrOutOfMemory), errors.Is(err, vulkan.ErrTooLarge):
		return &wire.Fault{Kind: wire.OutOfMemory, Err: err}
	}
	return &wire.Fault{Kind: wire.Internal, Err: err}
}

// InFlight counts the submissions that have not completed.
func (fs *Feeds) InFlight() int { return fs.inFlight }

// Oldest returns when the oldest submission that has not completed went to the
// device; the zero time where there is none.
func (fs *Feeds) Oldest() time.Time {
	var oldest time.Time
	for _, at := range fs.departed {
		if oldest.IsZero() || at.Before(oldest) {
			oldest = at
		}
	}
	return oldest
}

// Idle reports whether all that is recorded is submitted.
func (fs *Feeds) Idle() bool { return len(fs.open) == 0 }

// Flush submits what has gathered.
func (fs *Feeds) Flush() {
	for _, f := range slices.Clone(fs.open) {
		f.Flush()
	}
}

// Listen begins a time after which FlushSilent finds which feeds have been silent.
func (fs *Feeds) Listen() {
	for _, f := range fs.open {
		f.seen = f.count
	}
}

// FlushSilent submits what has gathered of feeds that have been silent since Listen.
func (fs *Feeds) FlushSilent() {
	for _, f := range slices.Clone(fs.open) {
		if f.count == f.seen && !f.deep() { // else a completion does it
			f.Flush()
		}
	}
}

// Seconds estimates how long the device takes for a step of a plan.
func (fs *Feeds) Seconds(s *synth.Step) float64 {
	bytesPerSecond, flopsPerSecond := 200e9, 5e12
	if fs.cfg.Target.CPU {
		bytesPerSecond, flopsPerSecond = 5e9, 15e9
	}
	return float64(s.Bytes)/bytesPerSecond + float64(s.Flops)/flopsPerSecond
}

// Refill sees to it that memory of the device has the content it should have: what was
// cancelled never came there. Where the host has the content, the device gets it again.
func (fs *Feeds) Refill(m *store.Storage) error {
	if fs.cancels == 0 || m.Dev == nil {
		return nil
	}
	err := m.Dev.Err()
	if err == nil || m.Host == nil {
		return err
	}
	m.Dev.Free()
	m.Dev = nil
	return nil
}

// Cancels counts the deadlines that have had work of the device taken back.
func (fs *Feeds) Cancels() int { return fs.cancels }
