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
	for _, d := range []ops.DType{ops.F32, ops.BF16, ops.S64, ops.U8, ops.F8E4M3} {
		rows := 1 + r.IntN(3)
		n := (1<<18+rows-1)/rows + r.IntN(3000)
		k := 1 + r.IntN(min(600, n/128))
		if d == ops.BF16 {
			n = (n + 3) / 4 * 4
		}
		target := *synthtest.GPU
		target.SubgroupSize = []int{8, 16, 32, 64}[r.IntN(4)]
		x := unsorted(synthtest.Type(d, rows, n), r.Uint64())
		if d == ops.U8 {
			clear(x.N)
		}
		t.Logf("%v k %d subgroups of %d", x.Typ, k, target.SubgroupSize)
		greatest(t, &target, x, k)
	}
}
