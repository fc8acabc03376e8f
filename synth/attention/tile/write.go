package tile

import (
	"slices"

	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// The shape of a workgroup: invocations in lines of Across, one line for some rows of the left operand.
const (
	Across = 16
	Down   = 8
	Local  = Across * Down
	Deep   = 16 // products of a sum whose factors are in shared memory at once
	Cols   = 4  // columns of a block that an invocation has
	Block  = Across * Cols
)

// Writer writes code for tiles. Invocation (X, Y) has the rows Y·PerRow, Y·PerRow+1, … of a tile, and every
// sixteenth column from X on.
type Writer struct {
	*codegen.Emitter
	X, Y        kernel.Value // of the invocation
	PerRow      int          // rows of an invocation
	Left, Right int          // shared arrays
}

// NewWriter is a writer for tiles of so many rows an invocation; the right shared array has lines of so many elements.
func NewWriter(e *codegen.Emitter, perRow, line int) Writer {
	w := Writer{Emitter: e, PerRow: perRow}
	w.Y, w.X = e.DivMod(e.Invocation(), e.Index(Across))
	w.Left = e.Shared(scalar.F32, Deep*w.Line())
	w.Right = e.Shared(scalar.F32, Deep*line)
	return w
}

// Line is the distance of lines of the left shared array: the rows of the tile, and some elements that spread
// columns over the banks.
func (w *Writer) Line() int { return LineOf(w.PerRow) }

// LineOf is Line for tiles of so many rows an invocation.
func LineOf(perRow int) int { return Down*perRow + 4 }

// Matrices are the matrices of an operand in a kernel: the one that the workgroup reads begins at Base.
type Matrices struct {
	Buffer  int
	Of      *Operand
	Base    kernel.Value
	Dims    [Groups][]kernel.Value // but for the first of a group
	Strides [Groups][]kernel.Value
}

// Matrices takes the parameters of an operand; number is that of the matrix.
func (w *Writer) Matrices(buffer int, o *Operand, number kernel.Value) Matrices {
	m := w.Operand(buffer, o)
	m.Base = w.Add(m.Base, w.PlaceIn(&m, Batch, number))
	return m
}

// Operand takes the parameters of an operand, whose base is that of its first matrix.
func (w *Writer) Operand(buffer int, o *Operand) Matrices {
	m := Matrices{Buffer: buffer, Of: o, Base: w.NextNumber()}
	for g := range Groups {
		for range o.Dims[g][1:] {
			m.Dims[g] = append(m.Dims[g], w.NextNumber())
		}
		for range o.Strides[g] {
			m.Strides[g] = append(m.Strides[g], w.NextNumber())
		}
	}
	return m
}

// PlaceIn is the distance of element i of a group from the first.
func (w *Writer) PlaceIn(m *Matrices, g int, i kernel.Value) kernel.Value {
	at := w.Index(0)
	for d, c := range w.Coordinates(i, m.Dims[g]) {
		stride := m.Strides[g][d]
		if g == Columns && len(m.Of.Strides[g]) == 1 && m.Of.Strides[g][0] == 1 {
			stride = w.Index(1)
		}
		at = w.Add(at, w.Mul(c, stride))
	}
	return at
}

// Load loads n neighbouring columns of a row, as f32: zeros for what is beyond the last row or
// column. n is more than 1 only where all rows are in groups of n.
func (w *Writer) Load(m *Matrices, row, rowLimit, column, limit kernel.Value, n int) []kernel.Value {
	inside := w.And2(w.IsLess(row, rowLimit), w.IsLess(column, limit))
	row = w.Min(row, w.Sub(rowLimit, w.Index(1)))
	column = w.Min(column, w.Sub(limit, w.Index(n)))
	at := w.Add(w.Add(m.Base, w.PlaceIn(m, Rows, row)), w.PlaceIn(m, Columns, column))
	var vs []kernel.Value
	for _, x := range w.Fetch(m.Buffer, w.Shr(at, codegen.Log2(n)), n) {
		vs = append(vs, w.Select(inside, w.Decode(m.Of.DType, x), w.Float(scalar.F32, 0)))
	}
	return vs
}

// FMA is x·y + z, rounded once.
func (w *Writer) FMA(x, y, z kernel.Value) kernel.Value {
	return w.Prim(scalar.Fma, scalar.F32, x, y, z)
}

// Product adds the products of rows of two operands to nothing: for each row of the invocation, those with its columns of
// a block of rows of the other one, which begins at from. fours has both loaded four elements at a time.
func (w *Writer) Product(left, right *Matrices, first, lefts, from, rights, depth kernel.Value, fours bool) []kernel.Value {
	zero := make([]kernel.Value, w.PerRow*Cols)
	for i := range zero {
		zero[i] = w.Float(scalar.F32, 0)
	}
	n := Down * w.PerRow
	return w.Loop(w.Index(0), depth, w.Index(Deep), zero, func(at kernel.Value, sums []kernel.Value) []kernel.Value {
		a := w.loadAcross(left, n, first, lefts, at, depth, fours)
		b := w.loadAcross(right, Block, from, rights, at, depth, fours)
		w.Barrier()
		w.storeAcross(w.Left, a, n, w.Line())
		w.storeAcross(w.Right, b, Block, Block)
		w.Barrier()
		return w.Multiply(sums, Cols, Block)
	})
}

// loadAcross loads the columns from at on of n rows: each invocation some columns of one row.
func (w *Writer) loadAcross(m *Matrices, n int, first, limit, at, depth kernel.Value, fours bool) (vs []kernel.Value) {
	each, step := n*Deep/Local, 1
	if fours {
		step = 4
	}
	part, row := w.DivMod(w.Invocation(), w.Index(n))
	for i := 0; i < each; i += step {
		column := w.Add(at, w.Add(w.Mul(part, w.Index(each)), w.Index(i)))
		vs = append(vs, w.Load(m, w.Add(first, row), limit, column, depth, step)...)
	}
	return vs
}

// storeAcross stores what loadAcross has loaded, a column of n rows after the other.
func (w *Writer) storeAcross(array int, vs []kernel.Value, n, line int) {
	part, row := w.DivMod(w.Invocation(), w.Index(n))
	for i, v := range vs {
		column := w.Add(w.Mul(part, w.Index(len(vs))), w.Index(i))
		w.StoreShared(array, w.Convert(w.Add(w.Mul(column, w.Index(line)), row), scalar.U32), v)
	}
}

// Multiply adds the products of the two shared arrays, Deep of them for each sum. An invocation has
// some lines of the left one, and n elements of the right one, Across apart.
func (w *Writer) Multiply(sums []kernel.Value, n, line int) []kernel.Value {
	const together = 4
	row := w.Convert(w.Mul(w.Y, w.Index(w.PerRow)), scalar.U32)
	column := w.Convert(w.X, scalar.U32)
	number := func(n int) kernel.Value { return w.Int(scalar.U32, n) }
	return w.Loop(number(0), number(Deep), number(together), sums, func(at kernel.Value, sums []kernel.Value) []kernel.Value {
		sums = append([]kernel.Value(nil), sums...)
		left := w.Add(w.Mul(at, number(w.Line())), row)
		right := w.Add(w.Mul(at, number(line)), column)
		for k := range together {
			var a, b []kernel.Value
			for i := range w.PerRow {
				a = append(a, w.LoadShared(w.Left, w.Add(left, number(k*w.Line()+i))))
			}
			for i := range n {
				b = append(b, w.LoadShared(w.Right, w.Add(right, number(k*line+i*Across))))
			}
			for i := range a {
				for l := range b {
					sums[i*n+l] = w.FMA(a[i], b[l], sums[i*n+l])
				}
			}
		}
		return sums
	})
}

// Sum adds rows of an operand by weights, sixteen rows at a time: those with number k of each invocation have the weights
// k·PerRow, k·PerRow+1, and so on. An invocation has perCol columns.
func (w *Writer) Sum(m *Matrices, from, limit, width kernel.Value, perCol int, fours bool, weights, sums []kernel.Value) []kernel.Value {
	r := w.PerRow
	at := w.Convert(w.Add(w.Mul(w.X, w.Index(w.Line())), w.Mul(w.Y, w.Index(r))), scalar.U32)
	state := w.Loop(w.Index(0), w.Index(Cols), w.Index(1), append(weights, sums...), func(k kernel.Value, state []kernel.Value) []kernel.Value {
		v := w.loadAlong(m, w.Add(from, w.Mul(k, w.Index(Across))), limit, width, perCol, fours)
		w.Barrier()
		for i, x := range state[:r] {
			w.StoreShared(w.Left, w.Add(at, w.Int(scalar.U32, i)), x)
		}
		w.storeAlong(v, perCol, fours)
		w.Barrier()
		weights := append(slices.Clone(state[r:r*Cols]), state[:r]...)
		return append(weights, w.Multiply(state[r*Cols:], perCol, Across*perCol)...)
	})
	return state[r*Cols:]
}

// loadAlong loads sixteen rows from one on.
func (w *Writer) loadAlong(m *Matrices, from, limit, width kernel.Value, perCol int, fours bool) (vs []kernel.Value) {
	step := along(perCol, fours)
	for i := range Deep * Across * perCol / step / Local {
		row, column := w.alongAt(i, perCol, step)
		vs = append(vs, w.Load(m, w.Add(from, row), limit, column, width, step)...)
	}
	return vs
}

// storeAlong stores what loadAlong has loaded, the columns of a row after those of the other.
func (w *Writer) storeAlong(vs []kernel.Value, perCol int, fours bool) {
	step := along(perCol, fours)
	for i := range len(vs) / step {
		row, column := w.alongAt(i, perCol, step)
		at := w.Convert(w.Add(w.Mul(row, w.Index(Across*perCol)), column), scalar.U32)
		for k := range step {
			w.StoreShared(w.Right, w.Add(at, w.Int(scalar.U32, k)), vs[i*step+k])
		}
	}
}

// along is how many neighbouring columns loadAlong loads at once.
func along(perCol int, fours bool) int {
	if fours && (Deep*Across*perCol)%(4*Local) == 0 {
		return 4
	}
	return 1
}

// alongAt is the row, and the first column, of group i of the invocation.
func (w *Writer) alongAt(i, perCol, step int) (row, column kernel.Value) {
	row, column = w.DivMod(w.Add(w.Invocation(), w.Index(i*Local)), w.Index(Across*perCol/step))
	return row, w.Mul(column, w.Index(step))
}

// Each computes f of n groups of values, one after the other. The groups rotate through the rounds of
// a loop, so that the kernel has the code of f once. f also takes the number of the group.
func (w *Writer) Each(n int, groups []kernel.Value, f func(i kernel.Value, group []kernel.Value) []kernel.Value) []kernel.Value {
	size := len(groups) / n
	return w.Loop(w.Index(0), w.Index(n), w.Index(1), groups, func(i kernel.Value, groups []kernel.Value) []kernel.Value {
		return append(slices.Clone(groups[size:]), f(i, groups[:size])...)
	})
}

// PerColumn is how many columns of so many an invocation has.
func PerColumn(width int) int {
	n := (width + Across - 1) / Across
	if n > 2 {
		n = (n + 1) / 2 * 2
	}
	return n
}
