package vulkan

import (
	"fmt"

	"nxvk/vulkan/memory"
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
	from, srcOff := src.Buffer.r.Buffer()
	to, dstOff := dst.Buffer.r.Buffer()
	c.A, c.B = uint64(from), uint64(to)
	c.C, c.D = srcOff+uint64(src.Offset+head), dstOff+uint64(dst.Offset+head)
	c.E = uint64(n - head)
	s.copies++
	return nil
}

// Fill records that n bytes of dst become copies of word. Offset and n are multiples of 4,
// except that n may end with the buffer.
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
	b, off := dst.Buffer.r.Buffer()
	c.B, c.D, c.E = uint64(b), off+uint64(dst.Offset), (uint64(n)+3)&^3
	c.X = word
	return nil
}

// Upload puts data into dst at off, in the order of the stream. Where the host sees the memory
// and no work uses it, the data is written in place; otherwise it goes through staging memory,
// and Upload may submit. data may be reused when Upload returns.
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

// Readback is the data of a download.
type Readback struct {
	d     *Device
	r     *memory.Region // held until Release
	bytes []byte
	own   *Buffer // of this readback alone, or nil
	done  bool
}

// Download records that n bytes of src at off become readable. They are in Bytes once the
// submission is complete. Where the host reads the buffer's own memory there is no copy: the
// readback holds that memory, and nothing may write it until Release.
func (s *Stream) Download(src *Buffer, off, n int) (*Readback, error) {
	if err := src.check(off, n); err != nil {
		return nil, fmt.Errorf("download: %w", err)
	}
	if err := src.Err(); err != nil {
		return nil, fmt.Errorf("download: %w", err)
	}
	if src.Readable() {
		s.regions.Read(src.r)
		src.r.Ref()
		s.d.hold()
		return &Readback{d: s.d, r: src.r, bytes: src.Bytes()[off:][:n:n]}, nil
	}
	b, err := s.d.alloc(s.d.mem.Reader, n, false, s.flow)
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

// Bytes returns the data, which is valid from the completion of the submission until Release.
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
		r.d.mem.Unref(r.r)
	}
	r.d.unhold()
}
