package fallback

import (
	"fmt"
	"math"
	"slices"

	"nxvk/fallback/sched"
	"nxvk/ops"
)

var reduceKernels = map[ops.Op]kernel{
	ops.Sum: reduce, ops.Product: reduce, ops.ReduceMax: reduce, ops.ReduceMin: reduce,
	ops.All: reduce, ops.Any: reduce,
	ops.ArgMax: argReduce, ops.ArgMin: argReduce,
}

// reducer is a reduction in one class. Elements are folded in the order in
// which they lie in memory.
type reducer[C class] struct {
	identity C
	fold     func(acc C, xs []C) C // many elements into one
	long     func(acc C, xs []C) C // the same in an order that keeps the adders busy
	join     func(acc, xs []C)     // element by element
}

type reducers[C class] [ops.Count]reducer[C]

// Longer reductions than this use reducer.long; shorter ones add one after the
// other, as Nx does, and give the same bits.
const longReduction = 4096

// block is how many elements of a long reduction are folded apart from the
// others. It is a constant, so that the order does not depend on the machine.
const block = 32 << 10

func reduce(in *call, args, outs []Value) error {
	class := outs[0].Type.DType.Class()
	if in.Op.Info().Compare || args[0].Type.DType.IsComplex() {
		class = args[0].Type.DType.Class()
	}
	switch class {
	case ops.Float:
		return reduceIn(in, &floatReducers, args, outs)
	case ops.Signed:
		return reduceIn(in, &intReducers, args, outs)
	case ops.Unsigned:
		return reduceIn(in, &uintReducers, args, outs)
	}
	return reduceIn(in, &complexReducers, args, outs)
}

// folding is a reduction of one operand: for each element of the kept
// dimensions, the elements of the reduced ones.
type folding[C class] struct {
	w *sched.Worker
	*reducer[C]
	load          loader[C]
	store         storer[C]
	src, dst      []byte
	kept, reduced *plan
}

func reduceIn[C class](in *call, table *reducers[C], args, outs []Value) error {
	f := folding[C]{w: in.w, reducer: &table[in.Op], src: args[0].Data, dst: outs[0].Data,
		load: loadAs[C](args[0].Type.DType), store: storeAs[C](outs[0].Type.DType)}
	if f.fold == nil {
		return fmt.Errorf("%v of %v: %w", in.Op, args[0].Type.DType, noClass[C]())
	}
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	f.kept, f.reduced = &s.plan, &s.reduced
	splitAxes(f.kept, f.reduced, args[0].Type.Shape, in.Attrs[0])
	if f.kept.n*f.reduced.n < parallelMin {
		f.some(nil, 0, f.kept.n)
		return nil
	}
	big := f // what the goroutines share; a small reduction allocates nothing
	if big.kept.n == 1 && big.reduced.n > block {
		big.blocks()
	} else {
		parallelOn(in.w, big.kept.n, big.reduced.n, big.some)
	}
	return nil
}

// some computes results lo to hi.
func (f *folding[C]) some(w *sched.Worker, lo, hi int) {
	if f.kept.steps[0][0] == 1 && f.reduced.steps[0][0] != 1 {
		f.columns(w, lo, hi)
	} else {
		f.rows(w, lo, hi)
	}
}

// splitAxes plans the kept and the reduced dimensions of a dense tensor.
func splitAxes(kept, reduced *plan, shape ops.Shape, axes []int) {
	kept.reset()
	reduced.reset()
	step := 1
	for i := len(shape) - 1; i >= 0; i-- {
		if slices.Contains(axes, i) {
			reduced.push(shape[i], [maxOperands]int{step})
		} else {
			kept.push(shape[i], [maxOperands]int{step})
		}
		step *= shape[i]
	}
	kept.finish()
	reduced.finish()
}

// rows computes results lo to hi one after the other.
func (f *folding[C]) rows(w *sched.Worker, lo, hi int) {
	s, p := scratches.Get().(*scratch), pace{w: w}
	b := bufs[C](s)
	var kept cursor
	kept.seek(f.kept, lo)
	for lo < hi {
		n := kept.run(min(chunk, hi-lo))
		for i := range n {
			b[1][i] = f.part(&p, s, b[0], kept.at[0]+i*f.kept.steps[0][0], 0, f.reduced.n)
		}
		f.store(f.dst, lo, b[1][:n])
		kept.advance(n)
		lo += n
	}
	scratches.Put(s)
}

