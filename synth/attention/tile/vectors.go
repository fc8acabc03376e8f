package tile

import (
	"fmt"
	"slices"

	"nxvk/ops"
	"nxvk/synth/codegen"
	"nxvk/synth/elementwise"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
	"nxvk/synth/scalar"
	"nxvk/synth/strided"
)

// Vector is how many elements of 16 bits the kernels for matrix hardware load at once.
const Vector = 8

// maxAxes is how many axes these kernels know the batch by.
const maxAxes = 3

// RowsOf are the rows of an operand, in whole vectors: distances count elements.
type RowsOf struct {
	Ref        lowering.Ref
	First, Row int
	Batch      []int // by axis of the batch
}

// Words are the parameters that tell a kernel where rows lie, in vectors: the first row, and the distances of rows and
// of the matrices along maxAxes axes of the batch.
func (r *RowsOf) Words() (nums []int) {
	strides := append(make([]int, maxAxes-len(r.Batch)), r.Batch...)
	for _, n := range append([]int{r.First, r.Row}, strides...) {
		nums = append(nums, n/Vector)
	}
	return nums
}

// inVectors are the rows of an operand as they lie; ok is false where they are not whole vectors.
func inVectors(o *Operand) (r RowsOf, ok bool) {
	if len(o.Dims[Columns]) > 1 || len(o.Dims[Rows]) > 1 || o.Dims[Columns][0]%Vector != 0 || o.Strides[Columns][0] != 1 || o.Offset%Vector != 0 {
		return r, false
	}
	for _, s := range slices.Concat(o.Strides[Batch], o.Strides[Rows]) {
		if s%Vector != 0 || s < 0 {
			return r, false
		}
	}
	return RowsOf{Ref: o.Buffer.Ref, First: o.Offset, Row: o.Strides[Rows][0], Batch: o.Strides[Batch]}, true
}

// commonAxes divides axes of batches of the same size so that all have the same ones. It reports false
// where one would have to be cut at places that do not divide each other.
func commonAxes(all ...[]int) (dims []int, ok bool) {
	var cuts []int // products of the inner axes
	for _, list := range all {
		n := 1
		for _, d := range slices.Backward(list) {
			cuts = append(cuts, n)
			n *= d
		}
		cuts = append(cuts, n)
	}
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	for i := range cuts[1:] {
		if cuts[i+1]%cuts[i] != 0 {
			return nil, false
		}
		dims = append(dims, cuts[i+1]/cuts[i])
	}
	if len(dims) == 0 {
		dims = []int{1}
	}
	slices.Reverse(dims)
	return dims, true
}

// alongAxes are the strides of axes that were divided into others.
func alongAxes(axes, strides, dims []int) []int {
	out := make([]int, len(dims))
	at := len(dims) - 1
	for i, d := range slices.Backward(axes) {
		for n := 1; n < d && at >= 0; at-- {
			out[at] = strides[i] * n
			n *= dims[at]
		}
	}
	return out
}

// Layout is where operands of matrix hardware lie, in rows of whole vectors of one type.
type Layout struct {
	Rows   []RowsOf
	Axes   []int              // of the batch, which all operands have
	Copies []*codegen.Program // that come before
	Temps  []int64            // that these write
}

// LayOut finds the rows of operands of so many matrices, as type d. Operands whose rows are not whole vectors, or which have
// another type, are copied; all of them are where the batch has too many axes. The plan has so many other temporaries.
func LayOut(t *lowering.Target, d ops.DType, batches, temps int, operands ...*Operand) (l Layout) {
	for _, all := range []bool{false, true} {
		l = Layout{}
		axes := make([][]int, len(operands))
		for i, o := range operands {
			r, ok := inVectors(o)
			axes[i] = o.Dims[Batch]
			if !ok || all || o.DType != d {
				c := l.copied(o, d, batches, temps)
				l.Copies = append(l.Copies, c.program(t))
				r, axes[i] = RowsOf{Ref: c.to, Row: c.pitch, Batch: []int{c.rows * c.pitch}}, []int{batches}
			}
			l.Rows = append(l.Rows, r)
		}
		dims, ok := commonAxes(axes...)
		if !ok {
			continue
		}
		views := make([]*strided.View, len(operands))
		for i := range operands {
			views[i] = &strided.View{Strides: alongAxes(axes[i], l.Rows[i].Batch, dims)}
		}
		if l.Axes = strided.Collapse(dims, views); len(l.Axes) > maxAxes {
			continue
		}
		for i := range operands {
			l.Rows[i].Batch = views[i].Strides
		}
		break
	}
	return l
}

