package scan

import (
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
	"nxvk/synth/strided"
)

// An invocation folds a chunk, one element after the other. Where elements are narrow and those of
// neighbouring lines are neighbours, it has a group of lines: it finds out once where they lie, and loads
// the elements of all of them at once. The last group of a row of lines may overlap the one before it, of
// which it has the same results.

const (
	// fewGroups is the least number of invocations that lines are grouped for: half of a GPU.
	fewGroups = 1 << 16
	grouped   = 4 // lines
)

// groupOf is how many lines of k an invocation has.
func (j *scanJob) groupOf(t *lowering.Target, k int) int {
	last := len(j.dims) - 1
	if t.CPU || j.tiled(t) || j.fromType.Size() >= 4 || last < 0 || j.at.Strides[last] != 1 || j.dims[last] < grouped ||
		k*j.parts < grouped*fewGroups {
		return 1
	}
	return grouped
}

// across is how many lines are neighbours.
func (j *scanJob) across() int { return j.dims[len(j.dims)-1] }

// groups is how many groups of lines there are.
func (j *scanJob) groups() int {
	k := strided.Product(j.dims)
	if j.group == 1 {
		return k
	}
	return k / j.across() * ((j.across() + j.group - 1) / j.group)
}

// whole reports whether each group of elements begins at a multiple of its size.
func (j *scanJob) whole() bool {
	last := len(j.dims) - 1
	return j.across()%j.group == 0 && j.stride%j.group == 0 && strided.Vectorized(&j.at, last, j.group)
}

// lineWriter writes the kernel of chunks of lines.
type lineWriter struct {
	*scanWriter
	groups kernel.Value
	first  kernel.Value // the number of the first line
}

// writeLines has an invocation for each chunk of a group of lines.
func (w *scanWriter) writeLines(before bool) {
	l := &lineWriter{scanWriter: w, groups: w.lines}
	lines, across := w.lines, w.Index(1)
	if w.job.group > 1 {
		lines, across = w.NextNumber(), w.NextNumber()
	}
	u := w.Add(w.Mul(w.Group(), w.Index(w.Local)), w.Invocation())
	w.IfThen(w.IsLess(u, w.units), func() {
		// Neighbours are chunks of one line where its elements are neighbours, else the same chunk of
		// neighbouring lines.
		group, part := w.DivMod(u, w.parts)
		if !w.job.dense() {
			part, group = w.DivMod(u, l.groups)
		}
		l.begins(group, across)
		acc := l.load(w.Mul(part, w.length))
		place := func(line int) (own, previous kernel.Value) {
			if w.job.dense() {
				return u, w.Sub(u, w.Index(1))
			}
			own = w.Add(w.Mul(part, lines), w.Add(l.first, w.Index(line)))
			return own, w.Sub(own, lines)
		}
		if before {
			start := w.IsEqual(part, w.Index(0))
			for line, x := range acc {
				own, previous := place(line)
				onto := w.Fetch(2, w.Select(start, own, previous), 1)[0]
				acc[line] = w.Select(start, x, w.apply(onto, x))
			}
		}
		acc = l.chunk(w.Mul(part, w.length), acc)
		if w.totals {
			for line, x := range acc {
				own, _ := place(line)
				w.Store(1, own, x)
			}
		}
	})
}

// begins finds out where the lines of a group begin.
func (l *lineWriter) begins(group, across kernel.Value) {
	l.first = group
	if n := l.job.group; n > 1 {
		row, at := l.DivMod(group, l.Div(l.Add(across, l.Index(n-1)), l.Index(n)))
		l.first = l.Add(l.Mul(row, across), l.Min(l.Mul(at, l.Index(n)), l.Sub(across, l.Index(n))))
	}
	l.begin = l.beginOf(l.first)
}

// chunk folds the elements after the first of a chunk onto acc, and stores what every step gives unless the
// total is all that is wanted. Four of a line are loaded before the first of them is folded.
func (l *lineWriter) chunk(first kernel.Value, acc []kernel.Value) []kernel.Value {
	end := l.Min(l.Add(first, l.length), l.n)
	l.keep(first, acc)
	first = l.Add(first, l.Index(1))
	fours := l.Add(first, l.And(l.Sub(end, first), ^uint64(strided.Components-1)))
	acc = l.Loop(first, fours, l.Index(strided.Components), acc, func(i kernel.Value, acc []kernel.Value) []kernel.Value {
		var xs [strided.Components][]kernel.Value
		for k := range xs {
			xs[k] = l.load(l.Add(i, l.Index(k)))
		}
		for k, x := range xs {
			acc = l.fold(acc, x)
			l.keep(l.Add(i, l.Index(k)), acc)
		}
		return acc
	})
	return l.Loop(fours, end, l.Index(1), acc, func(i kernel.Value, acc []kernel.Value) []kernel.Value {
		acc = l.fold(acc, l.load(i))
		l.keep(i, acc)
		return acc
	})
}

// fold folds an element of each line onto what comes before it.
func (l *lineWriter) fold(acc, xs []kernel.Value) []kernel.Value {
	out := make([]kernel.Value, len(acc))
	for line := range acc {
		out[line] = l.apply(acc[line], xs[line])
	}
	return out
}

// load gives element i of each line.
func (l *lineWriter) load(i kernel.Value) []kernel.Value {
	n, at := l.job.group, l.place(i)
	var xs []kernel.Value
	switch {
	case n == 1:
		xs = l.Fetch(0, at, 1)
	case l.job.whole():
		xs = l.Fetch(0, l.Div(at, l.Index(n)), n)
	default:
		xs = l.FetchSpan(0, at, n)
	}
	for line, x := range xs {
		xs[line] = l.decoded(x)
	}
	return xs
}

// keep stores the result of element i of each line.
func (l *lineWriter) keep(i kernel.Value, acc []kernel.Value) {
	n, at := l.job.group, l.place(i)
	if l.totals {
		return
	}
	out := make([]kernel.Value, n)
	for line, x := range acc {
		out[line] = l.Encode(l.job.toType, x)
	}
	if n > 1 && l.job.whole() {
		l.Put(1, l.Div(at, l.Index(n)), out...)
		return
	}
	l.Store(1, at, out[0])
	for line, x := range out[1:] {
		l.Store(1, l.Add(at, l.Index(line+1)), x)
	}
}
