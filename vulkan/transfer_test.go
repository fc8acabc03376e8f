package vulkan

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"
)

// unmapped runs a test on the device's memory as it is, then as memory that the host reads slowly, and
// then as memory that the host cannot see, so that every transfer is staged.
func unmapped(t *testing.T, f func(t *testing.T, o Options)) {
	t.Run("mapped", func(t *testing.T) { f(t, Options{}) })
	t.Run("uncached", func(t *testing.T) { f(t, Options{Fault: Fault{Uncached: true}, BlockSize: 8 << 20}) })
	t.Run("staged", func(t *testing.T) { f(t, Options{Fault: Fault{Unmapped: true}, BlockSize: 8 << 20}) })
}

func TestUploadDownload(t *testing.T) {
	unmapped(t, func(t *testing.T, o Options) {
		d := openTest(t, o)
		s := d.Stream()
		for _, n := range []int{0, 1, 3, 4, 255, 256, 257, 4095, 65537, 1<<20 + 1, 5<<20 + 3} {
			for _, off := range []int{0, 1, 13} {
				b := must(d.Alloc(n + off))(t)
				want := randomBytes(n)
				if err := s.Upload(b, off, want); err != nil {
					t.Fatal(err)
				}
				r := must(s.Download(b, off, n))(t)
				b.Free()
				wait(t, d, must(s.Submit())(t))
				if !bytes.Equal(r.Bytes(), want) {
					t.Errorf("%d bytes at %d differ", n, off)
				}
				r.Release()
			}
		}
	})
}

// TestUploadInChunks uploads more than a chunk of staging memory holds.
func TestUploadInChunks(t *testing.T) {
	d := openTest(t, Options{Fault: Fault{Unmapped: true}, BlockSize: 2 << 20})
	want := randomBytes(11<<20 + 5)
	b := must(d.Alloc(len(want)))(t)
	s := d.Stream()
	if err := s.Upload(b, 0, want); err != nil {
		t.Fatal(err)
	}
	if got := read(t, d, s, b); !bytes.Equal(got, want) {
		t.Error("data differ")
	}
	if n := d.Stats().Submits; n < 8 {
		t.Errorf("%d submits: the ring did not come round", n)
	}
}

func TestCopyAndFill(t *testing.T) {
	d := openTest(t, Options{})
	s := d.Stream()
	const n = 3000
	data := randomBytes(n)
	src, dst := must(d.Alloc(n))(t), must(d.Alloc(n))(t)
	if err := s.Upload(src, 0, data); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ to, from, n int }{{0, 0, n}, {1, 2, 3}, {100, 7, 1021}, {16, 32, 2048}, {5, 5, 0}} {
		if err := s.Fill(WriteOnly(dst), 0xa5a5a5a5, n); err != nil {
			t.Fatal(err)
		}
		if err := s.Copy(Arg{Buffer: dst, Offset: c.to}, Arg{Buffer: src, Offset: c.from}, c.n); err != nil {
			t.Fatal(err)
		}
		want := bytes.Repeat([]byte{0xa5}, n)
		copy(want[c.to:], data[c.from:c.from+c.n])
		if got := read(t, d, s, dst); !bytes.Equal(got, want) {
			t.Errorf("copy %v: data differ", c)
		}
	}
	for _, c := range []struct{ off, n int }{{1, 4}, {0, 3}, {0, n + 4}, {-4, 4}} {
		if err := s.Fill(Arg{Buffer: dst, Offset: c.off}, 0, c.n); !errors.Is(err, ErrInvalid) {
			t.Errorf("fill %v: got %v, want ErrInvalid", c, err)
		}
	}
}

