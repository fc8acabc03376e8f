package scan

import (
	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
	"nxvk/synth/strided"
)

// tileScanner writes the kernel of a tiling.
type tileScanner struct {
	*scanWriter
	tiling
	size, count kernel.Value // invocations of a team, teams of a workgroup
	own, base   kernel.Value // the invocation in its team, and the first invocation of that
	active      kernel.Value // whether the team has a chunk of its own
	unit        kernel.Value // the number of the chunk among all
	tile        kernel.Value // its number in the line
	array       int          // shared: values of two steps by row and invocation, or the elements that are staged
}

// writeTile writes the results of the chunks of a workgroup, or their totals.
func (w *scanWriter) writeTile(size, count kernel.Value, before bool) {
	s := &tileScanner{scanWriter: w, tiling: w.job.tiling, size: size, count: count}
	team, own := w.DivMod(w.Invocation(), size)
	s.own, s.base = own, w.Sub(w.Invocation(), own)
	// All invocations take part in the barriers. Teams that have no chunk repeat the last one and
	// keep it to themselves.
	units := w.units
	if s.walks {
		units = w.lines
	}
	unit := w.Add(w.Mul(w.Group(), count), team)
	s.active = w.And2(w.IsLess(team, count), w.IsLess(unit, units))
	s.unit = w.Select(s.active, unit, w.Sub(units, w.Index(1)))
	if s.walks {
		s.array = w.Shared(codegen.WideType(w.job.elem), s.room())
		s.walk()
		return
	}
	line, at := w.DivMod(s.unit, w.parts)
	s.tile, w.begin = at, w.beginOf(line)
	if w.totals {
		total := s.total(s.sums(s.load()))
		w.IfThen(w.And2(s.active, w.IsEqual(own, w.Index(0))), func() { w.Store(1, s.unit, total) })
		return
	}
	s.array = w.Shared(codegen.WideType(w.job.elem), s.room())
	if s.stages {
		s.writeStaged(team, units)
		return
	}
	rows := s.load()
	step := s.double(s.sums(rows))
	if before {
		start := w.IsEqual(s.tile, w.Index(0))
		onto := w.Fetch(2, w.Select(start, s.unit, w.Sub(s.unit, w.Index(1))), 1)[0]
		s.foldOnto(rows, step, start, onto)
	} else {
		s.fold(rows, step)
	}
	w.IfThen(s.active, func() { s.store(rows) })
}

// walk scans a line, chunk by chunk.
func (s *tileScanner) walk() {
	s.scanWriter.begin = s.beginOf(s.unit)
	zero := s.Const(codegen.WideType(s.job.elem), 0)
	s.Loop(s.Index(0), s.parts, s.Index(1), []kernel.Value{zero}, func(tile kernel.Value, onto []kernel.Value) []kernel.Value {
		s.tile = tile
		rows := s.load()
		sums := s.sums(rows)
		s.Barrier() // until all have read the sums of the chunk before
		total := s.foldOnto(rows, s.double(sums), s.IsEqual(tile, s.Index(0)), onto[0])
		s.IfThen(s.active, func() { s.store(rows) })
		return []kernel.Value{total}
	})
}

