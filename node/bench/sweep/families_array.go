package sweep

import (
	"slices"

	"nxvk/ops"
)

// drawView draws an operation on part of an operand, or on one in another order.
func drawView(b *builder) {
	d := b.dtype(reals)
	s := b.shape(2+b.IntN(2), b.elements(d, 3))
	t := typed(d, s...)
	x := b.param(Uniform, t)
	var y int
	switch b.IntN(4) {
	case 0, 1:
		starts, lengths, strides := make([]int, len(s)), slices.Clone(s), slices.Repeat([]int{1}, len(s))
		k := b.IntN(len(s))
		strides[k] = one(b, 1, 1, 2, 3)
		starts[k] = b.IntN(s[k]/4 + 1)
		lengths[k] = max(1, (s[k]-starts[k]-b.IntN(s[k]/4+1)+strides[k]-1)/strides[k])
		b.remark("starts %v strides %v", starts, strides)
		y = b.do(ops.Slice, d, [][]int{starts, lengths, strides}, x)
	case 2:
		p := b.Perm(len(s))
		b.remark("axes %v", p)
		y = b.do(ops.Transpose, d, [][]int{p}, x)
	default:
		k := b.IntN(len(s))
		b.remark("axis %d", k)
		y = b.do(ops.Reverse, d, [][]int{{k}}, x)
	}
	switch b.IntN(3) {
	case 0:
		y = b.do(ops.Negate, d, nil, y)
	case 1:
		y = b.do(ops.Multiply, d, nil, y, y)
	default:
		y = b.do(ops.ReduceMax, d, [][]int{{b.IntN(len(s))}, {0}}, y)
	}
	b.finish(y)
}

func drawTranspose(b *builder) {
	d := b.dtype(reals)
	s := b.shape(2+b.IntN(4), b.elements(d, 2))
	p := b.Perm(len(s))
	if slices.IsSorted(p) {
		slices.Reverse(p)
	}
	b.remark("axes %v", p)
	b.finish(b.do(ops.Transpose, d, [][]int{p}, b.param(Uniform, typed(d, s...))))
}

// drawMovement draws operations that move elements.
func drawMovement(b *builder) {
	d := b.dtype(reals)
	s := b.shape(b.rank(), b.elements(d, 3))
	t, k := typed(d, s...), b.IntN(len(s))
	b.remark("axis %d", k)
	switch b.IntN(6) {
	case 0, 1:
		u := slices.Clone(s)
		u[k] = b.near(float64(u[k]) * (0.1 + b.Float64()))
		x, y := b.param(Uniform, t), b.param(Uniform, typed(d, u...))
		b.finish(b.do(ops.Concatenate, d, [][]int{{k}}, x, y))
	case 2:
		b.finish(b.do(ops.Stack, d, [][]int{{k}}, b.param(Uniform, t), b.param(Uniform, t)))
	case 3:
		config := make([]int, 3*len(s))
		config[3*k], config[3*k+1] = b.IntN(4), 1+b.IntN(4)
		x := b.param(Uniform, t)
		b.finish(b.do(ops.Pad, d, [][]int{config}, x, b.number(d, 0)))
	case 4:
		b.finish(b.do(ops.Reverse, d, [][]int{{k}}, b.param(Uniform, t)))
	default:
		u, starts := slices.Clone(s), make([]int, len(s))
		u[k] = (s[k] + 1) / 2
		starts[k] = s[k] / 4
		x, y := b.param(Uniform, t), b.param(Uniform, typed(d, u...))
		b.finish(b.do(ops.PutSlice, d, [][]int{starts}, x, y))
	}
}

// reduce adds a reduction over axes.
func (b *builder) reduce(op ops.Op, t ops.Type, axes []int, keep bool) {
	d := t.DType
	switch {
	case op == ops.All || op == ops.Any:
		d = ops.U8
	case op.Info().Kind == ops.Reduce && d.Class() == ops.Signed && (op == ops.Sum || op == ops.Product):
		d = ops.S64
	case d == ops.U8 && (op == ops.Sum || op == ops.Product):
		d = ops.U64
	}
	kept := 0
	if keep {
		kept = 1
	}
	b.remark("axes %v", axes)
	b.finish(b.do(op, d, [][]int{axes, {kept}}, b.param(Uniform, t)))
}

