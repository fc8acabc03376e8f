package fallback

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"nxvk/fallback/dense"
	"nxvk/fallback/sched"
	"nxvk/ops"
	"nxvk/test/fewtest"
)

// heavy is an instruction of every kind that can take long, of sizes that are cut into
// many slices.
type heavy struct {
	in   ops.Instr
	args []Value
}

func heavyOnes(r *rand.Rand) []heavy {
	var list []heavy
	add := func(op ops.Op, attrs [][]int, outs []ops.Type, args ...Value) {
		in := ops.Instr{Op: op, Attrs: attrs}
		for _, t := range outs {
			in.Outs = append(in.Outs, ops.Result{Type: t})
		}
		for _, a := range args {
			in.Ins = append(in.Ins, ops.Operand{Lit: &ops.Literal{Type: a.Type, Data: a.Data}})
		}
		list = append(list, heavy{in, args})
	}
	for _, d := range []ops.DType{ops.F32, ops.F64, ops.C64, ops.S32} {
		m, line := typ(d, 150, 150), typ(d, 300_000)
		a, x := random(r, m), random(r, line)
		add(ops.Dot, [][]int{{1}, {}, {0}, {}}, []ops.Type{m}, a, random(r, m))
		add(ops.Add, nil, []ops.Type{line}, x, random(r, line))
		add(ops.Sum, [][]int{{0}}, []ops.Type{typ(d)}, x)
		add(ops.CumulativeSum, [][]int{{0}, {0}}, []ops.Type{line}, x)
		if d == ops.S32 {
			add(ops.Sort, [][]int{{0}, {0}}, []ops.Type{line}, x)
			continue
		}
		for i := range 150 { // so that factors exist
			dense.StoreAs[float64](d.Real())(a.Data, (i*150+i)*d.Size()/d.Real().Size(), []float64{400})
		}
		add(ops.LU, nil, []ops.Type{m, m, m}, a)
		add(ops.Cholesky, nil, []ops.Type{m}, a)
		add(ops.QR, [][]int{{0}}, []ops.Type{m, m}, a)
		add(ops.Solve, nil, []ops.Type{m}, a, random(r, m))
		add(ops.SVD, [][]int{{0}}, []ops.Type{m, typ(d.Real(), 150), m}, a)
	}
	return list
}

// A worker that computes in slices and with helpers gives the same bits as one that
// computes at once; a cancelled computation says so.
func TestWorker(t *testing.T) {
	p := sched.NewPool(3)
	for i, h := range heavyOnes(rand.New(rand.NewPCG(5, 6))) {
		if !fewtest.OneIn(2, i) { // types have an odd number of operations: each is tried in two
			continue
		}
		outs := func() (list []Value) {
			for _, o := range h.in.Outs {
				list = append(list, dense.New(o.Type))
			}
			return list
		}
		want, got := outs(), outs()
		if err := Run(&h.in, h.args, want); err != nil {
			t.Fatalf("%v of %v: %v", h.in.Op, h.args[0].Type, err)
		}
		a, done := p.Account(), make(chan error)
		a.Start("test", func(w *sched.Worker) error { return RunOn(w, &h.in, h.args, got) }, func(err error) { done <- err })
		if err := <-done; err != nil {
			t.Fatalf("%v of %v: %v", h.in.Op, h.args[0].Type, err)
		}
		for i := range got {
			if !bytes.Equal(got[i].Data, want[i].Data) {
				t.Errorf("%v of %v: result %d differs", h.in.Op, h.args[0].Type, i)
			}
		}
		a.Start("test", func(w *sched.Worker) error {
			a.End()
			if err := RunOn(w, &h.in, h.args, got); err != nil && !errors.Is(err, sched.ErrCancelled) {
				t.Errorf("%v of %v: %v", h.in.Op, h.args[0].Type, err)
			}
			return w.Yield()
		}, func(err error) { done <- err })
		if err := <-done; !errors.Is(err, sched.ErrCancelled) {
			t.Errorf("%v of %v goes on: %v", h.in.Op, h.args[0].Type, err)
		}
	}
}

// A function of a reduction that never ends stops when its computation is cancelled.
func TestEndless(t *testing.T) {
	scalar := typ(ops.F32)
	one := ops.Operand{Lit: &ops.Literal{Type: typ(ops.U8), Data: []byte{1}}}
	loop := ops.Instr{Op: ops.While, Ins: []ops.Operand{{ID: 1}}, Outs: []ops.Result{{ID: 3, Type: scalar}}, Regions: []*ops.Region{
		{Params: []ops.Result{{ID: 4, Type: scalar}}, Values: []ops.Operand{one}},
		{Params: []ops.Result{{ID: 5, Type: scalar}}, Values: []ops.Operand{{ID: 5}}},
	}}
	fun := &ops.Region{Params: []ops.Result{{ID: 1, Type: scalar}, {ID: 2, Type: scalar}}, Body: []ops.Instr{loop}, Values: []ops.Operand{{ID: 3}}}
	x, start := vec(ops.F32, 1, 2, 3), tensor(ops.F32, nil, 0)
	in := ops.Instr{Op: ops.ReduceFun, Attrs: [][]int{{0}}, Regions: []*ops.Region{fun}, Outs: []ops.Result{{Type: scalar}}}
	a, began, done := sched.NewPool(1).Account(), make(chan struct{}), make(chan error)
	a.Start("test", func(w *sched.Worker) error {
		close(began)
		return RunOn(w, &in, []Value{x, start}, []Value{dense.New(scalar)})
	}, func(err error) { done <- err })
	<-began
	a.End()
	if err := <-done; !errors.Is(err, sched.ErrCancelled) {
		t.Errorf("got %v", err)
	}
}
