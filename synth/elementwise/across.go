package elementwise

import (
	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// placeAcross finds the group u of a space that is dense in the output. The last one ends
// with the space, so that it may have points of the one before, and need not be aligned.
func (w *Writer) placeAcross(u kernel.Value) {
	first := w.Mul(u, w.Index(w.job.Group))
	w.aligned = w.Compare(scalar.Le, first, w.last)
	w.first = w.Select(w.aligned, first, w.last)
	w.point = w.decode(w.first)
	w.at = w.Add(w.out.offset, w.first)
}

// placeInRow finds group u of a row that is anywhere in the output. The first and the last
// group of the row need not be aligned; they have points of their neighbours.
func (w *Writer) placeInRow(u kernel.Value) {
	g := w.job.Group
	w.point = w.decode(u)
	row := point{w.coords, w.Index(0)}
	if len(w.job.Dims) == 1 {
		w.col = u
	}
	begin := w.elementAt(&w.out, row, 0)
	before := w.And(begin, uint64(g-1))
	col := w.Mul(w.col, w.Index(g))
	col = w.Select(w.Compare(scalar.Lt, col, before), w.Index(0), w.Sub(col, before))
	w.col = w.Select(w.Compare(scalar.Lt, col, w.last), col, w.last)
	w.at = w.Add(begin, w.col)
	w.aligned = w.Compare(scalar.Eq, w.And(w.at, uint64(g-1)), w.Index(0))
}

// loadAcross loads what the sources have for a group that may be of two rows. Sources that
// lie as the output does need not care; the others are loaded as in one row where it is.
func (w *Writer) loadAcross() {
	var others []int
	for i := range w.job.Sources {
		switch s := &w.job.Sources[i]; {
		case s.Kind == codegen.FromBuffer && (w.places[i].access == linear || w.places[i].access == linearSpan):
			w.loaded[i] = w.fetchLinear(i)
		case s.Kind == codegen.FromLiteral || s.Kind == codegen.FromBuffer && fixed(s):
			w.loaded[i] = w.source(i)
		case s.HasView():
			others = append(others, i)
		}
	}
	switch {
	case len(others) == 0:
	case len(w.job.Dims) == 1:
		w.inRow(others)
	case w.job.short:
		w.loadApart(others, w.successive())
	default:
		w.eitherWay(others)
	}
	for i := range w.job.Sources {
		switch w.job.Sources[i].Kind {
		case codegen.FromInside:
			w.loaded[i] = w.inside(&w.places[i], w.job.Group)
		case codegen.FromCheck:
			w.loaded[i] = w.check(i)
		}
	}
}

// fetchLinear loads a source that lies as the output does.
func (w *Writer) fetchLinear(i int) []kernel.Value {
	p, buf, g := &w.places[i], w.buffer(i), w.job.Group
	at := w.Add(p.offset, w.first)
	together := func() []kernel.Value { return w.Fetch(buf, w.Shr(at, codegen.Log2(g)), g) }
	anywhere := func() []kernel.Value { return w.FetchSpan(buf, at, g) }
	if p.access == linearSpan {
		return anywhere()
	}
	return w.If(w.aligned, together, anywhere)
}

// inRow loads sources for a group of one row.
func (w *Writer) inRow(sources []int) {
	for _, i := range sources {
		w.loaded[i] = w.source(i)
	}
}

// eitherWay loads sources for a group that is of one row or not.
func (w *Writer) eitherWay(sources []int) {
	g := w.job.Group
	same := w.Compare(scalar.Le, w.Add(w.col, w.Index(g)), w.inner)
	all := w.If(same, func() (vs []kernel.Value) {
		w.inRow(sources)
		for _, i := range sources {
			own := w.loaded[i]
			for len(own) < g*w.job.Sources[i].Parts() {
				own = append(own, own[:w.job.Sources[i].Parts()]...)
			}
			vs = append(vs, own...)
		}
		return vs
	}, func() (vs []kernel.Value) {
		w.loadApart(sources, w.successive())
		for _, i := range sources {
			vs = append(vs, w.loaded[i]...)
		}
		return vs
	})
	for _, i := range sources {
		n := g * w.job.Sources[i].Parts()
		w.loaded[i], all = all[:n:n], all[n:]
	}
}

// successive lists the points of the group, each from the one before.
func (w *Writer) successive() []point {
	x := w.point
	xs := []point{x}
	for len(xs) < w.job.Group {
		col := w.Add(x.col, w.Index(1))
		over := w.Compare(scalar.Eq, col, w.inner)
		next := point{make([]kernel.Value, len(x.coords)), w.Select(over, w.Index(0), col)}
		for i := len(x.coords) - 1; i >= 0; i-- {
			c := w.Add(x.coords[i], w.Select(over, w.Index(1), w.Index(0)))
			if i > 0 {
				over = w.Compare(scalar.Eq, c, w.dims[i-1])
				c = w.Select(over, w.Index(0), c)
			}
			next.coords[i] = c
		}
		x = next
		xs = append(xs, x)
	}
	return xs
}

// neighbouring lists the points of the group, all in one row.
func (w *Writer) neighbouring() []point {
	col := w.col
	if w.job.layout == whole {
		col = w.Mul(col, w.Index(w.job.Group))
	}
	var xs []point
	for component := range w.job.Group {
		xs = append(xs, point{w.coords, w.Add(col, w.Index(component))})
	}
	return xs
}

// loadApart loads sources for points one by one.
func (w *Writer) loadApart(sources []int, xs []point) {
	for _, i := range sources {
		w.loaded[i] = w.fetchEach(i, xs)
	}
}

// fetchEach gives what a source with a view has for points, one by one.
func (w *Writer) fetchEach(i int, xs []point) (vs []kernel.Value) {
	s, p := &w.job.Sources[i], &w.places[i]
	for component, x := range xs {
		at := w.elementAt(p, x, component)
		if s.Kind == codegen.FromIndex {
			vs = append(vs, at)
		} else {
			vs = append(vs, w.Fetch(w.buffer(i), at, 1)...)
		}
	}
	return vs
}

// apart computes points that are as far apart as the workgroup is large. Invocations
// beyond the last one load the same as the last one, so that all loads are on their way
// before the first store.
func (w *Writer) apart() error {
	g := w.job.Group
	first := w.Add(w.Mul(w.Group(), w.Index(w.Local*g)), w.Invocation())
	last := w.Sub(w.units, w.Index(1))
	var us []kernel.Value
	var xs []point
	for component := range g {
		u := w.Add(first, w.Index(component*w.Local))
		us = append(us, u)
		xs = append(xs, w.decode(w.Select(w.Compare(scalar.Lt, u, last), u, last)))
	}
	w.loaded = make([][]kernel.Value, len(w.job.Sources))
	for i := range w.job.Sources {
		switch s := &w.job.Sources[i]; {
		case s.Kind == codegen.FromInside:
			w.loaded[i] = w.inside(&w.places[i], g)
		case s.Kind == codegen.FromIndex || s.HasView() && !fixed(s): // an index may be fixed: kernels are shared with those that are not
			w.loaded[i] = w.fetchEach(i, xs)
		default:
			w.point = xs[0]
			w.loaded[i] = w.source(i)
		}
	}
	results, err := w.compute(g)
	if err != nil {
		return err
	}
	for component, x := range xs {
		at := w.elementAt(&w.out, x, component)
		w.If(w.Compare(scalar.Lt, us[component], w.units), func() []kernel.Value {
			for i, vs := range results {
				n := w.Buffers[w.output(i)].Parts()
				w.Put(w.output(i), at, vs[component*n:(component+1)*n]...)
			}
			return nil
		}, nil)
	}
	return nil
}
