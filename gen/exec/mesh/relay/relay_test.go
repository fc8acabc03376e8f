package relay

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"nxvk/test/fewtest"
)

// device carries out turns of a port as shaders/relay.comp does, in their order.
type device struct {
	*Port
	turns chan func()
}

func newDevice(t *testing.T, bytes int) *device {
	d := &device{turns: make(chan func(), 1<<10)}
	d.Port = NewPort(d, make([]byte, OutboxBytes(bytes)), make([]byte, InboxBytes(bytes)))
	go func() {
		for f := range d.turns {
			f()
		}
	}()
	t.Cleanup(func() { close(d.turns) })
	return d
}

// relay sends words and looks for those of the result; missed says that there is none.
func (d *device) relay(number uint32, send []uint32, receive int) (got []uint32, missed bool) {
	for i, x := range send {
		atomic.StoreUint64(&d.outbox[i], uint64(number)<<32|uint64(x))
	}
	for i := range receive {
		for {
			if x := d.look(ended + i); uint32(x>>32) == number {
				got = append(got, uint32(x))
				break
			}
			if uint32(d.look(int(number%ended))) == number {
				return nil, true
			}
			runtime.Gosched()
		}
	}
	return got, false
}

// look reads a word of the inbox, which the host writes without a lock.
//
//go:noinline
//go:norace
func (d *device) look(at int) uint64 { return atomic.LoadUint64(&d.inbox[at]) }

// sum is a result for all: the sum of the operands, word by word.
func sum(operands [][]byte) ([][]byte, error) {
	total := make([]byte, len(operands[0]))
	for i := 0; i < len(total); i += 4 {
		var x uint32
		for _, o := range operands {
			x += word(o, i)
		}
		for k := range 4 {
			total[i+k] = byte(x >> (8 * k))
		}
	}
	return slices.Repeat([][]byte{total}, len(operands)), nil
}

func word(b []byte, at int) uint32 {
	return uint32(b[at]) | uint32(b[at+1])<<8 | uint32(b[at+2])<<16 | uint32(b[at+3])<<24
}

// TestTurns: drawn groups of drawn sizes get the sums of what they send, one behind the other. Some turns are ended from outside, and are
// missed by all devices or have been answered for all.
func TestTurns(t *testing.T) {
	const devices, most = 4, 4096
	for seed := range uint64(fewtest.Of(20, 5)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(23, seed))
			r := new(Relay)
			var list []*device
			for range devices {
				list = append(list, newDevice(t, most))
			}
			var wait sync.WaitGroup
			var ends, answers atomic.Int32
			for range 300 {
				group := rng.Perm(devices)[:2+rng.IntN(devices-1)]
				words := 1 + rng.IntN(most/4)>>rng.IntN(11)
				var ports []*Port
				for _, i := range group {
					ports = append(ports, list[i].Port)
				}
				turn := r.Begin(ports, 4*words, sum, func(err error) { t.Error(err) })
				for turn == nil { // too many
					runtime.Gosched()
					turn = r.Begin(ports, 4*words, sum, func(err error) { t.Error(err) })
				}
				var want uint32
				sent := make([]uint32, len(group))
				for at := range sent {
					sent[at] = rng.Uint32()
					want += sent[at]
				}
				for at, i := range group {
					x, number := sent[at], turn.Number(at)
					wait.Add(1)
					list[i].turns <- func() {
						defer wait.Done()
						got, missed := list[i].relay(number, slices.Repeat([]uint32{x}, words), words)
						switch {
						case missed && turn.Answered():
							t.Errorf("a device has missed an answer")
						case missed:
							ends.Add(1)
						default:
							answers.Add(1)
							if slices.ContainsFunc(got, func(y uint32) bool { return y != want }) {
								t.Errorf("a device has got %x in place of %x", got, want)
							}
						}
					}
				}
				if rng.IntN(4) == 0 {
					go r.End(turn)
				}
			}
			wait.Wait()
			for i, d := range list {
				r.Close(d.Port)
				if len(d.queue) > 0 {
					t.Errorf("device %d has %d turns", i, len(d.queue))
				}
			}
			t.Logf("%d answers, %d ends", answers.Load(), ends.Load())
			if answers.Load() == 0 || ends.Load() == 0 {
				t.Errorf("%d answers, %d ends: one kind is not tested", answers.Load(), ends.Load())
			}
		})
	}
}

