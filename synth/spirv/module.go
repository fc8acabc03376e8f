package spirv

import (
	"slices"
	"sync"

	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// module collects the sections of a SPIR-V module while it is written.
type module struct {
	k *kernel.Kernel
	o Options
	*scratch

	caps    []uint32
	types   []uint32 // types, constants and global variables
	last    uint32   // the highest id
	glsl    uint32   // the import of GLSL.std.450
	iface   []uint32 // variables that the entry point lists
	listed  bool     // it lists all of them, as it must since version 1.4
	cache   map[key]uint32
	scalars [scalar.F64 + 1]uint32 // the types of values
	entry   uint32                 // the function
	label   uint32                 // the block that is being written
	push    pushBlock
	buffers []view // by buffer
	shared  []uint32
	sixteen uint32          // the constant, if the kernel has it
	halves  map[uint32]half // elements of 16 bits that are half of a word
}

// key is a type, a constant or another declaration that must be unique.
type key struct{ op, a, b, c uint32 }

// scratch is what grows with the kernel and is not part of the result, kept for the
// next one.
type scratch struct {
	decor []uint32 // annotations
	code  []uint32 // the function
	ids   []uint32 // id of each value
}

var scratches = sync.Pool{New: func() any { return &scratch{} }}

func newModule(k *kernel.Kernel, o Options) *module {
	n := len(k.Types)
	m := &module{k: k, o: o, listed: o.Addresses, cache: map[key]uint32{}, halves: map[uint32]half{}, scratch: scratches.Get().(*scratch)}
	m.code, m.decor = slices.Grow(m.code[:0], 6*n+1024), slices.Grow(m.decor[:0], 3*n+256)
	m.ids = slices.Grow(m.ids[:0], n)[:n] // each is set before it is read
	m.cap(capShader)
	m.glsl = m.id()
	return m
}

func (m *module) id() uint32 { m.last++; return m.last }

func (m *module) cap(c uint32) {
	if !slices.Contains(m.caps, c) {
		m.caps = append(m.caps, c)
	}
}

// put appends an instruction to a section.
func put(section *[]uint32, op uint32, words ...uint32) {
	*section = append(*section, uint32(len(words)+1)<<16|op)
	*section = append(*section, words...)
}

// text packs a string as SPIR-V does.
func text(s string) []uint32 {
	w := make([]uint32, len(s)/4+1)
	for i := range len(s) {
		w[i/4] |= uint32(s[i]) << (8 * (i % 4))
	}
	return w
}

// unique declares op with the given words once.
func (m *module) unique(op uint32, k key, words ...uint32) uint32 {
	k.op = op
	if id, ok := m.cache[k]; ok {
		return id
	}
	id := m.id()
	m.cache[k] = id
	put(&m.types, op, append([]uint32{id}, words...)...)
	return id
}

func (m *module) intType(bits uint32) uint32 {
	switch bits {
	case 64:
		m.cap(capInt64)
	case 16:
		m.cap(capStorage16)
		m.narrow(capInt16)
	case 8:
		m.cap(capStorage8)
		m.narrow(capInt8)
	}
	return m.unique(opTypeInt, key{a: bits}, bits, 0)
}

// narrow states a capability that storage alone does not need, but that the
// casts of addresses to narrow elements do.
func (m *module) narrow(c uint32) {
	if m.o.Addresses {
		m.cap(c)
	}
}

// typ returns the type of scalar values. All integers are unsigned words: what
// is signed is the operation.
func (m *module) typ(t scalar.Type) uint32 {
	if m.scalars[t] == 0 {
		m.scalars[t] = m.declared(t)
	}
	return m.scalars[t]
}

func (m *module) declared(t scalar.Type) uint32 {
	switch t {
	case scalar.Bool:
		return m.unique(opTypeBool, key{})
	case scalar.F32:
		return m.unique(opTypeFloat, key{a: 32}, 32)
	case scalar.F64:
		m.cap(capFloat64)
		return m.unique(opTypeFloat, key{a: 64}, 64)
	case scalar.I64, scalar.U64:
		return m.intType(64)
	}
	return m.intType(32)
}

// elemType returns the type of an element in memory.
func (m *module) elemType(e kernel.Elem) uint32 {
	if e.Size() < 4 {
		return m.intType(uint32(8 * e.Size()))
	}
	return m.typ(e.Type())
}

func (m *module) vector(elem, n uint32) uint32 {
	if n == 1 {
		return elem
	}
	return m.unique(opTypeVector, key{a: elem, b: n}, elem, n)
}

func (m *module) pointer(class, to uint32) uint32 {
	return m.unique(opTypePointer, key{a: class, b: to}, class, to)
}

// constant returns the id of a constant.
func (m *module) constant(t scalar.Type, bits uint64) uint32 {
	typ, lo, hi := m.typ(t), uint32(bits), uint32(bits>>32)
	switch {
	case t == scalar.Bool && bits != 0:
		return m.uniqueConst(opConstantTrue, key{a: typ}, typ)
	case t == scalar.Bool:
		return m.uniqueConst(opConstantFalse, key{a: typ}, typ)
	case kernel.Is64(t):
		return m.uniqueConst(opConstant, key{a: typ, b: lo, c: hi}, typ, lo, hi)
	}
	return m.uniqueConst(opConstant, key{a: typ, b: lo}, typ, lo)
}

// uniqueConst is unique for instructions whose type comes before their id.
func (m *module) uniqueConst(op uint32, k key, typ uint32, words ...uint32) uint32 {
	k.op = op
	if id, ok := m.cache[k]; ok {
		return id
	}
	id := m.id()
	m.cache[k] = id
	put(&m.types, op, append([]uint32{typ, id}, words...)...)
	return id
}

func (m *module) word(n int) uint32 { return m.constant(scalar.U32, uint64(n)) }

func (m *module) decorate(id, decoration uint32, words ...uint32) {
	m.decor = append(m.decor, uint32(len(words)+3)<<16|opDecorate, id, decoration)
	m.decor = append(m.decor, words...)
}

// variable declares a global variable.
func (m *module) variable(class, to uint32, initial ...uint32) uint32 {
	id, ptr := m.id(), m.pointer(class, to)
	put(&m.types, opVariable, append([]uint32{ptr, id, class}, initial...)...)
	if m.listed || class == classInput {
		m.iface = append(m.iface, id)
	}
	return id
}

// emit appends an instruction with a result to the function.
func (m *module) emit(op, typ uint32, words ...uint32) uint32 {
	id := m.id()
	m.code = append(m.code, uint32(len(words)+3)<<16|op, typ, id)
	m.code = append(m.code, words...)
	return id
}

// do appends an instruction without a result.
func (m *module) do(op uint32, words ...uint32) { put(&m.code, op, words...) }
