package fallback

import (
	"fmt"

	"nxvk/ops"
)

// The names of transform_a.
const (
	transformNone = iota
	transformTranspose
	transformConjugate
)

func triangularSolve(in *call, args, outs []Value) error {
	if args[0].Type.DType.IsComplex() || args[1].Type.DType.IsComplex() {
		return solveIn[complex128](in, args, outs)
	}
	return solveIn[float64](in, args, outs)
}

// triangle is a triangular matrix as a system sees it: element (i, j) is at
// i * row + j * col, and unknowns are found from the first on, or from the last.
type triangle[C class] struct {
	a        []C
	n        int
	row, col int
	forward  bool
}

func solveIn[C class](in *call, args, outs []Value) error {
	lower, left, transform := in.Attrs[0][0] != 0, in.Attrs[1][0] != 0, in.Attrs[2][0]
	a, b := loadAll[C](in.w, args[0]), loadAll[C](in.w, args[1])
	if transform == transformConjugate {
		conjugate(a)
	}
	shape := args[0].Type.Shape
	n := shape[len(shape)-1]
	t := triangle[C]{n: n, row: n, col: 1, forward: lower}
	// x a = b is the system of the transpose, and a transpose of that is a.
	if (transform == transformTranspose) == left {
		t.row, t.col, t.forward = 1, n, !lower
	}
	size, count, step, next := unknowns(args[1].Type.Shape, len(shape), n, left)
	p := pace{w: in.w}
	for k := range len(a) / (n * n) {
		t.a = a[k*n*n : (k+1)*n*n]
		for j := range count {
			p.step(n * n)
			if err := t.solve(b[k*size+j*next:], step); err != nil {
				return err
			}
		}
	}
	storeAll(in.w, outs[0], b)
	return nil
}

// unknowns says how right-hand sides lie in b: the elements of a batch, how
// many sides it has, and the distances from element to element of one and
// from one to the next.
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

// conjugate changes complex numbers and leaves real ones.
func conjugate[C class](xs []C) {
	if zs, ok := any(xs).([]complex128); ok {
		for i, z := range zs {
			zs[i] = complex(real(z), -imag(z))
		}
	}
}
