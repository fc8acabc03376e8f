package main

import (
	"nxvk/ops"
)

// computed are the types that most devices compute in, the most frequent ones often.
var computed = []ops.DType{ops.F32, ops.F32, ops.F32, ops.F64, ops.F16, ops.BF16, ops.S32, ops.S64, ops.U8, ops.C64, ops.C128}

// floats lists the element types of products and of their epilogues.
var floats = []ops.DType{ops.F32, ops.F32, ops.F64, ops.F16, ops.BF16, ops.F8, ops.C64}

var dims = []int{1, 2, 3, 4, 5, 7, 8, 12, 16, 31, 33}

// shape draws dimensions of at most so many elements.
func (m *maker) shape(rank, most int) ops.Shape {
	var s ops.Shape
	for range rank {
		d := pick(m.s.Rand, dims...)
		for d > 1 && s.Size()*d > most {
			d--
		}
		s = append(s, d)
	}
	return s
}

// length is one of a line: short, beside a power of two, or of several workgroups.
func (m *maker) length() int {
	return pick(m.s.Rand, 1, 7, 63, 64, 65, 255, 257, 1000, 1024, 4099, 20011, 70001)
}

// line is a shape with an axis of n elements.
func (m *maker) line(n int) (s ops.Shape, axis int) {
	switch m.s.IntN(4) {
	case 0:
		return ops.Shape{n}, 0
	case 1:
		return ops.Shape{3, n}, 1
	case 2:
		return ops.Shape{n, 5}, 0
	}
	return ops.Shape{2, n, 3}, 1
}

// reduction folds axes, by an operator, to the index of an extreme, or by a function,
// and computes with the result.
func (m *maker) reduction() []ops.Operand {
	d := pick(m.s.Rand, computed...)
	s, axis := m.line(m.length())
	x := m.real(d, s...)
	keep := []int{m.s.IntN(2)}
	axes := []int{axis}
	if len(s) > 1 && m.s.IntN(3) == 0 {
		axes = ops.AllAxes(len(s))
	}
	switch k := m.s.IntN(8); {
	case k == 0 && !d.IsComplex():
		return []ops.Operand{m.one(pick(m.s.Rand, ops.ArgMax, ops.ArgMin), pick(m.s.Rand, ops.S32, ops.S64),
			[][]int{{axis}, keep, {m.s.IntN(2)}}, x)}
	case k == 1:
		return []ops.Operand{m.function(ops.ReduceFun, d, [][]int{axes, keep, nil}, x)}
	}
	list := []ops.Op{ops.Sum, ops.Product, ops.All, ops.Any, ops.ReduceMax, ops.ReduceMin}
	if d.IsComplex() {
		list = list[:4]
	}
	op := pick(m.s.Rand, list...)
	out := d
	if op == ops.All || op == ops.Any {
		out = ops.U8
	}
	y := m.one(op, out, [][]int{axes, keep}, x)
	if m.s.IntN(2) == 0 {
		return []ops.Operand{y}
	}
	mean := m.one(ops.Sum, d, [][]int{axes, {1}}, x)
	return []ops.Operand{y, m.one(ops.Subtract, d, nil, x, mean)}
}

// function folds with a function that adds a multiple of the element.
func (m *maker) function(op ops.Op, d ops.DType, attrs [][]int, x ops.Operand) ops.Operand {
	t := ops.Type{DType: d, Shape: ops.Shape{}}
	f := &ops.Region{
		Params: []ops.Result{{ID: 1, Type: t}, {ID: 2, Type: t}},
		Body: []ops.Instr{{Op: ops.Multiply, Ins: []ops.Operand{{ID: 1}, {ID: 1}}, Outs: []ops.Result{{ID: 3, Type: t}}},
			{Op: ops.Add, Ins: []ops.Operand{{ID: 2}, {ID: 3}}, Outs: []ops.Result{{ID: 4, Type: t}}}},
		Values: []ops.Operand{{ID: 4}},
	}
	start := m.real(d)
	in := ops.Instr{Op: op, Ins: []ops.Operand{x, start}, Attrs: attrs, Regions: []*ops.Region{f},
		Outs: []ops.Result{{Type: ops.Type{DType: d}}}}
	shapes, err := op.Info().Infer(&in, []ops.Type{m.TypeOf(x), t})
	if err != nil {
		panic("BUG: " + err.Error())
	}
	in.Outs[0].Type.Shape = shapes[0]
	in.Outs[0].ID = m.ID(in.Outs[0].Type)
	m.Body = append(m.Body, in)
	return ops.Operand{ID: in.Outs[0].ID}
}

