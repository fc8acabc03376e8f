package vulkan

import (
	"encoding/binary"
	"fmt"

	"nxvk/vulkan/vk"
)

// Arg is a buffer, or a part of one, as an argument of a command.
type Arg struct {
	Buffer *Buffer
	// Offset is where the part starts: any byte with addresses, a multiple of
	// Limits.OffsetAlignment with bindings, of 4 for a fill.
	Offset int
	// Size is the bytes that the command may touch; 0 means all that follow. Overlapping
	// accesses are told from others by it, and it is the range of a binding, which is at
	// most Limits.MaxStorageRange.
	Size   int
	Access Access
}

// ReadOnly returns a whole buffer, which the command reads.
func ReadOnly(b *Buffer) Arg { return Arg{Buffer: b, Access: Read} }

// WriteOnly returns a whole buffer, which the command writes.
func WriteOnly(b *Buffer) Arg { return Arg{Buffer: b, Access: Write} }

// ReadWrite returns a whole buffer, which the command reads and writes.
func ReadWrite(b *Buffer) Arg { return Arg{Buffer: b, Access: Read | Write} }

// extent returns the bytes of the region that an argument may touch.
func (a *Arg) extent() (lo, hi uint64) {
	lo = uint64(a.Offset)
	if a.Size > 0 {
		return lo, lo + uint64(a.Size)
	}
	return lo, max(uint64(a.Buffer.n), lo+1)
}

// bindRange returns the bytes to bind: those that the command may touch, up to a whole word,
// which the region always has.
func (a *Arg) bindRange() uint64 {
	n := a.Buffer.n - a.Offset
	if a.Size > 0 {
		n = a.Size
	}
	return max((uint64(n)+3)&^3, 4)
}

// Dispatch records x × y × z workgroups of a kernel. args are its buffers and push its
// parameters, of the sizes in the layout of the pipeline. A grid with a zero does nothing.
func (s *Stream) Dispatch(p *Pipeline, args []Arg, push []byte, x, y, z uint32) error {
	if err := s.checkDispatch(p, args, push, x, y, z); err != nil {
		return fmt.Errorf("dispatch %s: %w", p.Name(), err)
	}
	if x != 0 && y != 0 && z != 0 {
		s.dispatch(p, args, push, x, y, z)
	}
	return nil
}

// Barrier has the next command begin when all that were recorded before are complete, whether it
// uses their memory or not.
func (s *Stream) Barrier() { s.idle = true }

// Warm records a dispatch of no workgroups. A driver that makes machine code of a kernel when
// that first runs does so then, and later dispatches need not wait. All buffers are b, which is
// neither read nor written.
func (s *Stream) Warm(p *Pipeline, b *Buffer) error {
	l := p.Layout()
	args := make([]Arg, l.Buffers)
	for i := range args {
		args[i] = Arg{Buffer: b, Access: Read}
	}
	push := make([]byte, l.PushBytes)
	if err := s.checkDispatch(p, args, push, 0, 0, 0); err != nil {
		return fmt.Errorf("warm %s: %w", p.Name(), err)
	}
	s.dispatch(p, args, push, 0, 0, 0)
	return nil
}

func (s *Stream) dispatch(p *Pipeline, args []Arg, push []byte, x, y, z uint32) {
	l := p.Layout()
	pipe, layout, set := p.Handles()
	c := s.command(vk.OpDispatch, args)
	c.A, c.B = uint64(pipe), uint64(layout)
	c.X, c.Y, c.Z = x, y, z
	c.PushAt, c.PushN = uint32(len(s.list.Push)), uint32(l.PushSize())
	if l.Addresses {
		for i := range args {
			s.list.Push = binary.LittleEndian.AppendUint64(s.list.Push, args[i].Buffer.Address()+uint64(args[i].Offset))
		}
	} else {
		s.bind(c, args)
		if !s.d.dev.Info.Features.PushDescriptor {
			c.C = uint64(set)
		}
	}
	s.list.Push = append(s.list.Push, push...)
	s.kernel = p
	s.dispatches++
}

// bind appends the bindings of a dispatch.
func (s *Stream) bind(c *vk.Cmd, args []Arg) {
	c.BindAt, c.BindN = uint32(len(s.list.Binds)), uint32(len(args))
	for i := range args {
		b, off := args[i].Buffer.r.Buffer()
		s.list.Binds = append(s.list.Binds, vk.Bind{Buffer: uint64(b), Offset: off + uint64(args[i].Offset), Range: args[i].bindRange()})
	}
}

func (s *Stream) checkDispatch(p *Pipeline, args []Arg, push []byte, x, y, z uint32) error {
	if s.apart {
		return fmt.Errorf("%w: a stream of CopyStream only copies", ErrInvalid)
	}
	l := p.Layout()
	if len(args) != l.Buffers || len(push) != l.PushBytes {
		return fmt.Errorf("%w: %d buffers and %d push bytes for a layout of %d and %d",
			ErrInvalid, len(args), len(push), l.Buffers, l.PushBytes)
	}
	lim := &s.d.dev.Info.Limits
	if m := &lim.MaxWorkgroupCount; x > m[0] || y > m[1] || z > m[2] {
		return fmt.Errorf("%w: a grid of %d × %d × %d workgroups, at most %d × %d × %d", ErrInvalid, x, y, z, m[0], m[1], m[2])
	}
	for i := range args {
		a := &args[i]
		if err := a.Buffer.check(a.Offset, a.Size); err != nil {
			return fmt.Errorf("buffer %d: %w", i, err)
		}
		if l.Addresses {
			continue
		}
		if a.Offset%lim.OffsetAlignment != 0 || a.Offset == a.Buffer.n && a.Offset > 0 {
			return fmt.Errorf("buffer %d: %w: offset %d, bindings need a multiple of %d inside the buffer",
				i, ErrInvalid, a.Offset, lim.OffsetAlignment)
		}
		if n, most := a.bindRange(), s.d.dev.StorageRange(); n > most {
			return fmt.Errorf("buffer %d: %w: %d bytes, a binding holds %d; use addresses, or say which bytes", i, ErrTooLarge, n, most)
		}
	}
	return nil
}

// command appends a command, with a barrier where one of its accesses needs it.
func (s *Stream) command(op uint32, args []Arg) *vk.Cmd {
	if s.list == nil {
		s.list, s.hazards = s.d.queue.Lists(), s.d.trackers.Take()
	}
	s.kernel = nil
	barrier := len(s.list.Cmds) == 0 || s.idle || s.d.dev.Options.Serial || s.hazards.Full()
	s.idle = false
	for i := 0; i < len(args) && !barrier; i++ {
		lo, hi := args[i].extent()
		barrier = s.hazards.Conflicts(args[i].Buffer.r.ID(), lo, hi, args[i].Access)
	}
	s.list.Cmds = append(s.list.Cmds, vk.Cmd{Op: op})
	c := &s.list.Cmds[len(s.list.Cmds)-1]
	if barrier {
		c.Barrier = 1
		s.barriers++
		s.hazards.Barrier()
	}
	for i := range args {
		s.access(&args[i])
	}
	return c
}

// access notes that the command recorded last accesses an argument.
func (s *Stream) access(a *Arg) {
	b := a.Buffer
	lo, hi := a.extent()
	first, writes := s.hazards.Add(b.r.ID(), lo, hi, a.Access)
	if first {
		s.regions.Use(b.r)
	}
	if writes {
		s.regions.Write(b.r)
	}
	if a.Access&Write != 0 && b.Readable() {
		s.hostReads = true
	}
}
