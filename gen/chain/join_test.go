package chain

import (
	"testing"

	"nxvk/gen/exec/exectest/rig"
	"nxvk/gen/sample"
	"nxvk/gen/wire"
	"nxvk/ops"
)

// TestShaderTogether: calls that come while others are on the device go in few
// dispatches, and each gets the rows that it would have got alone. Calls with
// another step size, or another number of steps, do not share it.
func TestShaderTogether(t *testing.T) {
	r, q := shaderRig(t)
	r.shader(q, "good", compile(t, "-DNUM=double"))
	call := func(i, n, k int, step float64) *wire.Chain {
		c := &wire.Chain{Shader: "good", N: n, K: k, D: 2, NObs: 0, Step: step, Type: ops.F64, Correct: true, Batch: true}
		for j := range n {
			at := 1 + float64(i) + float64(j)/16
			c.Q, c.P, c.Extras = append(c.Q, rig.F64s(at, -at)...), append(c.P, rig.F64s(1, at/8)...), append(c.Extras, rig.F64s(1, 0.25)...)
		}
		return c
	}
	if _, err := r.chain(q, call(0, 1, 1, 0.1)); err != nil { // compiled, and probed
		t.Fatal(err)
	}
	const callers = 48
	var calls []*wire.Chain
	for i := range callers {
		c := call(i, 1+i%3, 8, 0.1)
		switch i % 16 {
		case 7:
			c.Step = 0.2
		case 9:
			c.K = 3
		}
		calls = append(calls, c)
	}
	got, left, before := make([]sample.Rows, callers), callers, r.Exec.Counters().Dispatches
	for i, c := range calls {
		r.chains.Chain(q, c, func(rows sample.Rows, err error) {
			if err != nil {
				t.Error(err)
			}
			got[i] = kept(rows)
			left--
		})
	}
	r.Until(func() bool { return left == 0 })
	if n := r.Exec.Counters().Dispatches - before; n > 3*3 {
		t.Errorf("%d dispatches for %d calls of three kinds, want 3 a kind at most", n, callers)
	}
	for i, c := range calls {
		for j := range c.N {
			at := 1 + float64(i) + float64(j)/16
			want := normal([]float64{at, -at}, []float64{1, at / 8}, []float64{1, 0.25}, c.Step, c.K)
			row := c.K * 8
			own := sample.Rows{Q: got[i].Q[2*row*j:][:2*row], P: got[i].P[2*row*j:][:2*row],
				Grad: got[i].Grad[2*row*j:][:2*row], LogP: got[i].LogP[row*j:][:row]}
			if !same(own, want) {
				t.Fatalf("call %d, instance %d: the rows are not those of the host", i, j)
			}
		}
	}
}
