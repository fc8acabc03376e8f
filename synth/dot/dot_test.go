package dot_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"nxvk/ops"
	"nxvk/synth"
	"nxvk/synth/gemm"
	"nxvk/synth/lowering"
	"nxvk/synth/synthtest"
)

func matmul(d ops.DType, m, k, n int) (*ops.Instr, []ops.Type) {
	in := &ops.Instr{Op: ops.Dot, Ins: make([]ops.Operand, 2), Attrs: [][]int{{1}, {}, {0}, {}},
		Outs: []ops.Result{{Type: ops.Type{DType: d, Shape: ops.Shape{m, n}}}}}
	return in, []ops.Type{{DType: d, Shape: ops.Shape{m, k}}, {DType: d, Shape: ops.Shape{k, n}}}
}

func TestDotUnsupported(t *testing.T) {
	target := &lowering.Target{SharedMemory: 49152, MaxInvocations: 1024, Addresses: true}
	for _, d := range []ops.DType{ops.F64, ops.S64, ops.U64, ops.C128} {
		in, types := matmul(d, 4, 5, 6)
		if _, err := synth.Lower(in, types, target); !errors.Is(err, lowering.ErrUnsupported) {
			t.Errorf("%v: got %v, want ErrUnsupported", d, err)
		}
	}
	in, types := matmul(ops.F32, 1<<16, 2, 1<<16)
	if _, err := synth.Lower(in, types, target); !errors.Is(err, lowering.ErrUnsupported) {
		t.Errorf("a result of 2^32 elements: got %v, want ErrUnsupported", err)
	}
}

// TestDotPush holds what the executor relies on: room for the addresses, and
// one kernel for one name.
func TestDotPush(t *testing.T) {
	for _, addresses := range []bool{true, false} {
		target := &lowering.Target{SharedMemory: 49152, MaxInvocations: 1024, Addresses: addresses}
		for _, s := range [][3]int{{1, 1, 1}, {300, 300, 300}, {2000, 500, 700}, {4096, 4096, 4096}, {1, 4096, 4096}} {
			in, types := matmul(ops.F32, s[0], s[1], s[2])
			p, err := synth.Lower(in, types, target)
			if err != nil {
				t.Fatal(err)
			}
			q, _ := synth.Lower(in, types, target)
			for i, st := range p.Steps {
				if len(st.Push) != st.Kernel.PushBytes || st.Kernel.PushBytes > 128 {
					t.Errorf("%v: %d bytes of push constants in a layout of %d", s, len(st.Push), st.Kernel.PushBytes)
				}
				if st.Kernel != q.Steps[i].Kernel {
					t.Errorf("%v: two kernels are named %s", s, st.Kernel.Name)
				}
			}
		}
	}
}

// TestDotCopies counts the steps: operands are copied only where their axes do
// not collapse.
func TestDotCopies(t *testing.T) {
	target := &lowering.Target{SharedMemory: 49152, MaxInvocations: 1024, Addresses: true, Storage16: true, Int16: true}
	shape := func(n ...int) ops.Type { return ops.Type{DType: ops.F32, Shape: n} }
	for _, c := range []struct {
		left, right ops.Type
		attrs       [][]int
		out         ops.Shape
		steps       int
	}{
		{shape(32, 8), shape(8, 64), [][]int{{1}, {}, {0}, {}}, ops.Shape{32, 64}, 1},
		{shape(8, 32), shape(64, 8), [][]int{{0}, {}, {1}, {}}, ops.Shape{32, 64}, 1},
		{shape(4, 8, 32), shape(64, 4, 8), [][]int{{1, 0}, {}, {2, 1}, {}}, ops.Shape{32, 64}, 1},
		{shape(4, 32, 8), shape(64, 4, 8), [][]int{{0, 2}, {}, {1, 2}, {}}, ops.Shape{32, 64}, 2},
		{shape(4, 32, 8), shape(4, 64, 8), [][]int{{0, 2}, {}, {0, 2}, {}}, ops.Shape{32, 64}, 3},
		{shape(9, 32, 8), shape(9, 64, 8), [][]int{{2}, {0}, {2}, {0}}, ops.Shape{9, 32, 64}, 1},
	} {
		in := &ops.Instr{Op: ops.Dot, Ins: make([]ops.Operand, 2), Attrs: c.attrs,
			Outs: []ops.Result{{Type: ops.Type{DType: ops.F32, Shape: c.out}}}}
		types := []ops.Type{c.left, c.right}
		if err := in.Check(types); err != nil {
			t.Fatal(err)
		}
		p, err := synth.Lower(in, types, target)
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Steps) != c.steps || len(p.Temps) != c.steps-1 {
			t.Errorf("%v · %v: %d steps and %d temporaries, want %d and %d",
				c.left, c.right, len(p.Steps), len(p.Temps), c.steps, c.steps-1)
		}
	}
}

// A product of bf16 with a few vectors goes to matrix hardware as it lies: one kernel sums shares
// of k, and a second one adds those up.
func TestDotFewVectors(t *testing.T) {
	target := &lowering.Target{SubgroupSize: 32, SharedMemory: 49152, MaxInvocations: 1024, Addresses: true, Storage16: true, Int16: true,
		MaxGroups: [3]uint32{65535, 65535, 65535}, Matrices: []gemm.Matrix{{Type: ops.BF16, M: 16, N: 16, K: 16}}}
	for vectors := 1; vectors <= 9; vectors++ {
		in, types := matmul(ops.BF16, vectors, 4096, 4096)
		p, err := synth.Lower(in, types, target)
		if err != nil {
			t.Fatal(err)
		}
		name := p.Steps[0].Kernel.Name
		if got := strings.Contains(name, "matrix_"); got != (vectors >= 3) {
			t.Errorf("%d vectors: the kernel is %s", vectors, name)
		}
		if len(p.Steps) > 2 {
			t.Errorf("%d vectors: %d steps", vectors, len(p.Steps))
		}
	}
}

// The host has routines for all steps of a product on a processor, whatever the sizes of its operands: those that the
// kernels convert in two parts, too.
func TestRoutinesOfAnySize(t *testing.T) {
	target := *synthtest.CPU
	target.Rounds = lowering.Twice
	covered := 0
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 3))
		d := []ops.DType{ops.F32, ops.BF16, ops.F16, ops.F64}[r.IntN(4)]
		in, types := matmul(d, 1+r.IntN(70), 1+r.IntN(70), 1+r.IntN(70))
		p, err := synth.Lower(in, types, &target)
		if err != nil {
			t.Fatal(err)
		}
		for i := range p.Steps {
			s := &p.Steps[i]
			if !target.HasRoutine(s) {
				t.Errorf("%v of %v: step %d of %d has no routine", in, types, i, len(p.Steps))
			}
			if s.Covered {
				if covered++; i == 0 || p.Steps[i-1].Does == nil || !slices.Equal(p.Steps[i-1].Args, s.Args) {
					t.Errorf("%v of %v: nothing covers step %d", in, types, i)
				}
			}
		}
	}
	if covered == 0 {
		t.Error("no conversion had two parts")
	}
}
