package server

import (
	"fmt"
	"testing"

	"ergo.services/ergo/gen"

	"nxvk/gen/etf"
	"nxvk/gen/link"
	"nxvk/gen/wire"
	"nxvk/node/dist"
)

// TestHeard: what other nodes say of their names takes bounded memory, a link is taken for that of a node of its own host
// only, and the latest name of a node is the one that is cut off.
func TestHeard(t *testing.T) {
	var cut []gen.Atom
	p := &peers{talks: make(map[string]gen.Atom), cut: func(n gen.Atom) { cut = append(cut, n) }}
	for i := range 3 * wire.MaxRanks {
		if !p.heard(fmt.Sprintf("n%d@a", i), gen.Atom(fmt.Sprintf("link%d@a", i))) {
			t.Fatalf("node %d is not heard", i)
		}
	}
	if len(p.talks) != wire.MaxRanks {
		t.Errorf("%d names are kept, want %d", len(p.talks), wire.MaxRanks)
	}
	if p.heard("x@a", "link@b") {
		t.Error("a link of another host is taken for that of a node")
	}
	p.heard("x@a", "first@a")
	p.heard("x@a", "second@a")
	p.Cut("x@a")
	p.Cut("x@a")
	if len(cut) != 1 || cut[0] != "second@a" {
		t.Errorf("cut off: %v, want second@a once", cut)
	}
}

// TestClientsOfNobody: nodes that cannot be reached leave nothing behind.
func TestClientsOfNobody(t *testing.T) {
	links := link.New(dist.Options{Name: "here@127.0.0.1", Cookie: "c", Epmd: "127.0.0.1:1"})
	defer links.Close()
	p := &peers{links: links, clients: make(map[string]*link.Client)}
	for i := range 20 {
		c, err := p.client(fmt.Sprintf("nobody%d@127.0.0.1", i))
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		c.Call("nxvk_peer", link.Alive, func(_ etf.Term, err error) { ended <- err })
		if err := <-ended; err == nil {
			t.Fatal("a node that is not there answers")
		}
		if len(p.clients) > 1 {
			t.Fatalf("%d clients after %d nodes", len(p.clients), i+1)
		}
	}
}
