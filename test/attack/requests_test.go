package attack

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"
)

// numbers is a binary of f64 numbers.
func numbers(all ...float64) []byte {
	var b []byte
	for _, x := range all {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
	}
	return b
}

// normal is a program of a density: the log density of n normal variables, and its gradient.
func normal(n int) tup {
	v, half := tup{n}, tup{"f64", numbers(-0.5)}
	return tup{
		list{tup{1, "f64", v}},
		list{
			tup{"multiply", list{tup{2, "f64", v}}, list{1, 1}, list{}},
			tup{"sum", list{tup{3, "f64", tup{}}}, list{2}, list{list{0}, false}},
			tup{"multiply", list{tup{4, "f64", tup{}}}, list{3, half}, list{}},
			tup{"negate", list{tup{5, "f64", v}}, list{1}, list{}},
		},
		list{4, 5},
	}
}

// request is a call of each kind, to a device server and to nxvk.
func (s *speaker) request() (server string, t any) {
	id := func() any { return 1 + s.r.IntN(s.last+1) }
	me := raw(s.pid(1))
	data := numbers(s.r.NormFloat64(), s.r.NormFloat64())
	density := []byte("normal")
	if s.r.IntN(5) == 0 {
		return "nxvk", []any{"info", "support", "sessions", "kernels", "chains", "metrics", tup{"echo", s.odd()}, s.odd()}[s.r.IntN(8)]
	}
	device := []func() any{
		func() any {
			return tup{"open", dict{"limit": 1 << 24, "label": []byte("foe"), "deadline": 50, "weight": 1 + s.r.IntN(100), "sweep": s.r.IntN(2) == 0}}
		},
		func() any { return tup{"open", dict{"mesh": tup{[]byte("m"), s.r.IntN(3), 2}}} },
		func() any { return tup{"download", id()} },
		func() any { return tup{"download", id(), s.r.IntN(4), s.r.IntN(9)} },
		func() any {
			return tup{"traced", []byte("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"), tup{"download", id()}}
		},
		func() any { return tup{"describe", id()} },
		func() any { return tup{"shares", s.key()} },
		func() any { return []any{"sync", "barrier", "memory", "info", "turn"}[s.r.IntN(5)] },
		func() any { return tup{"explain", s.key()} },
		func() any { return tup{"explain", s.key(), []any{"profile", "gpu"}[s.r.IntN(2)]} },
		func() any { return tup{"close", me} },
		func() any { return tup{"then", list{s.instruction(0)}, tup{"download", id()}} },
		func() any { return tup{"at", s.r.IntN(3), tup{"then", list{s.instruction(0)}, "sync"}} },
		func() any {
			return tup{"sample", dict{"program": density, "dim": 2, "chains": 1 + s.r.IntN(3), "warmup": s.r.IntN(20), "draws": s.r.IntN(20), "seed": s.r.IntN(9),
				"target": 0.8, "max_depth": 1 + s.r.IntN(12), "thin": 1, "chunk": 10, "adapt": s.r.IntN(2) == 0, "step": 0.1, "metric": data, "report": 1}}
		},
		func() any {
			return tup{"sample", dict{"program": density, "dim": 2, "init": data, "credit": 1, "warmup_draws": true}}
		},
		func() any { return tup{"stop", s.r.IntN(9)} },
		func() any {
			return tup{"summary", dict{"chains": 1, "draws": 2, "data": numbers(1, 2, 3, s.r.NormFloat64())}}
		},
		func() any {
			return tup{"leapfrog", dict{"program": density, "dim": 2, "k": 1 + s.r.IntN(9), "eps": s.r.NormFloat64(), "q": data, "p": data}}
		},
		func() any {
			return tup{"chain", dict{"shader": s.key(), "k": 2, "d": 2, "eps": 0.1, "q": data, "p": data, "extras": data}}
		},
		func() any { return tup{"shader", s.key()} },
	}
	return s.device, device[s.r.IntN(len(device))]()
}