// sums folds the fours of each row, and gives the last folds.
func (s *tileScanner) sums(rows [][]kernel.Value) []kernel.Value {
	sums := make([]kernel.Value, len(rows))
	for r := range rows {
		for i := 1; i < strided.Components; i++ {
			rows[r][i] = s.apply(rows[r][i-1], rows[r][i])
		}
		sums[r] = rows[r][strided.Components-1]
	}
	return sums
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

// shared is what an invocation of the workgroup has of a row; step is 0 or 1, of which one has been
// written and the other one is.
func (s *tileScanner) shared(step, row int, invocation kernel.Value) kernel.Value {
	return s.LoadShared(s.array, s.Add(s.Index((step*s.rows+row)*s.local()), invocation))
}

// double folds the values of each row onto those of the invocations before, and
// gives the step that has them.
func (s *tileScanner) double(values []kernel.Value) (step int) {
	place := s.Invocation()
	put := func() {
		for r, v := range values {
			s.StoreShared(s.array, s.Add(s.Index((step*s.rows+r)*s.local()), place), v)
		}
		s.Barrier()
	}
	put()
	for n := range s.steps() {
		d := s.Index(1 << n)
		later := s.Compare(scalar.Le, d, s.own)
		other := s.Select(later, s.Sub(place, d), place)
		for r, v := range values {
			values[r] = s.Select(later, s.apply(s.shared(step, r, other), v), v)
		}
		step = 1 - step
		put()
	}
	return step
}

// neighbours says whether the invocation is the first of its team, which invocation of the workgroup
// is the one before it, and which is the last of the team.
func (s *tileScanner) neighbours() (first, previous, last kernel.Value) {
	first = s.IsEqual(s.own, s.Index(0))
	previous = s.Select(first, s.Invocation(), s.Sub(s.Invocation(), s.Index(1)))
	return first, previous, s.Min(s.Add(s.base, s.Sub(s.size, s.Index(1))), s.Index(s.local()-1))
}

// fold folds the elements of the rows onto all that comes before them in the chunk.
func (s *tileScanner) fold(rows [][]kernel.Value, step int) {
	first, previous, last := s.neighbours()
	var onto kernel.Value
	for r, row := range rows {
		left := s.shared(step, r, previous)
		if r == 0 {
			onto = s.shared(step, r, last)
			for i, x := range row {
				row[i] = s.Select(first, x, s.apply(left, x))
			}
			continue
		}
		onto = s.rowOnto(row, first, left, onto, s.shared(step, r, last))
	}
}

// rowOnto folds the elements of a row onto what comes before it, and gives the fold of both.
func (s *tileScanner) rowOnto(row []kernel.Value, first, left, onto, total kernel.Value) kernel.Value {
	before := s.Select(first, onto, s.apply(onto, left))
	for i, x := range row {
		row[i] = s.apply(before, x)
	}
	return s.apply(onto, total)
}

// foldOnto is as fold, where what comes before the chunk is onto, unless that is the start of the
// line. It gives the fold of everything up to the end of the chunk.
func (s *tileScanner) foldOnto(rows [][]kernel.Value, step int, start, onto kernel.Value) kernel.Value {
	first, previous, last := s.neighbours()
	for r, row := range rows {
		left, total := s.shared(step, r, previous), s.shared(step, r, last)
		if r > 0 {
			onto = s.rowOnto(row, first, left, onto, total)
			continue
		}
		alone := make([]kernel.Value, len(row))
		for i, x := range row {
			alone[i] = s.Select(first, x, s.apply(left, x))
		}
		onto = s.Select(start, total, s.rowOnto(row, first, left, onto, total))
		for i := range row {
			row[i] = s.Select(start, alone[i], row[i])
		}
	}
	return onto
}

// element is the place in the line of the first element of a row's four.
func (s *tileScanner) element(row int) kernel.Value {
	four := s.Add(s.Mul(s.tile, s.Index(scanLocal*scanRows)), s.Add(s.Mul(s.Index(row), s.size), s.own))
	return s.Mul(four, s.Index(strided.Components))
}

// four is the group of four elements that begins with element i of the line,
// which runs backward where the line does.
func (s *tileScanner) four(i kernel.Value) kernel.Value {
	at := s.place(i)
	if s.job.stride < 0 {
		at = s.Sub(at, s.Index(strided.Components-1))
	}
	return s.Div(at, s.Index(strided.Components))
}

// load gives the elements of the rows, and anything beyond the end of the line.
func (s *tileScanner) load() [][]kernel.Value {
	rows := make([][]kernel.Value, s.rows)
	for r := range rows {
		rows[r] = s.loadFour(s.element(r))
	}
	return rows
}

// loadFour gives the four elements from element i of the line on, and anything beyond its end.
func (s *tileScanner) loadFour(i kernel.Value) []kernel.Value {
	if s.job.fours() {
		i = s.Select(s.Compare(scalar.Lt, i, s.n), i, s.Index(0))
		four := s.inLineOrder(s.Fetch(0, s.four(i), strided.Components))
		for k, x := range four {
			four[k] = s.decoded(x)
		}
		return four
	}
	four := make([]kernel.Value, strided.Components)
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
		s.IfThen(s.IsLess(i, s.n), func() {
			out := make([]kernel.Value, strided.Components)
			for k, x := range s.inLineOrder(row) {
				out[k] = s.Encode(s.job.toType, x)
			}
			s.Store(1, s.four(i), out...)
		})
		return
	}
	for k, x := range row {
		at := s.Add(i, s.Index(k))
		s.IfThen(s.IsLess(at, s.n), func() { s.keep(at, x) })
	}
}
