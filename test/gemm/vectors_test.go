package gemm

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"nxvk/fallback"
	"nxvk/ops"
	"nxvk/synth"
)

// drawVectors draws a product with at most eight rows or columns, whose operands lie in any of
// the ways that a product may contract.
func drawVectors(r *rand.Rand) *dotCase {
	d := []ops.DType{ops.BF16, ops.F16, ops.S8, ops.U8, ops.F32, ops.F64, ops.S32, ops.S64}[r.IntN(8)]
	few, many, k := 1+r.IntN(8), 64+r.IntN(400), 128+r.IntN(900)
	if r.IntN(2) == 0 { // whole blocks of any type
		many, k = many/16*16, k/16*16
	}
	if r.IntN(8) == 0 {
		k = 3000 + r.IntN(3000) // shared out
	}
	if r.IntN(6) == 0 {
		many, k = 2000+r.IntN(20000), 128+r.IntN(100) // several rows a workgroup
	}
	batch := r.IntN(3)
	if r.IntN(24) == 0 {
		few, many, k = 1+r.IntN(3), 264*64*16/d.Size()+r.IntN(5000), 128+r.IntN(40) // short columns, shared out among results
		batch = min(batch, 1)
	}
	side := func(free int) (ops.Shape, int) {
		var s ops.Shape
		if batch > 0 {
			s = append(s, batch)
		}
		if r.IntN(2) == 0 {
			return append(s, free, k), len(s) + 1
		}
		return append(s, k, free), len(s)
	}
	if r.IntN(2) == 0 {
		few, many = many, few
	}
	c := &dotCase{out: d}
	left, cl := side(few)
	right, cr := side(many)
	c.left, c.right, c.cl, c.cr = ops.Type{DType: d, Shape: left}, ops.Type{DType: d, Shape: right}, []int{cl}, []int{cr}
	if batch > 0 {
		c.bl, c.br = []int{0}, []int{0}
	}
	if d.IsFloat() && d.Size() == 2 && r.IntN(2) == 0 {
		c.out = ops.F32
	}
	return c
}

// TestFewVectors compares products with few rows or columns with the host's. Their kernels load
// narrow types themselves: no step moves or converts the matrix.
func TestFewVectors(t *testing.T) {
	r := open(t)
	f, l := r.Device.Info().Features, r.Device.Info().Limits
	target := synth.Target{Addresses: true, Float64: f.Float64, Int64: f.Int64, Int16: f.Int16, Int8: f.Int8,
		Storage16: f.Storage16, Storage8: f.Storage8, SharedMemory: l.SharedMemory,
		MaxInvocations: l.MaxWorkgroupInvocations, SubgroupSize: l.Subgroup, MaxPush: l.MaxPush}
	for seed := range seeds(60, 2000) {
		rng := rand.New(rand.NewPCG(seed, 14))
		c := drawVectors(rng)
		t.Run(fmt.Sprintf("seed=%d:%v·%v", seed, c.left, c.right), func(t *testing.T) {
			left, right := randomValue(t, c.left, rng), randomValue(t, c.right, rng)
			in := c.instr(nil)
			plan, err := synth.Lower(in, []ops.Type{c.left, c.right}, &target)
			if err != nil {
				t.Fatal(err)
			}
			matrix := synth.Ref{Kind: synth.Operand, Index: 0}
			if c.right.Size() > c.left.Size() {
				matrix.Index = 1
			}
			for i := range plan.Steps {
				args := plan.Steps[i].Args
				if slices.ContainsFunc(args, func(a synth.Arg) bool { return a.Ref == matrix }) && len(args) < 3 {
					t.Errorf("step %d moves or converts the matrix", i)
				}
			}
			out := in.Outs[0].Type
			got := fallback.Value{Type: out, Data: execute(t, r, plan, out.Bytes(), left, right)}
			want := fallback.Value{Type: out, Data: make([]byte, out.Bytes())}
			if err := fallback.Run(in, []fallback.Value{left, right}, []fallback.Value{want}); err != nil {
				t.Fatal(err)
			}
			if out.DType.IsInteger() {
				compare(t, got, want)
				return
			}
			g, w := floats(t, got), floats(t, want)
			rounded := map[ops.DType]float64{ops.BF16: 0x1p-8, ops.F16: 0x1p-11, ops.F32: 0x1p-24, ops.F64: 0x1p-53}
			k := float64(c.left.Shape[c.cl[0]])
			bound := k * math.Sqrt(k) * rounded[out.DType.Wide()] // of a sum of k terms below 1, whose signs are random
			for i := range g {
				if d := math.Abs(g[i] - w[i]); !(d <= bound+2*rounded[out.DType]*math.Abs(w[i])) {
					t.Fatalf("element %d: got %v, want %v", i, g[i], w[i])
				}
			}
		})
	}
}
