package codegen

import (
	"nxvk/ops"
	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// A complex element is two values in a kernel, its parts, the real one first. What
// moves, converts or computes elements of any type takes and gives lists of parts.

// ReadParts gives what a source loaded as the parts of an element of type as.
func (e *Emitter) ReadParts(s *Source, from, as ops.DType, xs []kernel.Value) []kernel.Value {
	if s.Kind == FromLiteral {
		return xs // converted before it came
	}
	return e.ConvertParts(e.DecodeParts(from, xs), from, as)
}

// DecodeParts gives the parts of a loaded element in the type that computes it.
func (e *Emitter) DecodeParts(d ops.DType, xs []kernel.Value) []kernel.Value {
	if d.IsComplex() {
		return xs
	}
	return []kernel.Value{e.Decode(d, xs[0])}
}

// ConvertParts converts an element. A real number becomes the real part of a complex one,
// and the other way round.
func (e *Emitter) ConvertParts(xs []kernel.Value, from, to ops.DType) []kernel.Value {
	out := make([]kernel.Value, 0, 2)
	for _, x := range xs[:min(len(xs), PartsOf(to))] {
		out = append(out, e.Cast(x, from.Real(), to.Real()))
	}
	return e.Complete(out, to)
}

// Complete adds the imaginary part 0 where an element has none and needs one.
func (e *Emitter) Complete(xs []kernel.Value, d ops.DType) []kernel.Value {
	if len(xs) < PartsOf(d) {
		return append(xs, e.Float(WideType(d), 0))
	}
	return xs
}

// EncodeParts gives the stored form of the parts of an element of the type that
// computes d.
func (e *Emitter) EncodeParts(d ops.DType, xs []kernel.Value) []kernel.Value {
	out := make([]kernel.Value, len(xs))
	for i, x := range xs {
		out[i] = e.Encode(d.Real(), x)
	}
	return out
}

// IsNonzero gives whether an element is not zero.
func (e *Emitter) IsNonzero(xs []kernel.Value) kernel.Value {
	truth := e.IsTrue(xs[0])
	if len(xs) > 1 {
		truth = e.Prim(scalar.OrB, scalar.Bool, truth, e.IsTrue(xs[1]))
	}
	return truth
}
