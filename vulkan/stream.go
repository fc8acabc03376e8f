package vulkan

import (
	"encoding/binary"
	"fmt"
	"slices"

	"nxvk/vulkan/vk"
)

// Access says what a command does to a buffer.
type Access uint8

// Accesses.
const (
	Read Access = 1 << iota
	Write
)

// Arg is a buffer, or a part of one, as an argument of a command.
type Arg struct {
	Buffer *Buffer
	// Offset is where it starts: any with addresses, a multiple of
	// Limits.OffsetAlignment with bindings, of 4 for a fill.
	Offset int
	// Size is the bytes the command may touch; 0 means all that follow. By it
	// overlapping accesses are told from others, and a binding reaches as far,
	// which is at most Limits.MaxStorageRange.
	Size   int
	Access Access
}

// ReadOnly, WriteOnly and ReadWrite are the Args of whole buffers.
func ReadOnly(b *Buffer) Arg  { return Arg{Buffer: b, Access: Read} }
func WriteOnly(b *Buffer) Arg { return Arg{Buffer: b, Access: Write} }
func ReadWrite(b *Buffer) Arg { return Arg{Buffer: b, Access: Read | Write} }

// Stream records commands, which a device executes as if one after another in
// the order of recording. Streams take turns on the device: of two that use the same
// memory, and one of them writes it, what was recorded first comes first. A Stream is
// for one goroutine, and so are those that use the same memory.
type Stream struct {
	d *Device
	*lists
	flow    *flow
	used    []*region     // one ref each
	wrote   []written     // of used, what commands write
	reads   []*submission // of other streams, of which the host reads what they wrote
	failed  error         // of a Submit that another stream made
	limbo   []*region     // of used, freed since; guarded by memory.mu
	hazards *hazards      // nil before the first command
	staging staging

	dispatches, barriers, copies int
	stamps                       []Arg     // of the timestamps taken
	kernel                       *Pipeline // of the command recorded last, if it is a dispatch
	hostReads                    bool      // the host reads what commands wrote

	makers  [makersKept]maker // a ring
	makerAt int
}

// Stream returns an empty stream.
func (d *Device) Stream() *Stream {
	s := &Stream{d: d, flow: &flow{account: account{weight: 1}}}
	s.staging.s = s
	s.begin()
	return s
}

// SetWeight sets the share of the device that the stream has beside other streams: one of
// weight 2 gets twice the time of one of weight 1, which all have at first. The weight is
// above 0.
func (s *Stream) SetWeight(weight float64) {
	q := &s.d.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	s.flow.weight = weight
}

// begin starts a batch. Its first command waits for all that was submitted
// before, so that hazards are a matter of one batch.
func (s *Stream) begin() {
	if s.lists != nil || s.hazards != nil {
		s.d.queue.putBack(s.lists, s.hazards)
		s.lists, s.hazards = nil, nil
	}
	s.dispatches, s.barriers, s.copies = 0, 0, 0
	clear(s.stamps)
	s.stamps = s.stamps[:0]
	s.hostReads = false
	s.kernel = nil
	if s.makerAt > 0 {
		s.makers, s.makerAt = [makersKept]maker{}, 0
	}
}

// Pending returns the number of commands recorded and not submitted.
func (s *Stream) Pending() int {
	if s.lists == nil {
		return 0
	}
	return len(s.cmds)
}

// Dispatch records x × y × z workgroups of a kernel. args are its buffers and
// push its parameters, of the sizes in the pipeline's layout. A grid with a
// zero does nothing.
func (s *Stream) Dispatch(p *Pipeline, args []Arg, push []byte, x, y, z uint32) error {
	if err := s.checkDispatch(p, args, push, x, y, z); err != nil {
		return fmt.Errorf("dispatch %s: %w", p.name, err)
	}
	if x != 0 && y != 0 && z != 0 {
		s.dispatch(p, args, push, x, y, z)
	}
	return nil
}

