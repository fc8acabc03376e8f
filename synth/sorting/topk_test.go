package sorting_test

import (
	"math/rand/v2"
	"testing"

	"nxvk/ops"
	"nxvk/synth/lowering"
	"nxvk/synth/synthtest"
)

// greatest checks the k greatest elements of each row, and their indices.
func greatest(t *testing.T, target *lowering.Target, x synthtest.Tensor, k int) {
	t.Helper()
	rows, n := x.Typ.Shape[0], x.Typ.Shape[1]
	out := ops.Type{DType: x.Typ.DType, Shape: ops.Shape{rows, k}}
	indexed := ops.Type{DType: ops.S64, Shape: out.Shape}
	in := synthtest.Instr(ops.TopK, out, []int{k})
	in.Outs = append(in.Outs, ops.Result{ID: 100, Type: indexed})
	p, err := synthtest.Lower(t, target, in, x.Typ)
	if err != nil {
		t.Fatal(err)
	}
	results := synthtest.Execute(t, p, []int{out.Bytes(), indexed.Bytes()}, [][]byte{x.Bytes()}, nil)
	values, indices := synthtest.Tensor{Typ: out}, synthtest.Tensor{Typ: indexed}
	for r := range rows {
		line := ops.AllAxes(n)
		for i := range line {
			line[i] += r * n
		}
		for _, o := range order(x, line, true)[:k] {
			indices.N = append(indices.N, int64(o))
			if x.N != nil {
				values.N = append(values.N, x.N[line[o]])
			} else {
				values.F = append(values.F, x.F[line[o]])
			}
		}
	}
	synthtest.Same(t, synthtest.Describe(ops.TopK, x.Typ)+" values", synthtest.FromBytes(out, results[0]), values)
	synthtest.Same(t, synthtest.Describe(ops.TopK, x.Typ)+" indices", synthtest.FromBytes(indexed, results[1]), indices)
}

// The greatest elements come with their indices.
func TestTopK(t *testing.T) {
	synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
		for _, n := range []int{5, 80, 2200, 8200} {
			greatest(t, target, unsorted(synthtest.Type(ops.F32, 3, n), 1), min(n, 9))
		}
	})
}

// Few of many elements are looked for in groups: rows of random lengths, types with many ties,
// and rows whose elements are all the least, which nothing beyond a row may stand before.
func TestTopKGroups(t *testing.T) {
	r := rand.New(rand.NewPCG(14, 7))
	for i, d := range []ops.DType{ops.F32, ops.S64, ops.U8} {
		grouped(t, r, synthtest.GPU, d, 1+r.IntN(3), 1<<18, i%2 == 0)
	}
	for i, d := range ops.DTypes() {
		if !d.IsComplex() {
			grouped(t, r, synthtest.CPU, d, 1+r.IntN(3), 1<<12, i%2 == 0)
		}
	}
	grouped(t, r, synthtest.GPU, ops.F16, 300, 1<<18, true) // rows shorter than the work of a workgroup
}

// grouped checks top_k of rows of about so many elements in all.
func grouped(t *testing.T, r *rand.Rand, target *lowering.Target, d ops.DType, rows, elements int, four bool) {
	t.Helper()
	n := (elements+rows-1)/rows + r.IntN(3000/rows)
	if four {
		n = (n + 3) / 4 * 4
	}
	k := 1 + r.IntN(min(600, n/128))
	own := *target
	if !own.CPU {
		own.SubgroupSize = []int{8, 16, 32, 64}[r.IntN(4)]
		own.SubgroupOps = r.IntN(4) > 0
	}
	x := unsorted(synthtest.Type(d, rows, n), r.Uint64())
	if r.IntN(4) == 0 { // none is greater than the key of elements beyond a row
		least := x.At(0)
		for i := range x.N {
			if x.At(i) < least {
				least, x.N[0] = x.At(i), x.N[i]
			}
		}
		for i := range x.N {
			x.N[i] = x.N[0]
		}
	}
	greatest(t, &own, x, k)
}
