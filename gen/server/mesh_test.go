package server

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"nxvk/gen/etf"
)

// joins opens a session as a rank of a mesh.
func (c *client) joins(id string, rank, size int64) {
	c.Helper()
	c.ok(joining(id, rank, size))
}

func joining(id string, rank, size int64) etf.Term {
	return tuple{atom("open"), etf.Map{{Key: atom("mesh"), Value: tuple{[]byte(id), rank, size}}}}
}

// summed is the instruction that adds a value up over two ranks.
func summed(id, n, of int64) etf.Term {
	return tuple{atom("all_reduce"), result(id, n), list{of}, list{list{int64(0), int64(1)}, atom("sum")}}
}

// TestMeshOfServers: servers with goroutines of their own carry out many collectives, in chains and side by side.
func TestMeshOfServers(t *testing.T) {
	onServers(t, func(t *testing.T, first, other *rig) {
		a, b := first.client(), other.client()
		a.joins("m", 0, 2)
		b.joins("m", 1, 2)
		for round := range int64(20) {
			id := 10*round + 1
			for i, c := range []*client{a, b} {
				c.stream(tensor(id, float32(i), float32(round)), summed(id+1, 2, id), summed(id+2, 2, id+1), add(id+3, 2, id+2, id+2))
			}
			for _, c := range []*client{a, b} {
				c.wantFloats(id+3, 4, 8*float32(round))
			}
		}
	})
}

// TestMeshFaults: what does not fit is refused; a session and a server that end fail the others by name, soon, and their place
// is free.
func TestMeshFaults(t *testing.T) {
	first, other := newServers(t, nil)
	a, b, late := first.client(), other.client(), other.client()
	a.joins("m", 0, 2)
	b.joins("m", 1, 2)
	b.joins("m", 1, 2)
	late.wantError(late.ask(late.server, joining("m", 1, 2)), "bad_argument")
	late.wantError(late.ask(late.server, joining("m", 1, 3)), "bad_argument")
	late.wantError(late.ask(late.server, joining("m", 2, 2)), "bad_request")
	fails := func(id int64, end func()) {
		t.Helper()
		a.stream(tensor(id, 1, 2), summed(id+1, 2, id))
		end()
		began := time.Now()
		text := a.wantError(a.ask(a.server, tuple{atom("download"), id + 1}), "rank_failed")
		if !strings.Contains(text, "rank 1") || time.Since(began) > time.Second {
			t.Errorf("%q after %v", text, time.Since(began))
		}
	}
	fails(10, func() {
		if got := b.ask(b.server, atom("close")); got != atom("ok") {
			t.Errorf("close: %v", got)
		}
	})
	late.joins("m", 1, 2)
	a.stream(summed(20, 2, 10))
	late.tensor(1, 5, 6)
	late.stream(summed(2, 2, 1))
	a.wantFloats(20, 6, 8)
	late.wantFloats(2, 6, 8)
	fails(30, func() {
		if err := first.node.Kill(other.server); err != nil {
			t.Fatal(err)
		}
	})
}

// TestShareOfServers: a program is divided over two servers by the messages of the protocol.
func TestShareOfServers(t *testing.T) {
	first, other := newServers(t, nil)
	clients := []*client{first.client(), other.client()}
	param := tuple{int64(1), atom("f32"), tuple{int64(4)}}
	total := tuple{atom("sum"), list{tuple{int64(2), atom("f32"), tuple{}}}, list{int64(1)}, list{list{int64(0)}, atom("false")}}
	scaled := tuple{atom("multiply"), list{tuple{int64(3), atom("f32"), tuple{int64(4)}}}, list{int64(1), int64(2)}, list(nil)}
	region := tuple{list{param}, list{total, scaled}, list{int64(3)}}
	for rank, c := range clients {
		c.joins("m", int64(rank), 2)
		share := tuple{tuple{int64(2)}, int64(rank), list{list{list{int64(0)}}}}
		x := float32(2 * rank)
		c.stream(tuple{atom("program"), list(nil), list(nil), list{[]byte("p"), region, share}}, tensor(1, x+1, x+2),
			tuple{atom("run"), result(2, 2), list{int64(1)}, list{[]byte("p"), atom("nil"), atom("nil"), int64(5)}})
	}
	for rank, c := range clients {
		x := float32(2 * rank)
		c.wantFloats(2, 10*(x+1), 10*(x+2))
		got := c.ok(tuple{atom("shares"), []byte("p")})
		want := "[{values [{{f32 {4}} [[0]]}]} {notes [{sum all_reduce of f32 among 2 ranks 4}]}]"
		if text := printed(got); text != want {
			t.Errorf("got %s, want %s", text, want)
		}
		c.stream(tuple{atom("program"), list(nil), list(nil), list{[]byte("bad"), region, tuple{tuple{int64(3)}, int64(0), list{list{list{int64(0)}}}}}})
		c.wantError(c.ask(c.server, tuple{atom("shares"), []byte("bad")}), "bad_argument")
		c.wantError(c.ask(c.server, tuple{atom("shares"), []byte("none")}), "unknown_program")
	}
}

// printed is a term in the notation of Go, with binaries as texts.
func printed(t etf.Term) string {
	switch x := t.(type) {
	case []byte:
		return string(x)
	case etf.Map:
		var parts []string
		for _, p := range x {
			parts = append(parts, "{"+printed(p.Key)+" "+printed(p.Value)+"}")
		}
		return "[" + strings.Join(parts, " ") + "]"
	case etf.List:
		return "[" + printedAll(x) + "]"
	case etf.Tuple:
		return "{" + printedAll(etf.List(x)) + "}"
	}
	return fmt.Sprint(t)
}

func printedAll(list etf.List) string {
	var parts []string
	for _, x := range list {
		parts = append(parts, printed(x))
	}
	return strings.Join(parts, " ")
}
