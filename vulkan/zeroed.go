package vulkan

// Zeroed returns n bytes that are all 0, up to a whole word, for kernels that need not
// write all of them and that the host reads afterwards: what was there before is
// nobody's to see. A few bytes are where the host reads, which then copies nothing;
// more are memory of the device.
func (s *Stream) Zeroed(n int) (*Buffer, error) {
	if n <= redirectMost {
		b, err := s.d.alloc(s.d.mem.reader, n, true, s.flow)
		if err != nil {
			return nil, err
		}
		clear(b.r.blk.mapped[b.r.off:][:bindRange(&Arg{Buffer: b})])
		return b, nil
	}
	b, err := s.Alloc(n)
	if err != nil {
		return nil, err
	}
	if err := s.Fill(WriteOnly(b), 0, n); err != nil {
		b.Free()
		return nil, err
	}
	return b, nil
}
