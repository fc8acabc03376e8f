package conv

import (
	"slices"

	"nxvk/fallback/sched"
	"nxvk/ops"
	"nxvk/synth/gemm"
	"nxvk/synth/lowering"
	"nxvk/synth/stored"
)

// On a processor the host carries out a convolution from the first time on: it lays out the patches, multiplies them by
// the routines of package gemm, and moves the sums to their places, with the bits of the kernels. A driver's code
// computes the address of each element of a patch; the host walks along rows of the input.

// geometry is what routines must know of a convolution. It holds on to no instruction.
type geometry struct {
	from, filter, wide, to      ops.DType
	groups, filters, channels   int
	batchAt, groupAt, channelAt int // strides of the input
	filterAt, tapAt             int // strides of the kernel
	resultAt                    []int
	axes                        []convAxis // at least one
	at, n                       []int      // the box, {batch, space...}
}

// geometryOf describes the places of a box. It is nil for types without routines.
func (c *Convolution) geometryOf(b box) *geometry {
	g := &geometry{from: c.types[0].DType, filter: c.types[1].DType, wide: c.wide, to: c.In.Outs[0].Type.DType,
		groups: c.groups, filters: c.filters, channels: c.channels, batchAt: c.batchAt, groupAt: c.groupAt, channelAt: c.channelAt,
		filterAt: c.filterAt, tapAt: c.tapAt, resultAt: slices.Clone(c.resultAt),
		axes: slices.Clone(c.axes), at: slices.Clone(b.at), n: slices.Clone(b.n)}
	if len(g.axes) == 0 {
		g.axes = []convAxis{{out: 1, taps: 1, stride: 1, step: 1, gap: 1, extent: 1}}
		g.at, g.n, g.resultAt = append(g.at, 0), append(g.n, 1), append(g.resultAt, 0)
	}
	if !c.t.CPU || !stored.Computes(g.from, g.wide) || !stored.Computes(g.filter, g.wide) || !stored.Computes(g.to, g.wide) {
		return nil
	}
	return g
}

// rows and columns are the sizes of the matrix of patches.
func (g *geometry) rows() int {
	n := g.groups * g.channels
	for i := range g.axes {
		n *= g.axes[i].taps
	}
	return n
}

func (g *geometry) columns() int { return ops.Shape(g.n).Size() }

// run is what one tap sees from neighbours along the last axis.
type run struct {
	first, step int // of the elements that there are, in the input
	low, high   int // the neighbours that see an element
}

// look is what a tap sees from n places along the last axis, from one of the box on, where the input is not spread.
func (g *geometry) look(place, n, tap int) run {
	last := len(g.axes) - 1
	x := &g.axes[last]
	p := (g.at[last+1]+place)*x.stride - x.low + tap*x.step
	r := run{first: p * x.at, step: x.stride * x.at, high: max(0, min(n, (x.extent-1-p+x.stride)/x.stride))}
	if p < 0 {
		r.low = min(r.high, (x.stride-1-p)/x.stride)
	}
	return r
}

// position is where a tap looks along an axis, as a distance in the input; ok is false where there is no element.
func (g *geometry) position(axis, place, tap int) (at int, ok bool) {
	x := &g.axes[axis]
	p := (g.at[axis+1]+place)*x.stride - x.low + tap*x.step
	if p < 0 || p >= x.extent || p%x.gap != 0 {
		return 0, false
	}
	return p / x.gap * x.at, true
}

// start is where taps see the first place of a row, whose batch and places along the axes but the last are given.
func (g *geometry) start(outer, taps []int) (at int, ok bool) {
	at = (g.at[0] + outer[0]) * g.batchAt
	for i := range len(g.axes) - 1 {
		d, ok := g.position(i, outer[i+1], taps[i])
		if !ok {
			return 0, false
		}
		at += d
	}
	return at, true
}

// walker walks over a convolution that computes in T.
type walker[T stored.Number] struct{ *geometry }

// row gives what a tap sees from len(room) places along the last axis, and which of them see an element. base is where the
// tap sees a row. The elements are where they lie, or in the room; others are not set.
func (w walker[T]) row(e *stored.Elements[T], base, place, tap int, room []T) (from []T, low, high int) {
	last := len(w.axes) - 1
	if w.axes[last].gap == 1 {
		r := w.look(place, len(room), tap)
		if r.low == r.high {
			return nil, 0, 0
		}
		return e.Gather(base+r.first+r.low*r.step, r.step, room[r.low:r.high]), r.low, r.high
	}
	for i := range room {
		room[i] = 0
		if at, ok := w.position(last, place+i, tap); ok {
			room[i] = e.Gather(base+at, 1, room[i:i+1])[0]
		}
	}
	return room, 0, len(room)
}

// share is how many of n equal pieces of work a worker takes at a time: at least elements in all, and no more than leave
// work for every processor.
func share(n, each, elements int) int {
	return min(max(1, elements/max(1, each)), max(1, (n+sched.Processors()-1)/sched.Processors()))
}

// pieceSize is how many elements a worker handles between two looks at whether others wait.
const pieceSize = 1 << 16

// patches lays out the patches of the box, as patchJob.write does.
func (w walker[T]) patches(worker *sched.Worker, buffers [][]byte) {
	e, to := stored.ElementsOf[T](w.from, buffers[0]), stored.Wide[T](buffers[1])
	size := w.columns()
	pitch := (size + 3) / 4 * 4
	worker.For(w.rows(), share(w.rows(), pitch, pieceSize), func(_ *sched.Worker, low, high int) {
		for row := low; row < high; row++ {
			line := to[row*pitch:][:pitch]
			w.lay(&e, row, line[:size])
			clear(line[size:])
		}
	})
}

