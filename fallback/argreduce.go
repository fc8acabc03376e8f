package fallback

import (
	"fmt"

	"nxvk/fallback/sched"
	"nxvk/ops"
)

// argReduce finds the index of an extreme. A NaN is taken whatever came
// before, as in Nx, so the last one wins.
func argReduce(in *call, args, outs []Value) error {
	switch args[0].Type.DType.Class() {
	case ops.Float:
		searchIn[float64](in, args, outs)
	case ops.Signed:
		searchIn[int64](in, args, outs)
	case ops.Unsigned:
		searchIn[uint64](in, args, outs)
	default:
		return fmt.Errorf("%v of %v: %w", in.Op, args[0].Type.DType, ErrComplex)
	}
	return nil
}

// extreme is the best element of a line so far, and where it is.
type extreme[C realClass] struct {
	x  C
	at int
}

// better is the search for a better element among xs, of which the first is
// number at of its line: for argmax and argmin that keep the first or the last
// of equal ones.
func better[C realClass](op ops.Op, last bool) func(best extreme[C], xs []C, at int) extreme[C] {
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
type search[C realClass] struct {
	w    *sched.Worker
	src  []byte
	load loader[C]
	take func(best extreme[C], xs []C, at int) extreme[C]
	step int // between the elements of a line
}

// part finds the extreme of elements lo to hi of the line that begins at base.
func (s *search[C]) part(p *pace, buf []C, base, lo, hi int) extreme[C] {
	var best extreme[C]
	for at := lo; at < hi; at += chunk {
		xs := buf[:min(chunk, hi-at)]
		s.load(xs, s.src, base+at*s.step, s.step)
		if at == lo {
			best = extreme[C]{xs[0], lo}
		}
		best = s.take(best, xs, at)
		p.step(len(xs))
	}
	return best
}

// line finds the extreme of the only line, in parts.
func (s *search[C]) line(n int) int {
	parts := make([]extreme[C], (n+block-1)/block)
	parallelOn(s.w, len(parts), block, func(by *sched.Worker, lo, hi int) {
		w, p := scratches.Get().(*scratch), pace{w: by}
		for i := lo; i < hi; i++ {
			parts[i] = s.part(&p, bufs[C](w)[0], 0, i*block, min((i+1)*block, n))
		}
		scratches.Put(w)
	})
	best := parts[0]
	for _, p := range parts[1:] {
		best = s.take(best, []C{p.x}, p.at)
	}
	return best.at
}

func searchIn[C realClass](in *call, args, outs []Value) {
	shape, axes := args[0].Type.Shape, in.Attrs[0]
	if axes[0] < 0 {
		axes = ops.AllAxes(len(shape))
	}
	var kept, reduced plan
	splitAxes(&kept, &reduced, shape, axes)
	store := storeInt[outs[0].Type.DType]
	s := &search[C]{w: in.w, src: args[0].Data, load: loadAs[C](args[0].Type.DType), take: better[C](in.Op, in.Attrs[2][0] != 0),
		step: reduced.steps[0][0]} // one axis, or all: one run either way
	if kept.n == 1 {
		store(outs[0].Data, 0, []int64{int64(s.line(reduced.n))})
		return
	}
	parallelOn(in.w, kept.n, reduced.n, func(by *sched.Worker, lo, hi int) {
		w, p := scratches.Get().(*scratch), pace{w: by}
		found := make([]int64, 1)
		var c cursor
		c.seek(&kept, lo)
		for i := lo; i < hi; i++ {
			found[0] = int64(s.part(&p, bufs[C](w)[0], c.at[0], 0, reduced.n).at)
			store(outs[0].Data, i, found)
			c.advance(1)
		}
		scratches.Put(w)
	})
}
