package feed

import (
	"errors"
	"slices"
	"time"

	"nxvk/gen/exec/kernels"
	"nxvk/gen/exec/target"
	"nxvk/gen/store"
	"nxvk/synth"
	"nxvk/vulkan"
)

// Batches end at so many dispatches or so much estimated time, whichever comes
// first: an idle device starts early, and no submission runs so long that a
// driver takes it for a hang.
const (
	// batchFirst is the length of the first batch for an idle device, after a read or silence. Those that follow are each
	// twice as long as the one before, up to batchIdle. On an H200, where recording a dispatch takes
	// 4 to 7 µs, models begin 0.2 to 0.6 ms earlier than with batchIdle at once.
	batchFirst = 8
	batchIdle  = 64
	batchBusy  = 256
	batchTime  = 50e-3 // seconds
	// idleTime is the estimated time of work that an idle device gets before its batch has its length. Shorter work
	// gathers: a submission takes the host as long as some dispatches.
	idleTime = 1e-3 // seconds
	// shallow is so many submissions that the device will not run out of work
	// while a long batch is recorded.
	shallow = 4
	// supply is for how long the device has work, by the estimates of dispatches, where a batch does not end early. Writing the
	// commands of one of 256 takes a host that long, and each submission leaves an H200 idle for 10 µs.
	supply = 200 * time.Microsecond
	// deep is so many batches that the device has enough to do: queues then
	// wait before they record more than another one.
	deep = 12
	// Deepest bounds the submissions that the device has, which may be short: each collective ends one.
	Deepest = 128
)

// Feed is the work of a session for the device: its stream, and how much of it there is.
type Feed struct {
	feeds     *Feeds
	stream    *vulkan.Stream
	recorded  int       // dispatches since the last submission
	length    int       // dispatches of a batch while the device has little to do
	begins    bool      // the last submission was not for want of length: somebody waited for it, or the feed was silent
	cost      float64   // seconds of device time since the last submission
	inFlight  int       // submissions that have not completed
	until     time.Time // the device has work of the feed until then, by its costs
	latest    time.Time // when work of the feed was last submitted, or seen to end
	count     int       // dispatches so far
	seen      int       // of these when Listen was called
	throttled []func()  // who waits for the device to catch up

	session  *store.Session // nil for what no session asks for
	late     func(error)    // is told of a deadline
	progress progress       // what the device has yet to complete, see deadline.go
	guarded  bool           // somebody will look whether the deadline has passed
	fetches  []*fetch       // what is being read
	words    words
	checks   []*Check // not settled, in the order of recording
	ended    bool     // the session has ended

	observers []*Observer
}

// SetWeight sets the share of the device beside the shares of others.
func (f *Feed) SetWeight(weight float64) { f.stream.SetWeight(weight) }

// Stream is where the work is recorded.
func (f *Feed) Stream() *vulkan.Stream { return f.stream }

// Note counts what has been recorded for a submission.
func (f *Feed) Note() {
	if f.recorded == 0 {
		f.feeds.open = append(f.feeds.open, f)
		f.length = max(batchFirst, min(2*f.length, batchIdle))
		if f.begins && f.inFlight == 0 {
			f.length = batchFirst
		}
	}
	f.recorded++
	f.count++
}

// Recorded counts the dispatches since the last submission.
func (f *Feed) Recorded() int { return f.recorded }

// InFlight counts the submissions of the feed that have not completed.
func (f *Feed) InFlight() int { return f.inFlight }

// End takes back what a session has recorded, and what it has submitted and the device
// does not have yet, but for what others need of it.
func (f *Feed) End() {
	f.feeds.open = slices.DeleteFunc(f.feeds.open, func(g *Feed) bool { return g == f })
	f.recorded, f.cost, f.progress = 0, 0, progress{}
	f.stream.Close()
	f.ended, f.observers = true, nil
	if len(f.checks) == 0 {
		f.words.drop()
		return
	}
	f.markLatest() // others may hold results
	f.feeds.SettleChecks()
}

// Living is the feed, or where its session has ended that of nobody.
func (f *Feed) Living() *Feed {
	if f.ended {
		return f.feeds.own
	}
	return f
}

// Full reports whether the device has enough to do, and more has gathered than a batch, or has been submitted since:
// who has more waits with Throttle.
func (f *Feed) Full() bool {
	return f.deep() && (f.full(batchBusy) || f.inFlight >= Deepest || f.progress.dispatches+f.recorded >= (deep+1)*batchBusy)
}