// lay lays out a row of the patches: what a tap sees from all places.
func (w walker[T]) lay(e *stored.Elements[T], row int, to []T) {
	taps := make([]int, len(w.axes))
	for i := len(taps) - 1; i >= 0; i-- {
		row, taps[i] = row/w.axes[i].taps, row%w.axes[i].taps
	}
	from := row/w.channels*w.groupAt + row%w.channels*w.channelAt
	last := len(w.axes) - 1
	n := w.n[last+1]
	outer := make([]int, last+1)
	for ; len(to) > 0; to = to[n:] {
		line := to[:n]
		at, ok := w.start(outer, taps)
		var seen []T
		low, high := 0, 0
		if ok {
			seen, low, high = w.row(e, from+at, 0, taps[last], line)
		}
		copy(line[low:high], seen)
		clear(line[:low])
		clear(line[high:])
		countUp(outer, w.n)
	}
}

// countUp counts up places whose sizes are those of n.
func countUp(place, n []int) {
	for i := len(place) - 1; i >= 0; i-- {
		if place[i]++; place[i] < n[i] {
			return
		}
		place[i] = 0
	}
}

// sumRun is how many results have their sums side by side.
const sumRun = 2048

// sums computes each result by itself, as sumJob.write does: channel by channel and tap by tap.
func (w walker[T]) sums(worker *sched.Worker, buffers [][]byte) {
	last := len(w.axes) - 1
	all := w.groups * w.filters
	rows := w.columns() / w.n[last+1]
	depth := w.rows() / w.groups
	worker.For(all*rows, share(all*rows, w.n[last+1]*depth, 4*pieceSize), func(_ *sched.Worker, low, high int) {
		s := summer[T]{walker: w, add: gemm.Axpy[T](), to: stored.ResultsOf[T](w.to, buffers[2]),
			input: stored.ElementsOf[T](w.from, buffers[0]), kernel: stored.ElementsOf[T](w.filter, buffers[1]),
			outer: make([]int, last+1), taps: make([]int, len(w.axes))}
		for i := low; i < high; i++ {
			s.row(i)
		}
	})
}

// summer sums results that are neighbours along the last axis.
type summer[T stored.Number] struct {
	walker[T]
	add           func(alpha T, x, y []T)
	input, kernel stored.Elements[T]
	to            stored.Results[T]
	outer, taps   []int
	acc, room     [sumRun]T
}

// row computes row i of {batch, filters, space but for the last axis}.
func (s *summer[T]) row(i int) {
	last := len(s.axes) - 1
	for k := last; k > 0; k-- {
		i, s.outer[k] = i/s.n[k], i%s.n[k]
	}
	all := s.groups * s.filters
	filter := i % all
	s.outer[0] = i / all
	to := (s.at[0]+s.outer[0])*s.resultAt[0] + filter*s.resultAt[1]
	for k := range last {
		to += (s.at[k+1] + s.outer[k+1]) * s.resultAt[k+2]
	}
	step := s.resultAt[last+2]
	for first := 0; first < s.n[last+1]; first += sumRun {
		n := min(sumRun, s.n[last+1]-first)
		s.sum(filter, first, n)
		s.to.Scatter(to+(s.at[last+1]+first)*step, step, s.acc[:n], 1, n)
	}
}

// sum sums n results from one of the row on.
func (s *summer[T]) sum(filter, first, n int) {
	last := len(s.axes) - 1
	acc := s.acc[:n]
	clear(acc)
	depth := s.rows() / s.groups / s.channels
	for c := range s.channels {
		from := filter/s.filters*s.groupAt + c*s.channelAt
		clear(s.taps)
		for range depth {
			at := filter*s.filterAt + c*s.tapAt
			for k, t := range s.taps {
				at += t * s.axes[k].tapAt
			}
			var one [1]T
			k := s.kernel.Get(at, one[:])[0]
			low, high := 0, 0
			if base, ok := s.start(s.outer, s.taps); ok {
				var x []T
				x, low, high = s.walker.row(&s.input, from+base, first, s.taps[last], s.room[:n])
				s.add(k, x, acc[low:high])
			}
			if zero := T(k * 0); zero != 0 { // the kernel multiplies the zeros of padding by infinity, too
				s.addZeros(zero, acc[:low])
				s.addZeros(zero, acc[high:])
			}
			for k := last; k >= 0; k-- {
				if s.taps[k]++; s.taps[k] < s.axes[k].taps {
					break
				}
				s.taps[k] = 0
			}
		}
	}
}

func (s *summer[T]) addZeros(zero T, acc []T) {
	for i := range acc {
		acc[i] += zero
	}
}

// routine makes a function of a walker's code for a step.
func (g *geometry) routine(laysPatches bool) *lowering.Routine {
	if g == nil {
		return nil
	}
	switch g.wide {
	case ops.F32:
		return routineOf(walker[float32]{g}, laysPatches)
	case ops.F64:
		return routineOf(walker[float64]{g}, laysPatches)
	}
	if g.wide.Size() == 4 {
		return routineOf(walker[uint32]{g}, laysPatches)
	}
	return routineOf(walker[uint64]{g}, laysPatches)
}

func routineOf[T stored.Number](w walker[T], laysPatches bool) *lowering.Routine {
	if laysPatches {
		return &lowering.Routine{Run: w.patches}
	}
	return &lowering.Routine{Run: w.sums, Rounds: lowering.Twice}
}
