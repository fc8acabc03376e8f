package ops

import (
	"fmt"
	"slices"
)

// Factorizations take matrices in the last two dimensions; the dimensions before are
// batches. They compute in f64, or in c128 if an operand is complex. Package fallback says
// which of the possible factors of a matrix they give, such as the signs in QR.
var linalgRows = map[Op]Info{
	TriangularSolve: {Name: "triangular_solve", Kind: LinAlg, Arity: 2, Result: FloatType, Infer: triangularShape,
		Attrs: []Attr{{Name: "lower", Kind: Bool}, {Name: "left_side", Kind: Bool},
			{Name: "transform_a", Kind: Enum, Names: []string{"none", "transpose", "conjugate"}}},
		Doc: "The x with f(a) x = b, or x f(a) = b, for a triangular a and f = transform_a. A zero on the diagonal is an error."},

	Cholesky: linalg("cholesky", 1, 1, choleskyShape,
		"The lower triangular l with l l^H = a. Only the lower triangle of a is read; l is NaN if a is not positive definite."),
	Solve: linalg("solve", 2, 1, solveShape,
		"The x with a x = b. A singular a, whose elimination meets a zero pivot, is an error."),
	QR: linalg("qr", 1, 2, qrShape, "The orthonormal q and the upper triangular r with q r = a.").
		attrs(Attr{Name: "mode", Kind: Enum, Names: []string{"reduced", "complete"}}),
	Eigh: linalg("eigh", 1, 2, eighShape,
		"The eigenvalues of a Hermitian matrix, in descending order of magnitude, and the eigenvectors as columns."),
	SVD: linalg("svd", 1, 3, svdShape, "The u, s and v^H with u s v^H = a; the singular values s are descending.").
		attrs(Attr{Name: "full_matrices", Kind: Bool}),
	LU: linalg("lu", 1, 3, luShape,
		"The permutation p, unit lower triangular l and upper triangular u with p l u = a; p has the type of a.").result(AnyType),
	Determinant: linalg("determinant", 1, 1, determinantShape, "Determinant of square matrices."),
}

func linalg(name string, arity, results int, infer InferShape, doc string) Info {
	return Info{Name: name, Kind: LinAlg, Arity: arity, Results: results, Result: FloatType, Infer: infer, Doc: doc}
}

// matrices splits a shape into that of the batch and the dimensions of each
// matrix.
func matrices(s Shape) (batch Shape, m, n int, err error) {
	r := len(s)
	if r < 2 || s[r-2] < 1 || s[r-1] < 1 {
		return nil, 0, 0, fmt.Errorf("%w %v must have at least two dimensions, those of matrices", ErrShape, s)
	}
	return s[:r-2], s[r-2], s[r-1], nil
}

func squares(s Shape) (batch Shape, n int, err error) {
	batch, m, n, err := matrices(s)
	if err == nil && m != n {
		err = fmt.Errorf("%w %v must end in two equal dimensions, those of square matrices", ErrShape, s)
	}
	return batch, n, err
}

// of appends dimensions to the shape of a batch.
func (s Shape) of(dims ...int) Shape { return append(slices.Clone(s), dims...) }

func choleskyShape(_ *Instr, t []Type) ([]Shape, error) {
	if _, _, err := squares(t[0].Shape); err != nil {
		return nil, err
	}
	return one(t[0].Shape)
}

// solveShape is the shape of b: {..., n}, or {..., n, m}.
func solveShape(in *Instr, t []Type) ([]Shape, error) {
	batch, n, err := squares(t[0].Shape)
	if err != nil {
		return nil, err
	}
	b := t[1].Shape
	vector := len(b) == len(batch)+1
	if !vector && len(b) != len(batch)+2 || !b[:len(batch)].Equal(batch) || b[len(batch)] != n || b[len(b)-1] < 1 {
		return nil, fmt.Errorf("%w %v does not fit the matrices of %v", ErrShape, b, t[0].Shape)
	}
	return one(b)
}

func qrShape(in *Instr, t []Type) ([]Shape, error) {
	batch, m, n, err := matrices(t[0].Shape)
	if err != nil {
		return nil, err
	}
	k := min(m, n)
	if in.Attrs[0][0] != 0 {
		k = m
	}
	return []Shape{batch.of(m, k), batch.of(k, n)}, nil
}

func eighShape(_ *Instr, t []Type) ([]Shape, error) {
	batch, n, err := squares(t[0].Shape)
	if err != nil {
		return nil, err
	}
	return []Shape{batch.of(n), batch.of(n, n)}, nil
}

func svdShape(in *Instr, t []Type) ([]Shape, error) {
	batch, m, n, err := matrices(t[0].Shape)
	if err != nil {
		return nil, err
	}
	k := min(m, n)
	if in.Attrs[0][0] != 0 {
		return []Shape{batch.of(m, m), batch.of(k), batch.of(n, n)}, nil
	}
	return []Shape{batch.of(m, k), batch.of(k), batch.of(k, n)}, nil
}

// luShape also says which types the factors have: Rule speaks of all results.
func luShape(in *Instr, t []Type) ([]Shape, error) {
	if _, _, err := squares(t[0].Shape); err != nil {
		return nil, err
	}
	if p := in.Outs[0].Type.DType; p != t[0].DType {
		return nil, fmt.Errorf("the type of the permutation must be %v, is %v", t[0].DType, p)
	}
	for _, o := range in.Outs[1:] {
		if o.Type.DType.IsInteger() {
			return nil, fmt.Errorf("the type of a factor must be a float or complex type, is %v", o.Type.DType)
		}
	}
	return []Shape{t[0].Shape, t[0].Shape, t[0].Shape}, nil
}

func determinantShape(_ *Instr, t []Type) ([]Shape, error) {
	batch, _, err := squares(t[0].Shape)
	if err != nil {
		return nil, err
	}
	return one(batch.of())
}

// triangularShape is the shape of b: {..., n}, or {..., n, m}.
func triangularShape(in *Instr, t []Type) ([]Shape, error) {
	a, b := t[0].Shape, t[1].Shape
	r := len(a)
	if r < 2 || a[r-1] != a[r-2] {
		return nil, fmt.Errorf("%w %v must end in two equal dimensions, those of square matrices", ErrShape, a)
	}
	n := a[r-1]
	side := n // where b is a vector
	fits := len(b) == r-1
	if len(b) == r {
		fits, side = true, b[r-1]
		if in.Attrs[1][0] != 0 {
			side = b[r-2]
		}
	}
	if !fits || side != n || !a[:r-2].Equal(b[:r-2]) || b[len(b)-1] < 1 || (len(b) == r-1 && b[r-2] != n) {
		return nil, fmt.Errorf("%w %v does not fit the matrices of %v", ErrShape, b, a)
	}
	return one(b)
}
