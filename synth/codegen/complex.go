package codegen

import (
	"nxvk/ops"
	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// A complex element is two values of a kernel, its real and its imaginary part. Functions for
// elements of any type take and return lists of parts.

// ReadParts converts what a source loaded to the parts of an element of type as.
func (e *Emitter) ReadParts(s *Source, from, as ops.DType, xs []kernel.Value) []kernel.Value {
	if s.Kind == FromLiteral {
		return xs // already converted
	}
	return e.ConvertParts(e.DecodeParts(from, xs), from, as)
}

// DecodeParts converts a stored element to the type that computes it.
func (e *Emitter) DecodeParts(d ops.DType, xs []kernel.Value) []kernel.Value {
	if d.IsComplex() {
		return xs
	}
	return []kernel.Value{e.Decode(d, xs[0])}
}

// ConvertParts converts an element. A real number is the real part of a complex one, and vice versa.
func (e *Emitter) ConvertParts(xs []kernel.Value, from, to ops.DType) []kernel.Value {
	out := make([]kernel.Value, 0, 2)
	for _, x := range xs[:min(len(xs), PartsOf(to))] {
		out = append(out, e.Cast(x, from.Real(), to.Real()))
	}
	return e.Complete(out, to)
}

// Complete adds an imaginary part of 0 if the type is complex and the element has none.
func (e *Emitter) Complete(xs []kernel.Value, d ops.DType) []kernel.Value {
	if len(xs) < PartsOf(d) {
		return append(xs, e.Float(WideType(d), 0))
	}
	return xs
}

// EncodeParts converts the parts of an element to their stored form.
func (e *Emitter) EncodeParts(d ops.DType, xs []kernel.Value) []kernel.Value {
	out := make([]kernel.Value, len(xs))
	for i, x := range xs {
		out[i] = e.Encode(d.Real(), x)
	}
	return out
}

// IsNonzero reports whether an element is not zero.
func (e *Emitter) IsNonzero(xs []kernel.Value) kernel.Value {
	truth := e.IsTrue(xs[0])
	if len(xs) > 1 {
		truth = e.Prim(scalar.OrB, scalar.Bool, truth, e.IsTrue(xs[1]))
	}
	return truth
}