func drawReduce(b *builder) {
	d := b.dtype(reals)
	s := b.shape(b.rank(), b.elements(d, 2))
	var axes []int
	for i := range s {
		if b.chance(50) {
			axes = append(axes, i)
		}
	}
	if len(axes) == 0 {
		axes = []int{b.IntN(len(s))}
	}
	op := one(b, ops.Sum, ops.Sum, ops.Sum, ops.ReduceMax, ops.ReduceMax, ops.ReduceMin, ops.Product, ops.All, ops.Any)
	b.reduce(op, typed(d, s...), axes, b.chance(30))
}

func drawArgReduce(b *builder) {
	d := b.dtype(reals)
	s := b.shape(b.rank(), b.elements(d, 2))
	axis := b.IntN(len(s)+1) - 1
	b.remark("axis %d", axis)
	b.finish(b.do(one(b, ops.ArgMax, ops.ArgMin), b.dtype(index), [][]int{{axis}, {0}, {0}}, b.param(Uniform, typed(d, s...))))
}

func drawScan(b *builder) {
	d := b.dtype(reals)
	s := b.shape(b.rank(), b.elements(d, 2))
	axis, reverse := b.IntN(len(s)), 0
	if b.chance(15) {
		reverse = 1
	}
	b.remark("axis %d", axis)
	op := one(b, ops.CumulativeSum, ops.CumulativeSum, ops.CumulativeSum, ops.CumulativeMax, ops.CumulativeMin, ops.CumulativeProduct)
	b.finish(b.do(op, d, [][]int{{axis}, {reverse}}, b.param(Uniform, typed(d, s...))))
}

func drawSort(b *builder) {
	d := b.dtype(reals)
	s := b.shape(one(b, 1, 1, 2, 2, 3), b.elements(d, 2)/8)
	axis, down := one(b, len(s)-1, len(s)-1, b.IntN(len(s))), b.IntN(2)
	x := b.param(Uniform, typed(d, s...))
	switch b.IntN(4) {
	case 0, 1:
		b.remark("axis %d", axis)
		b.finish(b.do(ops.Sort, d, [][]int{{axis}, {down}, {0}}, x))
	case 2:
		b.remark("axis %d", axis)
		b.finish(b.do(ops.Argsort, b.dtype(index), [][]int{{axis}, {down}, {0}}, x))
	default:
		k := min(s[len(s)-1], one(b, 1, 2, 5, 8, 10, 16, 32, 50, 64, 100, 128, 256, 1000))
		b.remark("k %d", k)
		v := b.all(ops.TopK, []ops.Type{{DType: d}, {DType: b.dtype(index)}}, [][]int{{k}}, x)
		b.finish(v, v+1)
	}
}

// drawTake draws reads at indices: scalars, rows of a table, elements along an axis.
func drawTake(b *builder) {
	d, di := b.dtype(reals), b.dtype(index)
	switch b.IntN(5) {
	case 0: // scalars
		n, m := b.int(1024, 1<<26), b.int(1024, 1<<24)
		x := b.param(Uniform, typed(d, n))
		b.finish(b.do(ops.Take, d, [][]int{{0}}, x, b.indices(n, typed(di, m))))
	case 1, 2: // an embedding
		n, width := one(b, b.int(16, 1<<20), one(b, vocabularies...)), one(b, b.int(1, 1024), one(b, widths...))
		x := b.param(Uniform, typed(d, n, width))
		shape := []int{b.int(16, 1<<16)}
		if b.chance(50) {
			shape = []int{one(b, 1, 2, 4, 8, 16, 32), b.int(16, 4096)}
		}
		b.finish(b.do(ops.Take, d, [][]int{{0}}, x, b.indices(n, typed(di, shape...))))
	case 3:
		s := b.shape(2+b.IntN(2), b.elements(d, 3))
		axis, u := b.IntN(len(s)), slices.Clone(s)
		u[axis] = b.near(float64(u[axis]) * (0.1 + b.Float64()))
		x := b.param(Uniform, typed(d, s...))
		b.remark("axis %d", axis)
		b.finish(b.do(ops.TakeAlongAxis, d, [][]int{{axis}}, x, b.indices(s[axis], typed(di, u...))))
	default:
		s := b.shape(2+b.IntN(2), b.elements(d, 3))
		axes := []int{0}
		if b.chance(60) {
			axes = []int{0, 1}
		}
		low := s[0]
		for _, a := range axes {
			low = min(low, s[a])
		}
		x := b.param(Uniform, typed(d, s...))
		i := b.indices(low, typed(di, b.int(64, 1<<20), len(axes)))
		b.remark("axes %v", axes)
		b.finish(b.do(ops.Gather, d, [][]int{axes}, x, i))
	}
}