// Inner are the sizes of the axes of the batch but for the first of maxAxes.
func (l *Layout) Inner() []int {
	return append(slices.Repeat([]int{1}, maxAxes-len(l.Axes)), l.Axes...)[1:]
}

// copied has an operand copied, a matrix behind the other, in rows of whole vectors that zeros fill up.
func (l *Layout) copied(o *Operand, d ops.DType, batches, temps int) *copying {
	n, cols := strided.Product(o.Dims[Rows]), strided.Product(o.Dims[Columns])
	pitch := (cols + Vector - 1) / Vector * Vector
	l.Temps = append(l.Temps, int64(batches*n*pitch*d.Size()))
	ref := lowering.Ref{Kind: lowering.Temp, Index: temps + len(l.Temps) - 1}
	return &copying{o, ref, d, batches, n, cols, pitch}
}

// copying copies an operand into rows of whole vectors, as type as.
type copying struct {
	*Operand
	to                         lowering.Ref
	as                         ops.DType
	batches, rows, cols, pitch int
}

// together is how many elements an invocation of a copy stores at once.
const together = 4

func (c *copying) program(t *lowering.Target) *codegen.Program {
	units := c.batches * c.rows * c.pitch / together
	local, steps := elementwise.Workgroup(t, together)
	elem, bytes := lowering.ElemOf[c.as], int64(units*together*c.as.Size())
	p := &codegen.Program{Local: uint32(local), Groups: (units + local*steps - 1) / (local * steps),
		Index: codegen.IndexType(max(units*together, c.Extent())), Bytes: bytes + int64(c.Size()*c.DType.Size()),
		Body: func(e *codegen.Emitter) error { c.write(e, steps); return nil }}
	p.Key = fmt.Sprintf("attention rows of %v as whole vectors of %v steps=%d dims=%d,%d,%d", c.DType, c.as, steps, len(c.Dims[Batch]), len(c.Dims[Rows]), len(c.Dims[Columns]))
	if len(c.Strides[Columns]) == 1 && c.Strides[Columns][0] == 1 {
		p.Key += " neighbours" // see PlaceIn
	}
	p.Buffers = []codegen.Buffer{
		{Ref: c.Buffer.Ref, Elem: lowering.ElemOf[c.DType], Access: lowering.Read, Bytes: int64(c.Extent() * c.DType.Size())},
		{Ref: c.to, Elem: elem, Access: lowering.Write, Bytes: bytes}}
	p.Numbers = append([]int{units, c.pitch / together, c.rows, c.cols}, c.Numbers()...)
	return p
}

// write is the body of the kernel.
func (c *copying) write(e *codegen.Emitter, steps int) {
	w := &Writer{Emitter: e}
	units, quads, rowsAll, cols := e.NextNumber(), e.NextNumber(), e.NextNumber(), e.NextNumber()
	m := w.Operand(0, c.Operand)
	e.ForUnits(units, steps, func(u kernel.Value) {
		line, quad := e.DivMod(u, quads)
		number, row := e.DivMod(line, rowsAll)
		from := e.Add(m.Base, e.Add(w.PlaceIn(&m, Batch, number), w.PlaceIn(&m, Rows, row)))
		xs := make([]kernel.Value, together)
		for i := range xs {
			column := e.Add(e.Mul(quad, e.Index(together)), e.Index(i))
			inside := e.IsLess(column, cols)
			x := e.Fetch(0, e.Add(from, w.PlaceIn(&m, Columns, e.Min(column, e.Sub(cols, e.Index(1))))), 1)[0]
			if c.as != c.DType {
				x = nearest(e, x)
			}
			xs[i] = e.Select(inside, x, e.Const(lowering.ElemOf[c.as].Type(), 0))
		}
		e.Store(1, u, xs...)
	})
}

// nearest is a number of f32 as memory has the bf16 that is nearest to it, ties to even. A NaN stays one.
func nearest(e *codegen.Emitter, x kernel.Value) kernel.Value {
	bits := e.Bitcast(x, scalar.U32)
	up := e.Add(bits, e.Add(e.And(e.Shr(bits, 16), 1), e.Int(scalar.U32, 0x7fff)))
	isNaN := e.Compare(scalar.Lt, e.Int(scalar.U32, 0x7f800000), e.And(bits, 0x7fffffff))
	return e.Select(isNaN, e.Int(scalar.U32, 0x7fc0), e.Shr(up, 16))
}

// Whole is the least multiple of a unit that n fits in.
func Whole(n, unit int) int { return (n + unit - 1) / unit * unit }
