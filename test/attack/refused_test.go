package attack

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// bulks make terms of n bytes, none of which has room.
var bulks = map[string]func(r *rand.Rand, n int) []byte{
	"empty lists": func(_ *rand.Rand, n int) []byte { return emptyLists(n) },
	"lists in lists": func(_ *rand.Rand, n int) []byte {
		return append(bytes.Repeat([]byte{108, 0, 0, 0, 1}, n/6), bytes.Repeat([]byte{106}, n/6+1)...)
	},
	"tuples in tuples": func(_ *rand.Rand, n int) []byte {
		return append(bytes.Repeat([]byte{104, 1}, n/2), 106)
	},
	"strings": func(r *rand.Rand, n int) []byte {
		b := binary.BigEndian.AppendUint32([]byte{105}, uint32(n/50_000))
		one := append([]byte{107, 195, 80}, bytes.Repeat([]byte{byte(r.Uint32())}, 50_000)...)
		return append(b, bytes.Repeat(one, n/50_000)...)
	},
	"a map of floats": func(r *rand.Rand, n int) []byte {
		n = max(n, 16*mib)
		b := binary.BigEndian.AppendUint32([]byte{116}, uint32(n/14))
		for i := range n / 14 {
			b = binary.BigEndian.AppendUint32(append(b, 98), uint32(i))
			b = binary.BigEndian.AppendUint64(append(b, 70), uint64(r.Uint32()))
		}
		return b
	},
	"binaries of some hundred bytes": func(r *rand.Rand, n int) []byte {
		one := append([]byte{109, 0, 0, 1, 0}, bytes.Repeat([]byte{byte(r.Uint32())}, 256)...)
		n = max(n, 72*mib) / len(one) // these take little more than their bytes
		b := append(binary.BigEndian.AppendUint32([]byte{108}, uint32(n)), bytes.Repeat(one, n)...)
		return append(b, 106)
	},
}

// pieces are the packets of a message: one, or fragments of a size.
func pieces(r *rand.Rand, sequence uint64, body []byte) [][]byte {
	body = append([]byte{0}, body...) // the header has no atoms
	if r.IntN(2) == 0 {
		return [][]byte{append([]byte{131, 'D'}, body...)}
	}
	size := 4096 << r.IntN(9)
	var all [][]byte
	for left := (len(body) + size - 1) / size; left > 0; left-- {
		p := []byte{131, 'F'}
		if all == nil {
			p[1] = 'E'
		}
		p = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(p, sequence), uint64(left))
		all = append(all, append(p, body[:min(size, len(body))]...))
		body = body[min(size, len(body)):]
	}
	return all
}

// TestRefused sends calls and messages of terms that the node has no room for, of many
// shapes and sizes, whole and in fragments between which short calls go. A call is
// answered, the sender of another message is told, and the connection goes on.
func TestRefused(t *testing.T) {
	for name, bulk := range bulks {
		t.Run(name, func(t *testing.T) {
			n := start(t, "")
			good, p := connect(t, n, friend), connect(t, n, foe)
			r := rand.New(rand.NewPCG(12, uint64(len(name))))
			for i := range 4 {
				server := []string{"nxvk", "nxvk_0"}[r.IntN(2)]
				tag := p.ref(uint32(i))
				if r.IntN(2) == 0 { // as gen_server:call has it with an alias
					tag = bytes.Join([][]byte{{108, 0, 0, 0, 1}, atom("alias"), tag}, nil)
				}
				content := bulk(r, mib*(6+r.IntN(20)))
				body, want := call(p.pid(1), tag, content), bytes.Join([][]byte{{104, 2}, tag, {104, 2}, atom("error"), {104, 4}, atom("limit")}, nil)
				switch r.IntN(3) {
				case 0:
					server = "nxvk_0"
					body, want = tuple(atom("nxvk"), content), bytes.Join([][]byte{{104, 3}, atom("nxvk_error"), atom(server), {104, 4}, atom("limit")}, nil)
				case 1:
					server = "nxvk_0"
					body, want = tuple(atom("$gen_cast"), content), bytes.Join([][]byte{{104, 3}, atom("nxvk_error"), atom(server), {104, 4}, atom("limit")}, nil)
				}
				if err := p.refused(r, uint64(i), append(p.to(server), body...), want); err != nil {
					t.Fatalf("message %d: %v\n%s", i, err, n.logged())
				}
			}
			for _, one := range []*peer{p, good} {
				if err := one.info(); err != nil {
					t.Errorf("%s: %v", one.name, err)
				}
			}
			if !strings.Contains(n.logged(), "refuse a message from '"+foe) {
				t.Errorf("the log does not tell of the messages:\n%s", n.logged())
			}
			if got := n.peak(); got > memoryLimit+slack {
				t.Errorf("%d MiB resident, of %d allowed", got/mib, (memoryLimit+slack)/mib)
			}
		})
	}
}

// refused sends a message and short calls between its fragments, and waits for the
// answers to all of them: that to the message contains want.
func (p *peer) refused(r *rand.Rand, sequence uint64, body, want []byte) error {
	failed := make(chan error, 1)
	calls := make(chan int, 1)
	go func() {
		sent := 0
		for i, piece := range pieces(r, sequence, body) {
			if err := p.send(piece); err != nil {
				failed <- err
				return
			}
			if i%100 == 50 {
				sent++
				p.send(message(p.to("nxvk"), call(p.pid(1), p.ref(1<<20), tuple(atom("echo"), integer(7)))))
			}
		}
		calls <- sent
	}()
	echoed, answered := 0, false
	for sent := -1; !answered || echoed != sent; {
		answer, err := p.next()
		switch {
		case err != nil:
			return errors.Join(err, <-failed)
		case bytes.Contains(answer, want):
			answered = true
		case bytes.Contains(answer, tuple(atom("ok"), []byte{97, 7})):
			echoed++
		default:
			return fmt.Errorf("got %.200q, want %q", answer, want)
		}
		if answered && sent < 0 {
			sent = <-calls
		}
	}
	return nil
}

// TestUnanswerable sends calls over the limit of which nobody can tell who calls. Only
// these end the connection.
func TestUnanswerable(t *testing.T) {
	n := start(t, "")
	good := connect(t, n, friend)
	for name, body := range map[string]func(p *peer) []byte{
		"a tag without end": func(p *peer) []byte { return call(p.pid(1), emptyLists(24*mib), atom("info")) },
		"an exit reason": func(p *peer) []byte {
			return append(tuple(integer(26), p.pid(1), (&peer{name: n.name}).pid(1)), emptyLists(24*mib)...)
		},
		"a control message": func(p *peer) []byte { return tuple(integer(6), p.pid(1), emptyLists(24*mib), atom("nxvk")) },
	} {
		p := connect(t, n, foe)
		whole := body(p)
		if name == "a tag without end" {
			whole = append(p.to("nxvk"), whole...)
		}
		p.send(message(whole))
		if err := p.ended(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		p.Close()
	}
	if err := good.info(); err != nil {
		t.Error(err)
	}
}
