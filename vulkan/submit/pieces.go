package submit

import (
	"math"
	"slices"

	"nxvk/vulkan/adapter"
	"nxvk/vulkan/pipeline"
	"nxvk/vulkan/vk"
)

// pieceSize is how many commands of a long batch are submitted together. The device works on
// a piece while the processor records the next. Barriers reach over pieces, which are in order
// on one timeline.
const pieceSize = 256

// piece is the commands from to to of a Batch, submitted together.
type piece struct {
	from, to int
	seconds  float64
	main     *pipeline.Pipeline // takes nearly all of the time, or nil
	hasPart  bool               // it has a part of a dispatch
}

// divide replaces the first batch that waits in a flow by its pieces. The pieces are chosen
// when the batch may be next, so that they depend on which flows have work at that time. The last
// piece keeps the submission of the batch. mu is held.
func (q *Scheduler) divide(f *Flow) {
	b := f.pending[0]
	if b.divided {
		return
	}
	list := q.pieces(b.Lists, b.Timestamps > 0)
	parts := make([]Batch, len(list))
	deps := b.Submission.deps
	b.Submission.deps = nil
	for i, p := range list {
		part := b
		part.divided = true
		part.cmds, part.seconds, part.main, part.hasPart = b.Lists.Cmds[p.from:p.to], p.seconds, p.main, p.hasPart
		if part.rate = 1; p.main != nil {
			part.rate = p.main.Rate.Value()
		}
		if i < len(list)-1 {
			part.Submission = New(f)
		}
		parts[i] = part
	}
	b.Lists.users = len(parts)
	parts[0].Submission.deps = deps
	f.pending = slices.Replace(f.pending, 0, 1, parts...)
}

// pieces cuts a batch that is long, in commands or in time. While several flows have work, it
// also cuts the dispatches that are longer than a piece. A flow that is alone gets one
// submission for a batch: between two submissions a GPU idles, and their dispatches do not
// overlap. On an H200, products of 4096 × 4096 take 2 to 4 % longer in pieces of 6 ms. On a processor, whose
// dispatches may take minutes, one that is longer than alonePiece is cut also then: a flow that comes waits no longer.
func (q *Scheduler) pieces(l *Lists, whole bool) []piece {
	n, seconds := len(l.Cmds), 0.0
	for i := range l.Costs {
		c := &l.Costs[i]
		c.Seconds *= c.Pipeline.Rate.Value()
		seconds += c.Seconds
	}
	alone, most := q.Alone(), q.piece
	if alone {
		most = alonePiece
	}
	if whole || n <= 2*pieceSize && seconds <= most {
		return []piece{{to: n, seconds: seconds, main: mainOf(l.Costs)}}
	}
	if !alone || q.d.Info.Kind == adapter.CPU {
		q.cutDispatches(l, most)
	}
	var list []piece
	now, k := piece{}, 0
	from := 0 // of costs
	for i := range l.Cmds {
		c := 0.0
		if k < len(l.Costs) && l.Costs[k].Cmd == i {
			c = l.Costs[k].Seconds
			k++
		}
		if i > now.from && (now.seconds+c > most*1.1 || i-now.from >= pieceSize) {
			own := k
			if c > 0 {
				own--
			}
			now.to, now.main = i, mainOf(l.Costs[from:own])
			now.hasPart = hasPart(l.Costs[from:own])
			list = append(list, now)
			now, from = piece{from: i}, own
		}
		now.seconds += c
	}
	now.to, now.main, now.hasPart = len(l.Cmds), mainOf(l.Costs[from:]), hasPart(l.Costs[from:])
	return append(list, now)
}

// mainOf returns the kernel that takes at least seven eighths of the time, or nil.
func mainOf(list []Cost) *pipeline.Pipeline {
	var all, most float64
	var main *pipeline.Pipeline
	for i := range list {
		all += list[i].Seconds
		if list[i].Seconds > most {
			most, main = list[i].Seconds, list[i].Pipeline
		}
	}
	for i := range list {
		if list[i].Pipeline == main {
			all -= list[i].Seconds
		}
	}
	if all > most/8 {
		return nil
	}
	return main
}

// hasPart reports whether there is a part of a dispatch among them.
func hasPart(list []Cost) bool { return slices.ContainsFunc(list, func(c Cost) bool { return c.part }) }

// cutDispatches replaces each dispatch that takes longer than a piece, in seconds, by several commands.
// The first of these has the barrier of the dispatch; the others need none.
func (q *Scheduler) cutDispatches(l *Lists, piece float64) {
	if !q.d.CutsDispatches() {
		return
	}
	cuts := 0
	for i := range l.Costs {
		cuts += parts(&l.Cmds[l.Costs[i].Cmd], &l.Costs[i], piece) - 1
	}
	if cuts == 0 {
		return
	}
	cmds, costs := make([]vk.Cmd, 0, len(l.Cmds)+cuts), make([]Cost, 0, len(l.Costs)+cuts)
	k := 0
	for i := range l.Cmds {
		c := l.Cmds[i]
		if k == len(l.Costs) || l.Costs[k].Cmd != i {
			cmds = append(cmds, c)
			continue
		}
		e := l.Costs[k]
		k++
		for first, all, n := uint32(0), *extentOf(&c), uint32(parts(&c, &e, piece)); first < all; {
			count := min((all+n-1)/n, all-first)
			part := c
			*extentOf(&part) = count
			beginAt(&part, &c, first)
			if n > 1 {
				part.A = uint64(e.Pipeline.Parts())
			}
			if first > 0 {
				part.Barrier = 0
			}
			costs = append(costs, Cost{len(cmds), e.Pipeline, e.Seconds * float64(count) / float64(all), n > 1})
			cmds = append(cmds, part)
			first += count
		}
	}
	l.Cmds, l.Costs = cmds, costs
}

// fullGrid is the least number of workgroups of a part on a GPU, enough to fill it.
const fullGrid = 512

// parts returns into how many parts a dispatch is cut: on a GPU one, until the time of the
// kernel has been measured.
func parts(c *vk.Cmd, e *Cost, piece float64) int {
	most := *extentOf(c)
	if e.Pipeline.Device().Info.Kind != adapter.CPU {
		if !e.Pipeline.Rate.Known() {
			return 1
		}
		most = uint32(min(uint64(c.X)*uint64(c.Y)*uint64(c.Z)/fullGrid, uint64(most)))
	}
	if e.Pipeline.Layout().Whole || e.Seconds <= 1.5*piece || e.Pipeline.Parts() == 0 {
		return 1
	}
	return int(max(1, min(float64(most), math.Ceil(e.Seconds/piece))))
}

// extentOf returns the workgroups along the outermost dimension that has more than one. A
// dispatch is cut along that: a kernel that numbers its workgroups multiplies by the extents of
// the others.
func extentOf(c *vk.Cmd) *uint32 {
	switch {
	case c.Z > 1:
		return &c.Z
	case c.Y > 1:
		return &c.Y
	}
	return &c.X
}

// beginAt makes a part begin at a workgroup of that dimension.
func beginAt(part, whole *vk.Cmd, first uint32) {
	switch extentOf(whole) {
	case &whole.Z:
		part.E = uint64(first)
	case &whole.Y:
		part.D = uint64(first) << 32
	default:
		part.D = uint64(first)
	}
}
