package synth_test

import (
	"fmt"
	"strings"
	"testing"

	"nxvk/ops"
	"nxvk/synth"
	"nxvk/synth/graph/notation"
	"nxvk/synth/synthtest"
)

// What is behind a product of rows × 64 by 64 × cols, which is %4.
const (
	geluErf = `  %5:TYPE = add %4, %3
  %6:TYPE = divide %5, DTYPE(1.4140625)
  %7:TYPE = erf %6
  %8:TYPE = add %7, s32(1)
  %9:TYPE = multiply %5, %8
`
	geluTanh = `  %5:TYPE = add %4, %3
  %6:TYPE = multiply %5, DTYPE(0.5)
  %7:TYPE = pow %5, DTYPE(3)
  %8:TYPE = add %5, %7
  %10:TYPE = tanh %8
  %9:TYPE = multiply %6, %10
`
	bias = `  %5:TYPE = add %4, %3
  %6:TYPE = multiply %5, DTYPE(0.5)
  %9:TYPE = max %6, DTYPE(0)
`
	// What needs another product of the results is in no epilogue, so it does not count.
	twice = `  %5:TYPE = add %4, %3
  %6:TYPE = dot %5, %2 contract_left=[1] batch_left=[] contract_right=[0] batch_right=[]
  %7:TYPE = erf %6
  %9:TYPE = multiply %7, %5
`
)

// TestEpilogueApart: on matrix hardware, many results have long epilogues in one kernel of their own, which reads and writes
// them once. Few results, short epilogues and products of f32 keep theirs.
func TestEpilogueApart(t *testing.T) {
	target := *synthtest.GPU
	target.MaxPush = 256
	for _, d := range []ops.DType{ops.BF16, ops.F16} {
		target.Matrices = append(target.Matrices, synth.Matrix{Type: d, M: 16, N: 16, K: 16})
	}
	target.Alike = target.Matrices
	for _, c := range []struct {
		name, dtype string
		body        string
		rows, cols  int
		product     int // instructions in the fusion of the product
		outs        int // what it gives
	}{
		{"gelu by erf", "bf16", geluErf, 4096, 3072, 1, 1},
		{"gelu by tanh", "bf16", geluTanh, 4096, 3072, 1, 1},
		{"few results", "bf16", geluErf, 64, 256, 6, 1},
		{"bias", "bf16", bias, 4096, 3072, 4, 1},
		{"two products", "bf16", twice, 1 << 18, 64, 2, 1},
		{"f32", "f32", geluErf, 4096, 3072, 6, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			typ := fmt.Sprintf("%s[%d,%d]", c.dtype, c.rows, c.cols)
			text := fmt.Sprintf("(%%1:%[1]s[%[2]d,64], %%2:%[1]s[64,%[3]d], %%3:%[1]s[%[3]d]) {\n"+
				"  %%4:%[4]s = dot %%1, %%2 contract_left=[1] batch_left=[] contract_right=[0] batch_right=[]\n%[5]s  give %%9\n}\n",
				c.dtype, c.rows, c.cols, typ, strings.NewReplacer("DTYPE", c.dtype, "TYPE", typ).Replace(c.body))
			r, err := notation.Parse(text)
			if err != nil {
				t.Fatalf("%v in\n%s", err, text)
			}
			list := synth.Fuse(&synth.Graph{Params: r.Params, Body: r.Body, Keep: []ops.ID{r.Values[0].ID}}, &target)
			if f := list[0]; f.Body[0].Op != ops.Dot || len(f.Body) != c.product || len(f.Outs) != c.outs {
				t.Errorf("the product has %d instructions and gives %d, want %d and %d", len(f.Body), len(f.Outs), c.product, c.outs)
			}
			if c.product == 1 && len(list) != 2 {
				t.Errorf("what is behind the product is %d fusions, want 1", len(list)-1)
			}
		})
	}
}
