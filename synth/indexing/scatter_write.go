package indexing

import (
	"nxvk/ops"
	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
	"nxvk/synth/strided"
)

// scatterWriter writes the kernel of a scatterJob.
type scatterWriter struct {
	*codegen.Emitter
	job                       *scatterJob
	operator                  *scalar.Func
	elements, mask            kernel.Value
	axes, axesStrides         []kernel.Value
	part, element, elementsAt kernel.Value // of the invocation
}

func (j *scatterJob) write(e *codegen.Emitter) error {
	w := &scatterWriter{Emitter: e, job: j}
	if j.add {
		var err error
		if w.operator, err = codegen.Expression(e.Target, ops.Add.Info().Code, j.elem, 2, 0); err != nil {
			return err
		}
	}
	units := e.NextNumber()
	w.elements, w.mask = e.NextNumber(), e.NextNumber()
	first, end := e.NextNumber(), e.NextNumber()
	for range j.axes {
		w.axes, w.axesStrides = append(w.axes, e.NextNumber()), append(w.axesStrides, e.NextNumber())
	}
	var slice, strides []kernel.Value
	for range j.slice {
		slice, strides = append(slice, e.NextNumber()), append(strides, e.NextNumber())
	}
	u := e.Add(e.Mul(e.Group(), e.Index(e.Local)), e.Invocation())
	e.If(e.Compare(scalar.Lt, u, units), func() []kernel.Value {
		w.part, w.element = e.DivMod(u, w.elements)
		w.elementsAt = e.Offsets(w.element, slice, strides)
		w.updates(first, end)
		return nil
	}, nil)
	return nil
}

// updates walks the updates from first up to end. The numbers of four slices are
// loaded before the first is looked at.
func (w *scatterWriter) updates(first, end kernel.Value) {
	fours := w.Add(first, w.And(w.Sub(end, first), ^uint64(strided.Components-1)))
	w.Loop(first, fours, w.Index(strided.Components), nil, func(n kernel.Value, _ []kernel.Value) []kernel.Value {
		var slices [strided.Components]kernel.Value
		for component := range slices {
			slices[component] = w.Fetch(0, w.Add(n, w.Index(component)), 1)[0]
		}
		for component, s := range slices {
			w.update(w.Add(n, w.Index(component)), s)
		}
		return nil
	})
	w.Loop(fours, end, w.Index(1), nil, func(n kernel.Value, _ []kernel.Value) []kernel.Value {
		w.update(n, w.Fetch(0, n, 1)[0])
		return nil
	})
}

// update takes update n, of the slice with the given number, where that is of
// this part.
func (w *scatterWriter) update(n, slice kernel.Value) {
	slice = w.Convert(slice, w.IndexType)
	own := w.Compare(scalar.Eq, w.Prim(scalar.And, w.IndexType, slice, w.mask), w.part)
	w.If(own, func() []kernel.Value {
		at := w.Add(w.Offsets(slice, w.axes, w.axesStrides), w.elementsAt)
		x := w.Fetch(1, w.Add(w.Mul(n, w.elements), w.element), 1)[0]
		w.Store(2, at, w.joined(at, x))
		return nil
	}, nil)
}

// joined returns the new element of the tensor at a place to which x is added or
// written.
func (w *scatterWriter) joined(at, x kernel.Value) kernel.Value {
	j := w.job
	if j.raw {
		return x
	}
	x = w.Cast(w.Decode(j.upType, x), j.upType, j.toType)
	if j.add {
		have := w.Decode(j.toType, w.Fetch(2, at, 1)[0])
		x = w.Inline(w.operator, []kernel.Value{have, x})
	}
	return w.Encode(j.toType, x)
}