// TestRefused: no turn begins in which a device would wait for itself, or that has a port which is closed.
func TestRefused(t *testing.T) {
	r := new(Relay)
	a, b, c := newDevice(t, 64), newDevice(t, 64), newDevice(t, 64)
	again := NewPort(a, make([]byte, OutboxBytes(64)), make([]byte, InboxBytes(64))) // another port of the same device
	fail := func(err error) { t.Error(err) }
	begin := func(ports ...*Port) *Turn { return r.Begin(ports, 64, sum, fail) }
	if begin(a.Port, again) != nil {
		t.Error("two ports of one device have a turn")
	}
	turn := begin(a.Port, b.Port)
	if turn == nil || begin(again, c.Port) != nil {
		t.Error("a device has turns of two ports")
	}
	r.End(turn)
	if turn = begin(again, c.Port); turn == nil {
		t.Error("a device whose turns are over has none")
	}
	r.Close(c.Port)
	if !turn.over || turn.Answered() || begin(again, c.Port) != nil {
		t.Error("a closed port has turns")
	}
	for i := range deepest + 1 {
		if turn := begin(a.Port, b.Port); (turn == nil) != (i == deepest) {
			t.Fatalf("turn %d: %v", i, turn)
		}
	}
	for _, n := range [][2]int{{0, 4}, {6, 4}, {4, 6}, {68, 4}, {4, 68}} {
		if a.Holds(n[0], n[1]) {
			t.Errorf("a port of 64 bytes holds %v", n)
		}
	}
	if !a.Holds(64, 64) || !a.Holds(4, 0) {
		t.Error("a port of 64 bytes does not hold 64")
	}
}

// TestNoResult: who waits is told why the host has no result, and turns that follow are answered.
func TestNoResult(t *testing.T) {
	r := new(Relay)
	a, b := newDevice(t, 64), newDevice(t, 64)
	bad := errors.New("no result")
	for i, combine := range []func([][]byte) ([][]byte, error){
		func([][]byte) ([][]byte, error) { return nil, bad },
		func(o [][]byte) ([][]byte, error) { return o[:len(o)+1], nil }, // which panics
		sum,
	} {
		failed := make(chan error, 1)
		turn := r.Begin([]*Port{a.Port, b.Port}, 4, combine, func(err error) { failed <- err })
		var wait sync.WaitGroup
		for at, d := range []*device{a, b} {
			wait.Add(1)
			d.turns <- func() {
				defer wait.Done()
				got, missed := d.relay(turn.Number(at), []uint32{21}, 1)
				if missed != (i < 2) || !missed && got[0] != 42 {
					t.Errorf("case %d, device %d: %v, missed: %v", i, at, got, missed)
				}
			}
		}
		if i < 2 {
			if err := <-failed; i == 0 && !errors.Is(err, bad) {
				t.Errorf("case %d: %v", i, err)
			}
			r.End(turn)
		}
		wait.Wait()
	}
}

// TestNumbers: turns have other numbers than 0, and words that end turns are those of none that follows.
func TestNumbers(t *testing.T) {
	d := newDevice(t, 64)
	d.number = ^uint32(0) - 2*ended
	for range 4 * ended {
		n := d.next()
		if n == 0 {
			t.Fatal("a turn has the number 0")
		}
		if uint32(d.look(int(n%ended))) == n {
			t.Fatalf("turn %d has ended before it began", n)
		}
		d.endAt(n%ended, n)
	}
}

// TestLate: a turn whose words come too late is no result.
func TestLate(t *testing.T) {
	r := new(Relay)
	a, b := newDevice(t, 64), newDevice(t, 64)
	failed := make(chan error, 1)
	turn := r.Begin([]*Port{a.Port, b.Port}, 4, sum, func(err error) { failed <- err })
	done := make(chan bool)
	a.turns <- func() {
		_, missed := a.relay(turn.Number(0), []uint32{1}, 1)
		done <- missed
	}
	for r.sent(turn).IsZero() {
		runtime.Gosched()
	}
	r.mu.Lock()
	turn.since = turn.since.Add(-Patience)
	r.mu.Unlock()
	var late *LateError
	if err := <-failed; !errors.As(err, &late) || !slices.Equal(late.Places, []int{1}) {
		t.Errorf("told %v", err)
	}
	r.End(turn)
	if !<-done {
		t.Error("the device that waited has a result")
	}
}

func (r *Relay) sent(t *Turn) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return t.since
}