// Warm records a dispatch of no workgroups: a driver that makes machine code of a kernel
// when that first runs does so then, and who runs it later need not wait. All buffers
// are b, of which nothing is read or written.
func (s *Stream) Warm(p *Pipeline, b *Buffer) error {
	args := make([]Arg, p.layout.Buffers)
	for i := range args {
		args[i] = Arg{Buffer: b, Access: Read}
	}
	push := make([]byte, p.layout.PushBytes)
	if err := s.checkDispatch(p, args, push, 0, 0, 0); err != nil {
		return fmt.Errorf("warm %s: %w", p.name, err)
	}
	s.dispatch(p, args, push, 0, 0, 0)
	return nil
}

func (s *Stream) dispatch(p *Pipeline, args []Arg, push []byte, x, y, z uint32) {
	for i := range args {
		if args[i].Buffer.away {
			s.comeBack(args[i].Buffer)
		}
	}
	c := s.command(vk.OpDispatch, args)
	c.A, c.B = uint64(p.handle), uint64(p.shape.layout)
	c.X, c.Y, c.Z = x, y, z
	c.PushAt, c.PushN = uint32(len(s.push)), uint32(p.layout.push())
	if p.layout.Addresses {
		for i := range args {
			s.push = binary.LittleEndian.AppendUint64(s.push, args[i].Buffer.Address()+uint64(args[i].Offset))
		}
	} else {
		s.bind(c, args, p)
	}
	s.push = append(s.push, push...)
	s.made(args)
	s.kernel = p
	s.dispatches++
}

func (s *Stream) bind(c *vk.Cmd, args []Arg, p *Pipeline) {
	c.BindAt, c.BindN = uint32(len(s.binds)), uint32(len(args))
	if !s.d.info.Features.PushDescriptor {
		c.C = uint64(p.shape.set)
	}
	for i := range args {
		r := args[i].Buffer.r
		off := uint64(args[i].Offset)
		s.binds = append(s.binds, vk.Bind{Buffer: uint64(r.blk.buffer), Offset: r.off + off, Range: bindRange(&args[i])})
	}
}

// bindRange returns the bytes to bind: those that the command may touch, up to a
// whole word, which the region always has.
func bindRange(a *Arg) uint64 {
	n := a.Buffer.n - a.Offset
	if a.Size > 0 {
		n = a.Size
	}
	return max(roundUp(uint64(n), 4), 4)
}

func (s *Stream) checkDispatch(p *Pipeline, args []Arg, push []byte, x, y, z uint32) error {
	l := &p.layout
	if len(args) != l.Buffers || len(push) != l.PushBytes {
		return fmt.Errorf("%w: %d buffers and %d push bytes for a layout of %d and %d",
			ErrInvalid, len(args), len(push), l.Buffers, l.PushBytes)
	}
	lim := &s.d.info.Limits
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
		if n, most := bindRange(a), s.d.storageRange(); n > most {
			return fmt.Errorf("buffer %d: %w: %d bytes, a binding holds %d; use addresses, or say which bytes", i, ErrTooLarge, n, most)
		}
	}
	return nil
}

// command appends a command, with a barrier where one of its accesses needs it.
func (s *Stream) command(op uint32, args []Arg) *vk.Cmd {
	if s.lists == nil {
		s.lists, s.hazards = s.d.queue.take()
	}
	s.kernel = nil
	barrier := len(s.cmds) == 0 || s.hazards.full()
	for i := 0; i < len(args) && !barrier; i++ {
		lo, hi := args[i].extent()
		barrier = s.hazards.conflicts(args[i].Buffer.r.id, lo, hi, args[i].Access)
	}
	s.cmds = append(s.cmds, vk.Cmd{Op: op})
	c := &s.cmds[len(s.cmds)-1]
	if barrier {
		c.Barrier = 1
		s.barriers++
		s.hazards.begin()
	}
	for i := range args {
		b := args[i].Buffer
		b.used()
		lo, hi := args[i].extent()
		first, writes := s.hazards.add(b.r.id, lo, hi, args[i].Access)
		if first {
			s.use(b.r)
		}
		if writes {
			s.wrote = append(s.wrote, written{b.r, b.r.gen})
		}
		if args[i].Access&Write != 0 && b.Readable() {
			s.hostReads = true
		}
	}
	return c
}

