package vulkan

import (
	"math"
	"slices"
	"sync/atomic"

	"nxvk/vulkan/vk"
)

// pieceSize is how many commands of a long batch are submitted together. The
// device works on a piece while the processor prepares the next; barriers reach
// over pieces, which are in order on one line.
const pieceSize = 256

// cost is the expected time of a dispatch.
type cost struct {
	at      int // index of its command
	p       *Pipeline
	seconds float64 // as the caller expects; pieces corrects it by the rate of the kernel
	part    bool    // it is one of the parts of a dispatch
}

// Expect says how many seconds the dispatch recorded last is expected to take. Work
// that takes long gives others their turn in between, and is cut where it can be. What
// a kernel has really taken corrects what is expected of it.
func (s *Stream) Expect(seconds float64) {
	if seconds <= 0 || s.lists == nil || len(s.cmds) == 0 || s.kernel == nil {
		return
	}
	s.costs = append(s.costs, cost{at: len(s.cmds) - 1, p: s.kernel, seconds: seconds})
}

// rate is by what an expectation is to be multiplied: the bits of a number, 0 where it has
// not been learnt.
type rate struct{ bits atomic.Uint64 }

func (r *rate) value() float64 {
	if b := r.bits.Load(); b != 0 {
		return math.Float64frombits(b)
	}
	return 1
}

// learn corrects the rate where something took so many times as long as was expected.
func (r *rate) learn(times float64) {
	times = min(max(times, 1./64), 64)
	next := r.value() * math.Exp(trust*math.Log(times))
	if r.bits.Load() == 0 {
		next = times
	}
	r.bits.Store(math.Float64bits(min(max(next, 1e-4), 1e4)))
}

const (
	// trust is how much of what is expected next comes from the latest piece.
	trust = 0.25
	// telling is the shortest time, in seconds, that can raise an expectation: the time of
	// a shorter piece is mostly that of its submission. Any time can lower one.
	telling = 300e-6
)

// learn corrects what is expected of the kernel by a piece that took so many seconds.
// The parts of a dispatch that is cut do not fill a GPU to their ends: they never make
// it expect more.
func (p *Pipeline) learn(took, expected float64, cut bool) {
	if took > expected && (took < telling || cut && p.d.info.Kind != CPU) {
		return
	}
	p.learnt.learn(took / expected)
}

// piece is a part of a batch.
type piece struct {
	from, to int
	seconds  float64
	main     *Pipeline
	cut      bool
}

// divide replaces the first batch that waits in a stream by its pieces. The pieces are
// chosen when the batch may be next, so that they depend on who has work at that time. The
// submission of the batch is that of its last piece. mu is held.
func (q *queue) divide(f *flow) {
	b := f.pending[0]
	if b.divided {
		return
	}
	list := q.pieces(b.lists, b.queries > 0)
	parts := make([]batch, len(list))
	deps := b.sub.deps
	b.sub.deps = nil
	for i, p := range list {
		part := b
		part.divided, part.last = true, i == len(list)-1
		part.cmds, part.seconds, part.main, part.cut = b.lists.cmds[p.from:p.to], p.seconds, p.main, p.cut
		if part.rate = 1; p.main != nil {
			part.rate = p.main.learnt.value()
		}
		if !part.last {
			part.sub = &submission{flow: f}
		}
		parts[i] = part
	}
	parts[0].sub.deps = deps
	f.pending = slices.Replace(f.pending, 0, 1, parts...)
}

