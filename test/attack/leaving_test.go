package attack

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"testing"
	"time"
)

// ask is a call with a request, whose answer nobody may wait for.
func (p *peer) ask(server string, id uint32, request any) error {
	return p.send(message(p.to(server), call(p.pid(1), p.ref(id), encode(request))))
}

// cast sends instructions.
func (p *peer) cast(server string, code ...any) error {
	return p.send(message(p.to(server), encode(tup{"nxvk", list(code)})))
}

var usedBytes = regexp.MustCompile(`(?s)w\x04used(.{9})`)

// used is how many bytes the values of a device take, over all sessions.
func (p *peer) used(device string) (int, error) {
	if err := p.ask(device, 9, "memory"); err != nil {
		return 0, err
	}
	for {
		answer, err := p.next()
		if err != nil {
			return 0, err
		}
		m := usedBytes.FindSubmatch(answer)
		if !bytes.Contains(answer, p.ref(9)) || m == nil {
			continue
		}
		switch b := m[1]; b[0] {
		case 97:
			return int(b[1]), nil
		case 98:
			return int(binary.BigEndian.Uint32(b[1:])), nil
		default:
			return 0, fmt.Errorf("used is % x", b)
		}
	}
}

// awaitUsed waits until a number of bytes is used that will do.
func (p *peer) awaitUsed(t *testing.T, n *node, ok func(int) bool) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		now, err := p.used("nxvk_0")
		if err != nil {
			t.Fatal(err, n.logged())
		}
		if ok(now) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d bytes are used\n%s", now, n.logged())
		}
	}
}

// TestLeaving has peers vanish in the middle of each kind of transfer, at a random place. What
// they had is freed, and another peer is served.
func TestLeaving(t *testing.T) {
	const size = 6 * mib
	elements := size / 4
	upload := func(p *peer) []byte {
		return message(p.to("nxvk_0"), encode(tup{"nxvk", list{
			tup{"tensor", list{tup{1, "f32", tup{elements}}}, list{tup{"f32", tup{elements}, make([]byte, size)}}, list{}},
			tup{"add", list{tup{2, "f32", tup{elements}}}, list{1, 1}, list{}},
		}}))
	}
	endless := tup{list{tup{1, "u8", tup{}}}, list{}, list{1}}
	ways := map[string]func(p *peer, r *rand.Rand){
		"within an upload": func(p *peer, r *rand.Rand) {
			b := upload(p)
			p.Write(binary.BigEndian.AppendUint32(nil, uint32(len(b))))
			p.Write(b[:r.IntN(len(b))])
		},
		"within fragments": func(p *peer, r *rand.Rand) {
			all := pieces(r, 1, upload(p)[3:])
			for _, piece := range all[:r.IntN(len(all)+1)] {
				p.send(piece)
			}
		},
		"after an upload": func(p *peer, _ *rand.Rand) { p.send(upload(p)) },
		"within downloads": func(p *peer, r *rand.Rand) {
			p.send(upload(p))
			for i := range uint32(20) { // more than sockets buffer
				p.ask("nxvk_0", i, tup{"download", 2})
			}
			p.Read(make([]byte, 1+r.IntN(size)))
		},
		"within a loop": func(p *peer, r *rand.Rand) {
			p.send(upload(p))
			p.cast("nxvk_0",
				tup{"program", list{}, list{}, list{[]byte("endless"), tup{list{tup{1, "u8", tup{}}}, list{
					tup{"while", list{tup{2, "u8", tup{}}}, list{1}, list{endless, endless}}}, list{2}}}},
				tup{"run", list{tup{3, "u8", tup{}}}, list{tup{"u8", []byte{1}}}, list{[]byte("endless"), "nil"}})
			p.ask("nxvk_0", 1, tup{"download", 3})
			time.Sleep(time.Duration(r.IntN(50)) * time.Millisecond)
		},
		"within a callback": func(p *peer, _ *rand.Rand) {
			p.send(upload(p))
			p.cast("nxvk_0",
				tup{"program", list{}, list{}, list{[]byte("calls"), tup{list{tup{1, "f32", tup{elements}}}, list{
					tup{"callback", list{tup{2, "f32", tup{elements}}}, list{1}, list{0}}}, list{2}}}},
				tup{"run", list{tup{3, "f32", tup{elements}}}, list{2}, list{[]byte("calls"), raw(p.pid(1))}})
			p.Read(make([]byte, 1000))
		},
		"within chains": func(p *peer, r *rand.Rand) {
			p.cast("nxvk_0", tup{"program", list{}, list{}, list{[]byte("normal"), normal(100)}})
			p.ask("nxvk_0", 1, tup{"sample", dict{"program": []byte("normal"), "dim": 100, "chains": 4, "draws": 1 << 20}})
			time.Sleep(time.Duration(r.IntN(100)) * time.Millisecond)
		},
		"within a product": func(p *peer, r *rand.Rand) {
			p.cast("nxvk_0", tup{"iota", list{tup{1, "f64", tup{1500, 1500}}}, list{}, list{-1}},
				tup{"dot", list{tup{2, "f64", tup{1500, 1500}}}, list{1, 1}, list{list{1}, list{}, list{0}, list{}}})
			p.ask("nxvk_0", 1, tup{"download", 2})
			time.Sleep(time.Duration(r.IntN(50)) * time.Millisecond)
		},
		"within a wait for a mesh": func(p *peer, _ *rand.Rand) {
			p.ask("nxvk_0", 1, tup{"open", dict{"mesh": tup{[]byte(p.name), 0, 2}}})
			p.send(upload(p))
			p.cast("nxvk_0", tup{"all_reduce", list{tup{5, "f32", tup{elements}}}, list{2}, list{list{0, 1}, "sum"}})
			p.ask("nxvk_0", 2, tup{"download", 5})
		},
	}
	n := start(t, "")
	good := connect(t, n, friend)
	if err := good.computes("nxvk_0"); err != nil {
		t.Fatal(err)
	}
	before, err := good.used("nxvk_0")
	if err != nil {
		t.Fatal(err)
	}
	stays := connect(t, n, foe)
	stays.send(upload(stays))
	good.awaitUsed(t, n, func(now int) bool { return now >= before+size })
	stays.Close()
	for name, leave := range ways {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(12) {
				r := rand.New(rand.NewPCG(seed, 7))
				p := connect(t, n, "foe"+strconv.Itoa(int(seed))+"@127.0.0.1")
				leave(p, r)
				p.Close()
			}
			if err := good.computes("nxvk_0"); err != nil {
				t.Fatal(err, n.logged())
			}
			good.awaitUsed(t, n, func(now int) bool { return now == before })
		})
	}
	if got := n.peak(); got > memoryLimit+slack {
		t.Errorf("%d MiB resident, of %d allowed", got/mib, (memoryLimit+slack)/mib)
	}
}
