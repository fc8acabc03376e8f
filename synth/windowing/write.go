package windowing

import (
	"slices"

	"nxvk/ops"
	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// writer writes the kernel of a Job.
type writer struct {
	*codegen.Emitter
	job      *Job
	dims     []windowNums
	operator *scalar.Func
	identity *scalar.Func
	padding  []kernel.Value // the value of padding
}

// windowNums are the numbers of a windowDim, and where the window begins.
type windowNums struct {
	out, stride                    kernel.Value
	every, first, window, dilation kernel.Value
	in, tiles                      kernel.Value
	begin, outStride               kernel.Value
}

// write writes the kernel of a Job whose invocations have so many units.
func (j *Job) write(e *codegen.Emitter, units int) error {
	w, err := &writer{Emitter: e, job: j}, error(nil)
	if j.initial == nil && j.fun == nil {
		info := Folds[j.Op].Info()
		if w.operator, err = codegen.Expression(e.Target, info.Code, j.Elem, 2, 0); err != nil {
			return err
		}
		if w.identity, err = codegen.Expression(e.Target, info.Identity, j.Elem, 0, 0); err != nil {
			return err
		}
	}
	first, end := e.NextNumber(), e.NextNumber()
	for i := range j.dims {
		n, d := windowNums{out: e.NextNumber(), stride: e.NextNumber()}, &j.dims[i]
		if j.unrolled && i == len(j.dims)-1 {
			n.stride = e.Index(1)
		}
		if d.plain {
			w.dims = append(w.dims, n)
			continue
		}
		if j.unrolled {
			n.first, n.every, n.window, n.dilation = e.NextNumber(), e.Index(d.every), e.Index(d.window), e.Index(d.dilation)
		} else {
			n.every, n.first, n.window, n.dilation = e.NextNumber(), e.NextNumber(), e.NextNumber(), e.NextNumber()
		}
		if !d.inside {
			n.in = e.NextNumber()
		}
		if j.tile > 1 && i == j.axis {
			n.tiles = e.NextNumber()
		}
		w.dims = append(w.dims, n)
	}
	forUnits(e, first, end, units, func(u kernel.Value) (store func()) {
		if j.axis >= 0 {
			return w.foldTile(u)
		}
		at, inside := w.place(u), e.Const(scalar.Bool, 1)
		if j.initial != nil {
			w.padding = []kernel.Value{scalarOf(e, j.initial, 2, j.as, j.Elem.Wide())}
			place := w.along(0, at, inside, w.none(), w.extreme)[1]
			return func() { w.Store(0, u, place) }
		}
		if j.fun != nil {
			return func() { err = w.foldWindow(u, at, inside) }
		}
		w.padding = e.Complete(e.InlineAll(w.identity, nil), j.Elem)
		acc := w.along(0, at, inside, w.padding, w.fold)
		return func() { w.put(u, acc) }
	})
	return err
}

// put stores the fold of a window.
func (w *writer) put(at kernel.Value, fold []kernel.Value) {
	if w.Target.CPU && Folds[w.job.Op] == ops.Sum {
		fold = slices.Clone(fold)
		for i, x := range fold {
			fold[i] = w.PositiveZero(x)
		}
	}
	w.Put(0, at, w.EncodeParts(w.job.Result, fold)...)
}

// place finds where the window begins along each dimension that has one, and
// gives the index of the element at the place of the others.
func (w *writer) place(u kernel.Value) kernel.Value {
	at := w.Index(0)
	for i := len(w.dims) - 1; i >= 0; i-- {
		n, c := &w.dims[i], u
		if i > 0 {
			u, c = w.DivMod(u, n.out)
		}
		if w.job.dims[i].plain {
			at = w.Add(at, w.Mul(c, n.stride))
		} else {
			n.begin = w.Add(w.Mul(c, n.every), n.first)
		}
	}
	return at
}

// visit takes the place of a window at an index, which is one of the tensor where
// inside holds, and gives what is carried on.
type visit func(at, inside kernel.Value, carried []kernel.Value) []kernel.Value

// along visits what the window has along dimensions k and on. A place before the
// first element is a very large number, and so beyond the last.
func (w *writer) along(k int, at, inside kernel.Value, carried []kernel.Value, f visit) []kernel.Value {
	if k == len(w.dims) {
		return f(at, inside, carried)
	}
	if w.job.dims[k].plain {
		return w.along(k+1, at, inside, carried, f)
	}
	n := &w.dims[k]
	visit := func(away kernel.Value, carried []kernel.Value) []kernel.Value {
		p, within := w.Add(n.begin, away), inside
		if !w.job.dims[k].inside {
			within = w.Prim(scalar.AndB, scalar.Bool, inside, w.Compare(scalar.Lt, p, n.in))
		}
		return w.along(k+1, w.Add(at, w.Mul(p, n.stride)), within, carried, f)
	}
	if !w.job.unrolled {
		return w.Loop(w.Index(0), n.window, w.Index(1), carried, func(i kernel.Value, carried []kernel.Value) []kernel.Value {
			return visit(w.Mul(i, n.dilation), carried)
		})
	}
	for i := range w.job.dims[k].window {
		carried = visit(w.Index(i*w.job.dims[k].dilation), carried)
	}
	return carried
}

// element gives the element at an index, or what padding counts as.
func (w *writer) element(at, inside kernel.Value) []kernel.Value {
	xs := w.DecodeParts(w.job.Stored, w.Fetch(1, w.Select(inside, at, w.Index(0)), 1))
	for i, x := range xs {
		xs[i] = w.Select(inside, x, w.padding[i])
	}
	return xs
}

func (w *writer) fold(at, inside kernel.Value, acc []kernel.Value) []kernel.Value {
	return w.InlineAll(w.operator, slices.Concat(w.element(at, inside), acc))
}
