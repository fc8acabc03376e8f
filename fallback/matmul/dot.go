package matmul

import (
	"slices"
	"sync/atomic"

	"nxvk/fallback/dense"
	"nxvk/fallback/movement"
	"nxvk/fallback/sched"
	"nxvk/ops"

	"gonum.org/v1/gonum/blas"
)

var Kernels = map[ops.Op]dense.Kernel{ops.Dot: dot, ops.Conv: conv}

// smallContraction and smallWork bound the f32 products that accumulate in float64, as Nx
// does. Beyond both, f32 accumulation saves more time than it loses accuracy.
const (
	smallContraction = 64
	smallWork        = 1 << 16
)

// product is a batch of matrix products: rows × depth times depth × cols.
type product struct {
	w                          *sched.Worker
	batches, rows, cols, depth int
	left, right                matrix
	out                        *dense.Value
}

// matrix is an operand of a product. Each batch is free × contracted, or contracted × free.
type matrix struct {
	dense.Value
	contractedFirst bool
}

func dot(in *dense.Call, args, outs []dense.Value) error {
	p := product{w: in.Worker, out: &outs[0], batches: 1, depth: 1,
		left:  asMatrix(in.Worker, args[0], in.Attrs[1], in.Attrs[0]),
		right: asMatrix(in.Worker, args[1], in.Attrs[3], in.Attrs[2])}
	for _, a := range in.Attrs[1] {
		p.batches *= args[0].Type.Shape[a]
	}
	for _, a := range in.Attrs[0] {
		p.depth *= args[0].Type.Shape[a]
	}
	p.rows = args[0].Type.Size() / (p.batches * p.depth)
	p.cols = args[1].Type.Size() / (p.batches * p.depth)

	d := outs[0].Type.DType
	work := p.rows * p.cols * p.depth
	switch {
	case d.IsComplex() || args[0].Type.DType.IsComplex() || args[1].Type.DType.IsComplex():
		multiply[complex128](&p)
	case d.Class() == ops.Signed:
		multiply[int64](&p)
	case d.Class() == ops.Unsigned:
		multiply[uint64](&p)
	case work <= smallWork || !p.blas(d):
		multiply[float64](&p)
	}
	return nil
}

// blas computes the product of large floats and reports whether it did.
func (p *product) blas(d ops.DType) bool {
	if d == ops.F64 || p.depth <= smallContraction {
		return gemm(p, ops.F64, BLAS.Dgemm)
	}
	return gemm(p, ops.F32, BLAS.Sgemm)
}

// asMatrix orders the axes of an operand: batches first, then free and contracted axes in
// either order. It moves elements only where no such order is in place.
func asMatrix(w *sched.Worker, v dense.Value, batch, contract []int) matrix {
	var room [24]int // for most ranks; more are allocated
	order := append(room[:0], batch...)
	for i := range v.Type.Shape {
		if !slices.Contains(batch, i) && !slices.Contains(contract, i) {
			order = append(order, i)
		}
	}
	free := order[len(batch):]
	order = append(order, contract...)
	if slices.IsSorted(order) {
		return matrix{Value: v}
	}
	swapped := append(append(append(order[len(order):], batch...), contract...), free...)
	if slices.IsSorted(swapped) {
		return matrix{v, true}
	}
	return matrix{Value: permuted(w, v, slices.Clone(order))}
}

// permuted returns v with its axes in another order: dimension i of the result is axes[i].
func permuted(w *sched.Worker, v dense.Value, axes []int) dense.Value {
	if slices.IsSorted(axes) {
		return v
	}
	shape := make(ops.Shape, len(axes))
	for i, a := range axes {
		shape[i] = v.Type.Shape[a]
	}
	out := dense.New(ops.Type{DType: v.Type.DType, Shape: shape})
	movement.Permute(w, &out, &v, axes)
	return out
}

// loadOperand reads an operand as batches × free × depth.
func loadOperand[C dense.Class](w *sched.Worker, m matrix, batches, free, depth int) []C {
	v := m.Value
	if m.contractedFirst {
		v.Type.Shape = ops.Shape{batches, depth, free}
		v = permuted(w, v, []int{0, 2, 1})
	}
	return dense.LoadAll[C](w, v)
}

// multiply computes in a class, each element in the order of the contraction.
func multiply[C dense.Class](p *product) {
	if p.batches == 1 && !p.left.contractedFirst && max(p.rows*p.depth, p.cols*p.depth, p.cols) <= dense.Chunk {
		multiplySmall[C](p)
		return
	}
	x, y := loadOperand[C](p.w, p.left, p.batches, p.rows, p.depth), loadOperand[C](p.w, p.right, p.batches, p.cols, p.depth)
	store, out, rows, cols, depth := dense.StoreAs[C](p.out.Type.DType), p.out.Data, p.rows, p.cols, p.depth
	dense.ParallelOn(p.w, p.batches*rows, cols*depth, func(w *sched.Worker, lo, hi int) {
		line, pace := make([]C, cols), dense.Pacer{Worker: w}
		for r := lo; r < hi; r++ {
			at := r / rows * cols * depth
			innerPaced(&pace, line, x[r*depth:(r+1)*depth], y[at:at+cols*depth])
			store(out, r*cols, line)
		}
	})
}

