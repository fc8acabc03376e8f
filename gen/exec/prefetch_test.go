package exec

import (
	"math"
	"testing"

	"nxvk/gen/exec/kernels"
	"nxvk/ops"
)

// The kernels of a program that nobody has seen are compiled side by side, and
// they are those that its run needs.
func TestPrefetch(t *testing.T) {
	rigs(t, func(r *rig) {
		if r.Dev == nil {
			return // the host compiles nothing
		}
		q, m, s := r.session(), f32(6, 300), f32()
		r.Define(q, "all", &ops.Region{Params: []ops.Result{res(1, m), res(2, s)}, Values: uses(7), Body: []ops.Instr{
			op(ops.Tanh, res(3, m), ref(1)),
			op(ops.Multiply, res(4, m), ref(3), ref(2)),
			op(ops.Exp, res(5, m), ref(4)),
			op(ops.Subtract, res(6, m), ref(5), scalar(2)),
			op(ops.Max, res(7, m), ref(6), ref(1)),
		}})
		r.Do(q, ops.Iota, 1, m, [][]int{{-1}})
		if _, err := r.Read(q, 1, 0, 1); err != nil {
			t.Fatal(err)
		}
		r.Built()
		_, known, _ := r.exec.kernels.Len()
		r.run(q, "all", []ops.Result{res(10, m)}, ref(1), scalar(0.5))
		plans := 0
		r.exec.kernels.EachPlan(func(p *kernels.Plan) {
			if p.Soon() {
				plans++
			}
		})
		if plans != 5 {
			t.Errorf("the kernels of %d plans are asked for when the run begins, want those of 5", plans)
		}
		if _, err := r.Read(q, 10, 0, math.MaxInt); err != nil {
			t.Fatal(err)
		}
		if _, n, _ := r.exec.kernels.Len(); n-known != 5 {
			t.Errorf("%d kernels in the end, want 5", n-known)
		}
	})
}
