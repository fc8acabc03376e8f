package elementwise

import (
	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// Writer writes one step of a Job.
type Writer struct {
	*codegen.Emitter
	job    *Job
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
func (j *Job) values(e *codegen.Emitter, xs [][]kernel.Value) ([][]kernel.Value, error) {
	if j.Groups != nil {
		return j.Groups(e, xs)
	}
	out := make([][]kernel.Value, len(xs))
	for i := range xs {
		var err error
		if j.Bodies != nil {
			out[i], err = j.Bodies(e, xs[i])
		} else {
			out[i] = make([]kernel.Value, 1)
			out[i][0], err = j.Body(e, xs[i])
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Writer takes the parameters of the kernel.
func (j *Job) Writer(e *codegen.Emitter) *Writer {
	w := &Writer{Emitter: e, job: j, units: e.NextNumber(), inner: e.NextNumber()}
	for range len(j.Dims) - 2 {
		w.dims = append(w.dims, e.NextNumber())
	}
	for i := range j.Sources {
		s := &j.Sources[i]
		w.places = append(w.places, place{})
		switch {
		case s.HasView():
			w.places[i] = j.place(e, &s.View, s.Shifts, s.Kind == codegen.FromIndex)
		case s.Kind == codegen.FromInside, s.Kind == codegen.FromCheck:
			w.places[i] = bounds(s, e)
		}
	}
	w.out = j.place(e, &j.Out, j.OutShifts, false)
	w.lits = make([][]kernel.Value, len(j.Sources))
	for i := range j.Sources {
		if j.Sources[i].Kind == codegen.FromLiteral {
			w.lits[i] = e.NextLiteral(j.Sources[i].Parts())
		}
	}
	return w
}

// write is the body of the kernel.
func (j *Job) write(e *codegen.Emitter) error {
	w := j.Writer(e)
	_, steps := Workgroup(e.Target, j.Group)
	first := e.Add(e.Mul(e.Group(), e.Index(e.Local*steps)), e.Invocation())
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
	e.Loop(e.Index(0), e.Index(steps), e.Index(1), nil, func(i kernel.Value, _ []kernel.Value) []kernel.Value {
		unit(e.Add(first, e.Mul(i, e.Index(e.Local))))
		return nil
	})
	return err
}

// unit computes the group of points u.
func (w *Writer) unit(u kernel.Value) error {
	w.decode(u)
	g := w.job.Group
	if w.flat() {
		last := w.Add(w.Mul(u, w.Index(g)), w.Index(g))
		w.full = w.Compare(scalar.Le, last, w.inner)
	}
	w.loaded = make([][]kernel.Value, len(w.job.Sources))
	for i := range w.job.Sources {
		w.loaded[i] = w.source(i)
	}
	points := make([][]kernel.Value, g)
	for lane := range g {
		for i, vs := range w.loaded {
			n := w.job.Sources[i].Parts()
			at := min(lane*n, len(vs)-n)
			points[lane] = append(points[lane], vs[at:at+n]...)
		}
	}
	values, err := w.job.values(w.Emitter, points)
	if err != nil {
		return err
	}
	for i, vs := range w.byOutput(values) {
		w.store(len(w.Buffers)-1-len(w.job.MoreResults)+i, vs)
	}
	return nil
}

// byOutput sorts what has been computed for some points by output, then by point
// and part.
func (w *Writer) byOutput(values [][]kernel.Value) [][]kernel.Value {
	results := make([][]kernel.Value, 1+len(w.job.MoreResults))
	first := len(w.Buffers) - len(results)
	for _, vs := range values {
		for i := range results {
			n := w.Buffers[first+i].Parts()
			results[i] = append(results[i], vs[:n]...)
			vs = vs[n:]
		}
	}
	return results
}

// flat says that the length need not be a multiple of the group.
func (w *Writer) flat() bool { return w.job.Group > 1 && !w.job.Exact }

// decode splits the number of a group into coordinates, innermost first.
func (w *Writer) decode(u kernel.Value) {
	r := len(w.job.Dims) - 1
	w.coords = make([]kernel.Value, r)
	if r == 0 {
		w.col = u
		return
	}
	u, w.col = w.DivMod(u, w.inner)
	for i := r - 1; i > 0; i-- {
		u, w.coords[i] = w.DivMod(u, w.dims[i-1])
	}
	w.coords[0] = u
}

// shifted is where a view begins.
func (w *Writer) shifted(p *place) kernel.Value {
	at := p.offset
	for _, h := range p.shifts {
		i := w.loaded[h.from][0]
		if h.per > 1 {
			i = w.Div(i, w.Index(h.per))
		}
		i = w.Clamp(i, h.limit)
		at = w.Add(at, w.Mul(i, h.stride))
	}
	return at
}

// start is the index of the first point of the step in a view.
func (w *Writer) start(p *place) kernel.Value {
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
	col := w.Mul(w.col, w.Index(w.job.Group))
	if p.inner < 0 {
		col = w.Mul(col, p.stride)
	}
	return w.Add(at, col)
}

// source gives the values of one input: those of each point of the group, or
// of one for all of it.
func (w *Writer) source(i int) []kernel.Value {
	s, p := &w.job.Sources[i], &w.places[i]
	switch s.Kind {
	case codegen.FromLiteral:
		return w.lits[i]
	case codegen.FromIndex:
		return w.indices(p)
	case codegen.FromInside:
		return w.inside(p, w.job.Group)
	case codegen.FromCheck:
		return w.check(i)
	}
	at := w.start(p)
	buf := w.buffer(i)
	if !p.grouped {
		return w.Fetch(buf, at, 1)
	}
	if !w.flat() {
		return w.Fetch(buf, at, w.job.Group)
	}
	return w.loadTail(buf, p, at)
}

// buffer is the number of the buffer of input i.
func (w *Writer) buffer(i int) int {
	n := 0
	for _, s := range w.job.Sources[:i] {
		if s.Kind == codegen.FromBuffer {
			n++
		}
	}
	return n
}

func (w *Writer) indices(p *place) []kernel.Value {
	at := w.start(p)
	vs := []kernel.Value{at}
	for len(vs) < w.job.Group {
		at = w.Add(at, p.stride)
		vs = append(vs, at)
	}
	return vs
}

// inside gives, for each of n points, whether the indices of all shifts are within
// bounds, and multiples of what they are divided by.
func (w *Writer) inside(p *place, n int) []kernel.Value {
	vs := make([]kernel.Value, n)
	for k := range vs {
		for i, h := range p.shifts {
			before, xs := vs[k], w.loaded[h.from]
			x := xs[min(k, len(xs)-1)]
			in := w.Compare(scalar.Le, x, h.limit)
			if h.per > 1 {
				_, rest := w.DivMod(x, w.Index(h.per))
				in = w.And2(in, w.Compare(scalar.Eq, rest, w.Index(0)))
			}
			if vs[k] = in; i > 0 {
				vs[k] = w.And2(before, in)
			}
		}
	}
	return vs
}

// loadTail loads a group, or what there is of it.
func (w *Writer) loadTail(buf int, p *place, at kernel.Value) []kernel.Value {
	g := w.job.Group
	return w.If(w.full,
		func() []kernel.Value { return w.Fetch(buf, at, g) },
		func() []kernel.Value {
			var vs []kernel.Value
			for lane := range g {
				vs = append(vs, w.Fetch(buf, w.tail(p, lane), 1)...)
			}
			return vs
		})
}

// tail is the index of a lane of the last group, or of the last element.
func (w *Writer) tail(p *place, lane int) kernel.Value {
	g := w.Index(w.job.Group)
	x := w.Add(w.Mul(w.col, g), w.Index(lane))
	last := w.Sub(w.inner, w.Index(1))
	x = w.Select(w.Compare(scalar.Lt, x, last), x, last)
	return w.Add(w.Mul(w.shifted(p), g), x)
}

// store writes the points of a step of an output, part by part.
func (w *Writer) store(buf int, results []kernel.Value) {
	at := w.start(&w.out)
	if !w.flat() {
		w.Put(buf, at, results...)
		return
	}
	w.If(w.full, func() []kernel.Value {
		w.Put(buf, at, results...)
		return nil
	}, func() []kernel.Value {
		n := len(results) / w.job.Group
		for lane := range w.job.Group {
			x := w.Add(w.Mul(w.col, w.Index(w.job.Group)), w.Index(lane))
			w.If(w.Compare(scalar.Lt, x, w.inner), func() []kernel.Value {
				w.Put(buf, w.Add(w.Mul(w.shifted(&w.out), w.Index(w.job.Group)), x), results[lane*n:(lane+1)*n]...)
				return nil
			}, nil)
		}
		return nil
	})
}
