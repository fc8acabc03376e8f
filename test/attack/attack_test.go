package attack

import (
	"encoding/binary"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

const (
	friend = "friend@127.0.0.1"
	foe    = "foe@127.0.0.1"
)

// TestUnproven has peers without the cookie break the handshake in every place, in the
// name of a node that is connected, while that node is served.
func TestUnproven(t *testing.T) {
	n := start(t, "")
	good := connect(t, n, friend)
	wrong := answerTo("wrong", 1)
	// Each step is a packet, and what is awaited before the next.
	steps := []func(p *peer){
		func(p *peer) { p.packet(introduction(p.name)); p.answer() },
		func(p *peer) { p.packet([]byte("strue")); p.answer() },
		func(p *peer) { p.packet(reply(1, wrong)); p.answer() },
	}
	attacks := map[string]func(p *peer){
		"no word":            func(*peer) {},
		"a length alone":     func(p *peer) { p.Write([]byte{255, 255}) },
		"too long":           func(p *peer) { p.packet(make([]byte, 60000)) },
		"empty":              func(p *peer) { p.packet(nil) },
		"half a name":        func(p *peer) { p.packet(introduction(p.name)[:12]) },
		"a name beyond":      func(p *peer) { b := introduction(p.name); b[14] = 255; p.packet(b) },
		"no capability":      func(p *peer) { b := introduction(p.name); clear(b[1:9]); p.packet(b) },
		"half a reply":       func(p *peer) { steps[0](p); steps[1](p); p.packet(reply(1, wrong)[:9]) },
		"not replaced":       func(p *peer) { steps[0](p); p.packet([]byte("sfalse")) },
		"an unknown status":  func(p *peer) { steps[0](p); p.packet([]byte("swhat")) },
		"a reply at once":    func(p *peer) { p.packet(reply(1, wrong)) },
		"the wrong cookie":   func(p *peer) { steps[0](p); steps[1](p); steps[2](p) },
		"its own challenge":  reflect,
		"terminal sequences": func(p *peer) { p.packet(introduction("\x1b[2J@\x1b]0;x\a")) },
	}
	for i := range steps {
		attacks["hangs up after step "+string(rune('1'+i))] = func(p *peer) {
			for _, step := range steps[:i+1] {
				step(p)
			}
		}
	}
	for name, attack := range attacks {
		for _, as := range []string{friend, foe, n.name} {
			p := dial(t, n, as)
			attack(p)
			p.Close()
			if err := good.info(); err != nil {
				t.Fatalf("%s as %s: the proven peer's connection: %v\n%s", name, as, err, n.logged())
			}
		}
	}
	if strings.ContainsAny(n.logged(), "\x1b\a") {
		t.Error("the log has control characters")
	}
	if lines := strings.Count(n.logged(), "handshake with") + strings.Count(n.logged(), "refuse"); lines == 0 {
		t.Error("nothing was logged")
	}
}

// reflect answers the node's challenge with that challenge.
func reflect(p *peer) {
	p.packet(introduction(p.name))
	if status, err := p.answer(); err == nil && string(status) == "salive" {
		p.packet([]byte("strue"))
	}
	if posed, err := p.challenge(); err == nil {
		p.packet(reply(posed, answerTo("wrong", posed)))
		p.answer()
	}
}

// TestLogRate fails many handshakes. Few are logged.
func TestLogRate(t *testing.T) {
	n := start(t, "")
	for range 500 {
		p := dial(t, n, foe)
		p.packet([]byte("x"))
		p.answer()
		p.Close()
	}
	if lines := strings.Count(n.logged(), "handshake with"); lines == 0 || lines > 200 {
		t.Errorf("%d lines for 500 failures", lines)
	}
}

// TestSlowStrangers keeps sockets open that say a byte and no more. Others connect.
func TestSlowStrangers(t *testing.T) {
	n := start(t, "")
	good := connect(t, n, friend)
	for range 300 {
		dial(t, n, foe).Write([]byte{0})
	}
	connect(t, n, "another@127.0.0.1")
	if err := good.info(); err != nil {
		t.Error(err)
	}
}

// TestReplacement is that of a connection by a peer that has the cookie.
func TestReplacement(t *testing.T) {
	n := start(t, "")
	old := connect(t, n, friend)
	young := connect(t, n, friend)
	if err := old.ended(); err != nil {
		t.Error(err)
	}
	if err := young.info(); err != nil {
		t.Error(err)
	}
}

// TestDescriptors has more peers come than the node has descriptors for. Whoever is told
// that it is connected is served.
func TestDescriptors(t *testing.T) {
	n := start(t, "ulimit -n 64 &&")
	told := 0
	for i := range 120 {
		p := dial(t, n, "peer"+string(rune('a'+i%26))+string(rune('a'+i/26))+"@127.0.0.1")
		if told > 0 {
			// Those that find no descriptor wait for one; others than the first need not.
			p.SetDeadline(time.Now().Add(2 * time.Second))
		}
		if p.handshake() != nil {
			p.Close()
			continue
		}
		told++
		if err := p.info(); err != nil {
			t.Fatalf("peer %d was told that it is connected, and: %v\n%s", i, err, n.logged())
		}
		if i > 80 {
			break
		}
	}
	if told == 0 || told > 64 {
		t.Errorf("%d peers were told that they are connected", told)
	}
}

// TestFaults has peers with the cookie send what is no message. Their connections end,
// and no other.
func TestFaults(t *testing.T) {
	n := start(t, "")
	good := connect(t, n, friend)
	bad := func(i int) string { return "foe" + string(rune('a'+i%26)) + string(rune('a'+i/26%26)) + "@127.0.0.1" }
	me := (&peer{name: bad(0)}).pid(1)
	stranger := good.pid(1)
	packets := [][]byte{
		{0}, {131}, {131, 1}, {131, 'D'}, {131, 'D', 0}, {131, 'D', 200, 1}, {131, 'D', 1, 0, 7}, {'p'}, {'p', 131, 104, 255},
		message(tuple()), message(tuple(integer(99))), message(tuple(atom("x"))), message(tuple(integer(2))),
		message(tuple(integer(6), me, atom(""), integer(7))),
		message(tuple(integer(6), me, atom(""), atom("nxvk")), []byte{255}),
		message(tuple(integer(6), me, atom(""), atom("nxvk")), []byte{108, 255, 255, 255, 255}),
		message(tuple(integer(6), stranger, atom(""), atom("nxvk")), atom("x")),
		message(tuple(integer(1), stranger, me)), message(tuple(integer(19), stranger, atom("nxvk"), good.ref(1))),
		append([]byte{131, 'F'}, make([]byte, 16)...), append([]byte{131, 'E'}, make([]byte, 17)...),
	}
	r := rand.New(rand.NewPCG(12, 1))
	for range 100 {
		p := make([]byte, 3+r.IntN(60))
		for i := range p {
			p[i] = byte(r.Uint32())
		}
		p[0], p[1], p[2] = 131, byte('D'+2*r.IntN(2)), 0
		packets = append(packets, p)
	}
	for _, packet := range packets {
		p := connect(t, n, bad(0))
		p.send(packet)
		if err := p.ended(); err != nil {
			t.Errorf("% x: %v", packet, err)
		}
		p.Close()
	}
	if err := good.info(); err != nil {
		t.Errorf("the other peer: %v", err)
	}
}

// TestForgedCaller calls in the name of processes of other nodes. Nobody is answered,
// neither they nor who called, and the connections go on.
func TestForgedCaller(t *testing.T) {
	n := start(t, "")
	good, p := connect(t, n, friend), connect(t, n, foe)
	us, strangers := &peer{name: n.name}, &peer{name: "stranger@127.0.0.1"}
	sent := 0
	for _, from := range [][]byte{good.pid(1), us.pid(1), strangers.pid(1)} {
		for _, name := range []string{"nxvk", "nxvk_0", "net_kernel"} {
			for _, request := range [][]byte{atom("info"), atom("memory"), tuple(atom("is_auth"), atom(foe)), emptyLists(24 * mib)} {
				if err := p.send(message(p.to(name), call(from, good.ref(9), request))); err != nil {
					t.Fatal(err)
				}
				sent++
			}
		}
	}
	for _, one := range []*peer{p, good} { // what each gets first is the answer to its own call
		if err := one.info(); err != nil {
			t.Errorf("%s: %v", one.name, err)
		}
	}
	if !strings.Contains(n.logged(), "refuse a call from '"+foe) {
		t.Errorf("the log does not tell of %d forged calls:\n%s", sent, n.logged())
	}
}

// TestMemory has peers with the cookie take memory in every way there is. They are cut
// off, others are served, and the node stays within its limit and the slack.
func TestMemory(t *testing.T) {
	chunk := make([]byte, 1*mib)
	for name, attack := range map[string]func(p *peer, me []byte, i int) error{
		"fragments that are never finished": func(p *peer, me []byte, i int) error {
			head := binary.BigEndian.AppendUint64([]byte{131, 'E'}, uint64(i))
			head = append(binary.BigEndian.AppendUint64(head, 1000), 0)
			control := tuple(integer(6), me, atom(""), atom("nxvk"))
			// One long atom after the other, in a list that is longer still.
			body := append(control, 108, 255, 255, 255, 255)
			for len(body) < len(chunk) {
				body = append(append(body, 118, 255, 255), chunk[:65535]...)
			}
			return p.send(append(head, body...))
		},
		"unread replies to spawn requests": func(p *peer, me []byte, i int) error {
			return p.send(message(tuple(integer(29), p.ref(uint32(i)), me, me, tuple(atom("m"), atom("f"), integer(0)), []byte{106}), []byte{106}))
		},
		"unread replies to unlinks": func(p *peer, me []byte, i int) error {
			return p.send(message(tuple(integer(35), integer(uint32(i)), me, me)))
		},
		"monitors": func(p *peer, me []byte, i int) error {
			return p.send(message(tuple(integer(19), me, atom("nxvk"), p.ref(uint32(i)))))
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := start(t, "")
			good := connect(t, n, friend)
			p := connect(t, n, foe)
			me := p.pid(1)
			var err error
			for i := 1; err == nil && i <= 2_000_000; i++ {
				err = attack(p, me, i)
			}
			if err == nil {
				t.Error("the connection stays")
			}
			n.await("close the connection with '" + foe)
			if err := good.info(); err != nil {
				t.Errorf("the other peer: %v", err)
			}
			if got := n.peak(); got > memoryLimit+slack {
				t.Errorf("%d MiB resident, of %d allowed", got/mib, (memoryLimit+slack)/mib)
			} else {
				t.Logf("%d MiB resident at most", got/mib)
			}
			connect(t, n, foe)
		})
	}
}

// TestNobody sends a long message to a name that nobody has. It is not decoded, and the
// connection goes on.
func TestNobody(t *testing.T) {
	n := start(t, "")
	p := connect(t, n, foe)
	for range 3 {
		if err := p.send(message(tuple(integer(6), p.pid(1), atom(""), atom("nobody")), emptyLists(24*mib))); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.info(); err != nil {
		t.Errorf("the connection: %v\n%s", err, n.logged())
	}
}
