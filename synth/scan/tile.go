package scan

import (
	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
	"nxvk/synth/scalar"
	"nxvk/synth/strided"
)

// A chunk of a line whose elements are neighbours is a tile on GPUs, the work of a
// workgroup. It has rows, and a row four elements for each invocation. An
// invocation folds its four in order; the fours of a row are folded by doubling:
// in step d each is folded onto what the one 2^d before it has; the rows are folded
// in order. The total of a tile is found sooner: an invocation folds what it has of
// all rows, and halves of the invocations are folded onto one another. All folds
// may be reordered so but for rounding.
const (
	scanLocal = 256
	scanRows  = 4
	scanRow   = scanLocal * strided.Lanes
	scanTile  = scanRow * scanRows
	// Lines that are shorter share a workgroup.
	leastTiled = 128
)

// tiled reports whether the chunks are tiles.
func (j *scanJob) tiled(t *lowering.Target) bool {
	bytes := 2 * scanRows * scanLocal * kernel.TypeSize(codegen.WideType(j.elem))
	return !t.CPU && j.dense() && j.n >= leastTiled && t.MaxInvocations >= scanLocal && t.SharedMemory >= bytes
}

// fours reports whether every four elements of a line can be loaded at once.
func (j *scanJob) fours() bool {
	for _, s := range j.at.Strides {
		if s%strided.Lanes != 0 && strided.Product(j.dims) > 1 {
			return false
		}
	}
	return j.n%strided.Lanes == 0
}

// tileScanner writes the kernel of a tile.
type tileScanner struct {
	*scanWriter
	tile   kernel.Value
	arrays [2]int // shared: by row and invocation
}

// writeTile writes a tile's results, or its total. onto is the place in buffer 2 of the fold
// of the elements before the tile, if there are any.
func (w *scanWriter) writeTile(before bool) {
	// Groups beyond the last tile take part in the barriers: they repeat that
	// tile and keep it to themselves.
	group := w.Group()
	active := w.Compare(scalar.Lt, group, w.units)
	u := w.Select(active, group, w.Sub(w.units, w.Index(1)))
	line, tile := w.DivMod(u, w.parts)
	w.begin = w.Add(w.offset, w.Offsets(line, w.dims, w.strides))
	s := &tileScanner{scanWriter: w, tile: tile}
	rows := s.load()
	sums := make([]kernel.Value, scanRows)
	for r := range rows {
		for i := 1; i < strided.Lanes; i++ {
			rows[r][i] = w.apply(rows[r][i-1], rows[r][i])
		}
		sums[r] = rows[r][strided.Lanes-1]
	}
	if w.totals {
		total := s.total(sums)
		w.If(w.Prim(scalar.AndB, scalar.Bool, active, w.Compare(scalar.Eq, w.Invocation(), w.Index(0))), func() []kernel.Value {
			w.Store(1, u, total)
			return nil
		}, nil)
		return
	}
	for i := range s.arrays {
		s.arrays[i] = w.Shared(w.Type(sums[0]), scanRows*scanLocal)
	}
	s.fold(rows, s.double(sums), before, u)
	w.If(active, func() []kernel.Value { s.store(rows); return nil }, nil)
}

// total folds the sums of the rows of all invocations; the first one has it. Rows
// that end before the tile does leave sums out.
func (s *tileScanner) total(sums []kernel.Value) kernel.Value {
	own := s.Invocation()
	total := sums[0]
	for _, x := range sums[1:] {
		total = s.apply(total, x)
	}
	array := s.Shared(s.Type(total), scanLocal)
	s.StoreShared(array, own, total)
	for half := scanLocal / 2; half > 0; half /= 2 {
		s.Barrier()
		inside := s.Compare(scalar.Lt, own, s.Index(half))
		s.If(inside, func() []kernel.Value {
			x := s.LoadShared(array, own)
			s.StoreShared(array, own, s.apply(x, s.LoadShared(array, s.Add(own, s.Index(half)))))
			return nil
		}, nil)
	}
	return s.LoadShared(array, own)
}

// shared is what an invocation has of a row.
func (s *tileScanner) shared(array, row int, invocation kernel.Value) kernel.Value {
	return s.LoadShared(array, s.Add(s.Index(row*scanLocal), invocation))
}

// double folds the values of each row onto those of the invocations before, and
// gives the array that has them.
func (s *tileScanner) double(values []kernel.Value) int {
	own := s.Invocation()
	put := func(array int) {
		for r, v := range values {
			s.StoreShared(array, s.Add(s.Index(r*scanLocal), own), v)
		}
		s.Barrier()
	}
	array := 0
	put(s.arrays[array])
	for d := 1; d < scanLocal; d *= 2 {
		later := s.Compare(scalar.Le, s.Index(d), own)
		other := s.Select(later, s.Sub(own, s.Index(d)), own)
		for r, v := range values {
			values[r] = s.Select(later, s.apply(s.shared(s.arrays[array], r, other), v), v)
		}
		array = 1 - array
		put(s.arrays[array])
	}
	return s.arrays[array]
}