// TestRequests sends calls and instructions of every kind, with terms in them that no client
// sends: on the host, and on a device that computes all that it can. Nothing is a fault of the
// node, and another peer is served all along.
func TestRequests(t *testing.T) {
	for device, args := range map[string][]string{
		"nxvk_0": nil, // the host
		"nxvk_1": {"--device", "0", "--host-limit", "1", "--no-warm-up"},
	} {
		t.Run(device, func(t *testing.T) {
			n := start(t, "", append(args, "--allow-shaders", "--deadline", "5s")...)
			n.await(`"message":"ready"`)
			if !strings.Contains(n.logged(), `"device":"`+device+`"`) {
				t.Skip("no Vulkan device")
			}
			good, ops, said := connect(t, n, friend), table(t), map[string]int{}
			for seed := range uint64(12) {
				p := connect(t, n, fmt.Sprintf("foe%d@127.0.0.1", seed))
				s := &speaker{peer: p, device: device, r: rand.New(rand.NewPCG(12, seed)), ops: ops}
				if err := s.speak(150, good, said); err != nil {
					t.Fatalf("seed %d: %v\n%s", seed, err, n.logged())
				}
			}
			t.Log(said)
			if said["internal"] > 0 || said["ok"] < 100 || said["bad_argument"] < 10 {
				t.Errorf("the answers are %v\n%s", said, n.logged())
			}
			if log := n.logged(); strings.Contains(log, `"level":"error"`) {
				t.Errorf("the node has met an error:\n%s", log)
			}
			if got := n.peak(); got > memoryLimit+slack {
				t.Errorf("%d MiB resident, of %d allowed", got/mib, (memoryLimit+slack)/mib)
			}
		})
	}
}

// speak sends so many messages, and counts what the answers are. After each some the other peer computes.
func (s *speaker) speak(messages int, good *peer, said map[string]int) error {
	heard := make(chan struct{})
	go func() {
		defer close(heard)
		for {
			answer, err := s.next()
			if err != nil {
				return
			}
			if m := answered.FindSubmatch(answer); m != nil {
				said[string(m[1])+string(m[2])]++
			}
		}
	}()
	defer func() {
		s.Close()
		<-heard
	}()
	if err := s.send(message(s.to(s.device), encode(tup{"nxvk", list{tup{"program", list{}, list{}, list{[]byte("normal"), normal(2)}}}}))); err != nil {
		return err
	}
	for i := range messages {
		server, request := s.device, any(nil)
		var said []byte
		if s.r.IntN(2) == 0 {
			code := list{}
			for range 1 + s.r.IntN(6) {
				code = append(code, s.instruction(0))
			}
			said = encode(tup{"nxvk", s.mutate(code, 50+s.r.IntN(1000))})
		} else {
			server, request = s.request()
			said = call(s.pid(1), s.ref(uint32(i)), encode(s.mutate(request, 10+s.r.IntN(200))))
		}
		if err := s.send(message(s.to(server), said)); err != nil {
			return fmt.Errorf("message %d: %w", i, err)
		}
		if i%10 == 9 {
			begun := time.Now()
			if err := good.computes(s.device); err != nil {
				return fmt.Errorf("message %d: %w", i, err)
			}
			if took := time.Since(begun); took > mostWait {
				return fmt.Errorf("message %d: another peer waits %s", i, took)
			}
		}
	}
	return nil
}

// answered matches {ok, …}, and {error, {Kind, …}} and {nxvk_error, Server, {Kind, …}}.
var answered = regexp.MustCompile("h\x02w\x02(ok)|w(?:\x05error|\x0anxvk_errorw.nxvk_.)h\x04w.([a-z_]+?)(?:w\x03nil|m\x00)")

// computes has the node compute, and reads the result.
func (p *peer) computes(device string) error {
	p.SetDeadline(time.Now().Add(patience))
	ref := p.ref(7)
	code := list{tup{"iota", list{tup{1, "f32", tup{3}}}, list{}, list{-1}}, tup{"add", list{tup{2, "f32", tup{3}}}, list{1, 1}, list{}}}
	request := tup{"then", code, tup{"download", 2}}
	if err := p.send(message(p.to(device), call(p.pid(1), ref, encode(request)))); err != nil {
		return err
	}
	for {
		answer, err := p.next()
		if err != nil {
			return errors.Join(errors.New("the other peer"), err)
		}
		if bytes.Contains(answer, ref) {
			if want := encode([]byte{0, 0, 0, 0, 0, 0, 0, 64, 0, 0, 128, 64}); !bytes.HasSuffix(answer, want) {
				return fmt.Errorf("the other peer gets %.200q", answer)
			}
			return nil
		}
	}
}