// drawScatter draws writes at indices: into a vector, or of rows into a table.
func drawScatter(b *builder) {
	op, d, di := one(b, ops.IndexedAdd, ops.IndexedAdd, ops.IndexedPut), b.dtype(reals), b.dtype(index)
	table := ops.Shape{b.int(64, 1<<24)}
	if b.chance(60) {
		table = ops.Shape{one(b, b.int(16, 1<<18), one(b, vocabularies...)), one(b, b.int(1, 1024), one(b, widths...))}
	}
	n := b.int(64, 1<<22)
	x, i := b.param(Uniform, typed(d, table...)), b.indices(table[0], typed(di, n, 1))
	u := b.param(Uniform, typed(d, slices.Concat(ops.Shape{n}, table[1:])...))
	b.finish(b.do(op, d, [][]int{{0}}, x, i, u))
}

func drawWindow(b *builder) {
	d := b.dtype(floats)
	if b.chance(8) {
		b.scatterWindows(d)
		return
	}
	side := float64(one(b, sides...))
	h, w := b.near(side), b.near(side)
	if b.chance(25) { // one axis
		n, k := b.near(b.elements(d, 2)), one(b, 2, 3, 5, 7, 16, 31, 64, 128)
		n = max(n, k)
		b.window(typed(d, n), []int{k}, []int{one(b, 1, 1, k)}, 0)
		return
	}
	k := one(b, 2, 2, 3, 3, 5, 7, 11, 15, 31)
	h, w = max(h, k), max(w, k)
	planes := max(1, b.near(b.elements(d, 2)/float64(h*w)))
	stride := one(b, 1, 2, k)
	if b.chance(25) {
		b.window(typed(d, h, w), []int{k, k}, []int{stride, stride}, 0)
		return
	}
	channels := 1
	for _, c := range []int{3, 16, 64, 128} {
		if planes%c == 0 {
			channels = c
		}
	}
	b.window(typed(d, planes/channels, channels, h, w), []int{1, 1, k, k}, []int{1, 1, stride, stride}, 2)
}

// window adds a reduction of windows; the first axes have windows of 1.
func (b *builder) window(t ops.Type, size, strides []int, first int) {
	padding, ones := make([]int, 2*len(size)), slices.Repeat([]int{1}, len(size))
	for i, k := range size {
		if i >= first && b.chance(30) {
			padding[2*i], padding[2*i+1] = k/2, k/2
		}
	}
	b.remark("window %v strides %v padding %v", size[first:], strides[first:], padding[2*first:])
	x := b.param(Uniform, t)
	op := one(b, ops.WindowSum, ops.WindowSum, ops.WindowMax, ops.WindowMax, ops.WindowMin, ops.WindowProduct)
	b.finish(b.do(op, t.DType, [][]int{size, padding, strides, ones}, x))
}

// scatterWindows draws the gradient of a pooling, on windows that do not overlap.
func (b *builder) scatterWindows(d ops.DType) {
	k, rows, columns := one(b, 2, 3), b.near(b.between(8, 1024)), b.near(b.between(8, 1024))
	size := []int{k, k}
	x, source := b.param(Uniform, typed(d, k*rows, k*columns)), b.param(Uniform, typed(d, rows, columns))
	v := b.do(one(b, ops.WindowScatterMax, ops.WindowScatterMin), d, [][]int{size, {0, 0, 0, 0}, size}, x, source, b.number(d, 0))
	b.remark("window %v", size)
	b.finish(v)
}
