package synth

import (
	"nxvk/ops"
	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// A complex element is two values in a kernel, its parts, the real one first. What
// moves, converts or computes elements of any type takes and gives lists of parts.

// number gives what a source loaded as the parts of an element of type as.
func (e *emitter) number(s *source, from, as ops.DType, xs []kernel.Value) []kernel.Value {
	if s.kind == fromLiteral {
		return xs // converted before it came
	}
	return e.recast(e.decoded(from, xs), from, as)
}

// decoded gives the parts of a loaded element in the type that computes it.
func (e *emitter) decoded(d ops.DType, xs []kernel.Value) []kernel.Value {
	if d.IsComplex() {
		return xs
	}
	return []kernel.Value{e.decode(d, xs[0])}
}

// recast converts an element. A real number becomes the real part of a complex one,
// and the other way round.
func (e *emitter) recast(xs []kernel.Value, from, to ops.DType) []kernel.Value {
	out := make([]kernel.Value, 0, 2)
	for _, x := range xs[:min(len(xs), partsOf(to))] {
		out = append(out, e.convert(x, from.Real(), to.Real()))
	}
	return e.completed(out, to)
}

// completed adds the imaginary part 0 where an element has none and needs one.
func (e *emitter) completed(xs []kernel.Value, d ops.DType) []kernel.Value {
	if len(xs) < partsOf(d) {
		return append(xs, e.Float(wide(d), 0))
	}
	return xs
}

// encoded gives the stored form of the parts of an element of the type that
// computes d.
func (e *emitter) encoded(d ops.DType, xs []kernel.Value) []kernel.Value {
	out := make([]kernel.Value, len(xs))
	for i, x := range xs {
		out[i] = e.encode(d.Real(), x)
	}
	return out
}

// nonzero gives whether an element is not zero.
func (e *emitter) nonzero(xs []kernel.Value) kernel.Value {
	truth := e.truth(xs[0])
	if len(xs) > 1 {
		truth = e.Prim(scalar.OrB, scalar.Bool, truth, e.truth(xs[1]))
	}
	return truth
}
