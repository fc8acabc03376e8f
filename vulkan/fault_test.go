package vulkan

import (
	"context"
	"encoding/binary"
	"errors"
	"testing"
	"time"
)

// TestDeviceLost loses the device in the middle and goes on with another.
func TestDeviceLost(t *testing.T) {
	submits := 0
	o := Options{Fault: Fault{Lost: func() bool { submits++; return submits == 3 }}}
	d := openTest(t, o)
	p := affine(t, d, true)
	b := must(d.Alloc(4))(t)
	s := d.Stream()
	record := func() error {
		return s.Dispatch(p, []Arg{ReadWrite(b), ReadWrite(b)}, affinePush(1, 1, 1), 1, 1, 1)
	}
	var last Ticket
	for range 2 {
		if err := record(); err != nil {
			t.Fatal(err)
		}
		last = must(s.Submit())(t)
	}
	wait(t, d, last)
	if err := record(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Submit(); !errors.Is(err, ErrDeviceLost) {
		t.Fatalf("submit: got %v, want ErrDeviceLost", err)
	}
	heard := make(chan error, 1)
	d.Notify(last+1, func(err error) { heard <- err })
	for name, err := range map[string]error{
		"lost":     d.Lost(),
		"wait":     d.Wait(context.Background(), last+1),
		"notify":   <-heard,
		"alloc":    second(d.Alloc(4)),
		"pipeline": second(d.Pipeline("x", readWords(t, "affine_addr.spv"), Layout{Buffers: 2, PushBytes: 12, Addresses: true})),
		"submit":   second(s.Submit()),
	} {
		if !errors.Is(err, ErrDeviceLost) {
			t.Errorf("%s: got %v, want ErrDeviceLost", name, err)
		}
	}
	b.Free()
	e := must(d.Reopen())(t)
	defer e.Close()
	if e.Lost() != nil {
		t.Fatalf("reopened: %v", e.Lost())
	}
	c := must(e.Alloc(4))(t)
	s = e.Stream()
	if err := s.Upload(c, 0, word(7)); err != nil {
		t.Fatal(err)
	}
	if got := binary.LittleEndian.Uint32(read(t, e, s, c)); got != 7 {
		t.Errorf("got %d, want 7", got)
	}
}

func TestNotifyInOrder(t *testing.T) {
	d := openTest(t, Options{})
	b := must(d.Alloc(4))(t)
	s := d.Stream()
	const n = 200
	heard := make(chan int, n)
	for i := range n {
		if err := s.Fill(WriteOnly(b), uint32(i), 4); err != nil {
			t.Fatal(err)
		}
		d.Notify(must(s.Submit())(t), func(err error) {
			if err != nil {
				t.Error(err)
			}
			heard <- i
		})
	}
	for i := range n {
		if got := <-heard; got != i {
			t.Fatalf("heard of %d, want %d", got, i)
		}
	}
}

func TestWaitEndsWithContext(t *testing.T) {
	d := openTest(t, Options{})
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	if err := d.Wait(ctx, 1<<60); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want DeadlineExceeded", err)
	}
	heard := make(chan error, 1)
	d.Notify(1<<60, func(err error) { heard <- err })
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	if err := <-heard; !errors.Is(err, ErrClosed) {
		t.Errorf("got %v, want ErrClosed", err)
	}
}