// part folds elements lo to hi of the reduced dimensions of the result whose
// first element is at base.
func (f *folding[C]) part(p *pace, s *scratch, buf []C, base, lo, hi int) C {
	acc, fold := f.identity, f.fold
	if f.reduced.n > longReduction {
		fold = f.long
	}
	c := &s.cur
	c.seek(f.reduced, lo)
	for lo < hi {
		n := c.run(min(chunk, hi-lo))
		f.load(buf[:n], f.src, base+c.at[0], f.reduced.steps[0][0])
		acc = fold(acc, buf[:n])
		p.step(n)
		c.advance(n)
		lo += n
	}
	return acc
}

// blocks folds everything into one result, block by block.
func (f *folding[C]) blocks() {
	parts := make([]C, (f.reduced.n+block-1)/block)
	parallelOn(f.w, len(parts), block, func(w *sched.Worker, lo, hi int) {
		s, p := scratches.Get().(*scratch), pace{w: w}
		for i := lo; i < hi; i++ {
			parts[i] = f.part(&p, s, bufs[C](s)[0], 0, i*block, min((i+1)*block, f.reduced.n))
		}
		scratches.Put(s)
	})
	f.store(f.dst, 0, []C{f.fold(f.identity, parts)})
}

// columns computes results lo to hi where neighbours lie next to each other:
// a chunk of results takes one run of elements at a time.
func (f *folding[C]) columns(w *sched.Worker, lo, hi int) {
	s, p := scratches.Get().(*scratch), pace{w: w}
	b := bufs[C](s)
	var kept cursor
	kept.seek(f.kept, lo)
	for lo < hi {
		n := kept.run(min(chunk, hi-lo))
		acc, xs := b[1][:n], b[0][:n]
		for i := range acc {
			acc[i] = f.identity
		}
		c := &s.cur
		c.seek(f.reduced, 0)
		for range f.reduced.n {
			f.load(xs, f.src, kept.at[0]+c.at[0], 1)
			f.join(acc, xs)
			p.step(n)
			c.advance(1)
		}
		f.store(f.dst, lo, acc)
		kept.advance(n)
		lo += n
	}
	scratches.Put(s)
}

// folds makes a reducer of an operator.
func folds[C class](identity C, op func(acc, x C) C) reducer[C] {
	fold := func(acc C, xs []C) C {
		for _, x := range xs {
			acc = op(acc, x)
		}
		return acc
	}
	return reducer[C]{identity, fold, fold, func(acc, xs []C) {
		for i, x := range xs {
			acc[i] = op(acc[i], x)
		}
	}}
}

// sums is the reducer of addition.
func sums[C class]() reducer[C] {
	return reducer[C]{0, func(acc C, xs []C) C {
		for _, x := range xs {
			acc += x
		}
		return acc
	}, sumLanes[C], func(acc, xs []C) {
		acc = acc[:len(xs)]
		for i, x := range xs {
			acc[i] += x
		}
	}}
}

// sumLanes adds in four lanes.
func sumLanes[C class](acc C, xs []C) C {
	var a, b, c, d C
	for len(xs) >= 4 {
		a, b, c, d = a+xs[0], b+xs[1], c+xs[2], d+xs[3]
		xs = xs[4:]
	}
	for _, x := range xs {
		a += x
	}
	return acc + ((a + b) + (c + d))
}

// verdicts is the reducer of a logical operator: decided gives the result, whatever
// else there is.
func verdicts[C class](identity, decided C, op func(acc, x C) C) reducer[C] {
	r := folds(identity, op)
	r.fold = func(acc C, xs []C) C {
		for _, x := range xs {
			if (x != 0) == (decided != 0) {
				return decided
			}
		}
		return acc
	}
	r.long = r.fold
	return r
}

// arithmetic are the reductions that all classes have.
func arithmetic[C class](t *reducers[C]) {
	t[ops.Sum] = sums[C]()
	t[ops.Product] = folds(1, mul[C])
	t[ops.All] = verdicts[C](1, 0, logicalAnd)
	t[ops.Any] = verdicts[C](0, 1, logicalOr)
}

// extremes adds the reductions that need an order.
func extremes[C realClass](lowest, highest C) (t reducers[C]) {
	arithmetic(&t)
	t[ops.ReduceMax] = folds(lowest, larger[C])
	t[ops.ReduceMin] = folds(highest, smaller[C])
	return t
}

var (
	floatReducers   = extremes(math.Inf(-1), math.Inf(1))
	intReducers     = extremes[int64](math.MinInt64, math.MaxInt64)
	uintReducers    = extremes[uint64](0, math.MaxUint64)
	complexReducers = func() (t reducers[complex128]) { arithmetic(&t); return t }()
)