// TestUploadIsOrdered overwrites a buffer between two kernels that read it.
func TestUploadIsOrdered(t *testing.T) {
	unmapped(t, func(t *testing.T, o Options) {
		d := openTest(t, o)
		p := affine(t, d, true)
		s := d.Stream()
		src := must(d.Alloc(4))(t)
		var out []*Buffer
		for i := range 50 {
			word := binary.LittleEndian.AppendUint32(nil, uint32(i))
			if err := s.Upload(src, 0, word); err != nil {
				t.Fatal(err)
			}
			b := must(d.Alloc(4))(t)
			if err := s.Dispatch(p, []Arg{WriteOnly(b), ReadOnly(src)}, affinePush(1, 2, 1), 1, 1, 1); err != nil {
				t.Fatal(err)
			}
			out = append(out, b)
			if i%7 == 0 {
				must(s.Submit())(t)
			}
		}
		for i, b := range out {
			if got, want := binary.LittleEndian.Uint32(read(t, d, s, b)), uint32(2*i+1); got != want {
				t.Errorf("kernel %d: got %d, want %d", i, got, want)
			}
		}
	})
}

// TestReadbackHoldsMemory frees and reuses a buffer under an open readback.
func TestReadbackHoldsMemory(t *testing.T) {
	d := openTest(t, Options{})
	s := d.Stream()
	b := must(d.Alloc(1000))(t)
	want := randomBytes(1000)
	if err := s.Upload(b, 0, want); err != nil {
		t.Fatal(err)
	}
	r := must(s.Download(b, 0, 1000))(t)
	wait(t, d, must(s.Submit())(t))
	b.Free()
	b.Free()
	for range 20 {
		c := must(d.Alloc(1000))(t)
		if err := s.Fill(WriteOnly(c), 0, 1000); err != nil {
			t.Fatal(err)
		}
		defer c.Free()
	}
	wait(t, d, must(s.Submit())(t))
	if !bytes.Equal(r.Bytes(), want) {
		t.Error("the memory was reused")
	}
	r.Release()
	r.Release()
}

func TestRangesAreChecked(t *testing.T) {
	d := openTest(t, Options{})
	s := d.Stream()
	b := must(d.Alloc(100))(t)
	freed := must(d.Alloc(100))(t)
	freed.Free()
	for name, err := range map[string]error{
		"upload past the end":  s.Upload(b, 90, make([]byte, 11)),
		"upload before":        s.Upload(b, -1, make([]byte, 1)),
		"download past":        second(s.Download(b, 100, 1)),
		"download of negative": second(s.Download(b, 0, -1)),
		"copy past":            s.Copy(WriteOnly(b), Arg{Buffer: b, Offset: 60}, 50),
		"freed":                s.Upload(freed, 0, make([]byte, 1)),
		"negative size":        second(d.Alloc(-1)),
	} {
		if !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: got %v, want ErrInvalid", name, err)
		}
	}
	if _, err := d.Alloc(1 << 62); !errors.Is(err, ErrTooLarge) {
		t.Errorf("got %v, want ErrTooLarge", err)
	}
}

func second[T any](_ T, err error) error { return err }

func ExampleVersion() {
	fmt.Println(Version(1<<22 | 3<<12 | 239))
	// Output: 1.3.239
}

// numbers returns n words of add: the results of the affine kernel for zeros.
func numbers(n int, add uint32) []byte {
	var b []byte
	for range n {
		b = binary.LittleEndian.AppendUint32(b, add)
	}
	return b
}

// TestAllocReader downloads memory that the host reads at full speed, without a copy.
func TestAllocReader(t *testing.T) {
	modes(t, func(t *testing.T, addresses bool) {
		const n = 1 << 16
		d := openTest(t, Options{Fault: Fault{Uncached: true}})
		s, p, zeros := d.Stream(), affine(t, d, addresses), must(d.Alloc(4*n))(t)
		if err := s.Fill(WriteOnly(zeros), 0, 4*n); err != nil {
			t.Fatal(err)
		}
		a := must(d.AllocReader(4 * n))(t)
		if err := s.Dispatch(p, []Arg{WriteOnly(a), ReadOnly(zeros)}, affinePush(n, 1, 7), n/64, 1, 1); err != nil {
			t.Fatal(err)
		}
		r := must(s.Download(a, 0, 4*n))(t)
		if s.copies != 0 || s.dispatches != 1 {
			t.Errorf("%d copies, %d dispatches", s.copies, s.dispatches)
		}
		wait(t, d, must(s.Submit())(t))
		if !bytes.Equal(r.Bytes(), numbers(n, 7)) {
			t.Error("data differ")
		}
		r.Release()
		for _, b := range []*Buffer{a, zeros} {
			b.Free()
		}
	})
}
