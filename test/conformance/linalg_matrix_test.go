package conformance

import (
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"

	"nxvk/ops"
	"nxvk/test/draw"
)

// batch is a batch of matrices of m by n, in float64 whatever they are stored in.
type batch struct {
	m, n int
	a    []float64
}

func (x batch) count() int             { return len(x.a) / (x.m * x.n) }
func (x batch) at(b, i, k int) float64 { return x.a[(b*x.m+i)*x.n+k] }

// general is one of the matrices.
func (x batch) general(b int) blas64.General {
	return blas64.General{Rows: x.m, Cols: x.n, Stride: x.n, Data: x.a[b*x.m*x.n:][:x.m*x.n]}
}

// times multiplies matrix by matrix.
func (x batch) times(y batch) batch {
	z := batch{x.m, y.n, make([]float64, x.count()*x.m*y.n)}
	for b := range x.count() {
		blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, x.general(b), y.general(b), 0, z.general(b))
	}
	return z
}

func (x batch) transposed() batch {
	z := batch{x.n, x.m, make([]float64, len(x.a))}
	for b := range x.count() {
		for i := range x.m {
			for k := range x.n {
				z.a[(b*x.n+k)*x.m+i] = x.at(b, i, k)
			}
		}
	}
	return z
}

func (x batch) plus(y batch) batch {
	z := batch{x.m, x.n, slices.Clone(x.a)}
	for i, v := range y.a {
		z.a[i] += v
	}
	return z
}

// ones is a batch of identities.
func ones(n, count int) batch {
	z := batch{n, n, make([]float64, n*n*count)}
	for i := range n * count {
		z.a[i*n+i%n] = 1
	}
	return z
}

// triangleOf has the blocks of a triangle and zeros elsewhere.
func triangleOf(x batch, block int, lower bool) batch {
	z := batch{x.m, x.n, make([]float64, len(x.a))}
	for i, v := range x.a {
		if row, col := i/x.n%x.m/block, i%x.n/block; row == col || row > col == lower {
			z.a[i] = v
		}
	}
	return z
}

// numbers is a tensor. A complex number is two of v.
type numbers struct {
	ops.Type
	v []float64
}

// numbersOf reads a tensor.
func numbersOf(data []byte, t ops.Type) numbers { return numbers{t, draw.Decode(data, flatten(t))} }

// bytes is the tensor as a device has it.
func (x numbers) bytes() []byte { return draw.Encode(x.v, flatten(x.Type)) }

// block is how many rows and columns of matrices a number is.
func (x numbers) block() int {
	if x.DType.IsComplex() {
		return 2
	}
	return 1
}

// dims are rows and columns of matrices.
func (x numbers) dims() (m, n int) { return x.Shape[len(x.Shape)-2], x.Shape[len(x.Shape)-1] }

// diagonal makes m by n matrices of vectors.
func (x numbers) diagonal(m, n int) numbers {
	k, lead := x.Shape[len(x.Shape)-1], x.Shape[:len(x.Shape)-1]
	z := numbers{Type: ops.Type{DType: x.DType, Shape: append(slices.Clone(lead), m, n)}}
	z.v = make([]float64, flatten(z.Type).Size())
	for i := range x.Size() {
		at := (i/k*m+i%k)*n + i%k
		copy(z.v[at*x.block():], x.v[i*x.block():(i+1)*x.block()])
	}
	return z
}

// matrices reads the last two dimensions as those of matrices. Complex ones become
// real ones of twice the size, a number a block [re -im; im re]: their products are
// those of the complex ones, and their transposes the adjoints.
func (x numbers) matrices() batch {
	s := x.Shape
	m, n := s[len(s)-2], s[len(s)-1]
	if x.block() == 1 {
		return batch{m, n, x.v}
	}
	z := batch{2 * m, 2 * n, make([]float64, 2*len(x.v))}
	for i := range x.Size() {
		at := i/n*4*n + i%n*2
		z.a[at], z.a[at+1] = x.v[2*i], -x.v[2*i+1]
		z.a[at+2*n], z.a[at+2*n+1] = x.v[2*i+1], x.v[2*i]
	}
	return z
}

// with has the numbers of matrices.
func (x numbers) with(z batch) numbers {
	if x.block() == 1 {
		x.v = z.a
		return x.rounded()
	}
	x.v = make([]float64, len(z.a)/2)
	for i := range x.Size() {
		at := i/(z.n/2)*2*z.n + i%(z.n/2)*2
		x.v[2*i], x.v[2*i+1] = z.a[at], z.a[at+z.n]
	}
	return x.rounded()
}

// scaledDiagonal has the numbers of square matrices times a factor, and more on the
// diagonal.
func (x numbers) scaledDiagonal(by, more float64) numbers {
	n, block := x.Shape[len(x.Shape)-1], x.block()
	for i := range x.v {
		if x.v[i] *= by; i%block == 0 && i/block/n%n == i/block%n {
			x.v[i] += more
		}
	}
	return x.rounded()
}

// conjugate has the complex conjugates.
func (x numbers) conjugate() numbers {
	x.v = slices.Clone(x.v)
	for i := range x.v {
		if x.block() == 2 && i%2 == 1 {
			x.v[i] = -x.v[i]
		}
	}
	return x
}

// number is number i.
func (x numbers) number(i int) complex128 {
	if x.block() == 1 {
		return complex(x.v[i], 0)
	}
	return complex(x.v[2*i], x.v[2*i+1])
}

// rounded has the numbers that the type can hold.
func (x numbers) rounded() numbers { return numbersOf(x.bytes(), x.Type) }
