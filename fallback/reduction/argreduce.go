package reduction

import (
	"fmt"

	"nxvk/fallback/dense"
	"nxvk/fallback/sched"
	"nxvk/ops"
)

// argReduce finds the index of an extreme. A NaN replaces whatever came before it, as in Nx,
// so the last NaN wins.
func argReduce(in *dense.Call, args, outs []dense.Value) error {
	switch args[0].Type.DType.Class() {
	case ops.Float:
		searchIn[float64](in, args, outs)
	case ops.Signed:
		searchIn[int64](in, args, outs)
	case ops.Unsigned:
		searchIn[uint64](in, args, outs)
	default:
		return fmt.Errorf("%v of %v: %w", in.Op, args[0].Type.DType, dense.ErrComplex)
	}
	return nil
}

// extreme is the best element of a line so far, and where it is.
type extreme[C dense.RealClass] struct {
	x  C
	at int
}

// searchFor returns the loop of argmax or argmin, which keeps the first or the last of equal
// elements. The loop searches xs, whose first element is number at of its line.
func searchFor[C dense.RealClass](op ops.Op, last bool) func(best extreme[C], xs []C, at int) extreme[C] {
	switch {
	case op == ops.ArgMax && last:
		return func(best extreme[C], xs []C, at int) extreme[C] {
			for i, x := range xs {
				if x >= best.x || x != x {
					best = extreme[C]{x, at + i}
				}
			}
			return best
		}
	case op == ops.ArgMax:
		return func(best extreme[C], xs []C, at int) extreme[C] {
			for i, x := range xs {
				if x > best.x || x != x {
					best = extreme[C]{x, at + i}
				}
			}
			return best
		}
	case last:
		return func(best extreme[C], xs []C, at int) extreme[C] {
			for i, x := range xs {
				if x <= best.x || x != x {
					best = extreme[C]{x, at + i}
				}
			}
			return best
		}
	}
	return func(best extreme[C], xs []C, at int) extreme[C] {
		for i, x := range xs {
			if x < best.x || x != x {
				best = extreme[C]{x, at + i}
			}
		}
		return best
	}
}

// search looks for the extremes of lines.
type search[C dense.RealClass] struct {
	w    *sched.Worker
	src  []byte
	load dense.Loader[C]
	take func(best extreme[C], xs []C, at int) extreme[C]
	step int // between the elements of a line
}

// searchPart finds the extreme of elements lo to hi of the line that begins at base.
func (s *search[C]) searchPart(p *dense.Pacer, buf []C, base, lo, hi int) extreme[C] {
	var best extreme[C]
	for at := lo; at < hi; at += dense.Chunk {
		xs := buf[:min(dense.Chunk, hi-at)]
		s.load(xs, s.src, base+at*s.step, s.step)
		if at == lo {
			best = extreme[C]{xs[0], lo}
		}
		best = s.take(best, xs, at)
		p.Step(len(xs))
	}
	return best
}

// searchLine finds the extreme of the only line, in parts.
func (s *search[C]) searchLine(n int) int {
	parts := make([]extreme[C], (n+block-1)/block)
	dense.ParallelOn(s.w, len(parts), block, func(by *sched.Worker, lo, hi int) {
		w, p := dense.ScratchPool.Get().(*dense.Scratch), dense.Pacer{Worker: by}
		for i := lo; i < hi; i++ {
			parts[i] = s.searchPart(&p, dense.Buffers[C](w)[0], 0, i*block, min((i+1)*block, n))
		}
		dense.ScratchPool.Put(w)
	})
	best := parts[0]
	for _, p := range parts[1:] {
		best = s.take(best, []C{p.x}, p.at)
	}
	return best.at
}

func searchIn[C dense.RealClass](in *dense.Call, args, outs []dense.Value) {
	shape, axes := args[0].Type.Shape, in.Attrs[0]
	if axes[0] < 0 {
		axes = ops.AllAxes(len(shape))
	}
	var kept, reduced dense.Plan
	splitAxes(&kept, &reduced, shape, axes)
	store := dense.StoreInt[outs[0].Type.DType]
	s := &search[C]{w: in.Worker, src: args[0].Data, load: dense.LoadAs[C](args[0].Type.DType), take: searchFor[C](in.Op, in.Attrs[2][0] != 0),
		step: reduced.Steps[0][0]} // one axis, or all: one run either way
	if kept.N == 1 {
		store(outs[0].Data, 0, []int64{int64(s.searchLine(reduced.N))})
		return
	}
	dense.ParallelOn(in.Worker, kept.N, reduced.N, func(by *sched.Worker, lo, hi int) {
		w, p := dense.ScratchPool.Get().(*dense.Scratch), dense.Pacer{Worker: by}
		found := make([]int64, 1)
		var c dense.Cursor
		c.Seek(&kept, lo)
		for i := lo; i < hi; i++ {
			found[0] = int64(s.searchPart(&p, dense.Buffers[C](w)[0], c.At[0], 0, reduced.N).at)
			store(outs[0].Data, i, found)
			c.Advance(1)
		}
		dense.ScratchPool.Put(w)
	})
}
