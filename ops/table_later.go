package ops

// notYet marks what the client still computes itself.
const notYet = "not yet"

func later(name string, kind Kind, arity int, doc string) Info {
	return Info{Name: name, Kind: kind, Arity: arity, Doc: doc, Infer: stated}.missing(notYet)
}

var laterRows = map[Op]Info{
	ReduceFun:    later("reduce", Reduce, 2, "A function folded over axes."),
	WindowReduce: later("window_reduce", Window, 2, "A function folded over windows."),
	Cholesky:     later("cholesky", LinAlg, 1, "Cholesky factor."),
	Solve:        later("solve", LinAlg, 2, "Solves a linear system."),
	QR:           later("qr", LinAlg, 1, "Orthogonal and triangular factors."),
	Eigh:         later("eigh", LinAlg, 1, "Eigenvalues and eigenvectors of a Hermitian matrix."),
	SVD:          later("svd", LinAlg, 1, "Singular value decomposition."),
	LU:           later("lu", LinAlg, 1, "Permutation, lower and upper factors."),
	Determinant:  later("determinant", LinAlg, 1, "Determinant."),
}