// deep reports whether the device has enough to do.
func (f *Feed) deep() bool {
	p := &f.progress
	return f.inFlight >= deep && (p.dispatches >= deep*batchBusy || p.cost >= deep*batchTime || f.inFlight >= Deepest)
}

// Idle reports whether nothing is recorded, and the device has nothing of the feed.
func (f *Feed) Idle() bool { return f.recorded == 0 && f.inFlight == 0 }

// Reach returns when the device is expected to have done all that has been recorded.
func (f *Feed) Reach() time.Time {
	at := time.Now()
	if f.inFlight > 0 && f.until.After(at) {
		at = f.until
	}
	return at.Add(time.Duration(f.cost * float64(time.Second)))
}

// Quiet reports whether the device has had no work of the feed for some time.
func (f *Feed) Quiet(d time.Duration) bool { return f.Idle() && time.Since(f.latest) >= d }

// Throttle has a function called when the device has caught up.
func (f *Feed) Throttle(resume func()) { f.throttled = append(f.throttled, resume) }

// Throttled reports whether somebody waits for the device to catch up.
func (f *Feed) Throttled() bool { return len(f.throttled) > 0 }

// Release forgets who waits for the device to catch up.
func (f *Feed) Release() { f.throttled = nil }

// full reports whether what has gathered is worth a submission.
func (f *Feed) full(most int) bool { return f.recorded >= most || f.cost >= batchTime }

// Bound submits when enough has gathered: soon while the device has little to
// do, since it should find the next batch when it ends one.
func (f *Feed) Bound() {
	most := batchBusy
	if f.inFlight < shallow && time.Until(f.until) < supply {
		most = f.length
	}
	if !f.deep() && f.full(most) || f.starved() {
		f.goOn()
	}
}

// goOn is Flush in the middle of work.
func (f *Feed) goOn() {
	f.Flush()
	f.begins = false
}

// starved reports whether the device has nothing to do, and enough has gathered for it.
func (f *Feed) starved() bool { return f.inFlight == 0 && f.cost >= idleTime }

// TryAlloc takes memory of the device. The error is vulkan.ErrBusy where the device is about to
// leave some.
func (f *Feed) TryAlloc(n int) (*vulkan.Buffer, error) { return f.stream.Alloc(n) }

// Alloc takes memory of the device for what cannot be tried again: it waits for what the device
// is about to leave.
func (f *Feed) Alloc(n int) (*vulkan.Buffer, error) {
	b, err := f.stream.Alloc(n)
	if errors.Is(err, vulkan.ErrBusy) {
		f.feeds.Flush()
		return f.feeds.dev.Alloc(n)
	}
	return b, err
}

// Zeroed takes memory of the device that is cleared.
func (f *Feed) Zeroed(n int) (*vulkan.Buffer, error) { return f.stream.Zeroed(n) }

// Copied takes memory of the device and copies bytes there.
func (f *Feed) Copied(x []byte) (*vulkan.Buffer, error) {
	b, err := f.Alloc(len(x))
	if err != nil {
		return nil, err
	}
	if err := f.stream.Upload(b, 0, x); err != nil {
		b.Free()
		return nil, err
	}
	return b, nil
}

// Upload copies bytes to memory of the device.
func (f *Feed) Upload(b *vulkan.Buffer, x []byte) error { return f.stream.Upload(b, 0, x) }

// DispatchStep records the step of a plan.
func (f *Feed) DispatchStep(c *kernels.Kernel, step *synth.Step, args []vulkan.Arg) error {
	return f.DispatchWith(c, step, args, target.Push(step))
}

// DispatchWith records the step of a plan with push constants other than those of the plan.
func (f *Feed) DispatchWith(c *kernels.Kernel, step *synth.Step, args []vulkan.Arg, push []byte) error {
	f.Note()
	f.feeds.cfg.Counters.Dispatches++
	seconds := f.feeds.Seconds(step)
	f.cost += seconds
	c.Count(seconds)
	if step.Barrier {
		f.stream.Barrier()
	}
	err := f.stream.Dispatch(c.Pipeline(), args, push, step.Grid[0], step.Grid[1], step.Grid[2])
	f.stream.Expect(seconds)
	return err
}

// Dispatch records workgroups of code that a client brought.
func (f *Feed) Dispatch(c *kernels.Kernel, args []vulkan.Arg, push []byte, groups uint32) error {
	f.Note()
	f.feeds.cfg.Counters.Dispatches++
	return f.stream.Dispatch(c.Pipeline(), args, push, groups, 1, 1)
}
