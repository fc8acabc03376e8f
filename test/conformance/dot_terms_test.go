package conformance

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"nxvk/gen/exec/exectest"
	"nxvk/ops"
	"nxvk/synth/gemm"
	"nxvk/synth/graph"
	"nxvk/test/draw"
)

// TestWholeTerms: products of f32 whose terms are filled up with zeros to whole vectors give what the host gives, within
// the bound of products, and the same bits in each run. A matrix may lie either way, once or for each of the batch.
func TestWholeTerms(t *testing.T) {
	gemm.WholeTermsAlways = true
	defer func() { gemm.WholeTermsAlways = false }()
	modes(t, func(t *testing.T, d, host *exectest.Driver, _ bool) {
		for seed := range seedCount(2, 60) {
			rnd := rand.New(rand.NewPCG(seed, 31))
			b, m, k, n := 1+rnd.IntN(3), 64+rnd.IntN(80), 64+rnd.IntN(300), 64+rnd.IntN(80)
			ways := [2]int{rnd.IntN(2), rnd.IntN(2)}
			left, right := ops.Shape{b, m, k}, ops.Shape{b, n, k}
			for i, s := range []ops.Shape{left, right} {
				if ways[i] == 1 {
					s[1], s[2] = s[2], s[1]
				}
			}
			p, err := graph.Parse(fmt.Sprintf(`(%%1:f32[%d,%d,%d], %%2:f32[%d,%d,%d]) {
  %%3:f32[%d,%d,%d] = dot %%1, %%2 contract_left=[%d] batch_left=[0] contract_right=[%d] batch_right=[0]
  %%4:f32[%d,%d,%d] = multiply %%3, f32(2)
  give %%4
}
`, b, left[1], left[2], b, right[1], right[2], b, m, n, 2-ways[0], 2-ways[1], b, m, n))
			if err != nil {
				t.Fatal(err)
			}
			types, err := p.CheckProgram()
			if err != nil {
				t.Fatal(err)
			}
			var data [][]byte
			for _, param := range p.Params {
				xs := make([]float64, param.Type.Size())
				for i := range xs {
					xs[i] = rnd.Float64()*2 - 1
				}
				data = append(data, draw.Encode(xs, param.Type))
			}
			want, _, err := results(host, p, types, data)
			if err != nil {
				t.Fatal(err)
			}
			got := sameBitsInEachRun(t, d, p, types, data)
			bound := 8 * float64(k+8) * 0x1p-24 * math.Sqrt(float64(k))
			g, w := draw.Decode(got[0], types[0]), draw.Decode(want[0], types[0])
			for i := range g {
				if !(math.Abs(g[i]-w[i]) <= bound) {
					t.Fatalf("%v · %v: element %d is %v, want %v within %v", left, right, i, g[i], w[i], bound)
				}
			}
		}
	})
}
