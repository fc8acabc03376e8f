package vulkan

import (
	"bytes"
	"testing"
)

// TestZeroed takes memory that other buffers have used, in all forms of memory.
func TestZeroed(t *testing.T) {
	for name, f := range map[string]Fault{"native": {}, "uncached": {Uncached: true}, "unmapped": {Unmapped: true}} {
		t.Run(name, func(t *testing.T) {
			d := openTest(t, Options{Fault: f})
			s := d.Stream()
			for _, n := range []int{0, 1, 4, 257, 5000, zeroedReadable, zeroedReadable + 1, 3 << 20} {
				for range 3 {
					used := must(d.Alloc(n))(t)
					if err := s.Upload(used, 0, bytes.Repeat([]byte{0xa5}, n)); err != nil {
						t.Fatal(err)
					}
					read(t, d, s, used)
					used.Free()
					other := must(d.AllocReader(n))(t)
					copy(other.Bytes(), bytes.Repeat([]byte{0xa5}, n))
					other.Free()
				}
				b := must(s.Zeroed(n))(t)
				if got := read(t, d, s, b); len(got) != n || bytes.Count(got, []byte{0}) != n {
					t.Errorf("%d bytes: not all zero", n)
				}
				b.Free()
			}
		})
	}
}
