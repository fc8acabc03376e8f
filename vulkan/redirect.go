package vulkan

import "encoding/binary"

// A read of little data takes longer for its copy than for its bytes: a copy
// is a kernel more and a barrier more. So where a small buffer was made by one
// kernel of the batch being recorded and nothing else has used it, Download has
// that kernel write to memory the host reads. When another kernel wants the
// buffer later, it goes back to the device's own memory.

const (
	// redirectMost bounds what is redirected: kernels write to host memory a
	// hundred times slower than to their own.
	redirectMost = 64 << 10
	// makersKept is how many of a batch's latest kernels are remembered.
	makersKept = 16
)

// maker is a kernel that was the first to use a buffer, and wrote all of it.
type maker struct {
	buffer   *Buffer
	cmd, arg int
}

// made notes the makers among the arguments of the command recorded last,
// which is a dispatch.
func (s *Stream) made(args []Arg) {
	if !s.d.redirects() {
		return
	}
	for i := range args {
		a := &args[i]
		b := a.Buffer
		if a.Access == Write && a.Offset == 0 && a.Size == 0 && b.n <= redirectMost && b.uses.Load() == 1 && !b.held && !b.Readable() {
			s.makers[s.makerAt%makersKept] = maker{b, len(s.cmds) - 1, i}
			s.makerAt++
		}
	}
}

// redirects reports whether the device gains by it: it has memory of its own,
// which the host can write but hardly read.
func (d *Device) redirects() bool {
	return d.mem.device.mapped && !d.mem.device.cached && d.mem.device != d.mem.reader
}

// redirect moves the result of a maker to memory that the host reads, and
// reports whether it did.
func (s *Stream) redirect(b *Buffer) bool {
	if b.uses.Load() != 1 {
		return false
	}
	for i := range s.makers {
		m := &s.makers[i]
		if m.buffer != b {
			continue
		}
		r, err := s.d.mem.alloc(s.d.mem.reader, uint64(b.n), false, s.flow)
		if err != nil {
			return false // there may be memory for the copy still, or its error
		}
		s.move(b, r)
		s.aim(m, b)
		s.use(r)
		s.wrote = append(s.wrote, written{r, r.gen})
		s.hazards.add(r.id, 0, max(uint64(b.n), 1), Write)
		s.hostReads = true
		*m = maker{}
		return true
	}
	return false
}

// aim makes a recorded dispatch take the memory that its argument is in now.
func (s *Stream) aim(m *maker, b *Buffer) {
	c := &s.cmds[m.cmd]
	if c.BindN > 0 {
		bind := &s.binds[int(c.BindAt)+m.arg]
		bind.Buffer, bind.Offset = uint64(b.r.blk.buffer), b.r.off
		return
	}
	binary.LittleEndian.PutUint64(s.push[int(c.PushAt)+8*m.arg:], b.Address())
}

// move gives a buffer another region, and its old one back.
func (s *Stream) move(b *Buffer, r *region) {
	old := b.r
	b.r = r
	b.away = r.blk.pool != s.d.mem.device
	s.d.mem.release(old)
}

// comeBack moves a buffer that was redirected to the device's own memory once
// the work that wrote it is complete. Before, and where there is no memory, the
// device goes on in the memory of the host.
func (s *Stream) comeBack(b *Buffer) {
	if b.r.user.Load() != nil || !s.d.mem.unused(b.r) {
		return
	}
	r, err := s.d.mem.alloc(s.d.mem.device, uint64(b.n), true, s.flow)
	if err != nil {
		return
	}
	if r.blk.mapped == nil { // beyond what the host can map
		s.d.mem.release(r)
		return
	}
	copy(r.blk.mapped[r.off:][:b.n], b.Bytes())
	s.move(b, r)
}