// multiplySmall computes one product that fits the scratch buffers.
func multiplySmall[C dense.Class](p *product) {
	s := dense.ScratchPool.Get().(*dense.Scratch)
	b := dense.Buffers[C](s)
	x, y, line := b[0][:p.rows*p.depth], b[1][:p.cols*p.depth], b[2][:p.cols]
	dense.LoadAs[C](p.left.Type.DType)(x, p.left.Data, 0, 1)
	load := dense.LoadAs[C](p.right.Type.DType)
	if p.right.contractedFirst {
		for j := range p.cols {
			load(y[j*p.depth:(j+1)*p.depth], p.right.Data, j, p.cols)
		}
	} else {
		load(y, p.right.Data, 0, 1)
	}
	store := dense.StoreAs[C](p.out.Type.DType)
	for r := range p.rows {
		clear(line)
		inner(line, x[r*p.depth:(r+1)*p.depth], y, p.depth)
		store(p.out.Data, r*p.cols, line)
	}
	dense.ScratchPool.Put(s)
}

// innerPaced writes the products of x with each row of y. It yields at bounded work.
func innerPaced[C dense.Class](p *dense.Pacer, line, x, y []C) {
	clear(line)
	depth := len(x)
	rows := max(1, dense.SliceWork/max(depth, 1))
	for first := 0; first < len(line); first += rows {
		part := line[first:min(first+rows, len(line))]
		for from := 0; from < depth; from += dense.SliceWork {
			to := min(from+dense.SliceWork, depth)
			inner(part, x[from:to], y[first*depth+from:], depth)
			p.Step(len(part) * (to - from))
		}
	}
}

// inner adds the products of x with each row of y, rows being stride apart. Four rows at
// a time share the loads of x and keep four sums apart.
func inner[C dense.Class](line, x, y []C, stride int) {
	n := len(x)
	for len(line) >= 4 {
		y0, y1, y2, y3 := y[:n], y[stride:stride+n], y[2*stride:2*stride+n], y[3*stride:3*stride+n]
		a, b, c, d := line[0], line[1], line[2], line[3]
		for i, v := range x {
			a += v * y0[i]
			b += v * y1[i]
			c += v * y2[i]
			d += v * y3[i]
		}
		line[0], line[1], line[2], line[3] = a, b, c, d
		if line = line[4:]; len(line) > 0 {
			y = y[4*stride:]
		}
	}
	for j := range line {
		row := y[j*stride : j*stride+n]
		a := line[j]
		for i, v := range x {
			a += v * row[i]
		}
		line[j] = a
	}
}

// routine is a BLAS matrix product.
type routine[T float32 | float64] func(ta, tb blas.Transpose, m, n, k int, alpha T, a []T, lda int, b []T, ldb int, beta T, c []T, ldc int)

// gemm computes in T, whose element type is d, and reports whether it did.
// It reports false where the right operand has infinities or NaN: BLAS skips the zeros of the
// left operand, and would lose their products with these.
func gemm[T float32 | float64](p *product, d ops.DType, multiply routine[T]) bool {
	x, y, out := dense.As(p.w, p.left.Value, d), dense.As(p.w, p.right.Value, d), *p.out
	a, b := dense.View[T](x.Data), dense.View[T](y.Data)
	if !finite(p.w, b) {
		return false
	}
	if out.Type.DType != d {
		out = dense.New(ops.Type{DType: d, Shape: out.Type.Shape})
	}
	c := dense.View[T](out.Data)
	dense.Parallel(p.w, len(c), 1, func(lo, hi int) { clear(c[lo:hi]) }) // squares are added to it
	lda, ta := rowLength(p.depth, p.rows, p.left.contractedFirst)
	ldb, tb := rowLength(p.cols, p.depth, !p.right.contractedFirst)
	na, nb, nc := p.rows*p.depth, p.depth*p.cols, p.rows*p.cols
	dense.ParallelOn(p.w, p.batches, nc*p.depth, func(w *sched.Worker, lo, hi int) {
		for i := lo; i < hi; i++ {
			t := Tiled[T]{Multiply: multiply, Ta: ta, Tb: tb, M: p.rows, N: p.cols, K: p.depth, A: a[i*na : (i+1)*na], Lda: lda,
				B: b[i*nb : (i+1)*nb], Ldb: ldb, C: c[i*nc : (i+1)*nc], Ldc: p.cols, Alpha: 1}
			t.Run(w)
		}
	})
	if out.Type.DType != p.out.Type.DType {
		dense.Convert(p.w, *p.out, out)
	}
	return true
}

// rowLength returns the stored row length of a matrix, which BLAS calls its leading
// dimension, and how BLAS is told that the matrix is stored transposed.
func rowLength(cols, rows int, transposed bool) (int, blas.Transpose) {
	if transposed {
		return rows, blas.Trans
	}
	return cols, blas.NoTrans
}

func finite[T float32 | float64](w *sched.Worker, s []T) bool {
	var not atomic.Bool
	dense.Parallel(w, len(s), 1, func(lo, hi int) {
		for _, x := range s[lo:hi] {
			if x-x != 0 {
				not.Store(true)
				return
			}
		}
	})
	return !not.Load()
}
