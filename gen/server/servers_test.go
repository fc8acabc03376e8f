package server

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ergo.services/ergo/gen"
	"github.com/rs/zerolog"

	"nxvk/gen/etf"
	"nxvk/gen/server/report"
	"nxvk/vulkan"
)

// newServers starts two device servers of one node: on the host, and on a device where there is one.
func newServers(t *testing.T, second func(*DeviceConfig)) (first, other *rig) {
	t.Helper()
	servers := NewServers(nil)
	first = newRig(t, func(c *DeviceConfig) { c.Servers = servers })
	both := *first
	cfg := DeviceConfig{Name: "nxvk_1", Index: 1, Watcher: first.watch, Direct: first.node.Direct, Servers: servers,
		Reporter: report.New("nxvk_1"), Log: zerolog.Nop()}
	if second != nil {
		second(&cfg)
	}
	var err error
	if both.server, err = first.node.SpawnRegister("nxvk_1", NewDevice(cfg), gen.ProcessOptions{}); err != nil {
		t.Fatal(err)
	}
	both.reports = report.Reporters{cfg.Reporter}
	return first, &both
}

// onServers tests two servers of a node, of which the second is of the host and then of a device.
func onServers(t *testing.T, test func(t *testing.T, first, other *rig)) {
	for name, second := range map[string]func(*testing.T) func(*DeviceConfig){
		"host":   func(*testing.T) func(*DeviceConfig) { return nil },
		"device": func(t *testing.T) func(*DeviceConfig) { return onDevice(t, vulkan.Options{}) },
	} {
		t.Run(name, func(t *testing.T) {
			first, other := newServers(t, second(t))
			test(t, first, other)
		})
	}
}

// secret is what others import the values of a client with.
func (c *client) secret() (pid, key, incarnation etf.Term) {
	c.Helper()
	opened := c.ok(tuple{atom("open"), etf.Map(nil)})
	return get(c.T, opened, "session"), get(c.T, opened, "key"), get(c.T, opened, "incarnation")
}

// imported is the instruction that imports n floats of another server.
func imported(id, n int64, server atom, of *client, theirs int64) etf.Term {
	pid, key, incarnation := of.secret()
	return tuple{atom("import"), result(id, n), list{tuple{atom("shared"), server, incarnation, pid, key, theirs}}, list(nil)}
}

// TestImportBetweenServers: values go both ways at once between the servers of a node, and are counted.
func TestImportBetweenServers(t *testing.T) {
	onServers(t, func(t *testing.T, first, other *rig) {
		a, b := first.client(), other.client()
		for round := range int64(20) {
			id, x := 10*round, float32(round)
			a.stream(tensor(id+1, x, 2), imported(id+2, 2, "nxvk_1", b, id+1), add(id+3, 2, id+2, id+1))
			b.stream(tensor(id+1, 10, x), imported(id+2, 2, "nxvk_0", a, id+1), add(id+3, 2, id+2, id+1))
			a.wantFloats(id+3, x+10, x+2)
			b.wantFloats(id+3, x+10, x+2)
		}
		got := other.reports.Term(patience)
		if n := get(t, got, "imported_bytes_total", "nxvk_1"); n != 20*8.0 {
			t.Errorf("%v bytes are counted, want 160", n)
		}
		// A value of the server itself is shared.
		b.stream(imported(900, 2, "nxvk_1", b, 1))
		b.wantFloats(900, 10, 0)
		b.stream(imported(901, 2, "nxvk_7", b, 1))
		b.wantError(b.ask(b.server, tuple{atom("download"), int64(901)}), "bad_argument")
	})
}

// TestImportOfEndedServer: a server that ends, and one that has ended, is an error of those who import
// from it, and nothing else.
func TestImportOfEndedServer(t *testing.T) {
	first, other := newServers(t, nil)
	a, b := first.client(), other.client()
	a.tensor(1, 5, 6)
	b.stream(imported(1, 2, "nxvk_0", a, 1))
	b.wantFloats(1, 5, 6)
	waits, late := imported(2, 2, "nxvk_0", a, 99), imported(3, 2, "nxvk_0", a, 1)
	b.stream(waits)
	if err := first.node.Kill(first.server); err != nil {
		t.Fatal(err)
	}
	b.wantError(b.ask(b.server, tuple{atom("download"), int64(2)}), "server_down")
	b.stream(late)
	b.wantError(b.ask(b.server, tuple{atom("download"), int64(3)}), "server_down")
	b.wantFloats(1, 5, 6)
}

// TestImportOfLostDevice: the loss of a device is an error of what is imported from it, and to it, and of
// nothing else. Opened again, it gives and takes values as before.
func TestImportOfLostDevice(t *testing.T) {
	for _, from := range []bool{true, false} {
		t.Run(map[bool]string{true: "source", false: "destination"}[from], func(t *testing.T) {
			var lose atomic.Bool
			first, other := newServers(t, onDevice(t, vulkan.Options{Fault: vulkan.Fault{
				Lost: func() bool { return lose.Swap(false) }, Unmapped: true, Uncached: true}}))
			host, device := first.client(), other.client()
			a, b, server := host, device, atom("nxvk_0")
			if from {
				a, b, server = device, host, "nxvk_1"
			}
			run := get(t, device.ok(atom("info")), "incarnation")
			a.stream(tensor(1, 5, 6), tuple{atom("negate"), result(2, 2), list{int64(1)}, list(nil)})
			a.wantFloats(2, -5, -6)
			b.tensor(1, 7, 8)
			fetch := imported(3, 2, server, a, 2)
			lose.Store(true)
			b.stream(fetch, add(4, 2, 3, 1))
			b.wantError(b.ask(b.server, tuple{atom("download"), int64(4)}), "device_lost")
			host.wantFloats(map[bool]int64{true: 1, false: 2}[from], map[bool]float32{true: 7, false: -5}[from], map[bool]float32{true: 8, false: -6}[from])
			for end := time.Now().Add(patience); get(t, device.ok(atom("info")), "incarnation") == run; {
				if time.Now().After(end) {
					t.Fatal("the device is not opened again")
				}
			}
			if from { // a value of the run before
				b.stream(fetch)
				text := b.wantError(b.ask(b.server, tuple{atom("download"), int64(3)}), "not_shared")
				if !strings.Contains(text, "earlier run of nxvk_1") {
					t.Error(text)
				}
			}
			a.tensor(5, 1, 2)
			b.tensor(6, 10, 20)
			b.stream(imported(7, 2, server, a, 5), add(8, 2, 7, 6))
			b.wantFloats(8, 11, 22)
		})
	}
}
