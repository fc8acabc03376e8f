package sweep

import (
	"math"
	"slices"

	"nxvk/ops"
)

// dims draws the dimensions of a product of about so many multiplications.
func (b *builder) dims(low float64, d ops.DType) (m, n, k int) {
	most := min(opsPerByte*b.limit/4, math.Pow(b.limit/float64(d.Size()), 1.4))
	all := b.between(low, most)
	side := math.Cbrt(all)
	cut := func() float64 { return side * math.Exp2(4*b.Float64()-2) }
	x, y := cut(), cut()
	return b.near(x), b.near(y), max(1, b.near(all/x/y))
}

// product adds a product of m×k and k×n, each stored so or transposed, as a batch or alone.
func (b *builder) product(d, out ops.DType, batch, m, n, k int) {
	left, right := ops.Shape{m, k}, ops.Shape{k, n}
	cl, cr := 1, 0
	if b.chance(20) {
		left, cl = ops.Shape{k, m}, 0
	}
	if b.chance(35) {
		right, cr = ops.Shape{n, k}, 1
	}
	batches := []int{}
	if batch > 1 {
		left, right = slices.Concat(ops.Shape{batch}, left), slices.Concat(ops.Shape{batch}, right)
		cl, cr, batches = cl+1, cr+1, []int{0}
	}
	b.remark("contract %d and %d", cl, cr)
	x, y := b.param(Uniform, typed(d, left...)), b.param(Uniform, typed(d, right...))
	b.finish(b.do(ops.Dot, out, [][]int{{cl}, batches, {cr}, batches}, x, y))
}

func (b *builder) anyDot(d, out ops.DType) {
	m, n, k := b.dims(1<<20, d)
	batch := 1
	if b.chance(30) {
		batch = b.near(b.between(2, 1024))
		f := math.Cbrt(float64(batch))
		m, n, k = b.near(float64(m)/f), b.near(float64(n)/f), b.near(float64(k)/f)
	}
	b.product(d, out, batch, m, n, k)
}

func drawDot(b *builder) { b.anyDot(ops.F32, ops.F32) }

func drawDot16(b *builder) {
	d := one(b, ops.BF16, ops.F16)
	b.anyDot(d, d)
}

func drawDot64(b *builder) { b.anyDot(ops.F64, ops.F64) }

func drawDotInt(b *builder) {
	d := one(b, ops.S8, ops.S8, ops.S32)
	b.anyDot(d, ops.S32)
}

// drawSkinny draws products of a matrix and a vector, or a few.
func drawSkinny(b *builder) {
	d := b.dtype(weighted{{ops.F32, 40}, {ops.BF16, 30}, {ops.F16, 20}, {ops.S8, 10}})
	out := d
	if d == ops.S8 {
		out = ops.S32
	}
	m, n, k := one(b, 1, 1, 1, 2, 4, 5, 8, 16, 17, 32, 64), b.int(64, 1<<17), b.int(64, 1<<15)
	if b.chance(50) {
		n, k = one(b, widths[15:]...), one(b, widths[15:]...)
	}
	if b.chance(25) {
		m, n = n, m
	}
	b.product(d, out, 1, m, n, k)
}

// filters are those of common networks: for each axis the same size, stride and padding.
var filters = [][3]int{{1, 1, 0}, {1, 1, 0}, {1, 2, 0}, {3, 1, 1}, {3, 1, 1}, {3, 1, 1}, {3, 2, 1}, {5, 1, 2}, {7, 2, 3}, {4, 4, 0}, {3, 1, 0}}

func drawConv(b *builder) { b.conv(b.dtype(weighted{{ops.F32, 95}, {ops.F64, 5}})) }

func drawConv16(b *builder) { b.conv(one(b, ops.BF16, ops.F16)) }

func (b *builder) conv(d ops.DType) {
	f := one(b, filters...)
	axes := one(b, 1, 2, 2, 2, 2, 2, 2, 3)
	batch, in, out, groups := one(b, 1, 1, 2, 4, 8, 16, 32, 64), b.int(1, 1024), b.int(8, 1024), 1
	if b.chance(50) {
		in, out = one(b, 3, 32, 64, 128, 256, 512), one(b, 32, 64, 128, 256, 512)
	}
	switch {
	case b.chance(20):
		out, groups = in, in // depthwise
	case b.chance(8) && in%4 == 0 && out%4 == 0:
		groups = 4
	}
	s, k := ops.Shape{batch, in}, ops.Shape{out, in / groups}
	side := one(b, sides...)
	switch axes {
	case 1:
		side = b.int(16, 1<<16)
	case 3:
		side = one(b, 8, 12, 16, 28, 32, 56, 64)
	}
	var strides, padding, dilations []int
	for range axes {
		s, k = append(s, max(f[0], b.near(float64(side)))), append(k, f[0])
		strides, padding, dilations = append(strides, f[1]), append(padding, f[2], f[2]), append(dilations, 1)
	}
	plain := make([]int, axes+2)
	for i := range plain {
		plain[i] = i
	}
	b.remark("stride %d padding %d groups %d", f[1], f[2], groups)
	x, y := b.param(Uniform, typed(d, s...)), b.param(Uniform, typed(d, k...))
	b.finish(b.do(ops.Conv, d, [][]int{strides, padding, dilations, dilations, {groups}, {1}, plain, plain, plain}, x, y))
}

