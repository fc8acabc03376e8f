package scan

import (
	"nxvk/synth/kernel"
	"nxvk/synth/strided"
)

// Short lines that do not begin at whole vectors lie one behind the other, and those of a workgroup
// are a span of memory. Neighbouring invocations load neighbouring elements of the span into shared
// memory, where each team finds its line, and store the results likewise.

// staggered is how much shared memory n elements take: a word is left out after every 32, so that
// the invocations of a subgroup that read every fourth element find them in different banks.
func staggered(n int) int { return n + n/32 }

// writeStaged writes the results of the lines of a workgroup by way of shared memory. team is the
// number of the line in the workgroup.
func (s *tileScanner) writeStaged(team, lines kernel.Value) {
	line := s.Mul(s.Group(), s.count)
	line = s.Select(s.IsLess(line, lines), line, lines)
	first, span := s.Mul(line, s.n), s.Mul(s.Min(s.count, s.Sub(lines, line)), s.n)
	team = s.Select(s.active, team, s.Index(0))
	s.stageIn(first, span)
	s.Barrier()
	rows := make([][]kernel.Value, s.rows)
	for r := range rows {
		for k := range strided.Components {
			rows[r] = append(rows[r], s.LoadShared(s.array, s.staged(team, s.Add(s.element(r), s.Index(k)))))
		}
	}
	sums := s.sums(rows)
	s.Barrier() // the sums take the place of the elements
	s.fold(rows, s.double(sums))
	s.Barrier()
	for r, row := range rows {
		for k, x := range row {
			at := s.Add(s.element(r), s.Index(k))
			s.IfThen(s.And2(s.active, s.IsLess(at, s.n)), func() { s.StoreShared(s.array, s.staged(team, at), x) })
		}
	}
	s.Barrier()
	s.For(s.Invocation(), span, s.Index(s.local()), func(at kernel.Value) {
		s.Store(1, s.Add(first, at), s.Encode(s.job.toType, s.LoadShared(s.array, s.stagger(at))))
	})
}

// each calls f with the elements of the span that the invocation moves.
func (s *tileScanner) each(f func(at kernel.Value)) {
	for i := range s.rows * strided.Components {
		f(s.Add(s.Invocation(), s.Index(i*s.local())))
	}
}

// stageIn moves the span into shared memory. All elements are loaded before the first is stored.
func (s *tileScanner) stageIn(first, span kernel.Value) {
	var xs []kernel.Value
	s.each(func(at kernel.Value) {
		at = s.Select(s.IsLess(at, span), s.Add(first, at), s.Index(0))
		xs = append(xs, s.decoded(s.Fetch(0, at, 1)[0]))
	})
	s.each(func(at kernel.Value) {
		s.StoreShared(s.array, s.stagger(at), xs[0])
		xs = xs[1:]
	})
}

// staged is where element i of a line is in shared memory, or the last one beyond the end.
func (s *tileScanner) staged(team, i kernel.Value) kernel.Value {
	last := s.Sub(s.n, s.Index(1))
	i = s.Min(i, last)
	if s.job.stride < 0 {
		i = s.Sub(last, i)
	}
	return s.stagger(s.Add(s.Mul(team, s.n), i))
}

func (s *tileScanner) stagger(i kernel.Value) kernel.Value { return s.Add(i, s.Shr(i, 5)) }
