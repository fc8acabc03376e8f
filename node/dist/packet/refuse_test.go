package packet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"

	"nxvk/gen/etf"
	"nxvk/gen/etf/etftest"
	"nxvk/node/dist/quota"
)

// shapes make terms of about n bytes that take much more, or less, in memory.
var shapes = []func(r *rand.Rand, n int) []byte{
	func(_ *rand.Rand, n int) []byte { // empty lists
		p := binary.BigEndian.AppendUint32([]byte{108}, uint32(n))
		return append(p, bytes.Repeat([]byte{106}, n+1)...)
	},
	func(_ *rand.Rand, n int) []byte { // a list in a list in a list
		p := bytes.Repeat([]byte{108, 0, 0, 0, 1}, n/6)
		return append(append(p, 106), bytes.Repeat([]byte{106}, n/6)...)
	},
	func(r *rand.Rand, n int) []byte { // strings
		p := binary.BigEndian.AppendUint32([]byte{105}, uint32(n/1000))
		for range n / 1000 {
			p = append(append(p, 107, 1000>>8, 1000&255), bytes.Repeat([]byte{byte(r.Uint32())}, 1000)...)
		}
		return p
	},
	func(r *rand.Rand, n int) []byte { // maps of numbers
		p := binary.BigEndian.AppendUint32([]byte{116}, uint32(n/14))
		for i := range n / 14 {
			p = binary.BigEndian.AppendUint32(append(p, 98), uint32(i))
			p = binary.BigEndian.AppendUint64(append(p, 70), uint64(r.Uint32()))
		}
		return p
	},
	func(r *rand.Rand, n int) []byte { // one large binary
		n = min(n, 1<<20) // counting has no larger blocks
		return append(binary.BigEndian.AppendUint32([]byte{109}, uint32(n)), bytes.Repeat([]byte{byte(r.Uint32())}, n)...)
	},
	func(r *rand.Rand, n int) []byte { // small and large binaries
		n = min(n, 2<<20)
		p := binary.BigEndian.AppendUint32([]byte{108}, 4)
		for _, size := range []int{n / 100, n / 2, n / 3, n / 1000} {
			p = append(binary.BigEndian.AppendUint32(append(p, 109), uint32(size)), bytes.Repeat([]byte{byte(r.Uint32())}, size)...)
		}
		return append(p, 106)
	},
}

// sent is a message of TestRefused. The tag of a call is its name, an atom of the cache.
type sent struct {
	name    etf.Atom
	call    bool
	request []byte
	packets [][]byte
}

// randomMessage makes message i, whole or in fragments. A fresh one brings its name.
func randomMessage(r *rand.Rand, i int, fresh, call bool, request []byte) sent {
	s := sent{name: etf.Atom("m" + strconv.Itoa(i)), call: call, request: request}
	p := []byte{1, 0, byte(i)}
	if fresh {
		p = append([]byte{1, 8, byte(i), byte(len(s.name))}, s.name...)
	}
	peer := etf.Pid{Node: "peer@127.0.0.1", ID: uint32(i)}
	p, _ = etf.Append(p, etf.Tuple{6, peer, etf.Atom(""), etf.Atom("server")})
	if s.call {
		p, _ = etf.Append(append(p, 104, 3), etf.Atom("$gen_call"))
		p, _ = etf.Append(append(p, 104, 2), peer)
		p = append(p, 82, 0)
	} else {
		p, _ = etf.Append(append(p, 104, 2), etf.Atom("$gen_cast"))
	}
	p = append(p, request...)
	if r.IntN(2) == 0 {
		s.packets = [][]byte{packet([]byte{etf.Version, kindHeader}, p)}
		return s
	}
	size := max(200, r.IntN(len(p)))
	for count := (len(p) + size - 1) / size; count > 0; count-- {
		head := []byte{etf.Version, kindFragments}
		if s.packets == nil {
			head[1] = kindFragment
		}
		head = binary.BigEndian.AppendUint64(head, uint64(i))
		head = binary.BigEndian.AppendUint64(head, uint64(count))
		s.packets = append(s.packets, packet(head, p[:min(size, len(p))]))
		p = p[min(size, len(p)):]
	}
	return s
}

// gathered is what a reader delivers and refuses.
type gathered struct {
	got     map[etf.Atom][]etf.Term // requests of calls
	refused map[etf.Atom]bool       // calls
	casts   int                     // of either kind
}

// gather reads a stream in which all messages are for a process called server.
func gather(t *testing.T, src io.Reader, account *quota.Account, allocator etf.Allocator) *gathered {
	g := &gathered{got: make(map[etf.Atom][]etf.Term), refused: make(map[etf.Atom]bool)}
	r := Reader{Source: src, Account: account, Allocator: allocator, MaxTerm: 4 << 20, Lost: new(atomic.Uint64),
		Deliver: func(m Message) (bool, error) {
			m.Cost.Settle()
			envelope := m.Payload.Tuple
			switch request := etftest.Flat(envelope[len(envelope)-1]); envelope[0] {
			case etf.Term(etf.Atom("$gen_call")):
				name := envelope[1].(etf.Tuple)[1].(etf.Atom)
				g.got[name] = append(g.got[name], request)
			case etf.Term(etf.Atom("$gen_cast")):
				g.casts++
			default:
				t.Errorf("got %v", envelope)
			}
			return true, nil
		},
		Refuse: func(control etf.Tuple, f Front, cause error) error {
			switch {
			case !lacksRoom(cause), len(f.Tuple) == 0, control[3] != etf.Term(etf.Atom("server")):
				t.Errorf("refused %v of %v: %v", f, control, cause)
			case f.Tuple[0] != etf.Term(etf.Atom("$gen_call")):
				g.casts++
			default:
				g.refused[f.Tuple[1].(etf.Tuple)[1].(etf.Atom)] = true
			}
			return nil
		}}
	if err := r.Run(); err != io.EOF {
		t.Fatal(err)
	}
	return g
}

