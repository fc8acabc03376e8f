package fallback

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"nxvk/fallback/dense"
	"nxvk/fallback/sched"
	"nxvk/ops"
	"nxvk/ops/example"
)

// resized is the example of an operation with large operands: rows by cols where the
// example has a square, and as many elements where it has a row. It reports false where
// the operation computes nothing, or has no meaning for these sizes.
func resized(op ops.Op, d ops.DType, rows, cols int) (in *ops.Instr, types []ops.Type, ok bool) {
	in, types, ok = example.Of(op, d)
	if !ok {
		return nil, nil, false
	}
	f := op.Info()
	grow := func(list []int) []int {
		size := [2]int{rows, cols}
		out := make([]int, len(list))
		for i, n := range list {
			switch {
			case n == 8 && len(list) == 1 && f.Kind == ops.Transform:
				out[i] = cols // the axis is the last
			case n == 8 && len(list) == 1 || n == 64:
				out[i] = rows * cols
			case n == 8:
				out[i] = size[i%2]
			case n == 4 && f.Kind == ops.Window && len(list) == 4:
				out[i] = int(math.Sqrt(float64(rows * cols)))
			case n == 4:
				out[i] = max(1, size[i%2]/2)
			case n == 2 && f.Kind == ops.Index:
				out[i] = rows
			default:
				out[i] = n
			}
		}
		return out
	}
	for i := range types {
		types[i].Shape = grow(types[i].Shape)
	}
	if op == ops.BroadcastTo {
		types[0].Shape = ops.Shape{cols}
	}
	switch {
	case f.Kind == ops.Transform:
		in.Attrs = append([][]int{grow(in.Attrs[0])}, in.Attrs[1:]...)
	case op == ops.Slice:
		in.Attrs = [][]int{in.Attrs[0], grow(in.Attrs[1]), in.Attrs[2]}
	}
	for i := range in.Outs {
		in.Outs[i].Type.Shape = grow(in.Outs[i].Type.Shape)
	}
	if f.Infer != nil {
		if shapes, err := f.Infer(in, types); err == nil && len(shapes) == len(in.Outs) {
			for i, s := range shapes {
				in.Outs[i].Type.Shape = s
			}
		}
	}
	return in, types, in.Check(types) == nil
}

// operandsOf are random operands of an instruction: indices that exist, and matrices that
// have factors.
func operandsOf(r *rand.Rand, in *ops.Instr, types []ops.Type) []Value {
	args := make([]Value, len(types))
	for i, t := range types {
		args[i] = dense.New(t)
		xs := make([]float64, t.Size())
		for k := range xs {
			switch {
			case in.Op.Info().Kind == ops.Index && i == 1:
				xs[k] = float64(r.IntN(types[0].Shape[0]))
			case t.DType.IsInteger():
				xs[k] = float64(r.IntN(4))
			default:
				xs[k] = r.NormFloat64()
			}
		}
		if n := len(t.Shape); in.Op.Info().Kind == ops.LinAlg && i == 0 && in.Op != ops.SVD && in.Op != ops.Eigh {
			for k := 0; k < len(xs); k += t.Shape[n-1] + 1 {
				xs[k] = float64(4 * t.Shape[n-1])
			}
		}
		dense.StoreFloat[t.DType](args[i].Data, 0, xs)
	}
	return args
}

// sliceWork is about how many elements are computed between two looks.
const sliceWork = 128 << 10

// leastWork is how many elements an instruction reads, writes or multiplies, at least.
func leastWork(in *ops.Instr, types []ops.Type) int {
	work := 0
	for _, o := range in.Outs {
		work = max(work, o.Type.Size())
	}
	switch in.Op.Info().Kind {
	case ops.Reduce, ops.ArgReduce, ops.Fold:
		return types[0].Size()
	case ops.Contract:
		return work * types[0].Shape[1]
	case ops.LinAlg:
		return types[0].Size() * types[0].Shape[1] / 3
	}
	return work
}

// watched computes an instruction by the only worker of a pool. at is called at each look
// of the worker, with its number from 1 on.
func watched(in *ops.Instr, args []Value, at func(a *sched.Account, look int)) (outs []Value, looks int, err error) {
	for _, o := range in.Outs {
		outs = append(outs, dense.New(o.Type))
	}
	p := sched.NewPool(1)
	var a *sched.Account
	computing := false
	p.SetClock(func() time.Time {
		if computing {
			looks++
			at(a, looks)
		}
		return time.Time{}
	})
	a = p.Account()
	done := make(chan error)
	a.Start("test", func(w *sched.Worker) error {
		computing = true
		defer func() { computing = false }()
		return RunOn(w, in, args, outs)
	}, func(err error) { done <- err })
	return outs, looks, <-done
}

// largeOnes calls f with large instructions of every operation: of a square, and of one
// long line, of many short ones, or of two.
func largeOnes(t *testing.T, f func(t *testing.T, r *rand.Rand, in *ops.Instr, types []ops.Type)) {
	for op := ops.Op(0); op < ops.Count; op++ {
		if !Supports(op) || op == ops.Tensor || op.Info().Kind == ops.Composite { // a composite's instructions are cancelled themselves
			continue
		}
		t.Run(op.String(), func(t *testing.T) {
			r := rand.New(rand.NewPCG(21, uint64(op)))
			found := false
			side := 640
			switch op.Info().Kind {
			case ops.LinAlg, ops.Contract:
				side = 160
			case ops.Fold:
				side = 400
			}
			lines := [][2]int{{1, side * side}, {side * side, 1}, {2, side * side / 2}}
			for _, shape := range [][2]int{{side, side}, lines[r.IntN(3)]} {
				if op.Info().Kind == ops.LinAlg && shape[0] != side {
					continue
				}
				d := []ops.DType{ops.F32, ops.S32, ops.F64, ops.BF16, ops.C64}[r.IntN(5)]
				if Computes(op, d) != nil {
					d = ops.F32
				}
				if Computes(op, d) != nil {
					d = ops.S32
				}
				if in, types, ok := resized(op, d, shape[0], shape[1]); ok {
					found = true
					f(t, r, in, types)
				}
			}
			if !found {
				t.Error("has no large example")
			}
		})
	}
}

// A worker checks for cancellation at bounded intervals, whatever it computes: at least
// once for some multiple of the cost of a slice. Where its computation is cancelled at
// any of these looks, it looks no more.
func TestCancel(t *testing.T) {
	largeOnes(t, func(t *testing.T, r *rand.Rand, in *ops.Instr, types []ops.Type) {
		args := operandsOf(r, in, types)
		_, looks, err := watched(in, args, func(*sched.Account, int) {})
		if err != nil {
			t.Fatalf("%v: %v", types, err)
		}
		if least := leastWork(in, types) / (2 * sliceWork); looks < least {
			t.Errorf("%v: %d looks at %d elements, want %d or more", types, looks, leastWork(in, types), least)
		}
		if looks == 0 {
			return
		}
		last := 1 + r.IntN(looks)
		_, after, err := watched(in, args, func(a *sched.Account, look int) {
			if look == last {
				a.End()
			}
		})
		if !errors.Is(err, sched.ErrCancelled) || after != last {
			t.Errorf("%v: cancelled at look %d of %d, ends at %d with %v", types, last, looks, after, err)
		}
	})
}
