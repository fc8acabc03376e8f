package attention

import (
	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// matrices are the matrices of an operand in a kernel: the one that the workgroup reads begins at base.
type matrices struct {
	buffer  int
	of      *operand
	base    kernel.Value
	dims    [groups][]kernel.Value // but for the first of a group
	strides [groups][]kernel.Value
}

// matrices takes the parameters of an operand; number is that of the matrix.
func (w *writer) matrices(buffer int, o *operand, number kernel.Value) matrices {
	m := w.operand(buffer, o)
	m.base = w.Add(m.base, w.placeIn(&m, batch, number))
	return m
}

// operand takes the parameters of an operand, whose base is that of its first matrix.
func (w *writer) operand(buffer int, o *operand) matrices {
	m := matrices{buffer: buffer, of: o, base: w.NextNumber()}
	for g := range groups {
		for range o.dims[g][1:] {
			m.dims[g] = append(m.dims[g], w.NextNumber())
		}
		for range o.strides[g] {
			m.strides[g] = append(m.strides[g], w.NextNumber())
		}
	}
	return m
}

// placeIn is the distance of element i of a group from the first.
func (w *writer) placeIn(m *matrices, g int, i kernel.Value) kernel.Value {
	at := w.Index(0)
	for d, c := range w.Coordinates(i, m.dims[g]) {
		stride := m.strides[g][d]
		if g == columns && len(m.of.strides[g]) == 1 && m.of.strides[g][0] == 1 {
			stride = w.Index(1)
		}
		at = w.Add(at, w.Mul(c, stride))
	}
	return at
}

// fetch loads n neighbouring columns of a row, as f32: zeros for what is beyond the last row or
// column. n is 4 where all rows are in fours, else 1.
func (w *writer) fetch(m *matrices, row, rowLimit, column, limit kernel.Value, n int) []kernel.Value {
	inside := w.And2(w.IsLess(row, rowLimit), w.IsLess(column, limit))
	row = w.Min(row, w.Sub(rowLimit, w.Index(1)))
	column = w.Min(column, w.Sub(limit, w.Index(n)))
	at := w.Add(w.Add(m.base, w.placeIn(m, rows, row)), w.placeIn(m, columns, column))
	var vs []kernel.Value
	for _, x := range w.Fetch(m.buffer, w.Shr(at, codegen.Log2(n)), n) {
		vs = append(vs, w.Select(inside, w.Decode(m.of.dtype, x), w.Float(scalar.F32, 0)))
	}
	return vs
}

// loadAcross loads the columns from at on of n rows: each invocation some columns of one row.
func (w *writer) loadAcross(m *matrices, n int, first, limit, at kernel.Value) (vs []kernel.Value) {
	each, step := n*deep/local, 1
	if w.job.exactDepth {
		step = 4
	}
	part, row := w.DivMod(w.Invocation(), w.Index(n))
	for i := 0; i < each; i += step {
		column := w.Add(at, w.Add(w.Mul(part, w.Index(each)), w.Index(i)))
		vs = append(vs, w.fetch(m, w.Add(first, row), limit, column, w.depth, step)...)
	}
	return vs
}

// storeAcross stores what loadAcross has loaded, a column of n rows after the other.
func (w *writer) storeAcross(array int, vs []kernel.Value, n, line int) {
	part, row := w.DivMod(w.Invocation(), w.Index(n))
	for i, v := range vs {
		column := w.Add(w.Mul(part, w.Index(len(vs))), w.Index(i))
		w.StoreShared(array, w.Convert(w.Add(w.Mul(column, w.Index(line)), row), scalar.U32), v)
	}
}

// loadAlong loads the values of sixteen keys from one on.
func (w *writer) loadAlong(from kernel.Value) (vs []kernel.Value) {
	step := w.along()
	for i := range deep * across * w.job.perCol / step / local {
		key, column := w.alongAt(i)
		vs = append(vs, w.fetch(&w.value, w.Add(from, key), w.keys, column, w.width, step)...)
	}
	return vs
}

// storeAlong stores what loadAlong has loaded, the columns of a key after those of the other.
func (w *writer) storeAlong(vs []kernel.Value) {
	step := w.along()
	for i := range len(vs) / step {
		key, column := w.alongAt(i)
		at := w.Convert(w.Add(w.Mul(key, w.Index(across*w.job.perCol)), column), scalar.U32)
		for k := range step {
			w.StoreShared(w.right, w.Add(at, w.Int(scalar.U32, k)), vs[i*step+k])
		}
	}
}

// along is how many neighbouring columns loadAlong loads at once.
func (w *writer) along() int {
	if w.job.exactWidth && (deep*across*w.job.perCol)%(4*local) == 0 {
		return 4
	}
	return 1
}

// alongAt is the key, and the first column, of group i of the invocation.
func (w *writer) alongAt(i int) (key, column kernel.Value) {
	n := across * w.job.perCol / w.along()
	key, column = w.DivMod(w.Add(w.Invocation(), w.Index(i*local)), w.Index(n))
	return key, w.Mul(column, w.Index(w.along()))
}
