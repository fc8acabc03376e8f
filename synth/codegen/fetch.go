package codegen

import (
	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// vector is the number of values that are loaded or stored at once.
const vector = 4

// Fetch loads n consecutive elements of a buffer; at counts groups of n, which is 1 or a
// power of two up to what 16 bytes hold. A complex number gives two values, the real part
// first. On devices without buffers of narrow elements, such elements are extracted from
// words.
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
	if n < perWord {
		return e.fetchSpan(buf, e.Mul(at, e.Index(n)), n)
	}
	return e.cut(elem, e.Load(buf, at, n/perWord), n)
}

// FetchSpan is Fetch at any element: at counts elements. Narrow elements are extracted
// from two neighbouring words, which are shifted together.
func (e *Emitter) FetchSpan(buf int, at kernel.Value, n int) []kernel.Value {
	if _, held := e.held(buf); !held && e.Buffers[buf].Elem.Size() < 4 && n > 1 {
		return e.fetchSpan(buf, at, n)
	}
	var vs []kernel.Value
	for i := range n {
		vs = append(vs, e.Fetch(buf, e.Add(at, e.Index(i)), 1)...)
	}
	return vs
}

// fetchSpan loads n narrow elements. It loads no word behind the last one that has any of
// them, so that no access is beyond the end of the buffer.
func (e *Emitter) fetchSpan(buf int, at kernel.Value, n int) []kernel.Value {
	elem := e.Buffers[buf].Elem
	perWord := 4 / elem.Size()
	place := e.Convert(e.And(at, uint64(perWord-1)), scalar.U32)
	shift := e.Mul(place, e.Int(scalar.U32, 8*elem.Size()))
	word := func(at kernel.Value) kernel.Value {
		if e.Target.Narrow(elem) {
			return e.LoadWord(buf, at)
		}
		return e.Load(buf, at, 1)[0]
	}
	first := e.Shr(at, Log2(perWord))
	if n == 1 {
		return e.cut(elem, []kernel.Value{e.Prim(scalar.Shr, scalar.U32, word(first), shift)}, 1)
	}
	var words []kernel.Value
	for i := range (n + perWord - 1) / perWord {
		words = append(words, word(e.Add(first, e.Index(i))))
	}
	words = append(words, word(e.Shr(e.Add(at, e.Index(n-1)), Log2(perWord))))
	back := e.Sub(e.Int(scalar.U32, 31), shift)
	for i := range words[1:] {
		low := e.Prim(scalar.Shr, scalar.U32, words[i], shift)
		words[i] = e.Or(low, e.Prim(scalar.Shl, scalar.U32, e.Shl(words[i+1], 1), back)) // no shift by 32
	}
	return e.cut(elem, words, n)
}

// cut extracts the first n narrow elements of words.
func (e *Emitter) cut(elem kernel.Elem, words []kernel.Value, n int) (vs []kernel.Value) {
	perWord := 4 / elem.Size()
	for i := range n {
		vs = append(vs, e.widen(elem, e.Shr(words[i/perWord], 8*elem.Size()*(i%perWord))))
	}
	return vs
}

// Put stores consecutive elements, in their stored form, as fetch gives them; at
// counts groups of as many.
func (e *Emitter) Put(buf int, at kernel.Value, vs ...kernel.Value) {
	if len(vs) <= vector || e.Buffers[buf].Elem.Size()*len(vs) <= 16 {
		e.Store(buf, at, vs...)
		return
	}
	e.Store(buf, e.Shl(at, 1), vs[:vector]...)
	e.Store(buf, e.Add(e.Shl(at, 1), e.Index(1)), vs[vector:]...)
}

// widen extends the narrow element in the low bits of a word.
func (e *Emitter) widen(elem kernel.Elem, x kernel.Value) kernel.Value {
	rest := 32 - 8*elem.Size()
	if kernel.IsSigned(elem.Type()) {
		return e.Shr(e.Bitcast(e.Shl(x, rest), elem.Type()), rest)
	}
	return e.And(x, 1<<(8*elem.Size())-1)
}