// extent returns the bytes of the region that an argument may touch.
func (a *Arg) extent() (lo, hi uint64) {
	lo = uint64(a.Offset)
	if a.Size > 0 {
		return lo, lo + uint64(a.Size)
	}
	return lo, max(uint64(a.Buffer.n), lo+1)
}

// use keeps a region until the batch is submitted. What another stream has recorded
// of it comes before, and so is submitted first.
func (s *Stream) use(r *region) {
	if other := r.user.Load(); other != nil && other != s {
		if _, err := other.Submit(); err != nil {
			other.failed = err // which is told when it submits
		}
	}
	r.refs.Add(1)
	r.user.Store(s)
	s.used = append(s.used, r)
}

// Submit hands what is recorded to the device and begins anew. It does not
// wait for the work, nor for what others have the device do before. With nothing
// recorded it returns the ticket of the stream's latest submission. After an error the
// recorded work is gone, and the device is lost.
func (s *Stream) Submit() (Ticket, error) {
	if err := s.failed; err != nil {
		s.failed = nil
		s.settle()
		return Ticket{}, err
	}
	if s.Pending() == 0 {
		return s.join(), s.d.gone()
	}
	t := &submission{flow: s.flow}
	err := s.submit(t)
	c := &s.d.counts
	if err == nil {
		c.dispatches.Add(uint64(s.dispatches))
		c.barriers.Add(uint64(s.barriers))
		c.copies.Add(uint64(s.copies))
	}
	s.settle()
	if err != nil {
		return Ticket{}, err
	}
	return Ticket{t}, nil
}

// join is the ticket of all that the stream has submitted, and of what others have that
// it reads.
func (s *Stream) join() Ticket {
	q := &s.d.queue
	q.mu.Lock()
	last := s.flow.last
	q.mu.Unlock()
	if len(s.reads) == 0 {
		return Ticket{last}
	}
	t := &submission{flow: s.flow, deps: s.reads}
	if last != nil {
		t.deps = append(t.deps, last)
	}
	t.void.Store(true)
	s.reads = nil
	return Ticket{t}
}

// Discard forgets what is recorded and not submitted.
func (s *Stream) Discard() { s.settle() }

// settle ends a batch.
func (s *Stream) settle() {
	s.d.mem.leaveLimbo(s)
	for _, r := range s.used {
		r.user.CompareAndSwap(s, nil)
		s.d.mem.unref(r)
	}
	clear(s.used)
	s.used = s.used[:0]
	clear(s.wrote)
	s.wrote = s.wrote[:0]
	s.staging.submitted()
	s.reads = nil
	s.begin()
}

// submit hands a batch over, as the submission t.
func (s *Stream) submit(t *submission) error {
	d := s.d
	if err := d.gone(); err != nil {
		return err
	}
	s.writeTimestamps()
	if s.hostReads {
		s.cmds = append(s.cmds, vk.Cmd{Op: vk.OpHostBarrier})
	}
	l := s.lists
	s.lists = nil
	t.deps = d.mem.follow(s, t)
	err := d.queue.hand(batch{sub: t, cmds: l.cmds, lists: l, last: true, queries: len(s.stamps), rate: 1, writes: slices.Clone(s.wrote)})
	if err != nil && d.gone() == nil {
		// Others count on what was recorded: they would find what memory held before.
		err = d.lose("submit", err)
	}
	if err != nil {
		d.queue.never(t, err)
	}
	return err
}

// follow makes t the submission that used the memory of a batch last, and returns those
// of other streams that have to be on their way before it.
func (m *memory) follow(s *Stream, t *submission) (deps []*submission) {
	m.mu.Lock()
	defer m.mu.Unlock()
	deps = s.reads
	need := func(u *submission) bool {
		if u.flow != s.flow && !u.complete(false) && !slices.Contains(deps, u) {
			u.followed.Store(true)
			deps = append(deps, u)
		}
		return true
	}
	for _, w := range s.wrote {
		w.r.uses.each(need)
		w.r.uses.write(t)
	}
	for _, r := range s.used {
		if u := r.uses.wrote; u != t {
			if u != nil {
				need(u)
			}
			r.uses.read(t)
		}
	}
	return deps
}
