package synth

import (
	"nxvk/ops"
	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// scatterWriter writes the kernel of a scatterJob.
type scatterWriter struct {
	*emitter
	job                       *scatterJob
	operator                  *scalar.Func
	elements, mask            kernel.Value
	axes, axesStrides         []kernel.Value
	part, element, elementsAt kernel.Value // of the invocation
}

func (j *scatterJob) write(e *emitter) error {
	w := &scatterWriter{emitter: e, job: j}
	if j.add {
		var err error
		if w.operator, err = e.t.expression(ops.Add.Info().Code, j.elem, 2, 0); err != nil {
			return err
		}
	}
	units := e.num()
	w.elements, w.mask = e.num(), e.num()
	first, end := e.num(), e.num()
	for range j.axes {
		w.axes, w.axesStrides = append(w.axes, e.num()), append(w.axesStrides, e.num())
	}
	var slice, strides []kernel.Value
	for range j.slice {
		slice, strides = append(slice, e.num()), append(strides, e.num())
	}
	u := e.Add(e.Mul(e.group(), e.int(e.local)), e.invocation())
	e.If(e.Compare(scalar.Lt, u, units), func() []kernel.Value {
		w.part, w.element = e.divide(u, w.elements)
		w.elementsAt = e.walk(w.element, slice, strides)
		w.updates(first, end)
		return nil
	}, nil)
	return nil
}

// updates walks the updates from first up to end. The numbers of four slices are
// loaded before the first is looked at.
func (w *scatterWriter) updates(first, end kernel.Value) {
	fours := w.Add(first, w.And(w.Sub(end, first), ^uint64(lanes-1)))
	w.Loop(first, fours, w.int(lanes), nil, func(n kernel.Value, _ []kernel.Value) []kernel.Value {
		var slices [lanes]kernel.Value
		for lane := range slices {
			slices[lane] = w.fetch(0, w.Add(n, w.int(lane)), 1)[0]
		}
		for lane, s := range slices {
			w.update(w.Add(n, w.int(lane)), s)
		}
		return nil
	})
	w.Loop(fours, end, w.int(1), nil, func(n kernel.Value, _ []kernel.Value) []kernel.Value {
		w.update(n, w.fetch(0, n, 1)[0])
		return nil
	})
}

// update takes update n, of the slice with the given number, where that is of
// this part.
func (w *scatterWriter) update(n, slice kernel.Value) {
	slice = w.Convert(slice, w.index)
	own := w.Compare(scalar.Eq, w.Prim(scalar.And, w.index, slice, w.mask), w.part)
	w.If(own, func() []kernel.Value {
		at := w.Add(w.walk(slice, w.axes, w.axesStrides), w.elementsAt)
		x := w.fetch(1, w.Add(w.Mul(n, w.elements), w.element), 1)[0]
		w.Store(2, at, w.joined(at, x))
		return nil
	}, nil)
}

// joined gives what the tensor has at a place once x is there.
func (w *scatterWriter) joined(at, x kernel.Value) kernel.Value {
	j := w.job
	if j.raw {
		return x
	}
	x = w.convert(w.decode(j.upType, x), j.upType, j.toType)
	if j.add {
		have := w.decode(j.toType, w.fetch(2, at, 1)[0])
		x = w.Inline(w.operator, []kernel.Value{have, x})
	}
	return w.encode(j.toType, x)
}