// TestRefused reads calls and casts of many shapes and sizes, several at a time, with
// room for a few of them. Each call is delivered as it was sent, or refused by its name.
// A refused message leaves nothing behind but its atoms, which later messages refer to.
func TestRefused(t *testing.T) {
	const count, most = 60, 256 << 10
	delivered, refused := 0, 0
	for seed := range uint64(8) {
		r := rand.New(rand.NewPCG(12, seed))
		var lines [][][]byte
		var all []sent
		for i := range count {
			request := shapes[r.IntN(len(shapes))](r, 10<<r.IntN(17))
			all = append(all, randomMessage(r, i, true, r.IntN(3) > 0, request))
			lines = append(lines, slices.Clone(all[i].packets))
		}
		var stream bytes.Buffer
		for len(lines) > 0 {
			i := r.IntN(min(4, len(lines)))
			stream.Write(lines[i][0])
			if lines[i] = lines[i][1:]; len(lines[i]) == 0 {
				lines = slices.Delete(lines, i, i+1)
			}
		}
		for i := range count {
			after := randomMessage(r, i, false, true, []byte{97, byte(i)})
			stream.Write(bytes.Join(after.packets, nil))
		}
		pool := &etftest.Blocks{Max: 1 << 20}
		account := quota.NewAccount(nil, most)
		g := gather(t, &stream, account, pool)
		if account.Used() != 0 || pool.Live() != 0 {
			t.Errorf("seed %d: %d bytes are in use, %d blocks", seed, account.Used(), pool.Live())
		}
		casts := 0
		for i, m := range all {
			got := g.got[m.name]
			if len(got) == 0 || got[len(got)-1] != etf.Term(int64(i)) {
				t.Fatalf("seed %d: the short call after all others of %s has come as %v", seed, m.name, got)
			}
			switch {
			case !m.call:
				casts++
			case len(got) == 1 && g.refused[m.name]:
				refused++
			case len(got) == 2 && !g.refused[m.name] && size(m.request) <= most:
				delivered++
				if want, _, _ := etf.Decode(m.request); !reflect.DeepEqual(got[0], want) {
					t.Errorf("seed %d: call %s differs", seed, m.name)
				}
			default:
				t.Errorf("seed %d: call %s of %d bytes was delivered %d times, refused %v", seed, m.name, size(m.request), len(got)-1, g.refused[m.name])
			}
		}
		if g.casts != casts {
			t.Errorf("seed %d: %d casts, want %d", seed, g.casts, casts)
		}
	}
	if delivered < 50 || refused < 50 {
		t.Errorf("%d calls were delivered, %d refused: the test is about both", delivered, refused)
	}
}

// size is how much memory a term takes, large binaries apart.
func size(p []byte) int {
	d := etf.Decoder{}
	d.Begin(0)
	d.Decode(p)
	n := d.Size()
	for _, p := range bytes.Split(p, []byte{109}) { // each is at the end of its term
		if len(p) >= 4 && binary.BigEndian.Uint32(p) >= etf.LargeBinary {
			n -= int(binary.BigEndian.Uint32(p))
		}
	}
	return n
}

// TestUnendedRefusals begins messages that have no room and never ends them. Each is
// refused, up to the number at which the peer is cut off. Messages that end do not count.
func TestUnendedRefusals(t *testing.T) {
	const whole, room = 2 * maxRefused, 60_000
	strings := make(etf.List, 1000)
	for i := range strings {
		strings[i] = bytes.Repeat([]byte{1}, 100)
	}
	var stream bytes.Buffer
	for i := range uint64(whole) {
		stream.Write(bytes.Join(packets(i, strings, room+10_000), nil))
	}
	for i := range uint64(2 * maxRefused) {
		stream.Write(packets(i, strings, room+10_000)[0])
	}
	refused := 0
	r := Reader{Source: &stream, Account: quota.NewAccount(nil, room), MaxTerm: 1 << 20, Lost: new(atomic.Uint64),
		Deliver: func(Message) (bool, error) { return false, nil },
		Refuse: func(etf.Tuple, Front, error) error {
			refused++
			return nil
		}}
	if err := r.Run(); !errors.Is(err, quota.ErrOverLimit) {
		t.Errorf("got %v, want %v", err, quota.ErrOverLimit)
	}
	if refused != whole+maxRefused {
		t.Errorf("%d messages are refused, want %d that end and %d that do not", refused, whole, maxRefused)
	}
}
