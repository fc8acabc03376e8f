package server

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"testing"
	"time"

	"ergo.services/ergo/gen"
	"github.com/rs/zerolog"

	"nxvk/gen/etf"
	"nxvk/gen/link"
	"nxvk/gen/server/report"
	"nxvk/node/dist"
	"nxvk/vulkan"
)

// newNodes starts nodes that find each other by a port mapper of their own, with a device server and a Peer each. It
// returns their rigs. change may be nil.
func newNodes(t *testing.T, count int, change func(node int, c *DeviceConfig)) (rigs []*rig) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	mapper := l.Addr().String()
	l.Close()
	for i := range count {
		options := dist.Options{Name: gen.Atom(fmt.Sprintf("test%d@127.0.0.1", nodes.Add(1))), Cookie: "c", Epmd: mapper, ServeEpmd: true}
		options.Ergo.Log.DefaultLogger.Disable = true
		n, err := dist.Start(options)
		if err != nil {
			t.Fatal(err)
		}
		links := link.New(options)
		t.Cleanup(func() {
			links.Close()
			n.Close()
		})
		if err := n.AwaitRegistered(t.Context()); err != nil {
			t.Fatal(err)
		}
		r := &rig{T: t, node: n, watch: &watch{on: make(map[gen.PID]bool)}, reports: report.Reporters{report.New("nxvk_0")}, mapper: mapper}
		cfg := DeviceConfig{Name: "nxvk_0", Watcher: &nodeWatch{r.watch, n}, Direct: n.Direct, Reporter: r.reports[0], Log: zerolog.Nop(),
			Servers: NewServers(links)}
		if change != nil {
			change(i, &cfg)
		}
		if r.server, err = n.SpawnRegister("nxvk_0", NewDevice(cfg), gen.ProcessOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err = n.SpawnRegister(link.ServerName, NewPeer(cfg.Servers, n.Direct, n.Cut, zerolog.New(noLog{t})), gen.ProcessOptions{}); err != nil {
			t.Fatal(err)
		}
		rigs = append(rigs, r)
	}
	return rigs
}

// noLog fails a test where something is logged: a panic.
type noLog struct{ *testing.T }

func (l noLog) Write(p []byte) (int, error) {
	l.Errorf("logged: %s", p)
	return len(p), nil
}

// nodeWatch is the monitors of processes of other nodes, and stands for those of clients of this one.
type nodeWatch struct {
	*watch
	node *dist.Node
}

func (w *nodeWatch) Watch(by, target gen.PID) error {
	if target.Node == w.node.Name() {
		return w.watch.Watch(by, target)
	}
	return w.node.Monitor(by, target)
}

func (w *nodeWatch) Unwatch(by, target gen.PID) {
	if target.Node == w.node.Name() {
		w.watch.Unwatch(by, target)
		return
	}
	w.node.Demonitor(by, target)
}

// sessions counts the sessions of a device server.
func (r *rig) sessions() int {
	r.Helper()
	return len(r.reports.Snapshots(patience)[0].Sessions)
}

// on is the address of the first server of a rig's node.
func (r *rig) on() etf.Term { return tuple{atom("nxvk_0"), etf.Atom(r.node.Name())} }

// importedFrom is the instruction that imports n floats of a client of another node.
func importedFrom(id, n int64, of *client, theirs int64) etf.Term {
	pid, key, incarnation := of.secret()
	return tuple{atom("import"), result(id, n), list{tuple{atom("shared"), of.on(), incarnation, pid, key, theirs}}, list(nil)}
}

// TestImportBetweenNodes: values of all sizes go from node to node, both ways at once, as they are; the sessions
// that have read them end.
func TestImportBetweenNodes(t *testing.T) {
	for _, kinds := range [][]bool{{false, false}, {false, true}, {true, true}} {
		t.Run(fmt.Sprint(kinds), func(t *testing.T) {
			rigs := newNodes(t, 2, func(i int, c *DeviceConfig) {
				if kinds[i] {
					onDevice(t, vulkan.Options{Fault: vulkan.Fault{Unmapped: true, Uncached: true}})(c)
				}
			})
			a, b := rigs[0].client(), rigs[1].client()
			for round, n := range []int64{1, 2, 1000, 70_000, 300_000, 5<<20 + 3} {
				id := 10*int64(round) + 1
				ones := make([]float32, n)
				for i := range ones {
					ones[i] = float32(i%1000 + round)
				}
				// An import waits a second for the instruction that makes its value, and an upload may take longer.
				a.stream(tensor(id, ones...))
				b.stream(tensor(id, ones...))
				a.stream(importedFrom(id+1, n, b, id), add(id+2, n, id, id+1))
				b.stream(importedFrom(id+1, n, a, id), add(id+2, n, id, id+1))
				for i := range ones {
					ones[i] *= 2
				}
				for _, c := range []*client{a, b} {
					got := c.ok(tuple{atom("download"), id + 2})
					if data, _ := got.([]byte); string(data) != string(floats(ones...)) {
						t.Fatalf("%d floats arrive changed", n)
					}
				}
			}
			for _, r := range rigs {
				for end := time.Now().Add(patience); r.sessions() > 1; time.Sleep(time.Millisecond) {
					if time.Now().After(end) {
						t.Fatalf("%d sessions are left", r.sessions())
					}
				}
			}
			// A value of the node itself is one of the server; the address says where.
			a.stream(importedFrom(900, 2, a, 11))
			a.wantFloats(900, 1, 2)
		})
	}
}

