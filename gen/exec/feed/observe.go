package feed

import (
	"slices"
	"time"

	"nxvk/vulkan"
)

// maxObserved is how many submissions an Observer tells apart; more of them count as one with the
// last.
const maxObserved = 32

// Interval is a time that the device had work.
type Interval struct{ Start, End time.Time }

// Observer learns when the device has the submissions of a feed.
type Observer struct {
	feed  *Feed
	list  []Interval // of submissions; End is zero until it is complete
	left  int        // submissions that have not completed
	ends  bool       // with the next submission, or without one
	close func([]Interval)
}

// Observe returns an Observer of the submissions that follow, until Close.
func (f *Feed) Observe() *Observer {
	o := &Observer{feed: f}
	f.observers = append(f.observers, o)
	return o
}

// Len returns how many submissions there were.
func (o *Observer) Len() int { return len(o.list) }

// Close ends the observation with what has been recorded so far, which is submitted unless the
// device has enough to do. done gets the times of the submissions when the last of them is
// complete; perhaps before Close returns, and never where the session ends first.
func (o *Observer) Close(done func([]Interval)) {
	o.close = done
	f := o.feed
	if f.recorded == 0 {
		f.forget(o)
		return
	}
	o.ends = true
	f.FlushApart()
}

// FlushApart submits what has gathered, so that what is recorded next is a submission of its own,
// unless the device has enough to do.
func (f *Feed) FlushApart() {
	if !f.deep() {
		f.Flush()
	}
}

// forget ends an observation: no submission belongs to it any more.
func (f *Feed) forget(o *Observer) {
	f.observers = slices.DeleteFunc(f.observers, func(g *Observer) bool { return g == o })
	o.feed = nil
	o.settle()
}

// settle tells of the submissions when they are complete.
func (o *Observer) settle() {
	if o.feed == nil && o.left == 0 && o.close != nil {
		done := o.close
		o.close = nil
		done(o.list)
	}
}

// observe has the observers of a feed learn of a submission.
func (f *Feed) observe(t vulkan.Ticket) {
	for _, o := range slices.Clone(f.observers) {
		o.add(f.feeds, t)
		if o.ends {
			f.forget(o)
		}
	}
}

func (o *Observer) add(fs *Feeds, t vulkan.Ticket) {
	if len(o.list) < maxObserved {
		o.list = append(o.list, Interval{})
	}
	i := len(o.list) - 1
	o.left++
	fs.dev.Notify(t, func(error) {
		end := time.Now()
		fs.cfg.Post(func() {
			began := fs.dev.Began(t)
			if began.IsZero() { // it was discarded
				began = end
			}
			if i > 0 && began.Before(o.list[i-1].End) {
				began = o.list[i-1].End
			}
			if x := &o.list[i]; x.End.IsZero() {
				*x = Interval{began, end}
			} else {
				x.End = end
			}
			o.left--
			o.settle()
		})
	})
}

// endObservers ends the observations that wait for a submission which does not come.
func (f *Feed) endObservers() {
	for _, o := range slices.Clone(f.observers) {
		if o.ends {
			f.forget(o)
		}
	}
}
