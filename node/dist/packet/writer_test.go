package packet

import (
	"errors"
	"net"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"nxvk/gen/etf"
	"nxvk/gen/etf/etftest"
	"nxvk/node/dist/socket/sockettest"
)

// errEnough ends a reader.
var errEnough = errors.New("enough")

// until waits for a condition that another goroutine brings about.
func until(ok func() bool) {
	for !ok() {
		runtime.Gosched()
	}
}

// TestTryWritePartly has senders write into a socket that takes only a part of
// their message. All of it arrives, and what was sent is released.
func TestTryWritePartly(t *testing.T) {
	ours, theirs := sockettest.Pair(t)
	ours.(*net.TCPConn).SetWriteBuffer(20_000)
	theirs.(*net.TCPConn).SetReadBuffer(20_000)
	var sent atomic.Int64
	w := NewWriter(ours, WriterOptions{Header: true, Fragments: true, MaxQueue: 1 << 30, Sent: func(n int) { sent.Add(int64(n)) }})
	if w.try == nil {
		t.Skip("only a socket of Unix can be tried without waiting")
	}
	go w.Run()
	const count = 200
	big := etftest.Pattern(tryLimit / 2)
	var released atomic.Int32
	total, began := 0, 0
	for i := range count {
		var e etf.Encoder
		e.Encode(etf.Tuple{2, etf.Atom(""), etf.Pid{Node: "a@b"}})
		e.Encode(etf.Tuple{int64(i), etf.Outside{Bytes: big, Release: func() { released.Add(1) }}, etf.Atom("end")})
		total += 4 + 3 + e.Len()
		if i < 3 { // the writer sleeps, as between calls
			until(func() bool {
				w.mu.Lock()
				defer w.mu.Unlock()
				return w.idle || i > 0
			})
		}
		if err := w.Queue(etf.Pid{ID: uint32(i % 3)}, &e, false); err != nil {
			t.Fatal(err)
		}
		if sent.Load() > 0 {
			began++
		}
	}
	if began == 0 {
		t.Error("no sender wrote by itself")
	}
	seen := 0
	r := Reader{Source: theirs, Allocator: etf.NewPool(1 << 20), MaxTerm: 1 << 20, Lost: new(atomic.Uint64),
		Deliver: func(m Message) (bool, error) {
			got := etftest.Flat(m.Payload.Keep()).(etf.Tuple)
			if got[0] != etf.Term(int64(seen)) || string(got[1].([]byte)) != string(big) || got[2] != etf.Term(etf.Atom("end")) {
				t.Errorf("message %d differs", seen)
			}
			if seen++; seen == count {
				return true, errEnough
			}
			return true, nil
		}}
	if err := r.Run(); err != errEnough {
		t.Fatal(err)
	}
	until(func() bool { return released.Load() == count })
	if n := sent.Load(); n != int64(total) {
		t.Errorf("%d bytes are counted, want %d", n, total)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.queued != 0 || w.batch.rest() != 0 {
		t.Errorf("%d bytes wait, the batch has %d, want none", w.queued, w.batch.rest())
	}
}

// TestWhole wants messages in one piece up to what a socket takes in time.
func TestWhole(t *testing.T) {
	for _, tt := range []struct {
		name  string
		bytes int
		took  time.Duration
		want  int
	}{
		{"slow", 8 << 20, 10 * time.Second, fragmentSize},
		{"middling", 32 << 20, wholeTime / 2, 64 << 20},
		{"fast", 64 << 20, time.Millisecond, maxWhole},
		{"at once", 64 << 20, 0, maxWhole},
		{"too short to tell", paceSize - 1, time.Millisecond, fragmentSize},
	} {
		w := NewWriter(nil, WriterOptions{})
		for range 100 {
			w.measure(tt.bytes, tt.took)
		}
		if d := w.whole - tt.want; d < -8 || d > 8 {
			t.Errorf("%s: %d bytes, want %d", tt.name, w.whole, tt.want)
		}
	}
}
