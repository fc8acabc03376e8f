package exec

import (
	"math"
	"slices"
	"testing"
	"time"

	"nxvk/gen/exec/kernels"
	"nxvk/gen/exec/program"
	"nxvk/ops"
)

// squares is the sum of the squares of differences, a fusion of three instructions.
func squares(rows, n int) *ops.Region {
	t := f32(rows, n)
	return &ops.Region{Params: []ops.Result{res(1, t), res(2, t)}, Values: []ops.Operand{ref(5)}, Body: []ops.Instr{
		op(ops.Subtract, res(3, t), ref(1), ref(2)), op(ops.Multiply, res(4, t), ref(3), ref(3)),
		{Op: ops.Sum, Outs: []ops.Result{res(5, f32(rows))}, Ins: uses(4), Attrs: [][]int{{1}, {0}}}}}
}

// The instructions of a fusion are carried out one by one where that is the quickest way on a processor. All ways give the same
// bits.
func TestFusionApart(t *testing.T) {
	warmingUp(t, -1, func(r, _ *rig) {
		r.exec.kernels.WarmUp, r.exec.kernels.Stead, r.exec.dispatcher.Stead = false, true, true
		q := r.session()
		const rows, n = 90, 100
		r.Define(q, "squares", squares(rows, n))
		for i, op := range []ops.Op{ops.Sin, ops.Cos} {
			r.Do(q, ops.Iota, ops.ID(10+i), f32(rows, n), [][]int{{-1}})
			r.point(q, op, ops.ID(1+i), f32(rows, n), ref(ops.ID(10+i)))
		}
		next := ops.ID(100)
		run := func() []float32 {
			next++
			r.run(q, "squares", []ops.Result{res(next, f32(rows))}, ref(1), ref(2))
			v, err := r.Read(q, next, 0, math.MaxInt)
			if err != nil {
				r.Fatal(err)
			}
			r.Built()
			return v
		}
		want := run()
		for k := range 2*r.exec.dispatcher.Trials() + 4 {
			if got := run(); !slices.Equal(got, want) {
				r.Fatalf("run %d has other bits", k+2)
			}
		}
		f := fusionOf(r, q)
		if f == nil {
			r.Fatal("the program has no fusion")
		}
		if f.Plan.Contest.Wants(kernels.Apart) && f.Plan.Contest.Wants(kernels.ByDevice) && f.Plan.Contest.Wants(kernels.ByHost) {
			r.Errorf("no way is measured: %+v", f.Plan.Contest)
		}
		for _, quickest := range []kernels.Way{kernels.Apart, kernels.ByDevice, kernels.ByHost} {
			f.Plan.Contest = kernels.Contest{}
			for _, by := range []kernels.Way{kernels.Apart, kernels.ByDevice, kernels.ByHost} {
				for range r.exec.dispatcher.Trials() {
					took := 2 * time.Hour
					if by == quickest {
						took = time.Hour
					}
					f.Plan.Contest.Note(by, took)
				}
			}
			before := r.exec.Counters()
			if got := run(); !slices.Equal(got, want) {
				r.Errorf("way %d has other bits", quickest)
			}
			after := r.exec.Counters()
			apart := after.Host-before.Host >= 2 // the difference and the square
			if device := after.Device > before.Device && !apart; apart != (quickest == kernels.Apart) || device != (quickest == kernels.ByDevice) {
				r.Errorf("way %d: the host computed %d instructions and %d dispatches, the device %d plans", quickest,
					after.Host-before.Host, after.Interpreted-before.Interpreted, after.Device-before.Device)
			}
		}
	})
}

// fusionOf is the first fusion of the program squares, nil where it is not compiled.
func fusionOf(r *rig, q *Queue) *program.Fusion {
	p, err := r.exec.library.Program(q, "squares")
	if err != nil {
		r.Fatal(err)
	}
	for _, body := range p.Compiled() {
		for i := range body.Steps {
			if f := body.Steps[i].Fusion; f != nil {
				return f
			}
		}
	}
	return nil
}
