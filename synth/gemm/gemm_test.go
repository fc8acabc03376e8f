package gemm

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"nxvk/ops"
	"nxvk/shaders"
)

var (
	gpu = &Target{Addresses: true, SharedMemory: 49152, MaxInvocations: 1024, Subgroup: 32,
		MaxGroups: [3]uint32{1<<31 - 1, 65535, 65535}}
	small = &Target{SharedMemory: 16384, MaxInvocations: 128, MaxGroups: [3]uint32{65535, 65535, 65535}}
	cpu   = &Target{CPU: true, SharedMemory: 32768, MaxInvocations: 1024, Subgroup: 8,
		MaxGroups: [3]uint32{65535, 65535, 65535}}
)

func rowMajor(d ops.DType, m, n, k, batch int) Problem {
	return Problem{Type: d, M: m, N: n, K: k, Batch: batch,
		A: Strides{Row: k, Col: 1, Batch: m * k}, B: Strides{Row: n, Col: 1, Batch: k * n}}
}

// describe names the kernels of a plan.
func describe(p *Plan) string {
	var names []string
	for _, s := range p.Steps {
		name := strings.TrimPrefix(strings.SplitN(s.Kernel.Shader, ".", 2)[0], "gemm_")
		if len(s.Kernel.Spec) >= 10 {
			c := s.Kernel.Spec
			name += fmt.Sprintf(" %dx%dx%d", 8*c[1]*c[3], 4*c[2]*c[4], c[5])
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

func TestChoice(t *testing.T) {
	for _, c := range []struct {
		target *Target
		p      Problem
		want   string
	}{
		{gpu, rowMajor(ops.F32, 8192, 8192, 8192, 1), "single 64x128x16" + strings.Repeat(", single 64x128x16", 4)},
		{gpu, rowMajor(ops.F32, 4100, 4100, 4100, 1), "single 64x128x16"},
		{gpu, rowMajor(ops.F32, 3072, 3072, 3072, 1), "single 64x128x16"},
		{gpu, rowMajor(ops.F32, 2048, 2048, 2048, 1), "double 128x128x8"},
		{gpu, rowMajor(ops.F32, 1024, 1024, 1024, 1), "single 64x128x16"},
		{gpu, rowMajor(ops.F32, 512, 512, 512, 1), "single 32x64x32"},
		{gpu, rowMajor(ops.F32, 256, 256, 256, 1), "single 32x64x32"},
		{gpu, rowMajor(ops.F32, 557, 1327, 16384, 1), "single 64x128x16, chunks"},
		{gpu, rowMajor(ops.F32, 999, 54, 2094, 1), "single 64x64x16, chunks"},
		{gpu, rowMajor(ops.F32, 128, 128, 784, 1), "single 32x32x16, chunks"},
		{gpu, rowMajor(ops.F32, 4096, 1, 4096, 1), "narrow"},
		{gpu, rowMajor(ops.F32, 1, 1, 1<<20, 1), "narrow, chunks"},
		{gpu, rowMajor(ops.F32, 1, 50257, 4096, 1), "wide"},
		{gpu, rowMajor(ops.F32, 3, 512, 4096, 1), "wide, chunks"},
		{gpu, rowMajor(ops.F32, 1, 1024, 3072, 1), "wide"},
		{gpu, rowMajor(ops.F32, 1, 2048, 1024, 1), "wide"},
		{gpu, rowMajor(ops.F32, 1, 512, 1<<16, 1), "wide, chunks"}, // too large
		{gpu, rowMajor(ops.F32, 1, 64, 1<<14, 1), "wide, chunks"},  // too few workgroups
		{gpu, rowMajor(ops.F32, 3, 3, 3, 100000), "plain"},
		{gpu, rowMajor(ops.F32, 8, 8, 8, 2048), "small"},
		{gpu, rowMajor(ops.F64, 13, 16, 256, 577), "small"},
		{gpu, rowMajor(ops.F32, 12, 16, 4096, 1), "small, chunks"},
		{gpu, rowMajor(ops.F32, 16, 7, 256, 8192), "small"}, // not of few vectors
		{gpu, rowMajor(ops.F32, 64, 64, 64, 100), "single 32x64x32"},
		{gpu, rowMajor(ops.F64, 4096, 4096, 4096, 1), "double 128x128x8, double 128x128x8, double 128x128x8"},
		{gpu, rowMajor(ops.S64, 100, 100, 100, 1), "single 32x32x8"},
		{small, rowMajor(ops.F32, 4096, 4096, 4096, 1), "double 128x128x8"},
		{cpu, rowMajor(ops.F32, 1024, 1024, 1024, 1), "block"},
		{cpu, rowMajor(ops.F32, 5, 3, 9, 1), "plain"},
	} {
		plan, err := New(c.p, c.target)
		if err != nil {
			t.Fatal(err)
		}
		if got := describe(plan); got != c.want {
			t.Errorf("%v %dx%dx%d batch %d: got %q, want %q", c.p.Type, c.p.M, c.p.N, c.p.K, c.p.Batch, got, c.want)
		}
	}
}

// TestTilesDivide holds what the tiled kernels assume of a tile: each
// invocation moves a whole number of vectors, in whole rows or columns.
func TestTilesDivide(t *testing.T) {
	for d, v := range map[ops.DType]int{ops.F32: 4, ops.F64: 2, ops.U32: 4, ops.U64: 2} {
		size := d.Size()
		for _, c := range Tiles(d, true) {
			for _, extent := range []int{c.m(), c.n()} {
				switch n := c.threads(); {
				case c.Double && extent/v%8 != 0:
					t.Errorf("%v: vectors change places among less than eight", c)
				case c.Rows%v != 0 || c.Cols%v != 0:
					t.Errorf("%v: blocks are no whole vectors of %d", c, v)
				case extent*c.TileK%(v*n) != 0:
					t.Errorf("%v: %d invocations do not share %d elements", c, n, extent*c.TileK)
				case n%(c.TileK/v) != 0 || n%(extent/v) != 0:
					t.Errorf("%v: %d invocations move no whole rows", c, n)
				}
			}
			if c.sharedBytes(size) > 49152 {
				t.Errorf("%v: takes %d bytes of shared memory", c, c.sharedBytes(size))
			}
		}
	}
}

// TestPlansFit holds what every plan promises: shaders that exist, push
// constants within 128 bytes beside the addresses, grids within limits.
func TestPlansFit(t *testing.T) {
	sizes := []int{1, 2, 7, 8, 33, 100, 129, 1000, 4097}
	for _, target := range []*Target{gpu, small, cpu} {
		for i, m := range sizes {
			for j, n := range sizes {
				for l, k := range sizes {
					d := []ops.DType{ops.F32, ops.F64, ops.S32, ops.U64}[(i+j+l)%4]
					plan, err := New(rowMajor(d, m, n, k, 1+(i+j)%3), target)
					if err != nil {
						t.Fatal(err)
					}
					checkSteps(t, plan, target)
				}
			}
		}
	}
}

func checkSteps(t *testing.T, plan *Plan, target *Target) {
	t.Helper()
	for _, s := range plan.Steps {
		if _, err := shaders.Code(s.Kernel.Shader); err != nil {
			t.Fatal(err)
		}
		if len(s.Push)+24 > 128 {
			t.Errorf("%s: %d bytes of parameters", s.Kernel.Shader, len(s.Push))
		}
		for i, g := range s.Grid {
			if g < 1 || g > target.MaxGroups[i] {
				t.Errorf("%s: grid %v", s.Kernel.Shader, s.Grid)
			}
		}
		if s.Kernel.Local[0] != s.Kernel.Spec[0] || int(s.Kernel.Local[0]) > target.MaxInvocations {
			t.Errorf("%s: %d invocations", s.Kernel.Shader, s.Kernel.Local[0])
		}
	}
}

func TestTooLarge(t *testing.T) {
	if _, err := New(rowMajor(ops.F32, 1<<16, 1<<16, 1, 1), gpu); !errors.Is(err, ErrTooLarge) {
		t.Errorf("2^32 results: got %v, want ErrTooLarge", err)
	}
	bound := *cpu
	bound.MaxBinding = 1 << 20
	if _, err := New(rowMajor(ops.F32, 1024, 1024, 8, 1), &bound); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a result beyond a binding: got %v, want ErrTooLarge", err)
	}
}

// TestSharesFollowShape holds that the order of a sum does not depend on the
// device, as far as both share k out at all.
func TestSharesFollowShape(t *testing.T) {
	p := rowMajor(ops.F32, 256, 256, 1024, 1)
	a, err := New(p, gpu)
	if err != nil {
		t.Fatal(err)
	}
	b, err := New(p, small)
	if err != nil {
		t.Fatal(err)
	}
	if a.Partial != b.Partial {
		t.Errorf("partial sums of %d and %d bytes", a.Partial, b.Partial)
	}
}
