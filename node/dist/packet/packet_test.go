package packet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"reflect"
	"sync/atomic"
	"testing"
	"testing/iotest"

	"nxvk/gen/etf"
	"nxvk/gen/etf/etftest"
	"nxvk/node/dist/quota"
)

// collected runs a reader over a stream and returns the payloads.
func collected(src io.Reader, allocator etf.Allocator) ([]etf.Term, error) {
	var got []etf.Term
	r := Reader{Source: src, Allocator: allocator, MaxTerm: 1 << 20, Lost: new(atomic.Uint64),
		Deliver: func(m Message) (bool, error) {
			got = append(got, m.Payload.Keep())
			return true, nil
		}}
	err := r.Run()
	if err == io.EOF {
		err = nil
	}
	return got, err
}

// packets encodes a message as size-limited fragments.
func packets(sequence uint64, payload etf.Term, size int) [][]byte {
	p, err := etf.Append(nil, etf.Tuple{2, etf.Atom(""), etf.Pid{Node: "a@b"}})
	if err != nil {
		panic(err)
	}
	if p, err = etf.Append(p, payload); err != nil {
		panic(err)
	}
	p = append([]byte{0}, p...) // no atom cache references
	if size == 0 {
		return [][]byte{packet([]byte{etf.Version, kindHeader}, p)}
	}
	var out [][]byte
	count := (len(p) + size - 1) / size
	for i := range count {
		head := []byte{etf.Version, kindFragments}
		if i == 0 {
			head[1] = kindFragment
		}
		head = binary.BigEndian.AppendUint64(head, sequence)
		head = binary.BigEndian.AppendUint64(head, uint64(count-i))
		out = append(out, packet(head, p[i*size:min(len(p), (i+1)*size)]))
	}
	return out
}

func packet(parts ...[]byte) []byte {
	p := bytes.Join(parts, nil)
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(p))), p...)
}

// TestInterleaved mixes the fragments of several messages, of several sizes,
// with short messages and ticks, and reads them in pieces of several sizes.
func TestInterleaved(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, pieces := range []func(io.Reader) io.Reader{
		func(r io.Reader) io.Reader { return r }, iotest.HalfReader, iotest.DataErrReader,
	} {
		for _, size := range []int{100, 4096, 65536, 300_000} {
			var lines [][][]byte
			var want []etf.Term
			for i := range 8 {
				term := etf.Tuple{i, etftest.Pattern(i * 40_000), etf.List{etftest.Pattern(70_000), etftest.Pattern(10)}, etftest.Pattern(65536)}
				lines = append(lines, packets(uint64(i), term, size))
				want = append(want, etf.Tuple{int64(i), term[1], term[2], term[3]})
			}
			var stream bytes.Buffer
			for len(lines) > 0 {
				i := random.IntN(len(lines))
				stream.Write(lines[i][0])
				if lines[i] = lines[i][1:]; len(lines[i]) == 0 {
					lines = append(lines[:i], lines[i+1:]...)
				}
				if random.IntN(3) == 0 {
					stream.Write([]byte{0, 0, 0, 0})
				}
			}
			pool := etf.NewPool(1 << 30)
			got, err := collected(pieces(&stream), pool)
			if err != nil || len(got) != len(want) {
				t.Fatalf("fragments of %d: %d messages, %v", size, len(got), err)
			}
			for _, term := range got {
				id := term.(etf.Tuple)[0].(int64)
				if !reflect.DeepEqual(etftest.Flat(term), want[id]) {
					t.Fatalf("fragments of %d: message %d differs", size, id)
				}
			}
		}
	}
}

// refusing is an allocator without memory.
type refusing struct{}

func (refusing) Alloc(int) (etf.Block, error) { return nil, etftest.ErrNoMemory }

func TestLost(t *testing.T) {
	var stream bytes.Buffer
	for _, p := range append(packets(1, etf.Tuple{etf.Atom("x"), etftest.Pattern(200_000), etf.Atom("y")}, 65536), packets(2, etftest.Pattern(100_000), 0)...) {
		stream.Write(p)
	}
	stream.Write(packets(3, etf.Atom("after"), 0)[0])
	got, err := collected(&stream, refusing{})
	want := []etf.Term{
		etf.Tuple{etf.Atom("x"), etf.Lost{Size: 200_000, Err: etftest.ErrNoMemory}, etf.Atom("y")},
		etf.Lost{Size: 100_000, Err: etftest.ErrNoMemory},
		etf.Atom("after"),
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v (%v)", got, want, err)
	}
}

// TestTruncated ends the stream anywhere and wants all memory back.
func TestTruncated(t *testing.T) {
	var all []byte
	for _, p := range packets(1, etf.Tuple{etftest.Pattern(70_000), etftest.Pattern(80_000)}, 65536) {
		all = append(all, p...)
	}
	pool := &etftest.Blocks{Max: 1 << 20}
	for n := 0; n < len(all); n += 997 {
		got, err := collected(bytes.NewReader(all[:n]), pool)
		if len(got) > 0 || n%997 != 0 && err == nil {
			t.Fatalf("%d bytes: %d messages, %v", n, len(got), err)
		}
		if pool.Live() != 0 {
			t.Fatalf("%d bytes: %d blocks are not freed", n, pool.Live())
		}
	}
}

