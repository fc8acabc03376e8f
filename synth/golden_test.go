package synth_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nxvk/ops"
	"nxvk/synth/lowering"
	"nxvk/synth/synthtest"
)

// Kernels of both profiles as text, to be read and to see what a change does
// to them. After one that is meant: go test ./synth -run Golden -update.
func TestGolden(t *testing.T) {
	x := synthtest.Type(ops.F32, 12, 8)
	for name, c := range map[string]struct {
		target *lowering.Target
		in     *ops.Instr
		types  []ops.Type
	}{
		"add_gpu":       {synthtest.GPU, synthtest.Instr(ops.Add, x), []ops.Type{x, x}},
		"add_cpu":       {synthtest.CPU, synthtest.Instr(ops.Add, x), []ops.Type{x, x}},
		"add_row_gpu":   {synthtest.GPU, synthtest.Instr(ops.Add, x), []ops.Type{x, synthtest.Type(ops.F32, 8)}},
		"sum_rows_gpu":  {synthtest.GPU, synthtest.Instr(ops.Sum, synthtest.Type(ops.F32, 5), []int{1}, []int{0}), []ops.Type{synthtest.Type(ops.F32, 5, 256)}},
		"sum_cpu":       {synthtest.CPU, synthtest.Instr(ops.Sum, synthtest.Type(ops.F32), []int{0}, []int{0}), []ops.Type{synthtest.Type(ops.F32, 64)}},
		"reverse_u8":    {synthtest.GPU, synthtest.Instr(ops.Reverse, synthtest.Type(ops.U8, 9), []int{0}), []ops.Type{synthtest.Type(ops.U8, 9)}},
		"bf16_from_f32": {synthtest.CPU, synthtest.Instr(ops.AsType, synthtest.Type(ops.BF16, 8)), []ops.Type{synthtest.Type(ops.F32, 8)}},
	} {
		p, err := synthtest.Lower(t, c.target, c.in, c.types...)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for _, s := range p.Steps {
			b.WriteString(s.Kernel.IR.String())
		}
		path := filepath.Join("testdata", name+".txt")
		if *synthtest.Update {
			if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if b.String() != string(want) {
			t.Errorf("%s: got\n%s\nwant\n%s", name, &b, want)
		}
	}
}
