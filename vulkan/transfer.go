package vulkan

import (
	"fmt"

	"nxvk/vulkan/vk"
)

// Copy records a copy of n bytes. The ranges may not overlap.
func (s *Stream) Copy(dst, src Arg, n int) error {
	if err := dst.Buffer.check(dst.Offset, n); err != nil {
		return fmt.Errorf("copy to: %w", err)
	}
	if err := src.Buffer.check(src.Offset, n); err != nil {
		return fmt.Errorf("copy from: %w", err)
	}
	if n == 0 {
		return nil
	}
	dst.Size, dst.Access = n, Write
	src.Size, src.Access = n, Read
	head, err := s.copyByKernel(dst, src, n)
	if err != nil || head == n {
		return err
	}
	c := s.command(vk.OpCopy, []Arg{dst, src})
	c.A, c.B = uint64(src.Buffer.r.blk.buffer), uint64(dst.Buffer.r.blk.buffer)
	c.C = src.Buffer.r.off + uint64(src.Offset+head)
	c.D = dst.Buffer.r.off + uint64(dst.Offset+head)
	c.E = uint64(n - head)
	s.copies++
	return nil
}

// Fill records that n bytes of dst become copies of word. Offset and n are
// multiples of 4, but n may end with the buffer.
func (s *Stream) Fill(dst Arg, word uint32, n int) error {
	if err := dst.Buffer.check(dst.Offset, n); err != nil {
		return fmt.Errorf("fill: %w", err)
	}
	if dst.Offset%4 != 0 || n%4 != 0 && dst.Offset+n != dst.Buffer.n {
		return fmt.Errorf("fill: %w: %d bytes at %d are not whole words", ErrInvalid, n, dst.Offset)
	}
	if n == 0 {
		return nil
	}
	dst.Size, dst.Access = n, Write
	c := s.command(vk.OpFill, []Arg{dst})
	c.B, c.D, c.E = uint64(dst.Buffer.r.blk.buffer), dst.Buffer.r.off+uint64(dst.Offset), roundUp(uint64(n), 4)
	c.X = word
	return nil
}

// Upload puts data into dst at off, in the order of the stream. Where the host
// reaches the memory and nothing uses it, the data is there at once; else it
// goes through staging memory and may be submitted in pieces. data may be
// reused when Upload returns.
func (s *Stream) Upload(dst *Buffer, off int, data []byte) error {
	if err := dst.check(off, len(data)); err != nil {
		return fmt.Errorf("upload: %w", err)
	}
	if len(data) == 0 {
		return nil
	}
	if m := dst.Writable(); m != nil {
		copyBytes(m[off:], data)
		return nil
	}
	for len(data) > 0 {
		src, at, n, err := s.staging.reserve(len(data))
		if err != nil {
			return fmt.Errorf("upload: %w", err)
		}
		copyBytes(src.Bytes()[at:at+n], data[:n])
		if err := s.Copy(Arg{Buffer: dst, Offset: off}, Arg{Buffer: src, Offset: at}, n); err != nil {
			return err
		}
		data, off = data[n:], off+n
	}
	return nil
}

// Readback is the result of a download.
type Readback struct {
	d     *Device
	r     *region // held until Release
	bytes []byte
	own   *Buffer // of this readback alone, or nil
	done  bool
}

// Download records that n bytes of src at off become readable. They are in
// Bytes once the submission is complete. Where the host reads the buffer's own
// memory there is no copy: the readback holds that memory, and nothing may
// write it until Release. So it is too for a small buffer that a kernel of this
// batch has just made: see redirect.go.
func (s *Stream) Download(src *Buffer, off, n int) (*Readback, error) {
	if err := src.check(off, n); err != nil {
		return nil, fmt.Errorf("download: %w", err)
	}
	if err := src.Err(); err != nil {
		return nil, fmt.Errorf("download: %w", err)
	}
	if src.Readable() || s.redirect(src) {
		s.follows(src.r)
		src.r.refs.Add(1)
		s.d.hold()
		return &Readback{d: s.d, r: src.r, bytes: src.Bytes()[off:][:n:n]}, nil
	}
	b, err := s.d.alloc(s.d.mem.reader, n, false, s.flow)
	if err != nil {
		return nil, fmt.Errorf("download: %w", err)
	}
	if err := s.Copy(Arg{Buffer: b}, Arg{Buffer: src, Offset: off}, n); err != nil {
		b.Free()
		return nil, fmt.Errorf("download: %w", err)
	}
	s.hostReads = true
	s.d.hold()
	return &Readback{d: s.d, r: b.r, bytes: b.Bytes(), own: b}, nil
}

// follows sees to it that the stream's next ticket is that of what another one has in
// hand with a region as well.
func (s *Stream) follows(r *region) {
	if other := r.user.Load(); other != nil && other != s {
		if _, err := other.Submit(); err != nil {
			other.failed = err
		}
	}
	s.d.mem.mu.Lock()
	defer s.d.mem.mu.Unlock()
	if w := r.uses.wrote; w != nil && w.flow != s.flow && !w.complete(true) {
		w.followed.Store(true)
		s.reads = append(s.reads, w)
	}
}

// Bytes returns the data, valid from the completion of the submission until
// Release.
func (r *Readback) Bytes() []byte { return r.bytes }

// Release gives the memory back. It is idempotent, and for one goroutine.
func (r *Readback) Release() {
	if r.done {
		return
	}
	r.done = true
	if r.own != nil {
		r.own.Free()
	} else {
		r.d.mem.unref(r.r)
	}
	r.d.unhold()
}
