package codegen

import (
	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// vector is how many values are loaded or stored at once.
const vector = 4

// Fetch loads n consecutive elements of a buffer; at counts groups of n, which is
// 1, 2 or 4. Of complex numbers it gives the parts of each, the real one first. Narrow
// elements of devices that have no such buffers are cut out of words, one or four
// at a time.
func (e *Emitter) Fetch(buf int, at kernel.Value, n int) []kernel.Value {
	elem := e.Buffers[buf].Elem
	switch {
	case e.Buffers[buf].Pair && 2*n > vector:
		return append(e.Load(buf, e.Shl(at, 1), vector), e.Load(buf, e.Add(e.Shl(at, 1), e.Index(1)), vector)...)
	case e.Buffers[buf].Pair:
		return e.Load(buf, at, 2*n)
	case e.Target.Narrow(elem):
		return e.Load(buf, at, n)
	}
	perWord := 4 / elem.Size()
	if n == 1 {
		word, place := e.DivMod(at, e.Index(perWord))
		x := e.Load(buf, word, 1)[0]
		shift := e.Mul(e.Convert(place, scalar.U32), e.Int(scalar.U32, 8*elem.Size()))
		return []kernel.Value{e.widen(elem, e.Prim(scalar.Shr, scalar.U32, x, shift))}
	}
	var vs []kernel.Value
	for _, word := range e.Load(buf, at, n/perWord) {
		for i := range perWord {
			vs = append(vs, e.widen(elem, e.Shr(word, 8*elem.Size()*i)))
		}
	}
	return vs
}

// Put stores consecutive elements, in their stored form, as fetch gives them; at
// counts groups of as many.
func (e *Emitter) Put(buf int, at kernel.Value, vs ...kernel.Value) {
	if len(vs) <= vector {
		e.Store(buf, at, vs...)
		return
	}
	e.Store(buf, e.Shl(at, 1), vs[:vector]...)
	e.Store(buf, e.Add(e.Shl(at, 1), e.Index(1)), vs[vector:]...)
}

// widen gives the narrow element in the low bits of a word.
func (e *Emitter) widen(elem kernel.Elem, x kernel.Value) kernel.Value {
	rest := 32 - 8*elem.Size()
	if kernel.IsSigned(elem.Type()) {
		return e.Shr(e.Bitcast(e.Shl(x, rest), elem.Type()), rest)
	}
	return e.And(x, 1<<(8*elem.Size())-1)
}
