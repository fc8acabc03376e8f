package linalg

import (
	"fmt"

	"nxvk/fallback/dense"
	"nxvk/ops"
)

// The names of transform_a.
const (
	transformNone = iota
	transformTranspose
	transformConjugate
)

func triangularSolve(in *dense.Call, args, outs []dense.Value) error {
	if args[0].Type.DType.IsComplex() || args[1].Type.DType.IsComplex() {
		return solveIn[complex128](in, args, outs)
	}
	return solveIn[float64](in, args, outs)
}

// triangle is the matrix of a triangular system: element (i, j) is at i * row + j * col.
// Unknowns are found from the first on (forward), or from the last.
type triangle[C dense.Class] struct {
	a        []C
	n        int
	row, col int
	forward  bool
}

func solveIn[C dense.Class](in *dense.Call, args, outs []dense.Value) error {
	lower, left, transform := in.Attrs[0][0] != 0, in.Attrs[1][0] != 0, in.Attrs[2][0]
	a, b := dense.LoadAll[C](in.Worker, args[0]), dense.LoadAll[C](in.Worker, args[1])
	if transform == transformConjugate {
		conjugate(a)
	}
	shape := args[0].Type.Shape
	n := shape[len(shape)-1]
	t := triangle[C]{n: n, row: n, col: 1, forward: lower}
	// x a = b is the system of the transpose of a.
	if (transform == transformTranspose) == left {
		t.row, t.col, t.forward = 1, n, !lower
	}
	size, count, step, next := unknowns(args[1].Type.Shape, len(shape), n, left)
	p := dense.Pacer{Worker: in.Worker}
	for k := range len(a) / (n * n) {
		t.a = a[k*n*n : (k+1)*n*n]
		for j := range count {
			p.Step(n * n)
			if err := t.solve(b[k*size+j*next:], step); err != nil {
				return err
			}
		}
	}
	dense.StoreAll(in.Worker, outs[0], b)
	return nil
}

// unknowns describes the right-hand sides in b: the elements of a batch, its number of sides,
// the distance between elements of a side, and that between sides.
func unknowns(b ops.Shape, rank, n int, left bool) (size, count, step, next int) {
	if len(b) < rank {
		return n, 1, 1, n
	}
	rows, cols := b[len(b)-2], b[len(b)-1]
	if left {
		return rows * cols, cols, cols, 1
	}
	return rows * cols, rows, 1, cols
}

// solve replaces a right-hand side by the solution.
func (t *triangle[C]) solve(b []C, step int) error {
	for k := range t.n {
		i := k
		if !t.forward {
			i = t.n - 1 - k
		}
		pivot := t.a[i*t.row+i*t.col]
		if pivot == 0 {
			return fmt.Errorf("row %d: %w", i, ErrSingular)
		}
		sum := b[i*step]
		for m := range k {
			j := m
			if !t.forward {
				j = t.n - 1 - m
			}
			sum -= t.a[i*t.row+j*t.col] * b[j*step]
		}
		b[i*step] = sum / pivot
	}
	return nil
}

// conjugate conjugates complex numbers; real ones stay.
func conjugate[C dense.Class](xs []C) {
	if zs, ok := any(xs).([]complex128); ok {
		for i, z := range zs {
			zs[i] = complex(real(z), -imag(z))
		}
	}
}