var noEps = []int{int(math.Float64bits(0))}

func drawFFT(b *builder) {
	op := one(b, ops.FFT, ops.FFT, ops.FFT, ops.IFFT, ops.RFFT, ops.RFFT, ops.IRFFT, ops.FFT2, ops.IFFT2)
	in, out := ops.C64, ops.C64
	if b.chance(10) {
		in, out = ops.C128, ops.C128
	}
	switch op {
	case ops.RFFT:
		in = in.Real()
	case ops.IRFFT:
		out = out.Real()
	}
	all := b.elements(ops.C64, 2) / 4
	if op == ops.FFT2 || op == ops.IFFT2 {
		s := ops.Shape{b.near(b.between(8, 4096)), b.near(b.between(8, 4096))}
		if n := int(all) / s.Size(); n > 1 {
			s = slices.Concat(ops.Shape{n}, s)
		}
		r := len(s)
		x := b.param(Uniform, typed(in, s...))
		b.finish(b.do(op, out, [][]int{{s[r-2], s[r-1]}, {r - 2, r - 1}, noEps}, x))
		return
	}
	n := max(4, b.near(b.between(16, min(all, 1<<22))))
	s := ops.Shape{max(1, b.near(all/float64(n))), n}
	if s[0] == 1 {
		s = s[1:]
	}
	length := n
	if op == ops.IRFFT {
		s[len(s)-1], length = n/2+1, n
	}
	x := b.param(Uniform, typed(in, s...))
	b.remark("length %d", length)
	b.finish(b.do(op, out, [][]int{{length}, {len(s) - 1}, noEps}, x))
}

// factorization adds an operation of matrices m×n; batch 1 is a single one.
func (b *builder) factorization(d ops.DType, batch, n int) {
	s := func(dims ...int) ops.Type {
		if batch > 1 {
			dims = append([]int{batch}, dims...)
		}
		return typed(d, dims...)
	}
	op := one(b, ops.Cholesky, ops.QR, ops.LU, ops.Eigh, ops.SVD, ops.TriangularSolve, ops.TriangularSolve, ops.Solve, ops.Determinant)
	switch op {
	case ops.TriangularSolve:
		attrs := [][]int{{b.IntN(2)}, {b.IntN(2)}, {b.IntN(2)}}
		right := []int{n, one(b, 1, 4, 32, n)}
		if attrs[1][0] == 0 {
			right = []int{right[1], n}
		}
		b.remark("lower %d left %d transform %d", attrs[0][0], attrs[1][0], attrs[2][0])
		x, y := b.param(fillOf(op, 0), s(n, n)), b.param(Uniform, s(right...))
		b.finish(b.do(op, d, attrs, x, y))
	case ops.Solve:
		x, y := b.param(fillOf(op, 0), s(n, n)), b.param(Uniform, s(n, one(b, 1, 8, n)))
		b.finish(b.do(op, d, nil, x, y))
	case ops.Determinant:
		b.finish(b.do(op, d, nil, b.param(fillOf(op, 0), s(n, n))))
	case ops.Cholesky:
		b.finish(b.do(op, d, nil, b.param(fillOf(op, 0), s(n, n))))
	case ops.Eigh:
		v := b.all(op, []ops.Type{{DType: d}, {DType: d}}, nil, b.param(fillOf(op, 0), s(min(n, 512), min(n, 512))))
		b.finish(v, v+1)
	case ops.LU:
		v := b.all(op, []ops.Type{{DType: d}, {DType: d}, {DType: d}}, nil, b.param(fillOf(op, 0), s(n, n)))
		b.finish(v, v+1, v+2)
	case ops.QR:
		v := b.all(op, []ops.Type{{DType: d}, {DType: d}}, [][]int{{0}}, b.param(Uniform, s(n, max(1, min(n, b.near(float64(n)*b.Float64()))))))
		b.finish(v, v+1)
	default:
		n = min(n, 512)
		v := b.all(op, []ops.Type{{DType: d}, {DType: d}, {DType: d}}, [][]int{{0}}, b.param(Uniform, s(n, max(1, min(n, b.near(float64(n)*b.Float64()))))))
		b.finish(v, v+1, v+2)
	}
}

func drawLinalg(b *builder) {
	b.factorization(b.dtype(weighted{{ops.F32, 80}, {ops.F64, 20}}), 1, b.int(16, 2048))
}

func drawLinalgBatch(b *builder) {
	d, n := b.dtype(weighted{{ops.F32, 80}, {ops.F64, 20}}), b.int(2, 64)
	b.factorization(d, max(2, b.near(b.between(8, 1<<21/float64(n*n)))), n)
}
