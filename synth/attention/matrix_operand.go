package attention

import (
	"fmt"
	"slices"

	"nxvk/ops"
	"nxvk/synth/attention/tile"
	"nxvk/synth/codegen"
	"nxvk/synth/elementwise"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
	"nxvk/synth/strided"
)

// vector is how many elements of 16 bits the kernel for matrix hardware loads at once.
const vector = 8

// maxAxes is how many axes that kernel knows the batch by.
const maxAxes = 3

// rowsOf are the rows of an operand, in whole vectors: distances count elements.
type rowsOf struct {
	ref        lowering.Ref
	first, row int
	batch      []int // by axis of the batch
}

// inVectors are the rows of an operand as they lie; ok is false where they are not whole vectors.
func inVectors(o *operand) (r rowsOf, ok bool) {
	if len(o.Dims[columns]) > 1 || len(o.Dims[rows]) > 1 || o.Dims[columns][0]%vector != 0 || o.Strides[columns][0] != 1 || o.Offset%vector != 0 {
		return r, false
	}
	for _, s := range slices.Concat(o.Strides[batch], o.Strides[rows]) {
		if s%vector != 0 || s < 0 {
			return r, false
		}
	}
	return rowsOf{ref: o.Buffer.Ref, first: o.Offset, row: o.Strides[rows][0], batch: o.Strides[batch]}, true
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

// layOut finds the rows of the operands, and the axes of the batch that all of them have. Operands
// whose rows are not whole vectors are copied, all of them where the batch has too many axes.
func (m *matrixJob) layOut() {
	operands := []*operand{&m.query, &m.key, &m.value}
	for _, all := range []bool{false, true} {
		m.copies, m.temps = nil, nil
		axes := make([][]int, len(operands))
		for i, o := range operands {
			r, ok := inVectors(o)
			axes[i] = o.Dims[batch]
			if !ok || all {
				r, axes[i] = m.copied(o), []int{m.batches}
			}
			m.lies[i] = r
		}
		dims, ok := commonAxes(axes...)
		if !ok {
			continue
		}
		views := make([]*strided.View, len(operands))
		for i := range operands {
			views[i] = &strided.View{Strides: alongAxes(axes[i], m.lies[i].batch, dims)}
		}
		if m.axes = strided.Collapse(dims, views); len(m.axes) > maxAxes {
			continue
		}
		for i := range operands {
			m.lies[i].batch = views[i].Strides
		}
		return
	}
}

// copied has an operand copied, a matrix behind the other, in rows of whole vectors that zeros fill up.
func (m *matrixJob) copied(o *operand) rowsOf {
	n, cols := strided.Product(o.Dims[rows]), strided.Product(o.Dims[columns])
	pitch := (cols + vector - 1) / vector * vector
	m.temps = append(m.temps, int64(m.batches*n*pitch*o.DType.Size()))
	ref := lowering.Ref{Kind: lowering.Temp, Index: len(m.temps) - 1}
	m.copies = append(m.copies, (&copying{o, ref, m.batches, n, cols, pitch}).program(m.target))
	return rowsOf{ref: ref, row: pitch, batch: []int{n * pitch}}
}

// copying copies an operand into rows of whole vectors.
type copying struct {
	*operand
	to                         lowering.Ref
	batches, rows, cols, pitch int
}

// together is how many elements an invocation of a copy stores at once.
const together = 4

func (c *copying) program(t *lowering.Target) *codegen.Program {
	units := c.batches * c.rows * c.pitch / together
	local, steps := elementwise.Workgroup(t, together)
	elem, bytes := lowering.ElemOf[c.DType], int64(units*together*c.DType.Size())
	p := &codegen.Program{Local: uint32(local), Groups: (units + local*steps - 1) / (local * steps),
		Index: codegen.IndexType(max(units*together, c.Extent())), Bytes: 2 * bytes,
		Body: func(e *codegen.Emitter) error { c.write(e, steps); return nil }}
	p.Key = fmt.Sprintf("attention rows of %v as whole vectors steps=%d dims=%d,%d,%d", c.DType, steps, len(c.Dims[batch]), len(c.Dims[rows]), len(c.Dims[columns]))
	if len(c.Strides[columns]) == 1 && c.Strides[columns][0] == 1 {
		p.Key += " neighbours" // see tile.PlaceIn
	}
	p.Buffers = []codegen.Buffer{
		{Ref: c.Buffer.Ref, Elem: elem, Access: lowering.Read, Bytes: int64(c.Extent() * c.DType.Size())},
		{Ref: c.to, Elem: elem, Access: lowering.Write, Bytes: bytes}}
	p.Numbers = append([]int{units, c.pitch / together, c.rows, c.cols}, c.Numbers()...)
	return p
}

// write is the body of the kernel.
func (c *copying) write(e *codegen.Emitter, steps int) {
	w := &writer{Writer: tile.Writer{Emitter: e}}
	units, quads, rowsAll, cols := e.NextNumber(), e.NextNumber(), e.NextNumber(), e.NextNumber()
	m := w.Operand(0, c.operand)
	e.ForUnits(units, steps, func(u kernel.Value) {
		line, quad := e.DivMod(u, quads)
		number, row := e.DivMod(line, rowsAll)
		from := e.Add(m.Base, e.Add(w.PlaceIn(&m, batch, number), w.PlaceIn(&m, rows, row)))
		xs := make([]kernel.Value, together)
		for i := range xs {
			column := e.Add(e.Mul(quad, e.Index(together)), e.Index(i))
			inside := e.IsLess(column, cols)
			x := e.Fetch(0, e.Add(from, w.PlaceIn(&m, columns, e.Min(column, e.Sub(cols, e.Index(1))))), 1)[0]
			xs[i] = e.Select(inside, x, e.Const(lowering.ElemOf[c.DType].Type(), 0))
		}
		e.Store(1, u, xs...)
	})
}

// matrixTypes are the operands that matrix hardware takes here.
var matrixTypes = []ops.DType{ops.BF16, ops.F16}
