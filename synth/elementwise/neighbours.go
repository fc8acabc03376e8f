package elementwise

import (
	"slices"

	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/strided"
)

// Fits reports whether n neighbours are loaded and stored at once wherever they
// are not one element. Shifted operands are not.
func (j *Job) Fits(n int) bool {
	r := len(j.Dims) - 1
	if n > 1 && r > 0 && j.Dims[r]%n != 0 {
		return false
	}
	for i := range j.Sources {
		s := &j.Sources[i]
		if n > 1 && (len(s.Shifts) > 0 || s.Kind == codegen.FromBuffer && s.Strides[r] != 0 && !strided.Vectorized(&s.View, r, n)) {
			return false
		}
	}
	return true
}

// InRows reports whether neighbours can be computed together wherever they begin in one of the rows of the results, which
// have so many elements: they differ in the innermost coordinate alone. They are stored at once, but operands that do not
// fit them are loaded one element at a time, or as words.
func (j *Job) InRows(row int) bool {
	r := len(j.Dims) - 1
	if row == 0 || r > 0 && j.Dims[r]%row != 0 || len(j.OutShifts) > 0 {
		return false
	}
	return !slices.ContainsFunc(j.Sources, func(s codegen.Source) bool {
		return len(s.Shifts) > 0 || s.Kind == codegen.FromCheck
	})
}

// Several computes and stores the outputs at some places, each of which has some neighbours: place
// number i those from point ats[i] times their number on. xs is what the product has for them. What all
// of them read is read before the first is computed.
func (w *Writer) Several(ats []kernel.Value, xs [][]kernel.Value) error {
	points := make([][][]kernel.Value, len(ats))
	for i, at := range ats {
		points[i] = w.neighbouringPoints(w.Mul(at, w.Index(len(xs[i]))), xs[i])
	}
	for i, at := range ats {
		values, err := w.job.values(w.Emitter, points[i])
		if err != nil {
			return err
		}
		for k, vs := range w.byOutput(values) {
			w.Put(len(w.Buffers)-1-len(w.job.MoreResults)+k, at, vs...)
		}
	}
	return nil
}

// neighbouringPoints gives what the sources have for the neighbours from point first on, and the
// product, which has xs.
func (w *Writer) neighbouringPoints(first kernel.Value, xs []kernel.Value) [][]kernel.Value {
	n := len(xs)
	w.point = w.decode(first)
	points := make([][]kernel.Value, n)
	w.loaded = make([][]kernel.Value, len(w.job.Sources))
	for i := range w.job.Sources {
		w.loaded[i] = w.neighbours(i, n)
		of := w.job.Sources[i].Split(w.loaded[i])
		if w.job.Sources[i].Kind == codegen.FromContraction {
			of = w.job.Sources[i].Split(xs)
		}
		for k := range points {
			points[k] = append(points[k], of[min(k, len(of)-1)]...)
		}
	}
	return points
}

// neighbours gives what source i has for n points, or for all of them.
func (w *Writer) neighbours(i, n int) []kernel.Value {
	s, p := &w.job.Sources[i], &w.places[i]
	switch {
	case s.Kind == codegen.FromLiteral:
		return w.lits[i]
	case s.Kind == codegen.FromInside:
		return w.inside(p, n)
	case s.Kind == codegen.FromIndex:
		vs := []kernel.Value{w.start(p)}
		for len(vs) < n {
			vs = append(vs, w.Add(vs[len(vs)-1], p.stride))
		}
		return vs
	case s.Kind == codegen.FromBuffer && p.inner == 1 && n > 1 && w.job.Fits(n):
		return w.Fetch(w.buffer(i), w.Div(w.start(p), w.Index(n)), n)
	case s.Kind == codegen.FromBuffer && p.inner == 1:
		return w.FetchSpan(w.buffer(i), w.start(p), n)
	case s.Kind == codegen.FromBuffer && p.inner < 0:
		at := w.start(p)
		vs := w.Fetch(w.buffer(i), at, 1)
		for range n - 1 {
			at = w.Add(at, p.stride)
			vs = append(vs, w.Fetch(w.buffer(i), at, 1)...)
		}
		return vs
	case s.Kind == codegen.FromBuffer:
		return w.Fetch(w.buffer(i), w.start(p), 1)
	}
	return nil
}
