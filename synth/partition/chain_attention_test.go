package partition_test

import (
	"bytes"
	"slices"
	"testing"

	"nxvk/ops"
	"nxvk/synth"
	"nxvk/synth/attention"
	"nxvk/synth/fusion"
	"nxvk/synth/lowering"
	"nxvk/synth/synthtest"
	"nxvk/test/fewtest"
)

// TestDecode: what makes the queries and the keys of a step of a generation is in the kernel of the attention that reads
// them, where each is a row for each head. The bits are those of kernels apart.
func TestDecode(t *testing.T) {
	target := *synthtest.GPU
	target.MaxPush = 256
	plain := synthtest.Without(&target, lowering.RuleChains|lowering.RuleAbreast)
	attention.Always = true
	defer func() { attention.Always = false }()
	within, apart := 0, 0
	for seed := range uint64(fewtest.Of(40, 8)) {
		for _, d := range []ops.DType{ops.BF16, ops.F32, ops.F16} {
			g := synthtest.DrawDecode(t, seed, d, seed%4 == 3)
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
				if seed%4 == 3 { // kernels of products are not interpreted
					return
				}
				carry := func(target *lowering.Target, fusions []fusion.Fusion) synthtest.Values {
					vs := synthtest.Values{}
					for i, x := range data {
						vs[g.Params[i].ID] = append(x.Bytes(), 0, 0, 0)
					}
					s.Host = nil // kernels carry out all
					s.Carry(target, fusions, vs)
					return vs
				}
				got, want := carry(&target, fusions), carry(plain, synth.Fuse(&s.Graph, plain))
				for _, id := range s.Keep {
					if n := s.Types[id].Bytes(); !bytes.Equal(got[id][:n], want[id][:n]) {
						t.Fatalf("seed %d, %v: value %d is %v, want %v, in\n%s", seed, d, id, synthtest.FromBytes(s.Types[id], got[id][:n]),
							synthtest.FromBytes(s.Types[id], want[id][:n]), synthtest.Show(fusions))
					}
				}
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
