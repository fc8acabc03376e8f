package exec

import (
	"math"
	"slices"
	"testing"

	"nxvk/gen/exec/program"
	"nxvk/gen/exec/queue"
	"nxvk/gen/wire"
	"nxvk/ops"
)

// A long program takes the goroutine of the Executor in slices only. These tests count what is
// done from one function that comes from elsewhere to the next; they look at no clock.

// manyFusions is a program of n sums of products of a scalar, with a shape of its own each, so that
// each is a fusion with a plan of its own. The value is the sum of all.
func manyFusions(n int) *ops.Region {
	p := &ops.Region{Params: []ops.Result{res(1, f32())}}
	id := ops.ID(1)
	next := func() ops.ID { id++; return id }
	total := ops.ID(1)
	for i := range n {
		t := f32(2+i%50, 2+i/50)
		b, m, s, sum := next(), next(), next(), next()
		wide := op(ops.BroadcastTo, res(b, t), ref(1))
		wide.Attrs = [][]int{{}}
		fold := op(ops.Sum, res(s, f32()), ref(m))
		fold.Attrs = [][]int{{0, 1}, {0}}
		p.Body = append(p.Body, wide, op(ops.Multiply, res(m, t), ref(b), ref(b)), fold, op(ops.Max, res(sum, f32()), ref(total), ref(s)))
		total = sum
	}
	p.Values = uses(total)
	return p
}

// compiling runs a program of n fusions until it is being compiled, where the host interprets
// kernels, so that no driver takes part. steps is how many functions came from elsewhere before.
func (r *rig) compiling(q *Queue, n int) {
	r.Helper()
	r.Define(q, "many", manyFusions(n))
	r.Tensor(q, 1, 0.5)
	r.Do(q, ops.Reshape, 2, f32(), nil, ref(1))
	for i := range 2 {
		id := ops.ID(10 + i)
		r.run(q, "many", []ops.Result{res(id, f32())}, ref(2))
		if i == 0 {
			if _, err := r.Read(q, id, 0, 1); err != nil {
				r.Fatal(err)
			}
			r.Built()
		}
	}
}

// plansOf counts the plans that there are.
func (r *rig) plansOf() int {
	n, _, _ := r.exec.kernels.Len()
	return n
}

// Another session has its answer while the fusions of a long program are planned, and none of
// them is used before all are.
func TestPlansInSlices(t *testing.T) {
	warmingUp(t, -1, func(r, _ *rig) {
		const n = 5 * queue.SliceSteps
		q, other := r.session(), r.session()
		r.Tensor(other, 1, 5, 6)
		r.compiling(q, n)
		before := r.plansOf()
		most, answers := 0, 0
		r.Until(func() bool {
			now := r.plansOf()
			most, before = max(most, now-before), now
			if q.programs.Find("many").Compiled() != nil {
				return true
			}
			r.exec.Read(other, 1, 0, 2, func(d Data, err error) {
				if err == nil && slices.Equal(d.Bytes, floats(5, 6)) {
					answers++
				}
			})
			return false
		})
		if slices := (n + queue.SliceSteps - 1) / queue.SliceSteps; answers < slices || most > queue.SliceSteps {
			r.Errorf("another session had %d answers in %d slices; a slice made %d plans", answers, slices, most)
		}
		r.Built()
		r.run(q, "many", []ops.Result{res(20, f32())}, ref(2))
		var got [3]float32
		for i, id := range []ops.ID{10, 11, 20} {
			x, err := r.Read(q, id, 0, 1)
			if err != nil {
				r.Fatal(err)
			}
			got[i] = x[0]
		}
		if got[0] != got[1] || got[0] != got[2] || math.IsNaN(float64(got[0])) {
			r.Errorf("the runs give %v", got)
		}
	})
}

// What the goroutine of the Executor does for the fusions of a program grows with their number.
func TestPlansGrowLinearly(t *testing.T) {
	warmingUp(t, -1, func(r, _ *rig) {
		for _, n := range []int{200, 400, 800} {
			q, noted := r.session(), r.exec.specializer.Noted
			r.compiling(q, n)
			r.Built()
			if got := r.exec.specializer.Noted - noted; got < n || got > 3*n+10 {
				r.Errorf("%d fusions: %d plans and kernels are noted", n, got)
			}
			r.exec.End(q.Session)
			r.exec.kernels.Clear()
		}
	})
}

// A program that is forgotten, or whose session has ended, is planned no further.
func TestPlansEndWithProgram(t *testing.T) {
	warmingUp(t, -1, func(r, _ *rig) {
		for what, end := range map[string]func(q *Queue){
			"forgotten": func(q *Queue) { q.programs.Forget([]string{"many"}) }, // as the instruction does in its turn
			"ended":     func(q *Queue) { r.exec.End(q.Session) },
		} {
			const n = 5 * queue.SliceSteps
			r.exec.kernels.Clear()
			q := r.session()
			r.compiling(q, n)
			before := r.plansOf()
			r.Until(func() bool { return r.plansOf() > before })
			asked := r.plansOf()
			end(q)
			r.Built()
			r.Settle(0)
			if got := r.plansOf(); got > asked {
				r.Errorf("%s: %d plans were asked for, then %d more", what, asked-before, got-asked)
			}
		}
	})
}

// The instructions of a fusion without a plan take turns with those of others, too.
func TestFusionYields(t *testing.T) {
	r := newRig(t, nil)
	q := r.session()
	const n = 50_000 // more than can be done in one turn
	r.Define(q, "chain", longChain(n))
	p, err := r.exec.library.Program(q, "chain")
	if err != nil {
		t.Fatal(err)
	}
	f := &program.Fusion{}
	for _, s := range p.Body.Steps {
		f.Body = append(f.Body, s.In)
	}
	whole := wire.Instr{Name: "fusion", Instr: ops.Instr{Op: ops.Program, Ins: uses(p.Body.Params[0].ID), Outs: f.Body[n-1].Outs}}
	p.Body = &program.Block{Params: p.Body.Params, Values: p.Body.Values, Steps: []program.Step{{In: whole, Fusion: f}}}
	x := make([]float32, 64)
	r.Tensor(q, 1, x...)
	turns := r.exec.Counters().Waits[queue.ForTurn]
	r.run(q, "chain", []ops.Result{res(2, f32(64))}, ref(1))
	if _, err := r.Read(q, 2, 0, 1); err != nil {
		t.Fatal(err)
	}
	if r.exec.Counters().Waits[queue.ForTurn] == turns {
		t.Error("others had no turn")
	}
}
