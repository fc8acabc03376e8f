package devcopy

import (
	"nxvk/gen/exec/feed"
	"nxvk/gen/store"
)

const (
	// ChunkBytes is the size of chunks but the last: how many bytes a device reads back at a time.
	ChunkBytes = 16 << 20
	// window is how many chunks are on their way: one is read back, one is copied, and one waits.
	window = 3
)

// Chunk is a part of a value, on the host. Release gives it back; it may be called once, from any
// goroutine.
type Chunk struct {
	Offset  int // bytes
	Bytes   []byte
	Own     bool  // whoever has the chunk may write to the bytes
	Slot    *Slot // whose memory the bytes are, where other devices may import that; else nil
	Release func()
}

// Sender lends the bytes of a value to a Receiver. All methods are for the goroutine of its Executor.
type Sender struct {
	feeds   *feed.Feeds // nil where there is no device
	slots   *Slots      // of the device; nil where it imports no memory
	post    func(func())
	end     func() // is called once, when the Sender holds nothing any more
	mem     *store.Storage
	size    int
	deliver func(Chunk, error) // nil before Start

	chunk   int        // bytes of a chunk
	sharing bool       // whether each chunk is in a slot
	by      *feed.Feed // whose order the device reads the value in; nil where it has one of its own
	feed    *feed.Feed // what the device does for it; nil where the host has the bytes
	next    int        // the offset of the chunk that is read back next
	lent    int        // chunks that are read back or that the Receiver has
	over    bool       // no more chunks are lent
	ended   bool
}

// NewSender holds the memory of a value of size bytes, until all of it has been sent or Stop is
// called. slots are those of the device, nil where it has none. post runs a function on the goroutine of the Executor, from any other one. end is called
// when the memory is not held any more.
func NewSender(feeds *feed.Feeds, slots *Slots, post func(func()), m *store.Storage, size int, end func()) *Sender {
	m.Retain()
	return &Sender{feeds: feeds, slots: slots, post: post, mem: m, size: size, end: end}
}

// Start sends the value. deliver gets all its chunks, in any order, or an error, after which nothing
// comes. With shared the chunks of a device are in memory that other devices import.
func (s *Sender) Start(shared bool, deliver func(Chunk, error)) {
	if s.over || s.deliver != nil {
		return
	}
	s.deliver = deliver
	if shared && s.slots != nil && s.mem.Host == nil && s.size > Small {
		s.share()
		return
	}
	s.send(ChunkBytes)
}

// SendNow is Send where the device reads little back in the order of a feed: it does not wait for another queue. What
// has been recorded there comes first.
func (s *Sender) SendNow(by *feed.Feed, chunk int, deliver func(Chunk, error)) {
	if s.size <= chunk {
		s.by = by
	}
	s.Send(chunk, deliver)
}

// Send is Start with chunks of a size, in memory of the host.
func (s *Sender) Send(chunk int, deliver func(Chunk, error)) {
	if s.over || s.deliver != nil {
		return
	}
	s.deliver = deliver
	s.send(chunk)
}

func (s *Sender) send(chunk int) {
	s.chunk = chunk
	if s.mem.Host != nil {
		s.lendHost()
		return
	}
	if s.feed = s.by; s.feed == nil {
		s.feed = s.feeds.Feed(nil, nil) // a deadline of the session does not take it back
	}
	for range window * max(1, min(ChunkBytes/chunk, 8)) {
		s.fetch()
	}
}

// lendHost lends the value as the host has it.
func (s *Sender) lendHost() {
	s.lent++
	s.mem.Pins++ // what is lent stays where it is
	back := func() { s.mem.Pins--; s.returned() }
	lend := func(err error) {
		if err != nil || s.over {
			s.fail(err)
			back()
			return
		}
		s.next = s.size
		for at := 0; at < s.size; at += s.chunk {
			s.lent++
			s.mem.Pins++
			s.deliver(Chunk{Offset: at, Bytes: s.mem.Host[at:min(at+s.chunk, s.size)], Release: func() { s.post(back) }}, nil)
		}
		back()
	}
	if s.feeds == nil {
		lend(nil)
		return
	}
	s.feeds.Checked(s.mem, lend)
}

// fetch has the device read the next chunk back.
func (s *Sender) fetch() {
	if s.over || s.next == s.size {
		return
	}
	at, n := s.next, min(s.chunk, s.size-s.next)
	s.next += n
	s.lent++
	if s.sharing && s.slots != nil {
		s.fill(at, n)
	} else {
		s.read(at, n)
	}
}

// read has the device read a chunk back, and lends that.
func (s *Sender) read(at, n int) {
	s.feed.Fetch(s.mem, at, n, s.size <= Small, func(data []byte, release func(), err error) {
		if err != nil || s.over {
			if err == nil {
				release()
			}
			s.fail(err)
			s.returned()
			return
		}
		s.deliver(Chunk{Offset: at, Bytes: data, Release: func() {
			release()
			s.post(s.returned)
		}}, nil)
	})
}

// returned notes that a chunk has been given back, and goes on with the next.
func (s *Sender) returned() {
	s.lent--
	s.fetch()
	s.settle()
}

// fail ends the sending with an error; nil where nobody wants the value any more.
func (s *Sender) fail(err error) {
	if !s.over && err != nil {
		s.deliver(Chunk{}, err)
	}
	s.over = true
}

// Stop ends the sending. What is lent is held until it comes back.
func (s *Sender) Stop() {
	s.over = true
	s.settle()
}

// Abort ends the sending with an error for the Receiver.
func (s *Sender) Abort(err error) {
	if s.deliver != nil {
		s.fail(err)
	}
	s.Stop()
}

// settle lets go of the value once nothing is lent and nothing follows.
func (s *Sender) settle() {
	if s.ended || s.lent > 0 || !s.over && s.next < s.size {
		return
	}
	s.over, s.ended = true, true
	if s.feed != nil && s.feed != s.by {
		s.feed.End()
	}
	s.mem.Drop()
	s.end()
}
