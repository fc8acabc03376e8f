package synth

import (
	"fmt"

	"nxvk/ops"
	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// program is the code that stores results by way of the epilogue, and the map that it
// is of. Its arguments are values that the body takes after all parameters.
func (e *epilogue) program(t *Target, wide ops.DType) (p *program, j *mapJob, body func(n int) func(*emitter) error) {
	j = e.job(t)
	views := []*view{&j.out}
	for i := range j.ins {
		if j.ins[i].walks() {
			views = append(views, &j.ins[i].view)
		}
	}
	j.dims = collapse(j.dims, views)
	j.group, j.exact = 1, true
	points := product(j.dims)
	p = &program{index: indexType(points), local: 1, flops: j.flops * int64(points),
		key: fmt.Sprintf("after %v pairs=%v fours=%v %s", wide, j.fits(2), j.fits(4), j.describe(1))}
	j.addBuffers(p, points)
	p.nums = j.numbers(points)
	return p, j, func(n int) func(*emitter) error {
		return func(em *emitter) error { return e.write(em, j, wide, n) }
	}
}

// write stores n results, which are arguments, as are their place.
func (e *epilogue) write(em *emitter, j *mapJob, wideType ops.DType, n int) error {
	w := j.writer(em)
	at := em.Param(scalar.U32)
	xs := make([]kernel.Value, n)
	for i := range xs {
		xs[i] = em.stored(e.typ, wideType, em.Param(wide(wideType)))
	}
	first := em.Mul(at, em.int(n))
	if j.fits(n) {
		return w.several(first, at, xs)
	}
	for i, x := range xs {
		place := em.Add(first, em.int(i))
		if err := w.several(place, place, []kernel.Value{x}); err != nil {
			return err
		}
	}
	return nil
}

// stored gives a result in the form in which memory would have it, when loaded.
func (e *emitter) stored(d, from ops.DType, x kernel.Value) kernel.Value {
	if d == from {
		return x
	}
	x = e.encode(d, e.convert(x, from, d))
	if elem := storage[d]; d.IsInteger() && elem.Size() < 4 {
		return e.widen(elem, x)
	}
	return x
}

// fits reports whether n neighbours are loaded and stored at once wherever they
// are not one element. Those that are shifted are not.
func (j *mapJob) fits(n int) bool {
	r := len(j.dims) - 1
	if n > 1 && r > 0 && j.dims[r]%n != 0 {
		return false
	}
	for i := range j.ins {
		s := &j.ins[i]
		if n > 1 && (len(s.shifts) > 0 || s.kind == fromBuffer && s.strides[r] != 0 && !vectored(&s.view, r, n)) {
			return false
		}
	}
	return true
}

// several computes and stores the outputs of neighbours from point first on, which
// are results number at in groups of as many. xs is what the product has for them.
func (w *mapWriter) several(first, at kernel.Value, xs []kernel.Value) error {
	n := len(xs)
	w.decode(first)
	points := make([][]kernel.Value, n)
	w.loaded = make([][]kernel.Value, len(w.job.ins))
	for i := range w.job.ins {
		w.loaded[i] = w.neighbours(i, n)
		of := w.job.ins[i].split(w.loaded[i])
		if w.job.ins[i].kind == fromProduct {
			of = w.job.ins[i].split(xs)
		}
		for k := range points {
			points[k] = append(points[k], of[min(k, len(of)-1)]...)
		}
	}
	values, err := w.job.values(w.emitter, points)
	if err != nil {
		return err
	}
	for i, vs := range w.byOutput(values) {
		w.put(len(w.bufs)-1-len(w.job.also)+i, at, vs...)
	}
	return nil
}

// neighbours gives what source i has for n points, or for all of them.
func (w *mapWriter) neighbours(i, n int) []kernel.Value {
	s, p := &w.job.ins[i], &w.places[i]
	switch {
	case s.kind == fromLiteral:
		return w.lits[i]
	case s.kind == fromInside:
		return w.inside(p, n)
	case s.kind == fromIndex:
		vs := []kernel.Value{w.start(p)}
		for len(vs) < n {
			vs = append(vs, w.Add(vs[len(vs)-1], p.stride))
		}
		return vs
	case s.kind == fromBuffer && p.inner == 1 && n > 1:
		return w.fetch(w.buffer(i), w.Div(w.start(p), w.int(n)), n)
	case s.kind == fromBuffer:
		return w.fetch(w.buffer(i), w.start(p), 1)
	}
	return nil
}
