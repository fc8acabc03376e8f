package feed

import (
	"slices"
	"time"

	"nxvk/gen/exec/memory"
	"nxvk/gen/store"
	"nxvk/vulkan"
)

// PollTime bounds how long a read of little data looks for its completion
// itself: being woken for it would take as long as the device does.
const PollTime = 40 * time.Microsecond

// Fetch calls done, on the goroutine of the owner, with bytes of memory that is on the device,
// after all that the session has had the device do; with poll perhaps before it returns. The
// bytes are valid until release.
func (f *Feed) Fetch(m *store.Storage, off, n int, poll bool, done func(data []byte, release func(), err error)) {
	fs := f.feeds
	done = fs.whenChecked(m, done)
	fail := func(err error) { fs.cfg.Post(func() { done(nil, nil, fs.Error(err)) }) }
	rb, err := f.stream.Download(m.Dev, off, n)
	if err != nil {
		fail(err)
		return
	}
	ticket, sent, err := f.send()
	if err != nil {
		rb.Release()
		fail(err)
		return
	}
	fs.cfg.Counters.Downloaded += uint64(n)
	// With queues throttled, noting the end here could serve one that is being served.
	if poll && len(f.throttled) == 0 && (n <= memory.Large || fs.dev.Done(ticket)) && fs.soon(ticket) {
		done(rb.Bytes(), rb.Release, nil)
		if sent {
			f.completed(ticket)
		}
		return
	}
	if sent {
		f.watch(ticket)
	}
	read := &fetch{done: done}
	f.fetches = append(f.fetches, read)
	fs.dev.Notify(ticket, func(err error) {
		fs.cfg.Post(func() {
			f.fetches = slices.DeleteFunc(f.fetches, func(r *fetch) bool { return r == read })
			switch {
			case read.ended:
				rb.Release()
			case err != nil:
				rb.Release()
				done(nil, nil, fs.Error(err))
			default:
				done(rb.Bytes(), rb.Release, nil)
			}
		})
	})
}

// whenChecked is done for data of a value that has checks: these are settled first, and an
// error that they find comes in place of the data.
func (fs *Feeds) whenChecked(m *store.Storage, done func(data []byte, release func(), err error)) func([]byte, func(), error) {
	if len(m.Checks) == 0 {
		return done
	}
	checks := m.Checks
	return func(data []byte, release func(), err error) {
		if err != nil {
			done(nil, nil, err)
			return
		}
		deliver := func() {
			if err := checks.Err(); err != nil {
				release()
				done(nil, nil, err)
				return
			}
			done(data, release, nil)
		}
		fs.SettleChecks()
		now := true
		checks.Settled(func() {
			if now {
				deliver()
			} else { // in the middle of what settles them
				fs.cfg.Post(deliver)
			}
		})
		now = false
	}
}

// Checked calls done when the checks of memory are settled, with the error that they have found.
func (fs *Feeds) Checked(m *store.Storage, done func(error)) {
	fs.whenChecked(m, func(_ []byte, _ func(), err error) { done(err) })(nil, func() {}, nil)
}

// fetch is a read of what the device has yet to compute.
type fetch struct {
	done  func(data []byte, release func(), err error)
	ended bool // done has been told of the deadline
}

// soon reports whether a submission is complete or, on an otherwise idle GPU,
// is so within PollTime. A software device needs the processor for itself.
func (fs *Feeds) soon(t vulkan.Ticket) bool {
	if fs.dev.Done(t) {
		return fs.dev.Lost() == nil
	}
	if fs.cfg.Target.CPU || fs.inFlight > 1 {
		return false
	}
	for start := time.Now(); time.Since(start) < PollTime; {
		if fs.dev.Done(t) {
			return fs.dev.Lost() == nil
		}
	}
	return false
}

// ReadAll reads the beginnings of buffers back. What the device wrote is lent until
// release, not copied. With poll done may be called before ReadAll returns.
func (f *Feed) ReadAll(args []vulkan.Arg, sizes []int, poll bool, done func(parts [][]byte, release func(), err error)) {
	fs := f.feeds
	var backs []*vulkan.Readback
	release := func() {
		for _, b := range backs {
			b.Release()
		}
	}
	fail := func(err error) {
		release()
		done(nil, nil, fs.Error(err))
	}
	var parts [][]byte
	for i, a := range args {
		b, err := f.stream.Download(a.Buffer, 0, sizes[i])
		if err != nil {
			fail(err)
			return
		}
		backs, parts = append(backs, b), append(parts, b.Bytes())
	}
	ticket, sent, err := f.send()
	if err != nil {
		fail(err)
		return
	}
	finish := func(err error) {
		if err != nil {
			fail(err)
			return
		}
		done(parts, release, nil)
	}
	// With queues throttled, noting the end here could serve one that is being served.
	if poll && len(f.throttled) == 0 && fs.soon(ticket) {
		finish(nil)
		if sent {
			f.completed(ticket)
		}
		return
	}
	if sent {
		f.watch(ticket)
	}
	fs.dev.Notify(ticket, func(err error) { fs.cfg.Post(func() { finish(err) }) })
}