func TestTooLarge(t *testing.T) {
	list := make(etf.List, 2<<20)
	for i := range list {
		list[i] = int64(1)
	}
	for _, size := range []int{0, 65536} {
		var stream bytes.Buffer
		for _, p := range packets(1, list, size) {
			stream.Write(p)
		}
		long := stream.Bytes()
		if _, err := collected(bytes.NewReader(long), refusing{}); !errors.Is(err, ErrTooLarge) {
			t.Errorf("got %v, want %v", err, ErrTooLarge)
		}
		stream.Write(packets(2, etf.Atom("after"), 0)[0])
		var cause error
		var got []etf.Term
		r := Reader{Source: &stream, MaxTerm: 1 << 20, Lost: new(atomic.Uint64),
			Deliver: func(m Message) (bool, error) {
				got = append(got, m.Payload.Keep())
				return true, nil
			},
			Refuse: func(_ etf.Tuple, _ Front, err error) error {
				cause = err
				return nil
			}}
		if err := r.Run(); err != io.EOF || !errors.Is(cause, ErrTooLarge) || len(got) != 1 || got[0] != etf.Term(etf.Atom("after")) {
			t.Errorf("refused because of %v, then got %v, %v", cause, got, err)
		}
	}
}

// TestOrder sends short messages behind a long one of the same sender and
// wants them after it, and those of others before its end.
func TestOrder(t *testing.T) {
	ours, theirs := net.Pipe()
	w := NewWriter(ours, WriterOptions{Header: true, Fragments: true, MaxQueue: 1 << 30, Sent: func(int) {}})
	var e etf.Encoder
	alice, bob := etf.Pid{ID: 1}, etf.Pid{ID: 2}
	released := 0
	queue := func(from etf.Pid, payload etf.Term) {
		e.Encode(etf.Tuple{2, etf.Atom(""), etf.Pid{Node: "a@b"}})
		e.Encode(payload)
		if err := w.Queue(from, &e, true); err != nil {
			t.Fatal(err)
		}
	}
	big := etftest.Pattern(3*fragmentSize + 5)
	queue(alice, etf.Outside{Bytes: big, Release: func() { released++ }})
	queue(alice, etf.Atom("alice1"))
	queue(bob, etf.Atom("bob"))
	queue(alice, etf.Atom("alice2"))
	go w.Run()
	var got []etf.Term
	r := Reader{Source: theirs, Allocator: etf.NewPool(0), MaxTerm: 1 << 20, Lost: new(atomic.Uint64),
		Deliver: func(m Message) (bool, error) {
			got = append(got, etftest.Flat(m.Payload.Keep()))
			if len(got) == 4 {
				return true, io.EOF
			}
			return true, nil
		}}
	if err := r.Run(); err != io.EOF {
		t.Fatal(err)
	}
	if got[0] != etf.Term(etf.Atom("bob")) || got[2] != etf.Term(etf.Atom("alice1")) || got[3] != etf.Term(etf.Atom("alice2")) {
		t.Errorf("got %T, %v, %v", got[0], got[2], got[3])
	}
	if !bytes.Equal(got[1].([]byte), big) {
		t.Error("the long message differs")
	}
	w.Close()
	if released != 1 {
		t.Errorf("released %d times, want 1", released)
	}
}

func TestQueueIsBounded(t *testing.T) {
	ours, _ := net.Pipe()
	w := NewWriter(ours, WriterOptions{Header: true, Fragments: true, MaxQueue: 1000, Sent: func(int) {}})
	var e etf.Encoder
	released := 0
	queue := func(bounded bool) error {
		e.Encode(etf.Outside{Bytes: make([]byte, etf.SegmentSize), Release: func() { released++ }})
		err := w.Queue(etf.Pid{}, &e, bounded)
		if err != nil {
			e.Drop()
		}
		return err
	}
	if err := queue(true); err != nil {
		t.Fatal(err)
	}
	if err := queue(true); !errors.Is(err, ErrBusy) || released != 1 {
		t.Errorf("got %v, want %v; released %d times, want 1", err, ErrBusy, released)
	}
	if err := queue(false); err != nil {
		t.Errorf("a reply is refused: %v", err)
	}
	w.Close()
	if err := queue(false); !errors.Is(err, ErrClosed) || released != 4 {
		t.Errorf("got %v, want %v; released %d times, want 4", err, ErrClosed, released)
	}
}

func FuzzPacket(f *testing.F) {
	for _, size := range []int{0, 50} {
		var stream []byte
		for _, p := range packets(1, etf.Tuple{etf.Atom("x"), etftest.Pattern(100)}, size) {
			stream = append(stream, p...)
		}
		f.Add(stream)
	}
	f.Add(packets(1, etftest.Pattern(etf.LargeBinary), 60_000)[0][:200])
	f.Add(packet([]byte{etf.Version, kindHeader, 1, 0x08, 3, 1, 'x', 104, 1, 82, 0}))
	f.Add(packet([]byte{passThrough, 131, 104, 1, 97, 2, 131, 106}))
	f.Fuzz(func(t *testing.T, p []byte) {
		pool := &etftest.Blocks{Max: 1 << 20}
		got, _ := collected(bytes.NewReader(p), pool)
		for _, term := range got {
			etftest.Flat(term)
		}
		bounded(t, p)
	})
}

// bounded reads a stream with little room and wants all of it back in the end.
func bounded(t *testing.T, p []byte) {
	pool, account := &etftest.Blocks{Max: 1 << 20}, quota.NewAccount(nil, 1000)
	r := Reader{Source: bytes.NewReader(p), Allocator: pool, MaxTerm: 1 << 20, Lost: new(atomic.Uint64), Account: account,
		Deliver: func(m Message) (bool, error) {
			etftest.Flat(m.Payload.Keep())
			m.Cost.Settle()
			return true, nil
		},
		Refuse: func(_ etf.Tuple, f Front, _ error) error {
			if f.Size == 3 && len(f.Tuple) < 2 {
				return quota.ErrOverLimit
			}
			return nil
		}}
	r.Run()
	if used := account.Used(); used != 0 {
		t.Fatalf("%d bytes are in use after the end", used)
	}
}
