package elementwise

import (
	"slices"

	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
	"nxvk/synth/scalar"
)

// Writer writes one step of a Job.
type Writer struct {
	*codegen.Emitter
	job    *Job
	units  kernel.Value
	inner  kernel.Value   // length of the innermost dimension; in groups in layouts whole, where there are outer ones, and rows
	dims   []kernel.Value // the dimensions between the outermost and the innermost
	last   kernel.Value   // across, rows: where the last group begins in the space, or in the row
	places []place
	out    place
	lits   [][]kernel.Value

	loaded [][]kernel.Value // what each source gives for the step

	point                // the first of the step
	first   kernel.Value // across: its number
	at      kernel.Value // across, rows: its element of the output
	aligned kernel.Value // across, rows: whether that is a multiple of the group
}

// point is a point of the space.
type point struct {
	coords []kernel.Value // all but the innermost
	col    kernel.Value   // the innermost; in layout whole in groups
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
	if j.layout == across || j.layout == rows {
		w.last = e.NextNumber()
	}
	for i := range j.Sources {
		s := &j.Sources[i]
		w.places = append(w.places, place{})
		switch {
		case s.HasView():
			w.places[i] = j.place(e, &s.View, s.Shifts, j.access(i), s.Kind == codegen.FromIndex)
		case s.Kind == codegen.FromInside, s.Kind == codegen.FromCheck:
			w.places[i] = bounds(s, e)
		}
	}
	w.out = j.place(e, &j.Out, j.OutShifts, j.outAccess(), false)
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
	if j.layout == apart {
		return w.apart()
	}
	_, steps := j.deal(e.Target)
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

// ahead is the body of a kernel with one group of points an invocation, in layout whole: it loads what shared arrays do not
// hold, and gives the rest.
func (j *Job) ahead(e *codegen.Emitter) (rest func() error) {
	w := j.Writer(e)
	u := e.Add(e.Mul(e.Group(), e.Index(e.Local)), e.Invocation())
	w.point = w.decode(e.Min(u, e.Sub(w.units, e.Index(1))))
	w.loaded = make([][]kernel.Value, len(j.Sources))
	late := make([]bool, len(j.Sources))
	for i := range j.Sources {
		s := &j.Sources[i]
		late[i] = s.Kind == codegen.FromBuffer && e.Held(w.buffer(i)) || slices.ContainsFunc(s.Shifts, func(h codegen.Shift) bool { return late[h.From] })
		if !late[i] {
			w.loaded[i] = w.source(i)
		}
	}
	return func() (err error) {
		e.IfThen(e.IsLess(u, w.units), func() {
			for i := range late {
				if late[i] {
					w.loaded[i] = w.source(i)
				}
			}
			err = w.finish()
		})
		return err
	}
}

// unit computes the group of points u.
func (w *Writer) unit(u kernel.Value) error {
	w.loaded = make([][]kernel.Value, len(w.job.Sources))
	switch w.job.layout {
	case across:
		w.placeAcross(u)
		w.loadAcross()
	case rows:
		w.placeInRow(u)
		w.load()
	default:
		w.point = w.decode(u)
		w.load()
	}
	return w.finish()
}

// finish computes and stores the results for what has been loaded.
func (w *Writer) finish() error {
	results, err := w.compute(w.job.Group)
	if err != nil {
		return err
	}
	for i, vs := range results {
		w.store(w.output(i), vs)
	}
	return nil
}

// load loads what all sources have for the step.
func (w *Writer) load() {
	for i := range w.job.Sources {
		w.loaded[i] = w.source(i)
	}
}

// sideBySide returns the number of points whose operations alternate, so that none waits for
// the one before. More would take registers of the invocations that hide the latency of a
// GPU's memory.
func sideBySide(t *lowering.Target) int {
	if t.CPU {
		return 4
	}
	return 2
}

// compute returns the values of every output for n points. Each source has loaded a value
// for every point, or one for all.
func (w *Writer) compute(n int) ([][]kernel.Value, error) {
	points := make([][]kernel.Value, n)
	for component := range n {
		for i, vs := range w.loaded {
			n := w.job.Sources[i].Parts()
			at := min(component*n, len(vs)-n)
			points[component] = append(points[component], vs[at:at+n]...)
		}
	}
	var values [][]kernel.Value
	for some := range slices.Chunk(points, sideBySide(w.Target)) {
		vs, err := w.job.values(w.Emitter, some)
		if err != nil {
			return nil, err
		}
		values = append(values, vs...)
	}
	return w.byOutput(values), nil
}

// output is the buffer of output i.
func (w *Writer) output(i int) int { return len(w.Buffers) - 1 - len(w.job.MoreResults) + i }

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

// decode splits the number of a group, or of a point, into coordinates, innermost first.
func (w *Writer) decode(u kernel.Value) (p point) {
	r := len(w.job.Dims) - 1
	p.coords = make([]kernel.Value, r)
	if r == 0 {
		p.col = u
		return p
	}
	u, p.col = w.DivMod(u, w.inner)
	for i := r - 1; i > 0; i-- {
		u, p.coords[i] = w.DivMod(u, w.dims[i-1])
	}
	p.coords[0] = u
	return p
}

// shifted is where a view begins for a component of the group.
func (w *Writer) shifted(p *place, component int) kernel.Value {
	at := p.offset
	for _, h := range p.shifts {
		xs := w.loaded[h.from]
		i := xs[min(component, len(xs)-1)]
		if h.per > 1 {
			i = w.Div(i, w.Index(h.per))
		}
		i = w.Clamp(i, h.limit)
		at = w.Add(at, w.Mul(i, h.stride))
	}
	return at
}

// elementAt is the element, or the group of elements, of a view at a point, for a component of
// the group.
func (w *Writer) elementAt(p *place, x point, component int) kernel.Value {
	at := w.shifted(p, component)
	for i, c := range x.coords {
		at = w.Add(at, w.Mul(c, p.outer[i]))
	}
	switch {
	case p.inner == 0:
		return at
	case p.inner < 0:
		return w.Add(at, w.Mul(x.col, p.stride))
	}
	return w.Add(at, x.col)
}

// start is the index of the first point of the step in a view.
func (w *Writer) start(p *place) kernel.Value {
	x := w.point
	if p.access != vector && w.job.layout == whole {
		x.col = w.Mul(x.col, w.Index(w.job.Group))
	}
	return w.elementAt(p, x, 0)
}

// source gives the values of one input: those of each point of the group, or
// of one for all of it.
func (w *Writer) source(i int) []kernel.Value {
	s, p := &w.job.Sources[i], &w.places[i]
	switch s.Kind {
	case codegen.FromLiteral:
		return w.lits[i]
	case codegen.FromIndex:
		if p.access == each {
			return w.fetchEach(i, w.neighbouring())
		}
		return w.indices(p)
	case codegen.FromInside:
		return w.inside(p, w.job.Group)
	case codegen.FromCheck:
		return w.check(i)
	}
	buf, g := w.buffer(i), w.job.Group
	switch p.access {
	case vector:
		return w.Fetch(buf, w.start(p), g)
	case span:
		return w.FetchSpan(buf, w.start(p), g)
	case backward:
		return w.fetchBackward(buf, w.start(p))
	case each:
		return w.fetchEach(i, w.neighbouring())
	}
	return w.Fetch(buf, w.start(p), 1)
}

// fetchBackward gives the elements from one on toward the begin of a buffer.
func (w *Writer) fetchBackward(buf int, at kernel.Value) (vs []kernel.Value) {
	g, n := w.job.Group, w.Buffers[buf].Parts()
	forward := w.FetchSpan(buf, w.Sub(at, w.Index(g-1)), g)
	for component := range g {
		vs = append(vs, forward[(g-1-component)*n:][:n]...)
	}
	return vs
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

// inside reports, for each of n points, whether the indices of all shifts are within bounds
// and multiples of their divisors.
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

// store writes the points of a step of an output, part by part.
func (w *Writer) store(buf int, results []kernel.Value) {
	if w.job.layout == whole {
		w.Put(buf, w.start(&w.out), results...)
		return
	}
	w.If(w.aligned, func() []kernel.Value {
		w.Put(buf, w.Shr(w.at, codegen.Log2(w.job.Group)), results...)
		return nil
	}, func() []kernel.Value {
		n := w.Buffers[buf].Parts()
		for component := range w.job.Group {
			w.Put(buf, w.Add(w.at, w.Index(component)), results[component*n:(component+1)*n]...)
		}
		return nil
	})
}
