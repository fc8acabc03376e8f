package dot

import (
	"nxvk/ops"
	"nxvk/synth/gemm"
	"nxvk/synth/lowering"
)

// fewVectors prepares a product that package gemm carries out as one of a matrix and few
// vectors: the operands are loaded as they are where they have one narrow type, since such a
// product takes as long as its matrix takes to be read, and vectors are transposed first
// where the kernel wants their elements to follow each other.
func (d *Builder) fewVectors(types []ops.Type, left, right *Axes, k int) {
	a, okA := left.collapse()
	b, okB := right.collapse()
	if !okA || !okB {
		return
	}
	t := GEMMTarget(d.Target)
	p := problem(d.Wide, left, right, k, a, b)
	if d.Target.CPU {
		d.storedMatrix(types, &p, t)
		return
	}
	if n := Narrow(types, d.Wide, d.Target); n != ops.Invalid && d.Instr.Ins[0].Lit == nil && d.Instr.Ins[1].Lit == nil && p.Vectors(n, t) {
		d.Operands, p.Operands = n, n
	}
	switch vectors, ok := p.Scattered(t); {
	case ok && vectors == gemm.A:
		left.Rows = true
	case ok:
		right.Rows = true
	}
}

// storedMatrix has a processor load the matrix of few vectors as it is, where it has a narrow type; the vectors are converted.
func (d *Builder) storedMatrix(types []ops.Type, p *gemm.Problem, t *gemm.Target) {
	matrix, ok := p.LargeMatrix(t)
	if !ok {
		return
	}
	i := int(matrix)
	if typ := types[i].DType; typ != d.Wide && typ.Wide() == d.Wide && loads(typ, d.Target) && d.Instr.Ins[i].Lit == nil {
		d.Operands = typ
		d.vectors[1-i] = true
	}
}

// Narrow returns the type of two operands if it is narrower than that of their sums and kernels of
// package shaders load it as it is; Invalid otherwise.
func Narrow(types []ops.Type, wide ops.DType, t *lowering.Target) ops.DType {
	if d := types[0].DType; d == types[1].DType && d.Wide() == wide && loads(d, t) {
		return d
	}
	return ops.Invalid
}

// loads reports whether kernels of package shaders load a narrow type on a device.
func loads(d ops.DType, t *lowering.Target) bool {
	switch d {
	case ops.BF16, ops.F16, ops.S8, ops.U8:
		return t.Narrow(lowering.ElemOf[d])
	}
	return false
}

// problem is the product of operands that lie so.
func problem(wide ops.DType, left, right *Axes, k int, a, b matrix) gemm.Problem {
	return gemm.Problem{Type: wide, M: left.free(), N: right.free(), K: k, Batch: left.batches(),
		A: gemm.Strides{Row: a.Free, Col: a.Contract, Batch: a.Batch},
		B: gemm.Strides{Row: b.Contract, Col: b.Free, Batch: b.Batch}}
}