// TestImportFromNodeFaults: what is wrong with a value of another node is the error of its importer, in its words.
func TestImportFromNodeFaults(t *testing.T) {
	rigs := newNodes(t, 2, nil)
	a, b := rigs[0].client(), rigs[1].client()
	b.tensor(1, 5, 6)
	pid, key, incarnation := b.secret()
	id := int64(0)
	wrong := func(kind atom, text string, n int64, shared tuple) {
		t.Helper()
		id++
		a.stream(tuple{atom("import"), result(id, n), list{shared}, list(nil)})
		began := time.Now()
		if got := a.wantError(a.ask(a.server, tuple{atom("download"), id}), kind); !strings.Contains(got, text) {
			t.Errorf("%q has no %q", got, text)
		}
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("%s after %v", text, took)
		}
	}
	at := func(server, node atom) tuple { return tuple{server, node} }
	on := atom(rigs[1].node.Name())
	wrong("not_shared", "no session here", 2, tuple{atom("shared"), at("nxvk_0", on), incarnation, pid, int64(7), int64(1)})
	wrong("not_shared", "earlier run", 2, tuple{atom("shared"), at("nxvk_0", on), int64(12345), pid, key, int64(1)})
	wrong("bad_argument", "f32{2}", 3, tuple{atom("shared"), at("nxvk_0", on), incarnation, pid, key, int64(1)})
	wrong("unknown_id", "no instruction", 2, tuple{atom("shared"), at("nxvk_0", on), incarnation, pid, key, int64(99)})
	wrong("server_down", "cannot connect", 2, tuple{atom("shared"), at("nxvk_0", "nobody@127.0.0.1"), incarnation, pid, key, int64(1)})
	a.stream(importedFrom(800, 2, b, 77)) // of a value to come
	rigs[1].node.Close()
	if text := a.wantError(a.ask(a.server, tuple{atom("download"), int64(800)}), "server_down"); !strings.Contains(text, string(on)) {
		t.Errorf("the error does not name the node: %q", text)
	}
}

// TestPeerNoise: messages of no meaning, and of meshes that do not fit, change nothing and are no panic.
func TestPeerNoise(t *testing.T) {
	rigs := newNodes(t, 2, nil)
	a, b := rigs[0].client(), rigs[1].client()
	names := list{etf.Atom(rigs[0].node.Name()), etf.Atom(rigs[1].node.Name())}
	for i, c := range []*client{a, b} {
		c.ok(tuple{atom("open"), etf.Map{{Key: atom("mesh"), Value: tuple{[]byte("m"), int64(i), names}}}})
	}
	noise := link.New(dist.Options{Name: "noise@127.0.0.1", Cookie: "c", Epmd: rigs[0].mapper})
	t.Cleanup(noise.Close)
	c, err := noise.Client(string(rigs[0].node.Name()))
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(17, 31))
	numbers := []etf.Term{int64(-1), int64(0), int64(1), int64(2), int64(5), int64(1) << 40, atom("x"), []byte("m"), list{}, list{int64(0), int64(1)},
		list{int64(7), int64(1)}, list{int64(-3)}, atom(""), names[0], names[1], tuple{}}
	draw := func() etf.Term { return numbers[rng.IntN(len(numbers))] }
	answers := make(chan bool, 4000)
	for range 2000 {
		where := etf.Term(tuple{[]byte("m"), draw(), draw(), draw(), draw()})
		if rng.IntN(8) == 0 {
			where = draw()
		}
		c.Send("nxvk_peer", tuple{atom("nxvk_mesh"), int64(rng.IntN(5)), where, draw(), draw(), []byte("what"),
			tuple{atom("rank_failed"), atom("nil"), list{}, []byte("noise")}})
		c.Call("nxvk_peer", tuple{atom("chunk"), where, draw(), draw()}, func(etf.Term, error) { answers <- true })
		c.Call("nxvk_peer", tuple{atom("meet"), draw(), draw()}, func(etf.Term, error) { answers <- true })
	}
	alive := make(chan error, 1)
	c.Call("nxvk_peer", link.Alive, func(_ etf.Term, err error) { alive <- err })
	if err := <-alive; err != nil {
		t.Fatal(err)
	}
	for range 2000 { // every meet is answered, and most of the rest
		<-answers
	}
	a.tensor(1, 5)
	a.wantFloats(1, 5)
}
