package synth

import (
	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// mapWriter writes one step of a mapJob.
type mapWriter struct {
	*emitter
	job    *mapJob
	units  kernel.Value
	inner  kernel.Value   // length of the innermost dimension, in groups where there are outer ones
	dims   []kernel.Value // the dimensions between the outermost and the innermost
	places []place
	out    place
	lits   [][]kernel.Value

	loaded [][]kernel.Value // what each source gives for the step

	coords []kernel.Value // outer coordinates of the step
	col    kernel.Value   // coordinate along the innermost dimension, in groups
	full   kernel.Value   // flat: whether all points of the group exist
}

// values gives, for the points of a step, the stored form of every output, both
// parts of complex ones.
func (j *mapJob) values(e *emitter, xs [][]kernel.Value) ([][]kernel.Value, error) {
	if j.groups != nil {
		return j.groups(e, xs)
	}
	out := make([][]kernel.Value, len(xs))
	for i := range xs {
		var err error
		if j.bodies != nil {
			out[i], err = j.bodies(e, xs[i])
		} else {
			out[i] = make([]kernel.Value, 1)
			out[i][0], err = j.body(e, xs[i])
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// writer takes the parameters of the kernel.
func (j *mapJob) writer(e *emitter) *mapWriter {
	w := &mapWriter{emitter: e, job: j, units: e.num(), inner: e.num()}
	for range len(j.dims) - 2 {
		w.dims = append(w.dims, e.num())
	}
	for i := range j.ins {
		s := &j.ins[i]
		w.places = append(w.places, place{})
		switch {
		case s.walks():
			w.places[i] = j.place(e, &s.view, s.shifts, s.kind == fromIndex)
		case s.kind == fromInside:
			w.places[i] = s.bounds(e)
		}
	}
	w.out = j.place(e, &j.out, j.outShifts, false)
	w.lits = make([][]kernel.Value, len(j.ins))
	for i := range j.ins {
		if j.ins[i].kind == fromLiteral {
			w.lits[i] = e.lit(j.ins[i].parts())
		}
	}
	return w
}

// write is the body of the kernel.
func (j *mapJob) write(e *emitter) error {
	w := j.writer(e)
	_, steps := e.t.mapShape(j.group)
	first := e.Add(e.Mul(e.group(), e.int(e.local*steps)), e.invocation())
	var err error
	unit := func(u kernel.Value) {
		e.If(e.Compare(scalar.Lt, u, w.units), func() []kernel.Value {
			err = w.unit(u)
			return nil
		}, nil)
	}
	if steps == 1 {
		unit(first)
		return err
	}
	e.Loop(e.int(0), e.int(steps), e.int(1), nil, func(i kernel.Value, _ []kernel.Value) []kernel.Value {
		unit(e.Add(first, e.Mul(i, e.int(e.local))))
		return nil
	})
	return err
}

// unit computes the group of points u.
func (w *mapWriter) unit(u kernel.Value) error {
	w.decode(u)
	g := w.job.group
	if w.flat() {
		last := w.Add(w.Mul(u, w.int(g)), w.int(g))
		w.full = w.Compare(scalar.Le, last, w.inner)
	}
	w.loaded = make([][]kernel.Value, len(w.job.ins))
	for i := range w.job.ins {
		w.loaded[i] = w.source(i)
	}
	points := make([][]kernel.Value, g)
	for lane := range g {
		for i, vs := range w.loaded {
			n := w.job.ins[i].parts()
			at := min(lane*n, len(vs)-n)
			points[lane] = append(points[lane], vs[at:at+n]...)
		}
	}
	values, err := w.job.values(w.emitter, points)
	if err != nil {
		return err
	}
	for i, vs := range w.byOutput(values) {
		w.store(len(w.bufs)-1-len(w.job.also)+i, vs)
	}
	return nil
}

// byOutput sorts what has been computed for some points by output, then by point
// and part.
func (w *mapWriter) byOutput(values [][]kernel.Value) [][]kernel.Value {
	results := make([][]kernel.Value, 1+len(w.job.also))
	first := len(w.bufs) - len(results)
	for _, vs := range values {
		for i := range results {
			n := w.bufs[first+i].parts()
			results[i] = append(results[i], vs[:n]...)
			vs = vs[n:]
		}
	}
	return results
}

// flat says that the length need not be a multiple of the group.
func (w *mapWriter) flat() bool { return w.job.group > 1 && !w.job.exact }

// decode splits the number of a group into coordinates, innermost first.
func (w *mapWriter) decode(u kernel.Value) {
	r := len(w.job.dims) - 1
	w.coords = make([]kernel.Value, r)
	if r == 0 {
		w.col = u
		return
	}
	u, w.col = w.divide(u, w.inner)
	for i := r - 1; i > 0; i-- {
		u, w.coords[i] = w.divide(u, w.dims[i-1])
	}
	w.coords[0] = u
}

func (e *emitter) divide(x, by kernel.Value) (quotient, rest kernel.Value) {
	q := e.Div(x, by)
	return q, e.Sub(x, e.Mul(q, by))
}

// shifted is where a view begins.
func (w *mapWriter) shifted(p *place) kernel.Value {
	at := p.offset
	for _, h := range p.shifts {
		i := w.loaded[h.from][0]
		if h.per > 1 {
			i = w.Div(i, w.int(h.per))
		}
		i = w.within(i, h.limit)
		at = w.Add(at, w.Mul(i, h.stride))
	}
	return at
}

// within gives an integer of any type, brought into [0, limit], as an index.
func (e *emitter) within(x, limit kernel.Value) kernel.Value {
	t := e.Type(x)
	if kernel.IsSigned(t) {
		zero := e.Int(t, 0)
		x = e.Select(e.Compare(scalar.Lt, x, zero), zero, x)
	}
	if !kernel.Is64(t) { // as unsigned numbers, which a limit of 64 bits takes
		x = e.Bitcast(x, scalar.U32)
		if e.index == scalar.U64 {
			x = e.Convert(x, scalar.U64)
		}
	} else {
		x, limit = e.Bitcast(x, scalar.U64), e.Convert(limit, scalar.U64)
	}
	return e.Convert(e.Select(e.Compare(scalar.Lt, x, limit), x, limit), e.index)
}

// start is the index of the first point of the step in a view.
func (w *mapWriter) start(p *place) kernel.Value {
	at := w.shifted(p)
	for i, c := range w.coords {
		at = w.Add(at, w.Mul(c, p.outer[i]))
	}
	switch {
	case p.inner == 0:
		return at
	case p.grouped:
		return w.Add(at, w.col)
	}
	col := w.Mul(w.col, w.int(w.job.group))
	if p.inner < 0 {
		col = w.Mul(col, p.stride)
	}
	return w.Add(at, col)
}

// source gives the values of one input: those of each point of the group, or
// of one for all of it.
func (w *mapWriter) source(i int) []kernel.Value {
	s, p := &w.job.ins[i], &w.places[i]
	switch s.kind {
	case fromLiteral:
		return w.lits[i]
	case fromIndex:
		return w.indices(p)
	case fromInside:
		return w.inside(p, w.job.group)
	}
	at := w.start(p)
	buf := w.buffer(i)
	if !p.grouped {
		return w.fetch(buf, at, 1)
	}
	if !w.flat() {
		return w.fetch(buf, at, w.job.group)
	}
	return w.loadTail(buf, p, at)
}

// buffer is the number of the buffer of input i.
func (w *mapWriter) buffer(i int) int {
	n := 0
	for _, s := range w.job.ins[:i] {
		if s.kind == fromBuffer {
			n++
		}
	}
	return n
}

func (w *mapWriter) indices(p *place) []kernel.Value {
	at := w.start(p)
	vs := []kernel.Value{at}
	for len(vs) < w.job.group {
		at = w.Add(at, p.stride)
		vs = append(vs, at)
	}
	return vs
}

// inside gives, for each of n points, whether the indices of all shifts are within
// bounds, and multiples of what they are divided by.
func (w *mapWriter) inside(p *place, n int) []kernel.Value {
	vs := make([]kernel.Value, n)
	for k := range vs {
		for i, h := range p.shifts {
			before, xs := vs[k], w.loaded[h.from]
			x := xs[min(k, len(xs)-1)]
			in := w.Compare(scalar.Le, x, h.limit)
			if h.per > 1 {
				_, rest := w.divide(x, w.int(h.per))
				in = w.both(in, w.Compare(scalar.Eq, rest, w.int(0)))
			}
			if vs[k] = in; i > 0 {
				vs[k] = w.both(before, in)
			}
		}
	}
	return vs
}

// loadTail loads a group, or what there is of it.
func (w *mapWriter) loadTail(buf int, p *place, at kernel.Value) []kernel.Value {
	g := w.job.group
	return w.If(w.full,
		func() []kernel.Value { return w.fetch(buf, at, g) },
		func() []kernel.Value {
			var vs []kernel.Value
			for lane := range g {
				vs = append(vs, w.fetch(buf, w.tail(p, lane), 1)...)
			}
			return vs
		})
}

// tail is the index of a lane of the last group, or of the last element.
func (w *mapWriter) tail(p *place, lane int) kernel.Value {
	g := w.int(w.job.group)
	x := w.Add(w.Mul(w.col, g), w.int(lane))
	last := w.Sub(w.inner, w.int(1))
	x = w.Select(w.Compare(scalar.Lt, x, last), x, last)
	return w.Add(w.Mul(w.shifted(p), g), x)
}

// store writes the points of a step of an output, part by part.
func (w *mapWriter) store(buf int, results []kernel.Value) {
	at := w.start(&w.out)
	if !w.flat() {
		w.put(buf, at, results...)
		return
	}
	w.If(w.full, func() []kernel.Value {
		w.put(buf, at, results...)
		return nil
	}, func() []kernel.Value {
		n := len(results) / w.job.group
		for lane := range w.job.group {
			x := w.Add(w.Mul(w.col, w.int(w.job.group)), w.int(lane))
			w.If(w.Compare(scalar.Lt, x, w.inner), func() []kernel.Value {
				w.put(buf, w.Add(w.Mul(w.shifted(&w.out), w.int(w.job.group)), x), results[lane*n:(lane+1)*n]...)
				return nil
			}, nil)
		}
		return nil
	})
}
