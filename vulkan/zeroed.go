package vulkan

// zeroedReadable is the largest size of zeroed memory that the host reads without a copy:
// kernels write to host memory a hundred times slower than to their own.
const zeroedReadable = 64 << 10

// Zeroed returns n bytes that are 0, up to a whole word, for a kernel that need not write all of
// them: the host then reads no data of another session. Up to 64 KiB are memory that the host
// reads without a copy; more are memory of the device.
func (s *Stream) Zeroed(n int) (*Buffer, error) {
	if n <= zeroedReadable {
		b, err := s.d.alloc(s.d.mem.Reader, n, true, s.flow)
		if err != nil {
			return nil, err
		}
		whole := Arg{Buffer: b}
		clear(b.r.Bytes(int(whole.bindRange())))
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
