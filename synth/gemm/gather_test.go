package gemm

import (
	"testing"

	"nxvk/ops"
	"nxvk/shaders"
)

// Plans of gathered products have shaders that exist, and push constants that
// fit beside three addresses.
func TestGather(t *testing.T) {
	axis := Axis{Out: 56, Taps: 3, Stride: 1, Step: 1, Low: 1, Gap: 1, Extent: 56, At: 56}
	for axes := range 4 {
		for _, d := range []ops.DType{ops.F32, ops.F64} {
			for _, m := range []int{1, 40, 64, 512} {
				g := Gather{Size: 64 * 64 * 3136, Groups: 1, Channel: 3136, Batch: 64 * 3136}
				for range axes {
					g.Axes = append(g.Axes, axis)
				}
				p := Problem{Type: d, M: m, N: 3136, K: 576, Batch: 64, A: Strides{Row: 576, Col: 1}}
				roomy := *gpu
				roomy.MaxPush = 256
				if g.Gathers(&p, gpu) != (axes < 3) || !g.Gathers(&p, &roomy) {
					t.Fatalf("%v: %d axes and %d rows have a kernel: %v within 128 bytes of push constants, %v within 256",
						d, axes, m, g.Gathers(&p, gpu), g.Gathers(&p, &roomy))
				}
				plan, err := NewGather(p, &g, &roomy)
				if err != nil {
					t.Fatal(err)
				}
				for _, s := range plan.Steps {
					if _, err := shaders.Code(s.Kernel.Shader); err != nil {
						t.Error(err)
					}
					if len(s.Push)+3*8 > 128 && axes < 3 {
						t.Errorf("%d bytes of push constants", len(s.Push))
					}
				}
			}
		}
	}
	if g := (Gather{Axes: make([]Axis, 4)}); g.Gathers(&Problem{Type: ops.F32, M: 64, N: 64, K: 64, Batch: 1}, gpu) {
		t.Error("four axes are gathered")
	}
	if g := (Gather{}); g.Gathers(&Problem{Type: ops.F32, M: 64, N: 64, K: 64, Batch: 1}, cpu) {
		t.Error("a processor gathers")
	}
}
