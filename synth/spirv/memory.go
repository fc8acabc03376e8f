package spirv

import (
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
	blocks  map[uint32]uint32 // bindings: elements an access → variable
}

func (m *module) declareMemory() {
	for i, b := range m.k.Buffers {
		v := view{blocks: map[uint32]uint32{}}
		if !m.o.Addresses {
			for _, n := range widths(m.k, i) {
				v.blocks[n] = m.binding(i, b, n)
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

// widths lists how many elements the accesses of a buffer take, smallest first.
func widths(k *kernel.Kernel, buf int) []uint32 {
	var seen [5]bool
	var walk func(b *kernel.Block)
	walk = func(b *kernel.Block) {
		for i := range b.Insts {
			in := &b.Insts[i]
			switch {
			case in.Op == kernel.Load && in.Index == buf:
				seen[len(in.Res)] = true
			case in.Op == kernel.AddBuffer && in.Index == buf:
				seen[1] = true
			case in.Op == kernel.Store && in.Index == buf:
				seen[len(in.Args)-1] = true
			}
			for j := range in.Blocks {
				walk(&in.Blocks[j])
			}
		}
	}
	walk(&k.Body)
	var out []uint32
	for n, ok := range seen {
		if ok {
			out = append(out, uint32(n))
		}
	}
	return out
}

// block returns the struct type of a buffer read n elements at a time.
func (m *module) block(e kernel.Elem, n uint32) uint32 {
	elem := m.vector(m.elemType(e), n)
	k := key{op: opTypeStruct, a: elem}
	if id, ok := m.cache[k]; ok {
		return id
	}
	array, block := m.id(), m.id()
	put(&m.types, opTypeRuntimeArray, array, elem)
	put(&m.types, opTypeStruct, block, array)
	m.decorate(array, decorArrayStride, uint32(e.Size())*n)
	m.decorate(block, decorBlock)
	put(&m.decor, opMemberDecorate, block, 0, decorOffset, 0)
	m.cache[k] = block
	return block
}

// binding declares one variable over a binding. A buffer that is read in groups
// of several sizes has several variables, hence Aliased.
func (m *module) binding(i int, b kernel.Buffer, n uint32) uint32 {
	v := m.variable(classStorageBuffer, m.block(b.Elem, n))
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
	return m.pointer(classPhysicalStorage, m.block(kernel.U32, 1))
}

// pushed loads member i of the push constants.
func (m *module) pushed(i int) uint32 {
	t := m.push.types[i]
	ptr := m.emit(opAccessChain, m.pointer(classPushConstant, t), m.push.variable, m.word(i))
	return m.emit(opLoad, t, ptr)
}

// element returns a pointer to group idx of n elements of a buffer, and the
// operands of an aligned access.
func (m *module) element(buf int, n, idx uint32) (ptr uint32, access []uint32) {
	b := m.k.Buffers[buf]
	elem := m.vector(m.elemType(b.Elem), n)
	zero := m.word(0)
	if !m.o.Addresses {
		return m.emit(opAccessChain, m.pointer(classStorageBuffer, elem), m.buffers[buf].blocks[n], zero, idx), nil
	}
	base := m.buffers[buf].address
	if t := m.pointer(classPhysicalStorage, m.block(b.Elem, n)); t != m.addressType() {
		base = m.emit(opBitcast, t, base)
	}
	ptr = m.emit(opAccessChain, m.pointer(classPhysicalStorage, elem), base, zero, idx)
	return ptr, []uint32{accessAligned, min(uint32(b.Elem.Size())*n, 16)}
}

func (m *module) load(in *kernel.Inst) {
	b := m.k.Buffers[in.Index]
	n := uint32(len(in.Res))
	ptr, access := m.element(in.Index, n, m.ids[in.Args[0]])
	x := m.emit(opLoad, m.vector(m.elemType(b.Elem), n), append([]uint32{ptr}, access...)...)
	t := m.typ(b.Elem.Type())
	if b.Elem.Size() < 4 {
		op := uint32(opUConvert)
		if kernel.IsSigned(b.Elem.Type()) {
			op = opSConvert
		}
		x = m.emit(op, m.vector(t, n), x)
	}
	m.ids[in.Res[0]] = x
	if n == 1 {
		return
	}
	for i, r := range in.Res {
		m.ids[r] = m.emit(opCompositeExtract, t, x, uint32(i))
	}
}

func (m *module) store(in *kernel.Inst) {
	b := m.k.Buffers[in.Index]
	vs := in.Args[1:]
	n := uint32(len(vs))
	x := m.ids[vs[0]]
	if n > 1 {
		words := make([]uint32, n)
		for i, v := range vs {
			words[i] = m.ids[v]
		}
		x = m.emit(opCompositeConstruct, m.vector(m.typ(b.Elem.Type()), n), words...)
	}
	if b.Elem.Size() < 4 {
		x = m.emit(opUConvert, m.vector(m.elemType(b.Elem), n), x)
	}
	ptr, access := m.element(in.Index, n, m.ids[in.Args[0]])
	m.do(opStore, append([]uint32{ptr, x}, access...)...)
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