// product multiplies matrices, some of them in batches, and computes with the result.
func (m *maker) product() []ops.Operand {
	from := pick(m.s.Rand, floats...)
	to := from
	if from.Size() < 4 && m.s.IntN(2) == 0 {
		to = ops.F32
	}
	rows, cols, inner := pick(m.s.Rand, 1, 5, 16, 33, 64, 130, 300), pick(m.s.Rand, 1, 3, 16, 64, 127, 256), pick(m.s.Rand, 1, 4, 17, 64, 200, 513)
	var a, b ops.Operand
	var attrs [][]int
	switch m.s.IntN(4) {
	case 0:
		a, b, attrs = m.real(from, rows, inner), m.real(from, inner, cols), [][]int{{1}, {}, {0}, {}}
	case 1:
		a, b, attrs = m.real(from, inner, rows), m.real(from, cols, inner), [][]int{{0}, {}, {1}, {}}
	case 2:
		a, b, attrs = m.real(from, 3, rows, inner), m.real(from, 3, inner, cols), [][]int{{2}, {0}, {1}, {0}}
	default:
		a, b, attrs = m.real(from, 2, rows, inner), m.real(from, inner, 2), [][]int{{2, 0}, {}, {0, 1}, {}}
	}
	return m.after(m.one(ops.Dot, to, attrs, a, b), to)
}

// after computes with a result: adds a bias along its last axis and bounds it.
func (m *maker) after(z ops.Operand, d ops.DType) []ops.Operand {
	s := m.TypeOf(z).Shape
	if len(s) == 0 || m.s.IntN(3) == 0 {
		return []ops.Operand{z}
	}
	y := m.one(ops.Add, d, nil, z, m.real(d, s[len(s)-1]))
	if !d.IsComplex() {
		y = m.one(ops.Max, d, nil, y, m.real(d))
	}
	if m.s.IntN(3) == 0 {
		return []ops.Operand{y, z}
	}
	return []ops.Operand{y}
}

// convolution has options that fit each other.
func (m *maker) convolution() []ops.Operand {
	d := pick(m.s.Rand, floats...)
	n := 1 + m.s.IntN(3)
	in, filter, out := m.s.Perm(n+2), m.s.Perm(n+2), m.s.Perm(n+2)
	features, batches := 1, 1
	switch m.s.IntN(4) {
	case 0:
		features = 1 + m.s.IntN(4)
	case 1:
		batches = 1 + m.s.IntN(4)
	}
	channels, filters := 1+m.s.IntN(17), 1+m.s.IntN(17)
	plainInput := ops.Shape{batches * (1 + m.s.IntN(3)), features * channels}
	plainKernel := ops.Shape{filters * features * batches, channels}
	var strides, pads, spreads, steps []int
	for range n {
		taps, step, spread := 1+m.s.IntN(3), 1+m.s.IntN(2), 1+m.s.IntN(2)
		low, high := m.s.IntN(5)-2, m.s.IntN(5)-2
		size := 1 + m.s.IntN(9)
		for (size-1)*spread+1+low+high < (taps-1)*step+1 || (size-1)*spread+1+min(low, high, 0) < 1 {
			size++
		}
		plainInput, plainKernel = append(plainInput, size), append(plainKernel, taps)
		strides, steps = append(strides, 1+m.s.IntN(3)), append(steps, step)
		spreads, pads = append(spreads, spread), append(pads, low, high)
	}
	input, kernel := make([]int, n+2), make([]int, n+2)
	for i := range n + 2 {
		input[in[i]], kernel[filter[i]] = plainInput[i], plainKernel[i]
	}
	z := m.one(ops.Conv, d, [][]int{strides, pads, spreads, steps, {features}, {batches}, in, filter, out},
		m.real(d, input...), m.real(d, kernel...))
	return m.after(z, d)
}

