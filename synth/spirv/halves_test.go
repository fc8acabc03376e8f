package spirv

import (
	"testing"

	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// Elements of 16 bits come and go in words. A bf16 becomes an f32 by one instruction, and two f32 become a word of bf16 by
// three: no element is extracted before it is shifted.
func TestHalves(t *testing.T) {
	b := kernel.NewBuilder("halves", [3]uint32{8, 1, 1})
	in, out := b.Buffer(kernel.U16, true, false), b.Buffer(kernel.U16, false, true)
	at := b.Builtin(kernel.GroupX)
	var stored []kernel.Value
	for _, x := range b.Load(in, at, 4) {
		f := b.Bitcast(b.Shl(x, 16), scalar.F32)
		stored = append(stored, b.Shr(b.Bitcast(b.Prim(scalar.Mul, scalar.F32, f, f), scalar.U32), 16))
	}
	b.Store(out, at, stored...)
	k := b.Kernel()
	both(t, k)
	used := map[uint32]bool{}
	counts := map[uint32]int{}
	code := Compile(k, everything)[headerWords:]
	for op, w := range instructions(code) {
		switch op {
		case opBitcast, opCompositeConstruct, opBitwiseAnd, opBitwiseOr, opShiftLeftLogical, opShiftRightLogical:
			for _, id := range w[3:] {
				used[id] = true
			}
		}
	}
	for op, w := range instructions(code) {
		switch op {
		case opBitwiseAnd, opBitwiseOr, opShiftLeftLogical, opShiftRightLogical, opUConvert:
			if used[w[2]] { // drivers leave out what nothing uses
				counts[op]++
			}
		}
	}
	for op, want := range map[uint32]int{opUConvert: 0, opShiftLeftLogical: 2, opShiftRightLogical: 2, opBitwiseAnd: 4, opBitwiseOr: 2} {
		if counts[op] != want {
			t.Errorf("%d instructions of code %d are used, want %d", counts[op], op, want)
		}
	}
}
