package bench

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"

	"nxvk/ops"
)

// linalgRows are factorisations of large matrices, and of many small ones.
func linalgRows(cpu bool) []row {
	sizes := []int{1024, 4096}
	if cpu {
		sizes = []int{256}
	}
	var list []row
	for _, n := range sizes {
		a := f32(n, n)
		list = append(list, factors(ops.Cholesky, nil, a, a), factors(ops.QR, [][]int{{0}}, a, a, a),
			factors(ops.LU, nil, a, a, a, a))
	}
	n := sizes[0]
	a, v, many := f32(n, n), f32(n), f32(4096, 16, 16)
	return append(list, factors(ops.SVD, [][]int{{0}}, a, a, v, a), factors(ops.Eigh, nil, a, v, a),
		factors(ops.Cholesky, nil, many, many), factors(ops.QR, [][]int{{0}}, many, many, many),
		factors(ops.Eigh, nil, many, f32(4096, 16), many))
}

// factors is a factorisation of symmetric positive definite matrices.
func factors(op ops.Op, attrs [][]int, in ops.Type, outs ...ops.Type) row {
	rounds := 10
	if in.Shape[0] == 4096 {
		rounds = 2
	}
	run := func(h *harness) error {
		ids := h.DoAll(op, outs, attrs, h.definite(in))
		err := h.Err(ids[0])
		h.Free(ids...)
		return err
	}
	return row{fmt.Sprintf("%v %v", op, in.Shape), run, rounds, 0, 0}
}

// definite returns random symmetric matrices with eigenvalues between 1 and 7,
// made once.
func (h *harness) definite(t ops.Type) ops.Operand {
	key := fmt.Sprint("definite ", t)
	id, ok := h.inputs[key]
	if !ok {
		n, r := t.Shape[len(t.Shape)-1], rand.New(rand.NewPCG(1, 2))
		data := make([]byte, t.Bytes())
		put := func(i int, x float64) { binary.LittleEndian.PutUint32(data[4*i:], math.Float32bits(float32(x))) }
		for first := 0; first < t.Size(); first += n * n {
			for i := range n {
				for k := range i {
					x := r.NormFloat64() / math.Sqrt(float64(n))
					put(first+i*n+k, x)
					put(first+k*n+i, x)
				}
				put(first+i*n+i, 4)
			}
		}
		id = h.Upload(t, data)
		h.inputs[key] = id
	}
	return ops.Operand{ID: id}
}
