package vulkan

import (
	"encoding/binary"

	"nxvk/vulkan/memory"
)

// Store forwarding: reading little data takes longer for its copy than for its bytes, since the
// copy is one more kernel and one more barrier. Where a small buffer was written by one kernel
// of the current batch and nothing else has used it, Download has that kernel write to memory
// that the host reads. When another kernel uses the buffer later, it returns to the device's own
// memory.

const (
	// forwardMost is the largest buffer that is forwarded: kernels write to host memory a
	// hundred times slower than to their own.
	forwardMost = 64 << 10
	// producersKept is how many of a batch's latest producers are remembered.
	producersKept = 16
)

// producer is a dispatch that was the first to use a buffer, and wrote all of it.
type producer struct {
	buffer   *Buffer
	cmd, arg int
}

// producers are the latest of a batch, in a ring.
type producers struct {
	ring [producersKept]producer
	n    int
}

func (p *producers) reset() {
	if p.n > 0 {
		*p = producers{}
	}
}

// noteProducers remembers that the dispatch recorded last is the producer of some arguments.
func (s *Stream) noteProducers(args []Arg) {
	if !s.d.forwards() {
		return
	}
	for i := range args {
		a := &args[i]
		b := a.Buffer
		if a.Access == Write && a.Offset == 0 && a.Size == 0 && b.n <= forwardMost && b.uses.Load() == 1 && !b.held && !b.Readable() {
			s.producers.ring[s.producers.n%producersKept] = producer{b, len(s.list.Cmds) - 1, i}
			s.producers.n++
		}
	}
}

// forwards reports whether the device gains by forwarding: it has memory of its own that the
// host can write but reads slowly.
func (d *Device) forwards() bool {
	return d.mem.Device.Mapped() && !d.mem.Device.Cached() && d.mem.Device != d.mem.Reader
}

// forward moves a buffer that one dispatch has produced to memory that the host reads, and
// reports whether it did.
func (s *Stream) forward(b *Buffer) bool {
	if b.uses.Load() != 1 {
		return false
	}
	for i := range s.producers.ring {
		p := &s.producers.ring[i]
		if p.buffer != b {
			continue
		}
		r, err := s.d.mem.Alloc(s.d.mem.Reader, uint64(b.n), false, s.flow)
		if err != nil {
			return false // there may still be memory for the copy
		}
		s.move(b, r)
		s.retarget(p)
		s.regions.Use(r)
		s.regions.Write(r)
		s.hazards.Add(r.ID(), 0, max(uint64(b.n), 1), Write)
		s.hostReads = true
		*p = producer{}
		return true
	}
	return false
}

// retarget makes a recorded dispatch write to the current memory of its buffer.
func (s *Stream) retarget(p *producer) {
	c := &s.list.Cmds[p.cmd]
	if c.BindN > 0 {
		bind := &s.list.Binds[int(c.BindAt)+p.arg]
		b, off := p.buffer.r.Buffer()
		bind.Buffer, bind.Offset = uint64(b), off
		return
	}
	binary.LittleEndian.PutUint64(s.list.Push[int(c.PushAt)+8*p.arg:], p.buffer.Address())
}

// move gives a buffer another region, and frees its old one.
func (s *Stream) move(b *Buffer, r *memory.Region) {
	old := b.r
	b.r = r
	b.forwarded = r.Pool() != s.d.mem.Device
	s.d.mem.Release(old)
}

// retrieve moves a forwarded buffer to the device's own memory once the work that wrote it is
// complete. Before that, and without free memory, kernels use it where it is.
func (s *Stream) retrieve(b *Buffer) {
	if b.r.Recorded() || !s.d.mem.Complete(b.r) {
		return
	}
	r, err := s.d.mem.Alloc(s.d.mem.Device, uint64(b.n), true, s.flow)
	if err != nil {
		return
	}
	m := r.Bytes(b.n)
	if m == nil { // memory that cannot be mapped
		s.d.mem.Release(r)
		return
	}
	copy(m, b.Bytes())
	s.move(b, r)
}
