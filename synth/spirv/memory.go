package spirv

import (
	"cmp"
	"slices"

	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// pushBlock is the push-constant block: the addresses of the buffers, where
// they are reached by address, then the parameters.
type pushBlock struct {
	variable uint32
	types    []uint32 // of the members
}

// view is how the function reaches one buffer.
type view struct {
	address uint32            // the pointer out of the push constants
	blocks  map[access]uint32 // bindings: variable of each kind of access
}

// access is what one load or store takes: n elements. Narrow elements that are whole
// words go as words.
type access struct {
	elem kernel.Elem
	n    uint32
}

func accessOf(e kernel.Elem, n int) access {
	if e.Size() < 4 && n*e.Size()%4 == 0 {
		return access{kernel.U32, uint32(n * e.Size() / 4)}
	}
	return access{e, uint32(n)}
}

func (m *module) declareMemory() {
	for i, b := range m.k.Buffers {
		v := view{blocks: map[access]uint32{}}
		if !m.o.Addresses {
			for _, a := range accesses(m.k, i) {
				v.blocks[a] = m.binding(i, b, a)
			}
		}
		m.buffers = append(m.buffers, v)
	}
	m.declarePush()
	for _, s := range m.k.Shared {
		t := m.typ(s.Type)
		array := m.id()
		put(&m.types, opTypeArray, array, t, m.word(s.Len))
		m.shared = append(m.shared, m.variable(classWorkgroup, array))
	}
}

// accesses lists the kinds of access to a buffer: of its own elements first, with the
// fewest at a time.
func accesses(k *kernel.Kernel, buf int) (all []access) {
	add := func(a access) {
		if !slices.Contains(all, a) {
			all = append(all, a)
		}
	}
	elem := k.Buffers[buf].Elem
	var walk func(b *kernel.Block)
	walk = func(b *kernel.Block) {
		for i := range b.Insts {
			in := &b.Insts[i]
			switch {
			case in.Op == kernel.Load && in.Index == buf:
				add(accessOf(elem, len(in.Res)))
			case (in.Op == kernel.AddBuffer || in.Op == kernel.MaxBuffer || in.Op == kernel.LoadAtomic) && in.Index == buf:
				add(access{kernel.U32, 1})
			case in.Op == kernel.Store && in.Index == buf:
				add(accessOf(elem, len(in.Args)-1))
			case in.Op == kernel.LoadWord && in.Index == buf:
				add(access{kernel.U32, 1})
			}
			for j := range in.Blocks {
				walk(&in.Blocks[j])
			}
		}
	}
	walk(&k.Body)
	slices.SortFunc(all, func(a, b access) int {
		return cmp.Or(cmp.Compare(own(b.elem, elem), own(a.elem, elem)), cmp.Compare(a.n, b.n))
	})
	return all
}

// own is 1 for the elements of a buffer and 0 for words in their place.
func own(e, elem kernel.Elem) int {
	if e == elem {
		return 1
	}
	return 0
}

// block returns the struct type of a buffer that is accessed in one way.
func (m *module) block(a access) uint32 {
	elem := m.vector(m.elemType(a.elem), a.n)
	k := key{op: opTypeStruct, a: elem}
	if id, ok := m.cache[k]; ok {
		return id
	}
	array, block := m.id(), m.id()
	put(&m.types, opTypeRuntimeArray, array, elem)
	put(&m.types, opTypeStruct, block, array)
	m.decorate(array, decorArrayStride, uint32(a.elem.Size())*a.n)
	m.decorate(block, decorBlock)
	put(&m.decor, opMemberDecorate, block, 0, decorOffset, 0)
	m.cache[k] = block
	return block
}

// binding declares one variable over a binding. A buffer that is accessed in several
// ways has several variables, hence Aliased.
func (m *module) binding(i int, b kernel.Buffer, a access) uint32 {
	v := m.variable(classStorageBuffer, m.block(a))
	m.decorate(v, decorDescriptorSet, 0)
	m.decorate(v, decorBinding, uint32(i))
	m.decorate(v, decorAliased)
	if !b.Write {
		m.decorate(v, decorNonWritable)
	}
	return v
}

func (m *module) declarePush() {
	p := &m.push
	var offsets []int
	if m.o.Addresses {
		for i := range m.k.Buffers {
			p.types = append(p.types, m.addressType())
			offsets = append(offsets, 8*i)
		}
	}
	for _, q := range m.k.Params {
		p.types = append(p.types, m.typ(q.Type))
		offsets = append(offsets, m.o.ParamOffset(len(m.k.Buffers))+q.Offset)
	}
	if len(p.types) == 0 {
		return
	}
	block := m.id()
	put(&m.types, opTypeStruct, append([]uint32{block}, p.types...)...)
	m.decorate(block, decorBlock)
	for i, off := range offsets {
		put(&m.decor, opMemberDecorate, block, uint32(i), decorOffset, uint32(off))
	}
	p.variable = m.variable(classPushConstant, block)
}

// addressType is the type of all addresses in the push constants. Accesses cast
// it to what they need; a pointer to narrow elements would ask for the right to
// have narrow push constants.
func (m *module) addressType() uint32 {
	return m.pointer(classPhysicalStorage, m.block(access{kernel.U32, 1}))
}

// pushed loads member i of the push constants.
func (m *module) pushed(i int) uint32 {
	t := m.push.types[i]
	ptr := m.emit(opAccessChain, m.pointer(classPushConstant, t), m.push.variable, m.word(i))
	return m.emit(opLoad, t, ptr)
}

// element returns a pointer to what access idx of a buffer takes, and the operands of
// an aligned access.
func (m *module) element(a access, buf int, idx uint32) (ptr uint32, aligned []uint32) {
	elem := m.vector(m.elemType(a.elem), a.n)
	zero := m.word(0)
	if !m.o.Addresses {
		return m.emit(opAccessChain, m.pointer(classStorageBuffer, elem), m.buffers[buf].blocks[a], zero, idx), nil
	}
	base := m.buffers[buf].address
	if t := m.pointer(classPhysicalStorage, m.block(a)); t != m.addressType() {
		base = m.emit(opBitcast, t, base)
	}
	ptr = m.emit(opAccessChain, m.pointer(classPhysicalStorage, elem), base, zero, idx)
	return ptr, []uint32{accessAligned, min(uint32(a.elem.Size())*a.n, 16)}
}

// loadAs gives what access idx of a buffer takes, as it lies in memory.
func (m *module) loadAs(a access, buf int, idx uint32) uint32 {
	ptr, aligned := m.element(a, buf, idx)
	return m.emit(opLoad, m.vector(m.elemType(a.elem), a.n), append([]uint32{ptr}, aligned...)...)
}

func (m *module) load(in *kernel.Inst) {
	b := m.k.Buffers[in.Index]
	a := accessOf(b.Elem, len(in.Res))
	x := m.loadAs(a, in.Index, m.ids[in.Args[0]])
	t := m.typ(b.Elem.Type())
	switch {
	case a.elem != b.Elem:
		m.cut(in, b.Elem, a, x)
		return
	case b.Elem.Size() < 4:
		op := uint32(opUConvert)
		if kernel.IsSigned(b.Elem.Type()) {
			op = opSConvert
		}
		x = m.emit(op, m.vector(t, a.n), x)
	}
	m.ids[in.Res[0]] = x
	if a.n == 1 {
		return
	}
	for i, r := range in.Res {
		m.ids[r] = m.emit(opCompositeExtract, t, x, uint32(i))
	}
}

// cut gives the narrow elements of the words x.
func (m *module) cut(in *kernel.Inst, e kernel.Elem, a access, x uint32) {
	t, bits := m.typ(scalar.U32), 8*e.Size()
	for w := range int(a.n) {
		word := x
		if a.n > 1 {
			word = m.emit(opCompositeExtract, t, x, uint32(w))
		}
		for i := range 32 / bits {
			y := word
			switch above := 32 - bits*(i+1); {
			case kernel.IsSigned(e.Type()):
				y = m.emit(opShiftLeftLogical, t, y, m.word(above))
				y = m.emit(opShiftRightArithmetic, t, y, m.word(32-bits))
			case above == 0:
				y = m.emit(opShiftRightLogical, t, y, m.word(32-bits))
			default:
				if i > 0 {
					y = m.emit(opShiftRightLogical, t, y, m.word(bits*i))
				}
				y = m.emit(opBitwiseAnd, t, y, m.word(1<<bits-1))
			}
			m.ids[in.Res[w*(32/bits)+i]] = y
			if bits == 16 && !kernel.IsSigned(e.Type()) {
				m.halves[y] = half{word, i == 1}
			}
		}
	}
}

func (m *module) store(in *kernel.Inst) {
	b := m.k.Buffers[in.Index]
	vs := make([]uint32, len(in.Args)-1)
	for i, v := range in.Args[1:] {
		vs[i] = m.ids[v]
	}
	a, t := accessOf(b.Elem, len(vs)), m.typ(b.Elem.Type())
	if a.elem != b.Elem {
		vs = m.joined(vs, b.Elem)
	}
	x := vs[0]
	if a.n > 1 {
		x = m.emit(opCompositeConstruct, m.vector(t, a.n), vs...)
	}
	if a.elem.Size() < 4 {
		x = m.emit(opUConvert, m.vector(m.elemType(a.elem), a.n), x)
	}
	ptr, aligned := m.element(a, in.Index, m.ids[in.Args[0]])
	m.do(opStore, append([]uint32{ptr, x}, aligned...)...)
}

// joined gives words of narrow elements, the first in the lowest bits.
func (m *module) joined(vs []uint32, e kernel.Elem) (words []uint32) {
	t, bits := m.typ(scalar.U32), 8*e.Size()
	perWord := 32 / bits
	for ; len(vs) > 0; vs = vs[perWord:] {
		if perWord == 2 {
			words = append(words, m.pair(vs[0], vs[1]))
			continue
		}
		word := m.emit(opBitwiseAnd, t, vs[0], m.word(1<<bits-1))
		for i, v := range vs[1:perWord] {
			if i < perWord-2 {
				v = m.emit(opBitwiseAnd, t, v, m.word(1<<bits-1))
			}
			v = m.emit(opShiftLeftLogical, t, v, m.word(bits*(i+1)))
			word = m.emit(opBitwiseOr, t, word, v)
		}
		words = append(words, word)
	}
	return words
}

// sharedElement returns a pointer to an element of a shared array.
func (m *module) sharedElement(array int, idx uint32) uint32 {
	t := m.typ(m.k.Shared[array].Type)
	return m.emit(opAccessChain, m.pointer(classWorkgroup, t), m.shared[array], idx)
}

// lookup reads a constant table, a private variable with an initial value.
func (m *module) lookup(in *kernel.Inst) {
	t := m.k.Types[in.Res[0]]
	typ := m.typ(t)
	k := key{op: opConstantComposite, a: uint32(in.Index), b: typ}
	v, ok := m.cache[k]
	if !ok {
		v = m.table(m.k.Tables[in.Index], t)
		m.cache[k] = v
	}
	ptr := m.emit(opAccessChain, m.pointer(classPrivate, typ), v, m.ids[in.Args[0]])
	m.ids[in.Res[0]] = m.emit(opLoad, typ, ptr)
}

func (m *module) table(bits []uint64, t scalar.Type) uint32 {
	array, value := m.id(), m.id()
	words := []uint32{array, value}
	for _, x := range bits {
		words = append(words, m.constant(t, x))
	}
	put(&m.types, opTypeArray, array, m.typ(t), m.word(len(bits)))
	put(&m.types, opConstantComposite, words...)
	return m.variable(classPrivate, array, value)
}
