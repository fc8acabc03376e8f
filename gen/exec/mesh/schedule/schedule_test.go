package schedule

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"nxvk/ops"
)

// rank is a simulated one. The commands of a step may run in any order, at any time between its begin and its end.
type rank struct {
	operand, result []byte
	began, done     int
	running         []Command // of the steps that have begun
	of              []int     // their steps
}

// access is a range that a command reads or writes.
type access struct {
	lo, hi int
	write  bool
}

type simulation struct {
	*testing.T
	s      *Schedule
	ranks  []*rank
	shared []byte
}

func (sim *simulation) bytes(r *rank, at Ref, n int) []byte {
	m := [...][]byte{r.operand, r.result, sim.shared}[at.In]
	return m[at.Offset:][:n]
}

// run carries out a command.
func (sim *simulation) run(r *rank, c Command) {
	out := slices.Clone(sim.bytes(r, c.From[0], c.Bytes))
	for _, from := range c.From[1:] {
		for i, x := range sim.bytes(r, from, c.Bytes) {
			out[i] = 3*out[i] + x // tells the order
		}
	}
	for _, to := range c.To {
		copy(sim.bytes(r, to, c.Bytes), out)
	}
}

// accesses lists what a command touches, in shared memory or in that of its rank.
func accesses(c Command, in Memory) (list []access) {
	for _, from := range c.From {
		if from.In == in {
			list = append(list, access{from.Offset, from.Offset + c.Bytes, false})
		}
	}
	for _, to := range c.To {
		if to.In == in {
			list = append(list, access{to.Offset, to.Offset + c.Bytes, true})
		}
	}
	return list
}

// separate fails where two commands that may run at the same time touch the same bytes and one writes them.
func (sim *simulation) separate(a, b Command, memories ...Memory) {
	for _, m := range memories {
		for _, x := range accesses(a, m) {
			for _, y := range accesses(b, m) {
				if (x.write || y.write) && x.lo < y.hi && y.lo < x.hi {
					sim.Fatalf("%+v and %+v run at the same time", a, b)
				}
			}
		}
	}
}

// begin begins steps where the schedule permits that.
func (sim *simulation) begin(rng *rand.Rand) {
	first := slices.MinFunc(sim.ranks, func(a, b *rank) int { return a.done - b.done }).done
	at := rng.IntN(len(sim.ranks))
	r := sim.ranks[at]
	if r.began == sim.s.Steps() || r.began-Lag >= first {
		return
	}
	for _, c := range sim.s.Commands(r.began, at) {
		for _, other := range sim.ranks {
			for i, d := range other.running {
				switch {
				case other != r:
					sim.separate(c, d, Shared)
				case other.of[i] == r.began:
					sim.separate(c, d, Operand, Result, Shared)
				}
			}
		}
		r.running, r.of = append(r.running, c), append(r.of, r.began)
	}
	r.began++
}

// end carries out a command of the first step that a rank has begun.
func (sim *simulation) end(rng *rand.Rand) {
	r := sim.ranks[rng.IntN(len(sim.ranks))]
	n := 0
	for n < len(r.of) && r.of[n] == r.done {
		n++
	}
	if n > 0 {
		i := rng.IntN(n)
		sim.run(r, r.running[i])
		r.running, r.of = slices.Delete(r.running, i, i+1), slices.Delete(r.of, i, i+1)
		n--
	}
	if n == 0 && r.done < r.began {
		r.done++
	}
}

// draw makes a schedule with small chunks, so that it has many.
func draw(rng *rand.Rand, op ops.Op, ranks, bytes int) (*Schedule, bool) {
	o := Options{}
	if op == ops.AllReduce {
		o.Way = Way(rng.IntN(3))
		if o.Way == Swapped && ranks != 2 {
			o.Way = Direct
		}
	}
	s, ok := New(op, ranks, bytes, o)
	if ok && rng.IntN(4) > 0 {
		s.chunk = align * (1 + rng.IntN(4))
		s.chunks = (s.part + s.chunk - 1) / s.chunk
	}
	return s, ok
}

