package conformance

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"nxvk/gen/exec/exectest"
	"nxvk/ops"
	"nxvk/synth/graph/notation"
	"nxvk/test/draw"
)

// halves are a program that puts values of one kernel side by side, as Nx's random numbers are.
func halves(t *testing.T, d ops.DType, rows, n int) *ops.Region {
	t.Helper()
	part, whole := fmt.Sprintf("%v[%d,%d]", d, rows, n), fmt.Sprintf("%v[%d,%d]", d, 3*rows, n)
	r, err := notation.Parse(fmt.Sprintf(`(%%1:%[1]s, %%2:%[1]s) {
  %%3:%[1]s = add %%1, %%2
  %%4:%[1]s = max %%1, %%2
  %%5:%[1]s = multiply %%3, %%4
  %%6:%[2]s = concatenate %%5, %%3, %%4 axis=0
  give %%6
}
`, part, whole))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The kernel of all parts writes them into their concatenation, wherever the parts begin.
func TestHalves(t *testing.T) {
	modes(t, func(t *testing.T, d, host *exectest.Driver, gpu bool) {
		const seed = 79
		r := rand.New(rand.NewPCG(seed, 1))
		types := []ops.DType{ops.F32, ops.U32, ops.S64, ops.F64, ops.BF16, ops.F16, ops.U8, ops.S16}
		for range 12 {
			p := halves(t, types[r.IntN(len(types))], 1+r.IntN(5), 1+r.IntN(1<<(1+r.IntN(14))))
			outs, err := p.CheckProgram()
			if err != nil {
				t.Fatal(err)
			}
			data := [][]byte{draw.Whole(r, p.Params[0].Type), draw.Whole(r, p.Params[1].Type)}
			want, _, err := results(host, p, outs, data)
			if err != nil {
				t.Fatal(err)
			}
			for i := range d.Exec.Services().Enough() + 1 {
				got, dispatches, err := results(d, p, outs, data)
				if err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(got[0], want[0]) {
					t.Errorf("%v: run %d differs from the host", outs[0], i)
				}
				if i == d.Exec.Services().Enough() && gpu && dispatches > 1 {
					t.Errorf("%v: %d dispatches", outs[0], dispatches)
				}
				if err := d.Built(); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}
