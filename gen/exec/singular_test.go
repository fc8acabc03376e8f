package exec

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"nxvk/fallback"
	"nxvk/gen/wire"
	"nxvk/ops"
)

// square uploads a matrix of 2 by 2.
func (r *rig) square(q *Queue, id ops.ID, v ...float32) {
	r.Tensor(q, 100, v...)
	r.Do(q, ops.Reshape, id, f32(2, 2), nil, ref(100))
	r.Free(q, 100)
}

// A system without a solution is an error where its result is read. What depends
// on it inherits the error, other results do not have it, and nothing is left
// behind.
func TestSingular(t *testing.T) {
	rigs(t, func(r *rig) {
		q := r.session()
		r.square(q, 1, 1, 2, 2, 4)
		r.square(q, 2, 2, 0, 0, 4)
		r.Tensor(q, 3, 2, 4)
		r.Do(q, ops.Solve, 4, f32(2), nil, ref(1), ref(3))
		r.Do(q, ops.Negate, 5, f32(2), nil, ref(4))
		r.Do(q, ops.Solve, 6, f32(2), nil, ref(2), ref(3))
		r.Do(q, ops.Solve, 7, f32(2), nil, ref(2), ref(6))
		first := r.WantKind(q, 4, wire.BadArgument)
		if !errors.Is(first, fallback.ErrSingular) {
			r.Errorf("got %v, want %v", first, fallback.ErrSingular)
		}
		if again := r.WantKind(q, 5, wire.BadArgument); again != first {
			r.Errorf("dependent value has %v, want %v", again, first)
		}
		r.Want(q, 6, 1, 1)
		r.Want(q, 7, 0.5, 0.25)
		if r.exec.Counters().Failed != 1 {
			r.Errorf("%d failed, want 1", r.exec.Counters().Failed)
		}
		for id := ops.ID(1); id <= 7; id++ {
			r.Free(q, id)
		}
		r.Settle(10 * time.Millisecond)
		if n := q.Session.Bytes(); n != 0 {
			r.Errorf("%d bytes are held, want 0", n)
		}
	})
}

// A queue does not wait for what a check finds: the result is there before the device has been asked,
// and so is a result computed from it. Whoever reads one gets the error.
func TestSolveGoesOn(t *testing.T) {
	rigs(t, func(r *rig) {
		if r.Dev == nil || r.exec.core.target.CPU {
			r.Skip("only GPUs solve")
		}
		r.warm()
		q := r.session()
		r.Tensor(q, 1, 0)
		r.Do(q, ops.Reshape, 2, f32(1, 1), nil, ref(1))
		r.Do(q, ops.Solve, 3, f32(1), nil, ref(2), ref(1))
		r.Do(q, ops.Negate, 4, f32(1), nil, ref(3))
		r.exec.recorder.flushTrace(q)
		if q.waits != 0 {
			r.Errorf("the queue waits: %v", q.waits)
		}
		if err := r.WantKind(q, 4, wire.BadArgument); !errors.Is(err, fallback.ErrSingular) {
			r.Errorf("got %v, want %v", err, fallback.ErrSingular)
		}
		r.WantKind(q, 3, wire.BadArgument)
	})
}

// warm makes the kernels of small systems and one of everything they need.
func (r *rig) warm() {
	r.Helper()
	q := r.session()
	r.Tensor(q, 1, 2)
	r.Do(q, ops.Reshape, 2, f32(1, 1), nil, ref(1))
	r.Do(q, ops.Solve, 3, f32(1), nil, ref(2), ref(1))
	r.Do(q, ops.Negate, 4, f32(1), nil, ref(1))
	r.Want(q, 3, 1)
	r.Want(q, 4, -2)
	r.exec.End(q.Session)
}

// A program that solves has the same errors, whichever way it is carried out.
func TestSingularProgram(t *testing.T) {
	rigs(t, func(r *rig) {
		q, v := r.session(), f32(2)
		solve := op(ops.TriangularSolve, res(3, v), ref(1), ref(2))
		solve.Attrs = [][]int{{1}, {1}, {0}}
		r.Define(q, "p", &ops.Region{
			Params: []ops.Result{res(1, f32(2, 2)), res(2, v)},
			Body:   []ops.Instr{solve, op(ops.Add, res(4, v), ref(3), scalar(1)), op(ops.Exp, res(5, v), ref(2))},
			Values: uses(4, 5),
		})
		r.square(q, 10, 1, 0, 5, 0)
		r.square(q, 12, 1, 0, 0, 2)
		r.Tensor(q, 13, 0, 0)
		for k := range ops.ID(4) {
			a, at := 10+k%2*2, 20+10*k
			r.run(q, "p", []ops.Result{res(at, v), res(at+1, v)}, ref(a), ref(13))
			if a == 10 {
				err := r.WantKind(q, at, wire.BadArgument)
				if !errors.Is(err, fallback.ErrSingular) || !strings.Contains(err.Error(), "row 1") {
					r.Errorf("run %d: got %v, want row 1: %v", k, err, fallback.ErrSingular)
				}
			} else {
				r.Want(q, at, 1, 1)
			}
			r.Want(q, at+1, 1, 1)
			r.Built()
		}
	})
}

// A loop goes on past the check of each round, and carries an error out.
func TestSolveInLoop(t *testing.T) {
	rigs(t, func(r *rig) {
		q, v, s, pred := r.session(), f32(2), f32(), ops.Type{DType: ops.U8}
		r.Define(q, "rounds", &ops.Region{
			Params: []ops.Result{res(1, f32(2, 2)), res(2, v), res(3, s)},
			Values: uses(5),
			Body: []ops.Instr{{Op: ops.While, Outs: []ops.Result{res(4, f32(2, 2)), res(5, v), res(6, s)}, Ins: uses(1, 2, 3),
				Attrs: [][]int{nil, nil}, Regions: []*ops.Region{
					{Params: []ops.Result{res(10, f32(2, 2)), res(11, v), res(12, s)}, Values: uses(13),
						Body: []ops.Instr{op(ops.Less, res(13, pred), ref(12), scalar(3))}},
					{Params: []ops.Result{res(20, f32(2, 2)), res(21, v), res(22, s)}, Values: uses(20, 23, 24), Body: []ops.Instr{
						op(ops.Solve, res(23, v), ref(20), ref(21)),
						op(ops.Add, res(24, s), ref(22), scalar(1)),
					}},
				}}},
		})
		r.square(q, 1, 2, 0, 0, 4)
		r.square(q, 2, 1, 1, 1, 1)
		r.Tensor(q, 3, 16, 64)
		for k := range ops.ID(2) {
			r.run(q, "rounds", []ops.Result{res(10+k, v)}, ref(1), ref(3), scalar(0))
			r.Want(q, 10+k, 2, 1)
			r.run(q, "rounds", []ops.Result{res(20+k, v)}, ref(2), ref(3), scalar(0))
			r.WantKind(q, 20+k, wire.BadArgument)
			r.Built()
		}
	})
}

// NaN is no zero: it is what comes out.
func TestSolveNaN(t *testing.T) {
	rigs(t, func(r *rig) {
		q := r.session()
		r.Tensor(q, 1, float32(math.NaN()))
		r.Do(q, ops.Reshape, 2, f32(1, 1), nil, ref(1))
		r.Do(q, ops.Solve, 3, f32(1), nil, ref(2), ref(1))
		got, err := r.Read(q, 3, 0, 1)
		if err != nil || !math.IsNaN(float64(got[0])) {
			r.Errorf("got %v, %v, want NaN", got, err)
		}
	})
}
