package attack

import (
	"testing"
	"time"
)

const (
	mostWait = 3 * time.Second // how long another peer may wait on a busy machine
	watched  = 2 * time.Second // how long it asks, beside a greedy peer
)

// TestGreed asks for results that no memory holds, by requests of few bytes. Each is refused or
// bounded in memory, and another peer computes meanwhile.
func TestGreed(t *testing.T) {
	long := 1 << 20
	big := normal(long)
	chains := func(options dict) any {
		options["program"] = []byte("big")
		return tup{"sample", options}
	}
	for name, request := range map[string]any{
		"chains of long positions": chains(dict{"dim": long, "chains": 1 << 14, "warmup": 1, "draws": 1}),
		"draws of long positions":  chains(dict{"dim": long, "draws": 1 << 30, "chunk": 1 << 30}),
		"long trajectories":        chains(dict{"dim": long, "max_depth": 20, "step": 1e-9, "adapt": false}),
		"many chains":              tup{"sample", dict{"program": []byte("normal"), "dim": 2, "chains": 1 << 14, "draws": 1 << 30}},
		"leapfrog steps":           tup{"leapfrog", dict{"program": []byte("normal"), "dim": 2, "k": 1 << 30, "eps": 0.1, "q": numbers(1, 2), "p": numbers(1, 2)}},
		"leapfrog instances":       tup{"leapfrog", dict{"program": []byte("big"), "dim": long, "n": 1 << 14, "k": 1, "eps": 0.1, "q": numbers(1, 2), "p": numbers(1, 2)}},
		"leapfrog rows":            tup{"leapfrog", dict{"program": []byte("big"), "dim": long, "k": 1 << 12, "eps": 0.1, "q": make([]byte, 8*long), "p": make([]byte, 8*long)}},
		"chain steps":              tup{"chain", dict{"shader": []byte("normal"), "d": 2, "k": 1 << 20, "eps": 0.1, "q": numbers(1, 2), "p": numbers(1, 2), "extras": numbers(1, 1)}},
	} {
		t.Run(name, func(t *testing.T) {
			n := start(t, "", "--allow-shaders")
			good, p := connect(t, n, friend), connect(t, n, foe)
			define := list{}
			for key, program := range map[string]tup{"big": big, "normal": normal(2)} {
				define = append(define, tup{"program", list{}, list{}, list{[]byte(key), program}})
			}
			if err := p.send(message(p.to("nxvk_0"), encode(tup{"nxvk", define}))); err != nil {
				t.Fatal(err)
			}
			if err := p.send(message(p.to("nxvk_0"), call(p.pid(1), p.ref(1), encode(request)))); err != nil {
				t.Fatal(err)
			}
			for end := time.Now().Add(watched); time.Now().Before(end); {
				begun := time.Now()
				if err := good.computes("nxvk_0"); err != nil {
					t.Fatal(err, n.logged())
				}
				if took := time.Since(begun); took > mostWait {
					t.Errorf("another peer waits %s", took)
				}
			}
			if got := n.peak(); got > memoryLimit+slack {
				t.Errorf("%d MiB resident, of %d allowed", got/mib, (memoryLimit+slack)/mib)
			}
			p.Close()
			if err := good.computes("nxvk_0"); err != nil {
				t.Error(err, n.logged())
			}
		})
	}
}
