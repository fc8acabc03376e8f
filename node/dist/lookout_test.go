package dist

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"
)

// socketPair returns both ends of a connection over loopback.
func socketPair(t *testing.T) (ours, theirs net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if theirs, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if ours, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ours.Close(); theirs.Close() })
	return ours, theirs
}

// TestLookout reads what comes at once, soon, and after the reader has gone to
// sleep, up to the end.
func TestLookout(t *testing.T) {
	ours, theirs := socketPair(t)
	var want []byte
	for i := range 600 {
		want = append(want, bytes.Repeat([]byte{byte(i)}, 1+i%97)...)
	}
	go func() {
		defer theirs.Close()
		for rest, i := want, 0; len(rest) > 0; i++ {
			n := min(len(rest), 1+i%311)
			if i%3 > 0 { // pauses within what the reader waits for, and beyond
				time.Sleep(time.Duration(i%3) * lookFor)
			}
			if _, err := theirs.Write(rest[:n]); err != nil {
				t.Error(err)
			}
			rest = rest[n:]
		}
	}()
	got, err := io.ReadAll(lookout(ours))
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("read %d bytes, %v, want %d", len(got), err, len(want))
	}
}

// TestLookoutEnds closes the socket, and lets its time be over, under a reader.
func TestLookoutEnds(t *testing.T) {
	ours, _ := socketPair(t)
	r := lookout(ours)
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
