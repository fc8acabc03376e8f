package spirv

import (
	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// function writes the entry point.
func (m *module) function() {
	void := m.unique(opTypeVoid, key{})
	typ := m.unique(opTypeFunction, key{a: void}, void)
	m.entry = m.id()
	m.do(opFunction, void, m.entry, 0, typ)
	m.begin(m.id())
	m.loadHead()
	m.blockInsts(&m.k.Body)
	m.do(opReturn)
	m.do(opFunctionEnd)
}

// begin opens the block with the given label.
func (m *module) begin(label uint32) {
	m.do(opLabel, label)
	m.label = label
}

// builtinVars are the variables behind the builtins, three components each.
var builtinVars = [3]uint32{builtinLocalID, builtinWorkgroupID, builtinNumWorkgroups}

// loadHead gives every constant, parameter and builtin its id.
func (m *module) loadHead() {
	if m.o.Addresses {
		for i := range m.buffers {
			m.buffers[i].address = m.pushed(i)
		}
	}
	word := m.typ(scalar.U32)
	vec3 := m.vector(word, 3)
	var loaded [3]uint32
	for i := range m.k.Head {
		in := &m.k.Head[i]
		r := in.Res[0]
		switch in.Op {
		case kernel.Const:
			m.declareConst(in)
		case kernel.ParamOf:
			m.ids[r] = m.pushed(len(m.push.types) - len(m.k.Params) + in.Index)
		case kernel.Builtin:
			if in.Index >= kernel.SubgroupInvocation {
				m.ids[r] = m.subgroupBuiltin(in.Index)
				continue
			}
			b := in.Index / 3
			if loaded[b] == 0 {
				v := m.variable(classInput, vec3)
				m.decorate(v, decorBuiltIn, builtinVars[b])
				loaded[b] = m.emit(opLoad, vec3, v)
			}
			m.ids[r] = m.emit(opCompositeExtract, word, loaded[b], uint32(in.Index%3))
		}
	}
}

// declareConst gives a constant of the kernel its id.
func (m *module) declareConst(in *kernel.Inst) {
	r := in.Res[0]
	m.ids[r] = m.constant(m.k.Types[r], in.Bits)
	if m.k.Types[r] == scalar.U32 && in.Bits == 16 {
		m.sixteen = m.ids[r]
	}
}

func (m *module) blockInsts(b *kernel.Block) {
	for i := range b.Insts {
		m.inst(&b.Insts[i])
	}
}

func (m *module) inst(in *kernel.Inst) {
	switch in.Op {
	case kernel.Prim:
		m.ids[in.Res[0]] = m.prim(in)
	case kernel.Lookup:
		m.lookup(in)
	case kernel.Load:
		m.load(in)
	case kernel.LoadWord:
		m.ids[in.Res[0]] = m.loadAs(access{kernel.U32, 1}, in.Index, m.ids[in.Args[0]])
	case kernel.Store:
		m.store(in)
	case kernel.LoadShared:
		t := m.typ(m.k.Types[in.Res[0]])
		m.ids[in.Res[0]] = m.emit(opLoad, t, m.sharedElement(in.Index, m.ids[in.Args[0]]))
	case kernel.StoreShared:
		m.do(opStore, m.sharedElement(in.Index, m.ids[in.Args[0]]), m.ids[in.Args[1]])
	case kernel.Barrier:
		w := m.word(scopeWorkgroup)
		m.do(opControlBarrier, w, w, m.word(semanticsShared))
	case kernel.LoadAtomic:
		ptr, _ := m.element(access{kernel.U32, 1}, in.Index, m.ids[in.Args[0]])
		m.ids[in.Res[0]] = m.emit(opAtomicLoad, m.typ(scalar.U32), ptr, m.word(scopeDevice), m.word(0))
	case kernel.AddBuffer, kernel.MaxBuffer:
		op := uint32(opAtomicIAdd)
		if in.Op == kernel.MaxBuffer {
			op = opAtomicUMax
		}
		ptr, _ := m.element(access{kernel.U32, 1}, in.Index, m.ids[in.Args[0]])
		m.emit(op, m.typ(scalar.U32), ptr, m.word(scopeDevice), m.word(0), m.ids[in.Args[1]])
	case kernel.AddShared, kernel.SubgroupBarrier, kernel.Ballot, kernel.ExclusiveSum:
		m.together(in)
	case kernel.If:
		m.branch(in)
	case kernel.Loop:
		m.loop(in)
	default:
		panic("BUG: instruction outside of its place")
	}
}

// branch writes an If: a selection, and a phi for every value that it yields.
func (m *module) branch(in *kernel.Inst) {
	merge := m.id()
	labels := [2]uint32{m.id(), m.id()}
	if empty(&in.Blocks[1]) {
		labels[1] = merge
	}
	m.do(opSelectionMerge, merge, 0)
	from := m.label
	m.do(opBranchConditional, m.ids[in.Args[0]], labels[0], labels[1])
	ends := [2]uint32{from, from}
	for i := range in.Blocks {
		if labels[i] == merge {
			continue
		}
		m.begin(labels[i])
		m.blockInsts(&in.Blocks[i])
		ends[i] = m.label
		m.do(opBranch, merge)
	}
	m.begin(merge)
	for j, r := range in.Res {
		m.ids[r] = m.emit(opPhi, m.typ(m.k.Types[r]),
			m.ids[in.Blocks[0].Yield[j]], ends[0], m.ids[in.Blocks[1].Yield[j]], ends[1])
	}
}

func empty(b *kernel.Block) bool { return len(b.Insts) == 0 }

// loop writes a Loop:
//
//	header: phis of the index and what is carried; is the index below the limit?
//	body:   the block
//	next:   index + step, back to header
//	merge
//
// The phis name values of the body before it is written, so those words are
// filled in afterwards.
func (m *module) loop(in *kernel.Inst) {
	b := &in.Blocks[0]
	header, test, body, next, merge := m.id(), m.id(), m.id(), m.id(), m.id()
	from := m.label
	m.do(opBranch, header)
	m.begin(header)
	holes := make([]int, len(b.Params))
	for i, p := range b.Params {
		initial := in.Args[0]
		if i > 0 {
			initial = in.Args[2+i]
		}
		m.ids[p] = m.emit(opPhi, m.typ(m.k.Types[p]), m.ids[initial], from, 0, next)
		holes[i] = len(m.code) - 2
	}
	m.do(opLoopMerge, merge, next, 0)
	m.do(opBranch, test)
	m.begin(test)
	index := m.ids[b.Params[0]]
	more := m.emit(opULessThan, m.typ(scalar.Bool), index, m.ids[in.Args[1]])
	m.do(opBranchConditional, more, body, merge)
	m.begin(body)
	m.blockInsts(b)
	m.do(opBranch, next)
	m.begin(next)
	m.code[holes[0]] = m.emit(opIAdd, m.typ(m.k.Types[b.Params[0]]), index, m.ids[in.Args[2]])
	for i, y := range b.Yield {
		m.code[holes[i+1]] = m.ids[y]
	}
	m.do(opBranch, header)
	m.begin(merge)
	for i, r := range in.Res {
		m.ids[r] = m.ids[b.Params[i+1]]
	}
}
