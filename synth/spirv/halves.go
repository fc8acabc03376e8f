package spirv

import (
	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// Elements of 16 bits are loaded and stored as words of two. A bf16 becomes an f32 by a shift to the upper half of a word,
// and an f32 a bf16 by a shift to the lower one. Both shifts and the masks of the two elements are one mask or one shift
// for an element, which is not left to the driver.

// half is an element of 16 bits: the lower or the upper half of a word.
type half struct {
	word  uint32
	upper bool
}

// shifted writes a shift of a word to its lower half, or that of a half to the upper one. ok is false for other operations.
func (m *module) shifted(in *kernel.Inst, a []uint32) (id uint32, ok bool) {
	if in.Prim != scalar.Shl && in.Prim != scalar.Shr || m.sixteen == 0 || a[1] != m.sixteen || m.k.Types[in.Res[0]] != scalar.U32 {
		return 0, false
	}
	if in.Prim == scalar.Shr {
		id = m.emit(opShiftRightLogical, m.typ(scalar.U32), a...)
		m.halves[id] = half{a[0], true}
		return id, true
	}
	h, ok := m.halves[a[0]]
	if !ok {
		return 0, false
	}
	return m.raised(h), true
}

// raised is the word with a half in its upper half, and zeros below.
func (m *module) raised(h half) uint32 {
	if h.upper {
		return m.emit(opBitwiseAnd, m.typ(scalar.U32), h.word, m.word(0xffff0000))
	}
	return m.emit(opShiftLeftLogical, m.typ(scalar.U32), h.word, m.word(16))
}

// pair is the word of two elements of 16 bits.
func (m *module) pair(low, high uint32) uint32 {
	t := m.typ(scalar.U32)
	if _, ok := m.halves[low]; !ok {
		low = m.emit(opBitwiseAnd, t, low, m.word(0xffff))
	}
	if h, ok := m.halves[high]; ok {
		high = m.raised(h)
	} else {
		high = m.emit(opShiftLeftLogical, t, high, m.word(16))
	}
	return m.emit(opBitwiseOr, t, low, high)
}
