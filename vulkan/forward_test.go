package vulkan

import (
	"bytes"
	"encoding/binary"
	"testing"
)

// numbers are what the affine kernel makes of zeros: n words of add.
func numbers(n int, add uint32) []byte {
	var b []byte
	for range n {
		b = binary.LittleEndian.AppendUint32(b, add)
	}
	return b
}

// redirecting is a device whose memory the host reads slowly, with n zeros.
func redirecting(t *testing.T, addresses bool, n int) (d *Device, s *Stream, p *Pipeline, zeros *Buffer) {
	d = openTest(t, Options{Fault: Fault{Uncached: true}})
	if !d.forwards() {
		t.Skip("SKIP the device's memory cannot be mapped")
	}
	s, zeros = d.Stream(), must(d.Alloc(4*n))(t)
	if err := s.Upload(zeros, 0, make([]byte, 4*n)); err != nil {
		t.Fatal(err)
	}
	return d, s, affine(t, d, addresses), zeros
}

func TestRedirect(t *testing.T) {
	modes(t, func(t *testing.T, addresses bool) {
		const n = 1000
		d, s, p, zeros := redirecting(t, addresses, n)
		add := func(dst, src *Buffer, k uint32) {
			t.Helper()
			if err := s.Dispatch(p, []Arg{WriteOnly(dst), ReadOnly(src)}, affinePush(n, 1, k), 16, 1, 1); err != nil {
				t.Fatal(err)
			}
		}
		a, b, c := must(d.Alloc(4*n))(t), must(d.Alloc(4*n))(t), must(d.Alloc(4*n))(t)
		add(a, zeros, 7)
		add(b, zeros, 8)
		r := must(s.Download(a, 0, 4*n))(t)
		if !a.forwarded || s.dispatches != 2 || s.copies != 0 {
			t.Fatalf("away %v, %d dispatches, %d copies", a.forwarded, s.dispatches, s.copies)
		}
		// Used before the batch is complete, it is used where it is.
		add(c, a, 1)
		if !a.forwarded {
			t.Error("a buffer came back before it was written")
		}
		q := must(s.Download(c, 0, 4*n))(t)
		wait(t, d, must(s.Submit())(t))
		if !bytes.Equal(r.Bytes(), numbers(n, 7)) || !bytes.Equal(q.Bytes(), numbers(n, 8)) {
			t.Error("what was read is wrong")
		}
		// Used again, it is the device's, and what was read stays.
		e := must(d.Alloc(4 * n))(t)
		add(e, a, 3)
		if a.forwarded || a.DeviceLocal() != zeros.DeviceLocal() || a.r.Pool() != d.mem.Device {
			t.Error("the buffer did not come back")
		}
		got := read(t, d, s, e)
		if !bytes.Equal(got, numbers(n, 10)) || !bytes.Equal(r.Bytes(), numbers(n, 7)) {
			t.Error("what came back is wrong")
		}
		r.Release()
		q.Release()
		for _, x := range []*Buffer{a, b, c, e, zeros} {
			x.Free()
		}
		s.Close()
		if st := d.Stats(); st.InUse != 0 {
			t.Errorf("left over: %+v", st)
		}
	})
}

// TestNotRedirected has reads that must copy: each leaves its buffer in place.
func TestNotRedirected(t *testing.T) {
	const n = 64
	d, s, p, zeros := redirecting(t, true, n)
	add := func(dst Arg, src *Buffer) {
		t.Helper()
		if err := s.Dispatch(p, []Arg{dst, ReadOnly(src)}, affinePush(n/2, 1, 5), 1, 1, 1); err != nil {
			t.Fatal(err)
		}
	}
	for name, prepare := range map[string]func(b *Buffer){
		"written in part":  func(b *Buffer) { add(Arg{Buffer: b, Size: 2 * n, Access: Write}, zeros) },
		"read and written": func(b *Buffer) { add(ReadWrite(b), zeros) },
		"used again":       func(b *Buffer) { add(WriteOnly(b), zeros); add(WriteOnly(zeros), b) },
		"uploaded to":      func(b *Buffer) { _ = s.Upload(b, 0, make([]byte, 4*n)); add(WriteOnly(b), zeros) },
		"submitted":        func(b *Buffer) { add(WriteOnly(b), zeros); must(s.Submit())(t) },
		"filled":           func(b *Buffer) { _ = s.Fill(WriteOnly(b), 1, 4*n) },
	} {
		b := must(d.Alloc(4 * n))(t)
		prepare(b)
		r := must(s.Download(b, 0, 2*n))(t)
		if b.forwarded {
			t.Errorf("%s: redirected", name)
		}
		wait(t, d, must(s.Submit())(t))
		r.Release()
		b.Free()
	}
}

// TestAllocReader: what the host can read is not copied.
func TestAllocReader(t *testing.T) {
	modes(t, func(t *testing.T, addresses bool) {
		const n = 1 << 16 // more than is redirected
		d, s, p, zeros := redirecting(t, addresses, n)
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
			t.Error("what was read is wrong")
		}
		r.Release()
		for _, b := range []*Buffer{a, zeros} {
			b.Free()
		}
	})
}
