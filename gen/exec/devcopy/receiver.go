package devcopy

import (
	"nxvk/gen/exec/feed"
	"nxvk/vulkan"
)

const (
	// pieceBytes is how many bytes the host copies at a time.
	pieceBytes = 16 << 20
	// Small is how many bytes are copied at once, and waited for by whoever asks the device for them: to have another
	// goroutine do that takes longer.
	Small = 64 << 10
	// staged is how many pieces at a time are in memory that the device copies from.
	staged = 3
)

// Target is where a Receiver puts a value: memory of the host, or of a device.
type Target struct {
	Host   []byte         // nil where it is a device
	Buffer *vulkan.Buffer // of the device
	Device *vulkan.Device
	Feed   *feed.Feed // of this copy alone
}

// Config is what a Receiver works with.
type Config struct {
	Copy  func(to, from []byte, then func(error)) // copies on another goroutine and calls then on that of the Receiver
	Post  func(func())                            // runs a function on the goroutine of the Receiver
	Error func(error) error                       // gives an error of package vulkan its kind
	Done  func(error)                             // is called once: the value is there, or never will be. The Receiver then uses no memory
}

// Receiver copies the chunks of a value into memory of a device. All methods are for the goroutine of
// its Executor.
type Receiver struct {
	cfg     Config
	to      Target
	host    []byte // the memory where the host writes it; nil where the device copies
	chunks  []Chunk
	at      int // bytes of the first chunk that are copied
	left    int // bytes of the value that are not
	drawing int // chunks that the device copies out of their slots
	busy    bool
	err     error
	done    bool
}

// NewReceiver returns a Receiver of a value of size bytes.
func NewReceiver(cfg Config, to Target, size int) *Receiver {
	r := &Receiver{cfg: cfg, to: to, host: to.Host, left: size}
	if r.host == nil {
		r.host = to.Buffer.Writable()
	}
	return r
}

// Take copies a chunk, behind those that came before.
func (r *Receiver) Take(c Chunk) {
	if r.done || r.err != nil {
		c.Release()
		return
	}
	if c.Slot != nil && r.to.Device != nil && r.draw(c) {
		return
	}
	r.chunks = append(r.chunks, c)
	r.work()
}

// Dismiss notes that the value has come another way, by work of the same feed.
func (r *Receiver) Dismiss() {
	r.left = 0
	r.work()
}

// Fail ends the copy with an error; the first one counts.
func (r *Receiver) Fail(err error) {
	if r.err == nil {
		r.err = err
	}
	r.work()
}

// work does what is next, unless it waits for something.
func (r *Receiver) work() {
	switch {
	case r.done || r.busy:
	case r.err != nil:
		r.finish()
	case r.drawing > 0 && (r.left == 0 || len(r.chunks) == 0):
	case r.left == 0:
		r.complete()
	case len(r.chunks) == 0:
	case r.host != nil:
		r.copyPiece(r.host[r.chunks[0].Offset+r.at:], r.advance, func() {})
	case r.to.Feed.InFlight() >= staged:
		r.busy = true
		r.to.Feed.Throttle(func() { r.proceed(nil) })
	default:
		r.stage()
	}
}

// proceed goes on after a wait.
func (r *Receiver) proceed(err error) {
	r.busy = false
	if err != nil {
		r.Fail(err)
		return
	}
	r.work()
}

// piece is what is copied next.
func (r *Receiver) piece() []byte {
	from := r.chunks[0].Bytes[r.at:]
	return from[:min(pieceBytes, len(from))]
}

// copyPiece copies a piece to memory and then calls then with its length. free is called when the
// memory is not used any more.
func (r *Receiver) copyPiece(to []byte, then func(n int) error, free func()) {
	from := r.piece()
	r.busy = true
	copied := func(err error) {
		if err == nil && r.err == nil {
			err = then(len(from))
		}
		free()
		r.proceed(err)
	}
	if len(from) <= Small {
		copy(to, from)
		copied(nil)
		return
	}
	r.cfg.Copy(to[:len(from)], from, copied)
}

// stage brings a piece to the device by way of memory that the device copies from.
func (r *Receiver) stage() {
	by, err := r.to.Device.AllocHost(len(r.piece()))
	if err != nil {
		r.Fail(r.cfg.Error(err))
		return
	}
	r.copyPiece(by.Bytes(), func(n int) error {
		f := r.to.Feed
		to := vulkan.Arg{Buffer: r.to.Buffer, Offset: r.chunks[0].Offset + r.at, Access: vulkan.Write}
		if err := f.Stream().Copy(to, vulkan.ReadOnly(by), n); err != nil {
			return r.cfg.Error(err)
		}
		f.Note()
		f.Flush() // the device copies while the host copies the next piece
		return r.advance(n)
	}, by.Free)
}

// advance notes n bytes that are copied.
func (r *Receiver) advance(n int) error {
	r.at += n
	r.left -= n
	if c := r.chunks[0]; r.at == len(c.Bytes) {
		r.chunks, r.at = r.chunks[1:], 0
		c.Release()
	}
	return nil
}

// complete waits for what the device copies.
func (r *Receiver) complete() {
	if r.to.Feed == nil || r.host != nil {
		r.finish()
		return
	}
	r.busy = true
	r.to.Feed.Finish(func(err error) {
		r.busy = false
		if r.err == nil {
			r.err = err
		}
		r.finish()
	})
}

// finish ends the copy.
func (r *Receiver) finish() {
	r.done = true
	for _, c := range r.chunks {
		c.Release()
	}
	r.chunks = nil
	r.cfg.Done(r.err)
}