// TestSchedules: any interleaving that the rule of steps permits gives what the definitions of the collectives say, and
// no two commands that may run at the same time touch the same bytes.
func TestSchedules(t *testing.T) {
	for seed := range uint64(400) {
		rng := rand.New(rand.NewPCG(17, seed))
		op, n := ops.AllReduce+ops.Op(rng.IntN(5)), 2+rng.IntN(4)
		bytes := 1 + rng.IntN(16<<10)
		if op == ops.ReduceScatter || op == ops.AllToAll {
			bytes = n * align * (1 + rng.IntN(16))
		}
		s, ok := draw(rng, op, n, bytes)
		if !ok {
			t.Fatalf("seed %d: no schedule of %v for %d ranks and %d bytes", seed, op, n, bytes)
		}
		t.Run(fmt.Sprint(seed, " ", op, " ", n, " ranks ", bytes), func(t *testing.T) {
			sim := &simulation{T: t, s: s, shared: make([]byte, s.SharedBytes())}
			for range n {
				r := &rank{operand: make([]byte, bytes), result: make([]byte, resultBytes(op, n, bytes))}
				for i := range r.operand {
					r.operand[i] = byte(rng.Uint32())
				}
				if c, ok := Kept(op, n, len(sim.ranks), bytes); ok {
					sim.run(r, c)
				}
				sim.ranks = append(sim.ranks, r)
			}
			for slices.ContainsFunc(sim.ranks, func(r *rank) bool { return r.done < s.Steps() }) {
				sim.begin(rng)
				sim.end(rng)
			}
			for at, r := range sim.ranks {
				if want := sim.want(op, at); !slices.Equal(r.result, want) {
					t.Errorf("rank %d has a wrong result", at)
				}
			}
		})
	}
}

func resultBytes(op ops.Op, n, bytes int) int {
	switch op {
	case ops.AllGather:
		return n * bytes
	case ops.ReduceScatter:
		return bytes / n
	}
	return bytes
}

// want is the result of a rank by the definition.
func (sim *simulation) want(op ops.Op, at int) (out []byte) {
	n, part := len(sim.ranks), sim.s.bytes/len(sim.ranks)
	combined := slices.Clone(sim.ranks[0].operand)
	for _, r := range sim.ranks[1:] {
		for i, x := range r.operand {
			combined[i] = 3*combined[i] + x
		}
	}
	switch op {
	case ops.AllReduce:
		return combined
	case ops.ReduceScatter:
		return combined[at*part:][:part]
	case ops.CollectiveBroadcast:
		return sim.ranks[0].operand
	}
	for j := range n {
		if op == ops.AllGather {
			out = append(out, sim.ranks[j].operand...)
		} else {
			out = append(out, sim.ranks[j].operand[at*part:][:part]...)
		}
	}
	return out
}

// TestTraffic: two ranks move each byte of an all_reduce over their bus once in each direction, and an operand of 256 MiB
// takes memory of the host for a small part of it.
func TestTraffic(t *testing.T) {
	for n, most := range map[int]float64{2: 1, 4: 1.5, 8: 1.75} {
		const bytes = 256 << 20
		s, _ := New(ops.AllReduce, n, bytes, Best(ops.AllReduce, n, bytes, true))
		var read, written int
		for step := range s.Steps() {
			for _, c := range s.Commands(step, n-1) {
				read += (&Command{From: c.From, Bytes: c.Bytes}).Crosses()
				written += (&Command{To: c.To, Bytes: c.Bytes}).Crosses()
			}
		}
		if got := float64(read) / bytes; got > most {
			t.Errorf("%d ranks: each reads %.2f times its operand over the bus", n, got)
		}
		if written > bytes {
			t.Errorf("%d ranks: each writes %d bytes over the bus", n, written)
		}
		if s.SharedBytes() > 160<<20 || s.Steps() > 72 {
			t.Errorf("%d ranks: %d bytes of shared memory, %d steps", n, s.SharedBytes(), s.Steps())
		}
	}
}

// TestRefused: parts that kernels cannot reach, and groups of one, have no schedule.
func TestRefused(t *testing.T) {
	for _, c := range []struct {
		op           ops.Op
		ranks, bytes int
	}{{ops.ReduceScatter, 2, 600}, {ops.AllReduce, 1, 600}, {ops.AllGather, 3, 0}, {ops.AllToAll, 4, 3}} {
		if _, ok := New(c.op, c.ranks, c.bytes, Options{}); ok {
			t.Errorf("%v of %d ranks and %d bytes has a schedule", c.op, c.ranks, c.bytes)
		}
	}
}
