package server

import (
	"strings"
	"testing"
	"time"

	"nxvk/gen/etf"
	"nxvk/vulkan"
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
	for name, second := range map[string]func(*testing.T) func(*DeviceConfig){
		"host":   func(*testing.T) func(*DeviceConfig) { return nil },
		"device": func(t *testing.T) func(*DeviceConfig) { return onDevice(t, vulkan.Options{}) },
	} {
		t.Run(name, func(t *testing.T) {
			first, other := newServers(t, second(t))
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
