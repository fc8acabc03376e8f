package fallback

import (
	"fmt"

	"nxvk/ops"
)

// argReduce finds the index of an extreme. A NaN is taken whatever came
// before, as in Nx, so the last one wins.
func argReduce(in *ops.Instr, args, outs []Value) error {
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

// better reports whether x replaces the best element so far, for argmax and
// argmin that keep the first or the last of equal ones.
func better[C realClass](op ops.Op, last bool) func(x, best C) bool {
	switch {
	case op == ops.ArgMax && last:
		return func(x, best C) bool { return x >= best || x != x }
	case op == ops.ArgMax:
		return func(x, best C) bool { return x > best || x != x }
	case last:
		return func(x, best C) bool { return x <= best || x != x }
	}
	return func(x, best C) bool { return x < best || x != x }
}

func searchIn[C realClass](in *ops.Instr, args, outs []Value) {
	shape, axes := args[0].Type.Shape, in.Attrs[0]
	if axes[0] < 0 {
		axes = ops.AllAxes(len(shape))
	}
	var kept, reduced plan
	splitAxes(&kept, &reduced, shape, axes)
	n, count := kept.n, reduced.n
	load, store := loadAs[C](args[0].Type.DType), storeInt[outs[0].Type.DType]
	take := better[C](in.Op, in.Attrs[2][0] != 0)
	step := reduced.steps[0][0] // one axis, or all: one run either way
	parallel(n, count, func(lo, hi int) {
		s := scratches.Get().(*scratch)
		b := bufs[C](s)[0]
		var c cursor
		c.seek(&kept, lo)
		for i := lo; i < hi; i++ {
			found := []int64{0}
			var best C
			for at := 0; at < count; at += chunk {
				xs := b[:min(chunk, count-at)]
				load(xs, args[0].Data, c.at[0]+at*step, step)
				for j, x := range xs {
					if at+j == 0 || take(x, best) {
						best, found[0] = x, int64(at+j)
					}
				}
			}
			store(outs[0].Data, i, found)
			c.advance(1)
		}
		scratches.Put(s)
	})
}