// order sorts lines, or finds their greatest elements.
func (m *maker) order() []ops.Operand {
	d := pick(m.s.Rand, ops.F32, ops.S64, ops.BF16, ops.U8, ops.F64, ops.S32)
	n := m.length()
	if m.s.IntN(3) == 0 {
		x := m.real(d, pick(m.s.Rand, ops.Shape{n}, ops.Shape{3, n})...)
		outs, ok := m.Add(ops.TopK, []ops.DType{d, ops.S32}, nil, [][]int{{1 + m.s.IntN(n)}}, x)
		if !ok {
			panic("BUG: top_k is not well formed")
		}
		return outs
	}
	s, axis := m.line(n)
	attrs := [][]int{{axis}, {m.s.IntN(2)}, {m.s.IntN(2)}}
	x := m.real(d, s...)
	if m.s.IntN(2) == 0 {
		return []ops.Operand{m.one(ops.Argsort, ops.S32, attrs, x)}
	}
	return []ops.Operand{m.one(ops.Sort, d, attrs, x)}
}

// transform is a Fourier transform of lines of a length that may have any prime
// factors, cut or filled.
func (m *maker) transform() []ops.Operand {
	n := pick(m.s.Rand, 1, 2, 7, 13, 64, 100, 360, 1001, 1009, 1024, 4096, 5000)
	s, axis := m.line(max(1, n+pick(m.s.Rand, 0, 0, 0, 5, -n/2)))
	wide := m.s.IntN(3) == 0
	real, complex := ops.F32, ops.C64
	if wide {
		real, complex = ops.F64, ops.C128
	}
	attrs := [][]int{{n}, {axis}, {0}}
	switch m.s.IntN(5) {
	case 0:
		return []ops.Operand{m.one(ops.RFFT, complex, attrs, m.real(real, s...))}
	case 1:
		return []ops.Operand{m.one(ops.IRFFT, real, attrs, m.real(complex, s...))}
	case 2:
		s = m.shape(3, 20000)
		lengths := []int{pick(m.s.Rand, 8, 24, 31), pick(m.s.Rand, 16, 9, 30)}
		return []ops.Operand{m.one(pick(m.s.Rand, ops.FFT2, ops.IFFT2), complex, [][]int{lengths, {1, 2}, {0}}, m.real(complex, s...))}
	case 3:
		return []ops.Operand{m.one(ops.IFFT, complex, attrs, m.real(complex, s...))}
	}
	z := m.one(ops.FFT, complex, attrs, m.real(pick(m.s.Rand, real, complex), s...))
	return []ops.Operand{z, m.one(ops.Abs, real, nil, z)}
}

// linalg is a factorisation or a solver.
func (m *maker) linalg() []ops.Operand {
	d := pick(m.s.Rand, ops.F32, ops.F32, ops.F64, ops.C64, ops.C128, ops.F16)
	n := pick(m.s.Rand, 1, 2, 3, 8, 31, 32, 33, 48, 70)
	batch := pick(m.s.Rand, ops.Shape{}, ops.Shape{3}, ops.Shape{2, 2})
	of := func(dims ...int) ops.Type {
		return ops.Type{DType: d, Shape: append(append(ops.Shape{}, batch...), dims...)}
	}
	square := func(hermitian bool) ops.Operand { return m.param(of(n, n), m.matrix(of(n, n), hermitian)) }
	oblong := func() ops.Operand {
		t := of(n, pick(m.s.Rand, 1, 2, 5, 20, 40))
		return m.param(t, m.matrix(t, false))
	}
	several := func(op ops.Op, types []ops.DType, attrs [][]int, ins ...ops.Operand) []ops.Operand {
		outs, ok := m.Add(op, types, nil, attrs, ins...)
		if !ok {
			panic("BUG: " + op.String() + " is not well formed")
		}
		return outs
	}
	flag := []int{m.s.IntN(2)}
	switch m.s.IntN(8) {
	case 0:
		return several(ops.Cholesky, []ops.DType{d}, nil, square(true))
	case 1:
		return several(ops.Solve, []ops.DType{d}, nil, square(false), m.real(d, of(n, 3).Shape...))
	case 2:
		return several(ops.LU, []ops.DType{d, d, d}, nil, square(false))
	case 3:
		return several(ops.QR, []ops.DType{d, d}, [][]int{flag}, oblong())
	case 4:
		return several(ops.SVD, []ops.DType{d, d, d}, [][]int{flag}, oblong())
	case 5:
		return several(ops.Eigh, []ops.DType{d, d}, nil, square(true))
	case 6:
		return several(ops.Determinant, []ops.DType{d}, nil, square(false))
	}
	left := m.s.IntN(2)
	b := of(n, 4)
	if left == 0 {
		b = of(4, n)
	}
	return several(ops.TriangularSolve, []ops.DType{d}, [][]int{flag, {left}, {m.s.IntN(3)}}, square(false), m.real(d, b.Shape...))
}
