package queue

import "time"

// A Flow tells a client how far it may send ahead of what has been carried out, in ids of results:
// so far that nothing waits for it, and not so far that whoever shares the session waits long for
// what is before. It learns how much that is from how fast the instructions are carried out.
type Flow struct {
	// Tell gets the last id that may be sent, and how many that is ahead; nil where the client does not want to know.
	Tell func(id, window int64)

	taken  int64 // the last id that has been carried out
	told   int64
	window int64            // how far the client may be ahead; 0 before anything was carried out
	busy   time.Time        // when others waited behind what was carried out; zero where none did
	from   int64            // taken at that time
	built  bool             // a compilation was waited for since, which says nothing of what follows
	clock  func() time.Time // nil for the time
}

const (
	firstWindow = 32
	leastWindow = 2
	mostWindow  = 4096
	flowTime    = 50 * time.Millisecond // of the instructions in a window
	measureTime = 20 * time.Millisecond // at least, of instructions whose rate is measured
)

// Carry notes that an instruction was carried out, or is pending, and whether others wait behind it or the device has some
// that it has not done. id is that of its last result, 0 if it has none.
func (f *Flow) Carry(id int64, more bool) {
	f.taken = max(f.taken, id)
	if f.window == 0 {
		f.window = firstWindow
	}
	if f.Tell == nil || f.taken+f.window-f.told < f.window/4 {
		return
	}
	f.measure(more)
	if next := f.taken + f.window; next > f.told {
		f.told = next
		f.Tell(next, f.window)
	}
}

// measure adapts the window.
func (f *Flow) measure(more bool) {
	if !more {
		f.window, f.busy = min(2*f.window, mostWindow), time.Time{}
		return
	}
	now := f.now()
	took := now.Sub(f.busy)
	switch {
	case f.busy.IsZero() || f.built:
	case took < measureTime: // instructions are carried out in bursts
		return
	default:
		rate := float64(f.taken-f.from) / took.Seconds()
		f.window = int64(min(max(rate*flowTime.Seconds(), leastWindow), mostWindow))
	}
	f.busy, f.from, f.built = now, f.taken, false
}

// Compile notes that a compilation is waited for.
func (f *Flow) Compile() { f.built = true }

func (f *Flow) now() time.Time {
	if f.clock != nil {
		return f.clock()
	}
	return time.Now()
}
