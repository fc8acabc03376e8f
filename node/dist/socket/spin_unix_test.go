//go:build unix

package socket

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"nxvk/node/dist/socket/sockettest"
)

// TestSpinReader reads what comes at once, and what comes after the reader has gone to
// sleep, up to the end.
func TestSpinReader(t *testing.T) {
	ours, theirs := sockettest.Pair(t)
	var want []byte
	for i := range 600 {
		want = append(want, bytes.Repeat([]byte{byte(i)}, 1+i%97)...)
	}
	r := SpinReader(ours, new(atomic.Uint64)).(*spinReader)
	asleep := make(chan struct{}, 1)
	try := r.attempt
	r.attempt = func(fd uintptr) bool {
		done := try(fd)
		if !done {
			select {
			case asleep <- struct{}{}:
			default:
			}
		}
		return done
	}
	go func() {
		defer theirs.Close()
		for rest, i := want, 0; len(rest) > 0; i++ {
			if i%3 == 0 {
				<-asleep
			}
			n := min(len(rest), 1+i%311)
			if _, err := theirs.Write(rest[:n]); err != nil {
				t.Error(err)
			}
			rest = rest[n:]
		}
	}()
	got, err := io.ReadAll(r)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("read %d bytes, %v, want %d", len(got), err, len(want))
	}
}

// TestSpinReaderEnds closes the socket, and lets its time be over, under a reader.
func TestSpinReaderEnds(t *testing.T) {
	ours, _ := sockettest.Pair(t)
	r := SpinReader(ours, new(atomic.Uint64))
	ours.SetReadDeadline(time.Now().Add(time.Millisecond))
	if n, err := r.Read(make([]byte, 1)); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("after the deadline: %d, %v", n, err)
	}
	ours.SetReadDeadline(time.Time{})
	ended := make(chan error)
	go func() {
		_, err := r.Read(make([]byte, 1))
		ended <- err
	}()
	ours.Close()
	if err := <-ended; !errors.Is(err, net.ErrClosed) {
		t.Errorf("after it was closed: %v", err)
	}
}

// TestSpinReaderRests wants a reader to spin and to poll while data arrives in quick
// succession, and to sleep at once where it comes rarely.
func TestSpinReaderRests(t *testing.T) {
	ours, theirs := sockettest.Pair(t)
	r := SpinReader(ours, new(atomic.Uint64)).(*spinReader)
	for _, tt := range []struct {
		last  time.Time // when data arrived before
		quick bool
	}{
		{time.Time{}, false},
		{time.Now().Add(-time.Hour), false},
		{time.Now().Add(time.Hour), true}, // sooner than any clock tells
	} {
		r.last = tt.last
		if _, err := theirs.Write([]byte{1}); err != nil {
			t.Fatal(err)
		}
		if n, err := r.Read(make([]byte, 1)); n != 1 || err != nil {
			t.Fatal(n, err)
		}
		if (r.spinTime() > 0) != tt.quick || r.polls() != tt.quick {
			t.Errorf("%v after data the reader spins %v, polls: %v", r.gap, r.spinTime(), r.polls())
		}
	}
}

// TestSpinReaderPolls wants a reader to wait on its thread once, after it has spun, before it
// sleeps: data that comes meanwhile is read without the poller of the runtime.
func TestSpinReaderPolls(t *testing.T) {
	ours, theirs := sockettest.Pair(t)
	r := SpinReader(ours, new(atomic.Uint64)).(*spinReader)
	polled := 0
	r.poll = func(fd uintptr) {
		polled++
		if _, err := theirs.Write([]byte{7}); err != nil {
			t.Error(err)
		}
		poll(fd)
	}
	try := r.attempt
	r.attempt = func(fd uintptr) bool {
		if !try(fd) {
			t.Error("the reader sleeps")
		}
		return true
	}
	b := make([]byte, 1)
	if n, err := r.Read(b); n != 1 || b[0] != 7 || err != nil || polled != 1 {
		t.Errorf("read %d bytes, %v, %v, after %d polls", n, b, err, polled)
	}

	polled, r.gap = 0, 0
	r.poll = func(uintptr) { polled++ }
	r.attempt = try
	ours.SetReadDeadline(time.Now().Add(time.Millisecond))
	if n, err := r.Read(b); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) || polled != 1 {
		t.Errorf("read %d bytes, %v, after %d polls of nothing", n, err, polled)
	}
}

// TestSpinReaderAnswers wants a reader to spin longer after an answer, unless what followed the
// answer before came late.
func TestSpinReaderAnswers(t *testing.T) {
	ours, theirs := sockettest.Pair(t)
	sent := new(atomic.Uint64)
	r := SpinReader(ours, sent).(*spinReader)
	read := func() (spin time.Duration) {
		if _, err := theirs.Write([]byte{1}); err != nil {
			t.Fatal(err)
		}
		try := r.attempt
		r.attempt = func(fd uintptr) bool {
			spin = r.spinTime()
			return try(fd)
		}
		defer func() { r.attempt = try }()
		if n, err := r.Read(make([]byte, 1)); n != 1 || err != nil {
			t.Fatal(n, err)
		}
		return spin
	}
	r.gap = time.Hour
	if spin := read(); spin != 0 {
		t.Errorf("it spins %v where nothing was sent", spin)
	}
	for _, tt := range []struct{ wait, spin time.Duration }{{0, answerSpin}, {time.Hour, 0}} {
		sent.Add(1)
		r.gap, r.wait = time.Hour, tt.wait
		if spin := read(); spin != tt.spin {
			t.Errorf("after an answer it spins %v, want %v, where the last wait was %v", spin, tt.spin, tt.wait)
		}
		if r.wait >= time.Hour {
			t.Errorf("after an answer the wait is still %v", r.wait)
		}
	}
}
