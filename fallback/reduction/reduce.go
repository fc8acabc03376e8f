package reduction

import (
	"fmt"
	"math"
	"slices"

	"nxvk/fallback/dense"
	"nxvk/fallback/elementwise"
	"nxvk/fallback/sched"
	"nxvk/ops"
)

var Kernels = map[ops.Op]dense.Kernel{
	ops.Sum: reduce, ops.Product: reduce, ops.ReduceMax: reduce, ops.ReduceMin: reduce,
	ops.All: reduce, ops.Any: reduce,
	ops.ArgMax: argReduce, ops.ArgMin: argReduce,
}

// reducer is a reduction in one class. Elements are folded in the order in
// which they lie in memory.
type reducer[C dense.Class] struct {
	identity C
	fold     func(acc C, xs []C) C // many elements into one
	long     func(acc C, xs []C) C // the same in an order that keeps the adders busy
	join     func(acc, xs []C)     // element by element
}

type reducers[C dense.Class] [ops.Count]reducer[C]

// longReduction is the most elements that are folded one after the other, as Nx does, with
// the same bits. Longer reductions use reducer.long.
const longReduction = 4096

// block is the number of elements of a long reduction that are folded separately. It is a
// constant, so that the order does not depend on the machine.
const block = 32 << 10

func reduce(in *dense.Call, args, outs []dense.Value) error {
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

// folding is the reduction of one operand. Each element of the kept dimensions is a result,
// to which the elements of the reduced dimensions are folded.
type folding[C dense.Class] struct {
	w *sched.Worker
	*reducer[C]
	load          dense.Loader[C]
	store         dense.Storer[C]
	src, dst      []byte
	kept, reduced *dense.Plan
}

func reduceIn[C dense.Class](in *dense.Call, table *reducers[C], args, outs []dense.Value) error {
	f := folding[C]{w: in.Worker, reducer: &table[in.Op], src: args[0].Data, dst: outs[0].Data,
		load: dense.LoadAs[C](args[0].Type.DType), store: dense.StoreAs[C](outs[0].Type.DType)}
	if f.fold == nil {
		return fmt.Errorf("%v of %v: %w", in.Op, args[0].Type.DType, elementwise.NoClass[C]())
	}
	s := dense.ScratchPool.Get().(*dense.Scratch)
	defer dense.ScratchPool.Put(s)
	f.kept, f.reduced = &s.Plan, &s.Reduced
	splitAxes(f.kept, f.reduced, args[0].Type.Shape, in.Attrs[0])
	if f.kept.N*f.reduced.N < dense.ParallelMin {
		f.reduceRange(nil, 0, f.kept.N)
		return nil
	}
	big := f // what the goroutines share; a small reduction allocates nothing
	if big.kept.N == 1 && big.reduced.N > block {
		big.reduceBlocks()
	} else {
		dense.ParallelOn(in.Worker, big.kept.N, big.reduced.N, big.reduceRange)
	}
	return nil
}

// reduceRange computes results lo to hi.
func (f *folding[C]) reduceRange(w *sched.Worker, lo, hi int) {
	if f.kept.Steps[0][0] == 1 && f.reduced.Steps[0][0] != 1 {
		f.reduceColumns(w, lo, hi)
	} else {
		f.reduceRows(w, lo, hi)
	}
}

// splitAxes plans the kept and the reduced dimensions of a dense tensor.
func splitAxes(kept, reduced *dense.Plan, shape ops.Shape, axes []int) {
	kept.Reset()
	reduced.Reset()
	step := 1
	for i := len(shape) - 1; i >= 0; i-- {
		if slices.Contains(axes, i) {
			reduced.Push(shape[i], [dense.MaxOperands]int{step})
		} else {
			kept.Push(shape[i], [dense.MaxOperands]int{step})
		}
		step *= shape[i]
	}
	kept.Finish()
	reduced.Finish()
}

// reduceRows computes results lo to hi one after the other.
func (f *folding[C]) reduceRows(w *sched.Worker, lo, hi int) {
	s, p := dense.ScratchPool.Get().(*dense.Scratch), dense.Pacer{Worker: w}
	b := dense.Buffers[C](s)
	var kept dense.Cursor
	kept.Seek(f.kept, lo)
	for lo < hi {
		n := kept.Ahead(min(dense.Chunk, hi-lo))
		for i := range n {
			b[1][i] = f.reducePart(&p, s, b[0], kept.At[0]+i*f.kept.Steps[0][0], 0, f.reduced.N)
		}
		f.store(f.dst, lo, b[1][:n])
		kept.Advance(n)
		lo += n
	}
	dense.ScratchPool.Put(s)
}

// reducePart folds elements lo to hi of the reduced dimensions of the result whose
// first element is at base.
func (f *folding[C]) reducePart(p *dense.Pacer, s *dense.Scratch, buf []C, base, lo, hi int) C {
	acc, fold := f.identity, f.fold
	if f.reduced.N > longReduction {
		fold = f.long
	}
	c := &s.Cur
	c.Seek(f.reduced, lo)
	for lo < hi {
		n := c.Ahead(min(dense.Chunk, hi-lo))
		f.load(buf[:n], f.src, base+c.At[0], f.reduced.Steps[0][0])
		acc = fold(acc, buf[:n])
		p.Step(n)
		c.Advance(n)
		lo += n
	}
	return acc
}

// reduceBlocks folds all elements into one result, block by block.
func (f *folding[C]) reduceBlocks() {
	parts := make([]C, (f.reduced.N+block-1)/block)
	dense.ParallelOn(f.w, len(parts), block, func(w *sched.Worker, lo, hi int) {
		s, p := dense.ScratchPool.Get().(*dense.Scratch), dense.Pacer{Worker: w}
		for i := lo; i < hi; i++ {
			parts[i] = f.reducePart(&p, s, dense.Buffers[C](s)[0], 0, i*block, min((i+1)*block, f.reduced.N))
		}
		dense.ScratchPool.Put(s)
	})
	f.store(f.dst, 0, []C{f.fold(f.identity, parts)})
}

// reduceColumns computes results lo to hi where the operands of neighbouring results lie next
// to each other: it folds one run of elements into a chunk of results at a time.
func (f *folding[C]) reduceColumns(w *sched.Worker, lo, hi int) {
	s, p := dense.ScratchPool.Get().(*dense.Scratch), dense.Pacer{Worker: w}
	b := dense.Buffers[C](s)
	var kept dense.Cursor
	kept.Seek(f.kept, lo)
	for lo < hi {
		n := kept.Ahead(min(dense.Chunk, hi-lo))
		acc, xs := b[1][:n], b[0][:n]
		for i := range acc {
			acc[i] = f.identity
		}
		c := &s.Cur
		c.Seek(f.reduced, 0)
		for range f.reduced.N {
			f.load(xs, f.src, kept.At[0]+c.At[0], 1)
			f.join(acc, xs)
			p.Step(n)
			c.Advance(1)
		}
		f.store(f.dst, lo, acc)
		kept.Advance(n)
		lo += n
	}
	dense.ScratchPool.Put(s)
}

// reducerOf returns the reducer of an operator.
func reducerOf[C dense.Class](identity C, op func(acc, x C) C) reducer[C] {
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

// sumReducer returns the reducer of addition.
func sumReducer[C dense.Class]() reducer[C] {
	return reducer[C]{0, func(acc C, xs []C) C {
		for _, x := range xs {
			acc += x
		}
		return acc
	}, sumFour[C], func(acc, xs []C) {
		acc = acc[:len(xs)]
		for i, x := range xs {
			acc[i] += x
		}
	}}
}

// sumFour adds with four accumulators.
func sumFour[C dense.Class](acc C, xs []C) C {
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

// logicalReducer returns the reducer of a logical operator. An element that equals decided in
// truth ends the fold: it gives the result, whatever the others are.
func logicalReducer[C dense.Class](identity, decided C, op func(acc, x C) C) reducer[C] {
	r := reducerOf(identity, op)
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

// enterArithmetic enters the reductions that all classes have.
func enterArithmetic[C dense.Class](t *reducers[C]) {
	t[ops.Sum] = sumReducer[C]()
	t[ops.Product] = reducerOf(1, elementwise.Mul[C])
	t[ops.All] = logicalReducer[C](1, 0, elementwise.LogicalAnd)
	t[ops.Any] = logicalReducer[C](0, 1, elementwise.LogicalOr)
}

// orderedReducers returns the reductions of a class that has an order.
func orderedReducers[C dense.RealClass](lowest, highest C) (t reducers[C]) {
	enterArithmetic(&t)
	t[ops.ReduceMax] = reducerOf(lowest, elementwise.Larger[C])
	t[ops.ReduceMin] = reducerOf(highest, elementwise.Smaller[C])
	return t
}

var (
	floatReducers   = orderedReducers(math.Inf(-1), math.Inf(1))
	intReducers     = orderedReducers[int64](math.MinInt64, math.MaxInt64)
	uintReducers    = orderedReducers[uint64](0, math.MaxUint64)
	complexReducers = func() (t reducers[complex128]) { enterArithmetic(&t); return t }()
)