// pieces cuts a batch that is long, in commands or in time. While several streams have
// work, it also cuts the dispatches that are longer than a piece. A stream that is alone
// gets the submissions that it would have without other streams: between two submissions
// a GPU idles, and their dispatches do not overlap. On an H200, products of 4096 × 4096
// take 5 % longer in pieces of 6 ms.
func (q *queue) pieces(l *lists, whole bool) []piece {
	n, seconds := len(l.cmds), 0.0
	for i := range l.costs {
		c := &l.costs[i]
		c.seconds *= c.p.learnt.value()
		seconds += c.seconds
	}
	alone, most := q.alone(), q.piece
	if alone {
		most = pieceAlone
	}
	if whole || n <= 2*pieceSize && seconds <= most {
		return []piece{{to: n, seconds: seconds, main: mainOf(l.costs)}}
	}
	if !alone {
		q.slice(l)
	}
	var list []piece
	now, k := piece{}, 0
	from := 0 // of costs
	for i := range l.cmds {
		c := 0.0
		if k < len(l.costs) && l.costs[k].at == i {
			c = l.costs[k].seconds
			k++
		}
		if i > now.from && (now.seconds+c > most*1.1 || i-now.from >= pieceSize) {
			own := k
			if c > 0 {
				own--
			}
			now.to, now.main = i, mainOf(l.costs[from:own])
			now.cut = cut(l.costs[from:own])
			list = append(list, now)
			now, from = piece{from: i}, own
		}
		now.seconds += c
	}
	now.to, now.main, now.cut = len(l.cmds), mainOf(l.costs[from:]), cut(l.costs[from:])
	return append(list, now)
}

// mainOf is the kernel that takes nearly all of the time, or nil.
func mainOf(list []cost) *Pipeline {
	var all, most float64
	var main *Pipeline
	for i := range list {
		all += list[i].seconds
		if list[i].seconds > most {
			most, main = list[i].seconds, list[i].p
		}
	}
	for i := range list {
		if list[i].p == main {
			all -= list[i].seconds
		}
	}
	if all > most/8 {
		return nil
	}
	return main
}

// cut reports whether there is a part of a dispatch among them.
func cut(list []cost) bool { return slices.ContainsFunc(list, func(c cost) bool { return c.part }) }

// slice makes several commands of each dispatch that takes longer than a piece should.
// The first has its barrier; they need none between them.
func (q *queue) slice(l *lists) {
	if !q.d.slices() {
		return
	}
	cuts := 0
	for i := range l.costs {
		cuts += parts(&l.cmds[l.costs[i].at], &l.costs[i], q.piece) - 1
	}
	if cuts == 0 {
		return
	}
	cmds, costs := make([]vk.Cmd, 0, len(l.cmds)+cuts), make([]cost, 0, len(l.costs)+cuts)
	k := 0
	for i := range l.cmds {
		c := l.cmds[i]
		if k == len(l.costs) || l.costs[k].at != i {
			cmds = append(cmds, c)
			continue
		}
		e := l.costs[k]
		k++
		for first, all, n := uint32(0), *extentOf(&c), uint32(parts(&c, &e, q.piece)); first < all; {
			count := min((all+n-1)/n, all-first)
			part := c
			*extentOf(&part) = count
			based(&part, &c, first)
			if n > 1 {
				part.A = uint64(e.p.based())
			}
			if first > 0 {
				part.Barrier = 0
			}
			costs = append(costs, cost{len(cmds), e.p, e.seconds * float64(count) / float64(all), n > 1})
			cmds = append(cmds, part)
			first += count
		}
	}
	l.cmds, l.costs = cmds, costs
}

// fullGrid is how many workgroups a part of a dispatch has at least on a GPU, to fill it.
const fullGrid = 512

// parts is into how many a dispatch is cut. On a GPU that waits until the kernel is known.
func parts(c *vk.Cmd, e *cost, piece float64) int {
	most := *extentOf(c)
	if e.p.d.info.Kind != CPU {
		if e.p.learnt.bits.Load() == 0 {
			return 1
		}
		most = uint32(min(uint64(c.X)*uint64(c.Y)*uint64(c.Z)/fullGrid, uint64(most)))
	}
	if e.p.layout.Whole || e.seconds <= 1.5*piece || e.p.based() == 0 {
		return 1
	}
	return int(max(1, min(float64(most), math.Ceil(e.seconds/piece))))
}

// extentOf is the workgroups along the outermost dimension of a dispatch that has more
// than one. Along that it can be cut: a kernel that counts its workgroups needs to
// know how many there are along the others.
func extentOf(c *vk.Cmd) *uint32 {
	switch {
	case c.Z > 1:
		return &c.Z
	case c.Y > 1:
		return &c.Y
	}
	return &c.X
}

// based has a dispatch begin at a workgroup of that dimension.
func based(part, whole *vk.Cmd, first uint32) {
	switch extentOf(whole) {
	case &whole.Z:
		part.E = uint64(first)
	case &whole.Y:
		part.D = uint64(first) << 32
	default:
		part.D = uint64(first)
	}
}
