package ops

// notYet marks what the client still computes itself.
const notYet = "not yet"

func later(name string, kind Kind, arity int, doc string) Info {
	return Info{Name: name, Kind: kind, Arity: arity, Doc: doc, Infer: stated}.missing(notYet)
}

var laterRows = map[Op]Info{
	Gather:           later("gather", Index, 2, "Slices of a tensor at indices."),
	IndexedAdd:       later("indexed_add", Index, 3, "Updates added at indices."),
	IndexedPut:       later("indexed_put", Index, 3, "Updates written at indices."),
	Take:             later("take", Index, 2, "Slices along an axis at indices."),
	TakeAlongAxis:    later("take_along_axis", Index, 2, "Elements along an axis at indices."),
	Conv:             later("conv", Contract, 2, "Convolution."),
	ReduceFun:        later("reduce", Reduce, 2, "A function folded over axes."),
	WindowReduce:     later("window_reduce", Window, 2, "A function folded over windows."),
	WindowSum:        later("window_sum", Window, 1, "Sum of each window."),
	WindowProduct:    later("window_product", Window, 1, "Product of each window."),
	WindowMax:        later("window_max", Window, 1, "Largest element of each window."),
	WindowMin:        later("window_min", Window, 1, "Smallest element of each window."),
	WindowScatterMax: later("window_scatter_max", Window, 3, "Sources added where each window has its largest element."),
	WindowScatterMin: later("window_scatter_min", Window, 3, "Sources added where each window has its smallest element."),
	Sort:             later("sort", Order, 1, "Elements in order along an axis."),
	Argsort:          later("argsort", Order, 1, "Indices that sort along an axis."),
	TopK:             later("top_k", Order, 1, "The largest elements of the last axis."),
	CumulativeSum:    later("cumulative_sum", Scan, 1, "Running sum along an axis."),
	CumulativeProduct: later("cumulative_product", Scan, 1,
		"Running product along an axis."),
	CumulativeMin:   later("cumulative_min", Scan, 1, "Running minimum along an axis."),
	CumulativeMax:   later("cumulative_max", Scan, 1, "Running maximum along an axis."),
	FFT:             later("fft", Transform, 1, "Discrete Fourier transform."),
	IFFT:            later("ifft", Transform, 1, "Inverse discrete Fourier transform."),
	FFT2:            later("fft2", Transform, 1, "Two-dimensional Fourier transform."),
	IFFT2:           later("ifft2", Transform, 1, "Inverse two-dimensional Fourier transform."),
	RFFT:            later("rfft", Transform, 1, "Fourier transform of a real signal."),
	IRFFT:           later("irfft", Transform, 1, "Inverse Fourier transform to a real signal."),
	TriangularSolve: later("triangular_solve", LinAlg, 2, "Solves a triangular system."),
	Cholesky:        later("cholesky", LinAlg, 1, "Cholesky factor."),
	Solve:           later("solve", LinAlg, 2, "Solves a linear system."),
	QR:              later("qr", LinAlg, 1, "Orthogonal and triangular factors."),
	Eigh:            later("eigh", LinAlg, 1, "Eigenvalues and eigenvectors of a Hermitian matrix."),
	SVD:             later("svd", LinAlg, 1, "Singular value decomposition."),
	LU:              later("lu", LinAlg, 1, "Permutation, lower and upper factors."),
	Determinant:     later("determinant", LinAlg, 1, "Determinant."),
	Phase:           later("phase", Composite, 1, "Angle of a complex number."),
	AllClose:        later("all_close", Composite, 2, "1 where all elements are close."),
}
