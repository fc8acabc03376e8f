package spirv

import (
	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// subgroupBuiltin loads the place of the invocation in its subgroup, or that of the
// subgroup.
func (m *module) subgroupBuiltin(i int) uint32 {
	m.cap(capGroup)
	which := uint32(builtinSubgroupInvocation)
	if i == kernel.Subgroup {
		which = builtinSubgroupID
	}
	t := m.typ(scalar.U32)
	v := m.variable(classInput, t)
	m.decorate(v, decorBuiltIn, which)
	return m.emit(opLoad, t, v)
}

// together writes the instructions that invocations carry out with others.
func (m *module) together(in *kernel.Inst) {
	word, subgroup := m.typ(scalar.U32), m.word(scopeSubgroup)
	switch in.Op {
	case kernel.AddShared:
		ptr := m.sharedElement(in.Index, m.ids[in.Args[0]])
		m.emit(opAtomicIAdd, word, ptr, m.word(scopeWorkgroup), m.word(0), m.ids[in.Args[1]])
	case kernel.SubgroupBarrier:
		m.do(opControlBarrier, subgroup, subgroup, m.word(semanticsShared))
	case kernel.Ballot:
		m.cap(capGroup)
		m.cap(capGroupBallot)
		words := m.emit(opBallot, m.vector(word, 4), subgroup, m.ids[in.Args[0]])
		for i, r := range in.Res {
			m.ids[r] = m.emit(opCompositeExtract, word, words, uint32(i))
		}
	case kernel.ExclusiveSum:
		m.cap(capGroup)
		m.cap(capGroupArithmetic)
		m.ids[in.Res[0]] = m.emit(opGroupIAdd, word, subgroup, exclusiveScan, m.ids[in.Args[0]])
	}
}
