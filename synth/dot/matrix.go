package dot

import (
	"fmt"

	"nxvk/ops"
	"nxvk/synth/codegen"
	"nxvk/synth/elementwise"
	"nxvk/synth/gemm"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
	"nxvk/synth/scalar"
)

// matrixOperands returns the type of the operands of a product that matrix hardware
// carries out, Invalid where none does: both have it, and the hardware adds their products
// up in the type of the sums.
func matrixOperands(types []ops.Type, wide ops.DType, m, n, k, batch int, t *lowering.Target) ops.DType {
	d := types[0].DType
	if types[1].DType != d || d.Wide() != wide {
		return ops.Invalid
	}
	if _, ok := GEMMTarget(t).MatrixProduct(d, m, n, k, batch); !ok {
		return ops.Invalid
	}
	return d
}

// contiguous reports whether neighbours of a matrix that lies so are neighbours in memory.
func (a *Axes) contiguous(m matrix) bool {
	free, contract := a.free(), a.size(a.Contract)
	return free == 1 && contract == 1 || m.Free == 1 && free > 1 || m.Contract == 1 && contract > 1
}

// AlignRows copies operands of a product on matrix hardware whose rows are no whole vectors,
// where that pays.
func (d *Builder) AlignRows(p *gemm.Problem, a, b *lowering.Ref) error {
	if !d.Matrix {
		return nil
	}
	left, right := p.Align(GEMMTarget(d.Target))
	if left {
		across := p.A.Col != 1 && p.K > 1
		if err := d.addRows(p, &p.A, a, p.M, p.K, across, !across); err != nil {
			return err
		}
	}
	if right {
		across := p.B.Col != 1 && p.N > 1
		return d.addRows(p, &p.B, b, p.K, p.N, across, across)
	}
	return nil
}

// addRows appends a copy of an operand of rows × cols elements, whose rows, or with across
// whose columns, become whole vectors of storage. The zeros that fill one up come first where
// it is along k.
func (d *Builder) addRows(p *gemm.Problem, s *gemm.Strides, ref *lowering.Ref, rows, cols int, across, alongK bool) error {
	lines, length, lead := rows, cols, s.Row
	if across {
		lines, length, lead = cols, rows, s.Col
	}
	vector := 16 / p.Operands.Size()
	pitch := (length + vector - 1) / vector * vector
	first := 0
	if alongK {
		first = pitch - length
	}
	matrices := p.Batch
	if s.Batch == 0 {
		matrices = 1
	}
	to := d.NewTemp(matrices * lines * pitch * p.Operands.Size())
	j := rowsJob{from: *ref, to: to, typ: p.Operands, lines: lines, length: length, pitch: pitch, first: first,
		lead: lead, batch: s.Batch, matrices: matrices}
	if err := d.AddPrograms(j.program(d.Target)); err != nil {
		return err
	}
	*ref, *s = to, gemm.Strides{Row: pitch, Col: 1, Batch: lines * pitch, Whole: true, First: first}
	if across {
		s.Row, s.Col = 1, pitch
	}
	if matrices == 1 {
		s.Batch = 0
	}
	return nil
}

// rowsJob copies lines of elements into longer ones, which begin with zeros and end with any.
type rowsJob struct {
	from, to             lowering.Ref
	typ                  ops.DType
	lines, length, pitch int
	first                int // zeros
	lead, batch          int // strides of lines and of matrices
	matrices             int
}

// together is how many elements an invocation moves at once: a vector.
func (j *rowsJob) together() int { return 16 / j.typ.Size() }

func (j *rowsJob) program(t *lowering.Target) *codegen.Program {
	n := j.together()
	units := j.matrices * j.lines * j.pitch / n
	local, steps := elementwise.Workgroup(t, n)
	elem, bytes := lowering.ElemOf[j.typ], int64(units*n*j.typ.Size())
	p := &codegen.Program{Local: uint32(local), Groups: (units + local*steps - 1) / (local * steps),
		Key:   fmt.Sprintf("rows of %v as whole vectors steps=%d", j.typ, steps),
		Index: codegen.IndexType(max(units*n, j.matrices*j.batch+j.lines*j.lead)),
		Bytes: 2 * bytes,
		Body:  func(e *codegen.Emitter) error { j.write(e, steps); return nil }}
	p.Buffers = []codegen.Buffer{
		{Ref: j.from, Elem: elem, Access: lowering.Read, Bytes: bytes},
		{Ref: j.to, Elem: elem, Access: lowering.Write, Bytes: bytes}}
	p.Numbers = []int{units, j.pitch / n, j.lines, j.lead, j.batch, j.first, j.length}
	return p
}

// write is the body of the kernel. Elements that all lie in the line are loaded as words, wherever they
// begin.
func (j *rowsJob) write(e *codegen.Emitter, steps int) {
	units, vectors, lines := e.NextNumber(), e.NextNumber(), e.NextNumber()
	lead, batch, first, length := e.NextNumber(), e.NextNumber(), e.NextNumber(), e.NextNumber()
	n := j.together()
	e.ForUnits(units, steps, func(u kernel.Value) {
		line, vector := e.DivMod(u, vectors)
		z, row := e.DivMod(line, lines)
		from := e.Add(e.Mul(z, batch), e.Mul(row, lead))
		at := e.Sub(e.Mul(vector, e.Index(n)), first) // beyond the end where it is negative
		whole := e.And2(e.IsLess(at, length), e.Compare(scalar.Le, e.Add(at, e.Index(n)), length))
		xs := e.If(whole, func() []kernel.Value { return e.FetchSpan(0, e.Add(from, at), n) }, func() []kernel.Value {
			xs := make([]kernel.Value, n)
			for i := range xs {
				k := e.Add(at, e.Index(i))
				valid := e.IsLess(k, length)
				x := e.Fetch(0, e.Select(valid, e.Add(from, k), e.Index(0)), 1)[0]
				xs[i] = e.Select(valid, x, e.Const(elementType(j.typ), 0))
			}
			return xs
		})
		e.Store(1, u, xs...)
	})
}

// elementType is the type of the value of a narrow element, as it lies in memory.
func elementType(d ops.DType) scalar.Type { return lowering.ElemOf[d].Type() }
