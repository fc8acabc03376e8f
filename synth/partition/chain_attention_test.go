package partition_test

import (
	"slices"
	"testing"

	"nxvk/ops"
	"nxvk/synth"
	"nxvk/synth/attention"
	"nxvk/synth/fusion"
	"nxvk/synth/synthtest"
	"nxvk/test/fewtest"
)

// TestDecode: what makes the queries and the keys of a step of a generation is in the kernel of the attention that reads
// them, where each is a row for each head. The bits are those of the instructions one by one.
func TestDecode(t *testing.T) {
	target := *synthtest.GPU
	target.MaxPush = 256
	attention.Always = true
	defer func() { attention.Always = false }()
	within, apart := 0, 0
	for seed := range uint64(fewtest.Of(40, 8)) {
		for _, d := range []ops.DType{ops.BF16, ops.F32, ops.F16} {
			g := synthtest.DrawDecode(t, seed, d)
			data := g.Data()
			types := make(map[ops.ID]ops.Type)
			straight(t, prepared(g.Region(), &target), types, func(s *synthtest.Sketch) {
				fusions := synth.Fuse(&s.Graph, &target)
				if err := synth.Verify(&s.Graph, fusions); err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				joined := slices.ContainsFunc(fusions, func(u fusion.Fusion) bool {
					i := slices.IndexFunc(u.Stages, func(p fusion.Fusion) bool { return p.Body[len(p.Body)-1].Op == ops.Attention })
					return i > 0
				})
				if joined {
					within++
				} else {
					apart++
				}
				s.CheckOn(&target, fusions, func() synthtest.Values {
					vs := synthtest.Values{}
					for i, x := range data {
						vs[g.Params[i].ID] = append(x.Bytes(), 0, 0, 0)
					}
					return vs
				})
			})
			if t.Failed() {
				t.Fatalf("seed %d, %v", seed, d)
			}
		}
	}
	t.Logf("%d within, %d apart", within, apart)
	if within == 0 || apart == 0 {
		t.Errorf("%d are in the kernel of the attention, %d are not, want some of each", within, apart)
	}
}
