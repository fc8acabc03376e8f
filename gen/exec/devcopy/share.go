package devcopy

import (
	"nxvk/vulkan"
)

// share sends the value in memory that other devices import. The device copies on a queue for that, beside kernels.
func (s *Sender) share() {
	s.chunk, s.sharing = SlotBytes, true
	s.feed = s.feeds.CopyFeed(0)
	s.lent++
	s.feeds.Checked(s.mem, func(err error) {
		if err == nil {
			err = s.feeds.Error(s.mem.Dev.Err())
		}
		if err != nil {
			s.fail(err)
		}
		for range slotCount {
			s.fetch()
		}
		s.returned()
	})
}

// fill has the device copy a chunk into a slot, once there is one, and lends that.
func (s *Sender) fill(at, n int) {
	s.slots.Take(func(t *Slot) {
		s.post(func() {
			end := func(err error) {
				t.Give()
				s.fail(err)
				s.returned()
			}
			if s.over {
				end(nil)
				return
			}
			to, err := t.On(s.feeds.Device())
			if err != nil { // the driver imports nothing: the rest is read back
				t.Give()
				s.slots = nil
				s.read(at, n)
				return
			}
			ticket, err := s.copyTo(to, at, n)
			if err != nil {
				end(s.feeds.Error(err))
				return
			}
			s.feeds.Device().Notify(ticket, func(err error) {
				s.post(func() {
					if err != nil || s.over {
						end(s.feeds.Error(err))
						return
					}
					s.deliver(Chunk{Offset: at, Bytes: t.Bytes()[:n], Slot: t, Release: func() {
						t.Give()
						s.post(s.returned)
					}}, nil)
				})
			})
		})
	})
}

// copyTo has the device copy a chunk.
func (s *Sender) copyTo(to *vulkan.Buffer, at, n int) (ticket vulkan.Ticket, err error) {
	if err := s.feed.Stream().Copy(vulkan.WriteOnly(to), vulkan.Arg{Buffer: s.mem.Dev, Offset: at}, n); err != nil {
		return ticket, err
	}
	s.feed.Note()
	return s.feed.Submit()
}

// draw has the device copy a chunk from its slot. It reports false where the device cannot import that: then the
// host copies.
func (r *Receiver) draw(c Chunk) bool {
	d, f, n := r.to.Device, r.to.Feed, len(c.Bytes)
	from, err := c.Slot.On(d)
	if err != nil {
		return false
	}
	err = f.Stream().Copy(vulkan.Arg{Buffer: r.to.Buffer, Offset: c.Offset}, vulkan.ReadOnly(from), n)
	var ticket vulkan.Ticket
	if err == nil {
		f.Note()
		ticket, err = f.Submit()
	}
	if err != nil {
		c.Release()
		r.Fail(r.cfg.Error(err))
		return true
	}
	r.drawing++
	r.left -= n
	d.Notify(ticket, func(err error) {
		r.cfg.Post(func() {
			r.drawing--
			c.Release()
			if err != nil {
				r.Fail(r.cfg.Error(err))
				return
			}
			r.work()
		})
	})
	return true
}
