package linalg_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"nxvk/ops"
	"nxvk/synth"
	"nxvk/synth/lowering"
	"nxvk/synth/synthtest"
)

// mostWords is how many words of SPIR-V a kernel has at most. The compiler of a driver takes
// time in proportion: NVIDIA's took 0.64 s for 25,000 words and 1.2 s for 80,000.
const mostWords = 21500

// drawn is an instruction on matrices whose sizes are drawn by magnitude.
func drawn(r *rand.Rand, op ops.Op) (*ops.Instr, []ops.Type) {
	d := []ops.DType{ops.F32, ops.F32, ops.F64, ops.C64}[r.IntN(4)]
	magnitude := func(most int) int {
		n := 1
		for n < most && r.IntN(8) > 0 {
			n = min(2*n, most)
		}
		return max(1, n-r.IntN((n+1)/2))
	}
	m, n := magnitude(4096), magnitude(4096)
	batch := min(magnitude(100000), max(1, 1<<26/(max(m, n)*n)))
	typ := func(dims ...int) ops.Type {
		if batch > 1 {
			dims = append([]int{batch}, dims...)
		}
		return synthtest.Type(d, dims...)
	}
	in := &ops.Instr{Op: op}
	types, outs := []ops.Type{typ(n, n)}, []ops.Type{typ(n, n)}
	real := func(dims ...int) ops.Type {
		t := typ(dims...)
		t.DType = d.Real()
		return t
	}
	switch op {
	case ops.TriangularSolve:
		sides := magnitude(n)
		in.Attrs = [][]int{{r.IntN(2)}, {1}, {r.IntN(3)}}
		types, outs = append(types, typ(n, sides)), []ops.Type{typ(n, sides)}
	case ops.Solve:
		sides := magnitude(n)
		types, outs = append(types, typ(n, sides)), []ops.Type{typ(n, sides)}
	case ops.LU:
		outs = []ops.Type{typ(n, n), typ(n, n), typ(n, n)}
	case ops.Determinant:
		outs = []ops.Type{typ()}
	case ops.Eigh:
		outs = []ops.Type{real(n), typ(n, n)}
	case ops.QR, ops.SVD:
		k := min(m, n)
		in.Attrs, types = [][]int{{0}}, []ops.Type{typ(m, n)}
		outs = []ops.Type{typ(m, k), typ(k, n)}
		if op == ops.SVD {
			outs = []ops.Type{typ(m, k), real(k), typ(k, n)}
		}
	}
	for i, o := range outs {
		in.Outs = append(in.Outs, ops.Result{ID: ops.ID(100 + i), Type: o})
	}
	for i := range types {
		in.Ins = append(in.Ins, ops.Operand{ID: ops.ID(i + 1)})
	}
	return in, types
}

// No kernel of a factorization or of a solve is long: the first result waits for the compiler
// of the driver. With -v the ten longest kernels are listed.
func TestKernelsAreShort(t *testing.T) {
	type long struct {
		words int
		name  string
	}
	var all []long
	seen := map[string]bool{}
	r := rand.New(rand.NewPCG(3, 14))
	for range 40 {
		for _, op := range []ops.Op{ops.TriangularSolve, ops.Cholesky, ops.LU, ops.QR, ops.Eigh, ops.SVD, ops.Solve, ops.Determinant} {
			in, types := drawn(r, op)
			if err := in.Check(types); err != nil {
				t.Fatal(synthtest.Describe(op, types...), err)
			}
			plan, err := synth.Lower(in, types, synthtest.GPU)
			if err != nil {
				t.Fatal(synthtest.Describe(op, types...), err)
			}
			for _, s := range plan.Steps {
				k := s.Kernel
				if seen[k.Name] {
					continue
				}
				seen[k.Name] = true
				all = append(all, long{len(k.Code), fmt.Sprint(kernelName(k), " of ", synthtest.Describe(op, types...))})
			}
		}
	}
	slices.SortFunc(all, func(x, y long) int { return cmp.Compare(y.words, x.words) })
	for _, k := range all[:10] {
		t.Logf("%6d words: %s", k.words, k.name)
	}
	if k := all[0]; k.words > mostWords {
		t.Errorf("a kernel has %d words, at most %d are wanted: %s", k.words, mostWords, k.name)
	}
}

// kernelName says what a kernel does.
func kernelName(k *lowering.Kernel) string {
	if k.IR == nil {
		return k.Name
	}
	return k.IR.Name
}