// fold folds the elements of the rows onto all that comes before them.
func (s *tileScanner) fold(rows [][]kernel.Value, array int, before bool, u kernel.Value) {
	own := s.Invocation()
	first := s.Compare(scalar.Eq, own, s.Index(0))
	previous := s.Select(first, own, s.Sub(own, s.Index(1)))
	var start, onto kernel.Value // whether the tile is the first of the line; what comes before the row
	if before {
		start = s.Compare(scalar.Eq, s.tile, s.Index(0))
		onto = s.Fetch(2, s.Select(start, u, s.Sub(u, s.Index(1))), 1)[0]
	}
	for r, row := range rows {
		left, total := s.shared(array, r, previous), s.shared(array, r, s.Index(scanLocal-1))
		for i, x := range row {
			inRow := s.Select(first, x, s.apply(left, x))
			switch {
			case r == 0 && !before:
				row[i] = inRow
			case r == 0:
				row[i] = s.Select(start, inRow, s.apply(s.Select(first, onto, s.apply(onto, left)), x))
			default:
				row[i] = s.apply(s.Select(first, onto, s.apply(onto, left)), x)
			}
		}
		switch {
		case r == 0 && !before:
			onto = total
		case r == 0:
			onto = s.Select(start, total, s.apply(onto, total))
		default:
			onto = s.apply(onto, total)
		}
	}
}

// element is the place in the line of the first element of a row's four.
func (s *tileScanner) element(row int) kernel.Value {
	four := s.Add(s.Mul(s.tile, s.Index(scanLocal*scanRows)), s.Add(s.Index(row*scanLocal), s.Invocation()))
	return s.Mul(four, s.Index(strided.Lanes))
}

// four is the group of four elements that begins with element i of the line,
// which runs backward where the line does.
func (s *tileScanner) four(i kernel.Value) kernel.Value {
	at := s.place(i)
	if s.job.stride < 0 {
		at = s.Sub(at, s.Index(strided.Lanes-1))
	}
	return s.Div(at, s.Index(strided.Lanes))
}

// load gives the elements of the rows, and anything beyond the end of the line.
func (s *tileScanner) load() [][]kernel.Value {
	rows := make([][]kernel.Value, scanRows)
	for r := range rows {
		rows[r] = s.loadFour(s.element(r))
	}
	return rows
}

// loadFour gives the four elements from element i of the line on, and anything beyond its end.
func (s *tileScanner) loadFour(i kernel.Value) []kernel.Value {
	if s.job.fours() {
		i = s.Select(s.Compare(scalar.Lt, i, s.n), i, s.Index(0))
		four := s.inLineOrder(s.Fetch(0, s.four(i), strided.Lanes))
		for k, x := range four {
			four[k] = s.Cast(s.Decode(s.job.fromType, x), s.job.fromType, s.job.elem)
		}
		return four
	}
	four := make([]kernel.Value, strided.Lanes)
	for k := range four {
		at := s.Add(i, s.Index(k))
		at = s.Select(s.Compare(scalar.Lt, at, s.n), at, s.Index(0))
		four[k] = s.scanWriter.load(at)
	}
	return four
}

// inLineOrder is four elements in the order of the line.
func (s *tileScanner) inLineOrder(xs []kernel.Value) []kernel.Value {
	if s.job.stride > 0 {
		return xs
	}
	return []kernel.Value{xs[3], xs[2], xs[1], xs[0]}
}

// store writes the elements of the rows.
func (s *tileScanner) store(rows [][]kernel.Value) {
	for r, row := range rows {
		s.storeFour(s.element(r), row)
	}
}

// storeFour writes those of four elements from element i on that the line has.
func (s *tileScanner) storeFour(i kernel.Value, row []kernel.Value) {
	if s.job.fours() {
		s.If(s.Compare(scalar.Lt, i, s.n), func() []kernel.Value {
			out := make([]kernel.Value, strided.Lanes)
			for k, x := range s.inLineOrder(row) {
				out[k] = s.Encode(s.job.toType, x)
			}
			s.Store(1, s.four(i), out...)
			return nil
		}, nil)
		return
	}
	for k, x := range row {
		at := s.Add(i, s.Index(k))
		s.If(s.Compare(scalar.Lt, at, s.n), func() []kernel.Value { s.keep(at, x); return nil }, nil)
	}
}
