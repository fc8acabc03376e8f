package attack

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// TestMeshNotices tells the node of collectives of meshes that it does not have, with much text, and asks for
// chunks of theirs with terms that no node sends. The node keeps no more than its limit, and serves others.
func TestMeshNotices(t *testing.T) {
	n := start(t, "")
	good, p := connect(t, n, friend), connect(t, n, foe)
	r := rand.New(rand.NewPCG(12, 9))
	s := &speaker{peer: p, device: "nxvk_peer", r: r}
	where := func(i int) tup {
		return tup{fmt.Appendf(nil, "mesh%d", i), i, 1 + r.IntN(3), r.IntN(3), list{0, 1}}
	}
	text := bytes.Repeat([]byte("sum "), 4_000) // as long as a notice may have it
	for i := range 45_000 {
		p.SetDeadline(time.Now().Add(patience))
		fault := tup{"internal", "nil", list{}, text}
		term := tup{"nxvk_mesh", i % 4, where(i % 1000), foe, r.IntN(2), []byte("sum"), fault}
		if i%2 == 0 {
			term = tup{"nxvk_mesh", 0, where(i % 1000), foe, r.IntN(2), text, "nil"}
		}
		if err := p.send(message(p.to("nxvk_peer"), encode(term))); err != nil {
			t.Fatal(err, n.logged())
		}
	}
	for i := range 300 {
		var request any = tup{"chunk", where(i), r.IntN(4) - 1, r.IntN(4)}
		switch r.IntN(3) {
		case 0:
			request = tup{"meet", []byte("0.2.0"), []byte("digest")}
		case 1:
			request = "alive"
		}
		if err := p.ask("nxvk_peer", uint32(i), s.mutate(request, 4+r.IntN(20))); err != nil {
			t.Fatal(err, n.logged())
		}
		if err := p.send(message(p.to("nxvk_peer"), encode(s.mutate(tup{"nxvk_mesh", r.IntN(5), where(i), foe, r.IntN(2), []byte("sum"), "nil"}, 4+r.IntN(20))))); err != nil {
			t.Fatal(err, n.logged())
		}
	}
	if err := good.computes("nxvk_0"); err != nil {
		t.Fatal(err, n.logged())
	}
	if got := n.peak(); got > memoryLimit+slack {
		t.Errorf("%d MiB resident, of %d allowed", got/mib, (memoryLimit+slack)/mib)
	}
}
