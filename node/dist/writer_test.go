package dist

import (
	"net"
	"sync/atomic"
	"testing"
	"time"

	"ergo.services/ergo/gen"

	"nxvk/gen/etf"
)

// sockets is a connection of TCP with little room.
func sockets(t *testing.T) (ours, theirs net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if ours, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if theirs, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	ours.(*net.TCPConn).SetWriteBuffer(20_000)
	theirs.(*net.TCPConn).SetReadBuffer(20_000)
	t.Cleanup(func() { ours.Close(); theirs.Close() })
	return ours, theirs
}

// TestPokePartly has senders write by themselves into a socket that takes only
// parts of what they have. All of it arrives, and what was sent is released.
func TestPokePartly(t *testing.T) {
	ours, theirs := sockets(t)
	var sent atomic.Int64
	w := newWriter(ours, flagsOffered, 1<<30, func(n int) { sent.Add(int64(n)) })
	if w.raw == nil {
		t.Skip("SKIP(unix): sockets cannot be tried here")
	}
	go w.run()
	const count = 200
	big := pattern(pokeLimit / 2)
	var released atomic.Int32
	total, began := 0, 0
	for i := range count {
		var e etf.Encoder
		e.Encode(etf.Tuple{opSend, etf.Atom(""), etf.Pid{Node: "a@b"}})
		e.Encode(etf.Tuple{int64(i), etf.Outside{Bytes: big, Release: func() { released.Add(1) }}, etf.Atom("end")})
		total += 4 + 3 + e.Len()
		if i < 3 { // the writer sleeps, as between calls
			await(t, "the writer is idle", func() bool {
				w.mu.Lock()
				defer w.mu.Unlock()
				return w.idle || i > 0
			})
		}
		if err := w.queue(gen.PID{ID: uint64(i % 3)}, &e, false); err != nil {
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
	r := reader{src: theirs, allocator: etf.NewPool(1 << 20), maxTerm: 1 << 20, lost: new(atomic.Uint64),
		deliver: func(_ etf.Tuple, content payload, _ int) (bool, error) {
			got := flat(content.keep()).(etf.Tuple)
			if got[0] != etf.Term(int64(seen)) || string(got[1].([]byte)) != string(big) || got[2] != etf.Term(etf.Atom("end")) {
				t.Errorf("message %d differs", seen)
			}
			if seen++; seen == count {
				return true, errRelieved
			}
			return true, nil
		}}
	if err := r.run(); err != errRelieved {
		t.Fatal(err)
	}
	await(t, "all is released", func() bool { return released.Load() == count })
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
		w := newWriter(nil, flagsOffered, 1, nil)
		for range 100 {
			w.measure(tt.bytes, tt.took)
		}
		if d := w.whole - tt.want; d < -8 || d > 8 {
			t.Errorf("%s: %d bytes, want %d", tt.name, w.whole, tt.want)
		}
	}
}
