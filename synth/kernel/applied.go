package kernel

import "nxvk/synth/scalar"

// primKey is a primitive operation on values; -1 stands for no value.
type primKey struct {
	op   scalar.Op
	t    scalar.Type
	args [3]Value
}

// applied has the values of the primitive operations that have been applied in the
// open blocks. It is a hash table with linear probing. The entries of a block are
// removed when the block closes. Nothing fills the gaps that this leaves: what was
// added last is taken out first, so whatever was placed behind an entry because
// that was in its way is gone before it.
type applied struct {
	entries []appliedEntry // in the order in which they were added
	slots   []int32        // 1 + the index of an entry; 0 is empty. Their number is a power of two
}

type appliedEntry struct {
	key   primKey
	value Value
	slot  uint32
}

// leastSlots is how many slots a table has that is not empty.
const leastSlots = 1 << 10

// hash mixes all bits of a key, as the last steps of MurmurHash3 (Appleby) do.
func (k *primKey) hash() uint32 {
	h := uint64(k.op) | uint64(k.t)<<8 | uint64(uint32(k.args[0]))<<32
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h ^= uint64(uint32(k.args[1])) | uint64(uint32(k.args[2]))<<32
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return uint32(h >> 32)
}

// find gives the slot that has a key, or the empty one where it belongs.
func (a *applied) find(key *primKey) uint32 {
	mask := uint32(len(a.slots) - 1)
	for s := key.hash() & mask; ; s = (s + 1) & mask {
		if i := a.slots[s]; i == 0 || a.entries[i-1].key == *key {
			return s
		}
	}
}

// get returns the value of a key, or the slot where it is to be added next.
func (a *applied) get(key *primKey) (v Value, slot uint32, ok bool) {
	if 2*len(a.entries) >= len(a.slots) {
		a.grow()
	}
	slot = a.find(key)
	if i := a.slots[slot]; i > 0 {
		return a.entries[i-1].value, slot, true
	}
	return 0, slot, false
}

// add adds a key in the slot that get has just given. At most half of the slots are
// taken.
func (a *applied) add(key *primKey, slot uint32, v Value) {
	a.entries = append(a.entries, appliedEntry{*key, v, slot})
	a.slots[slot] = int32(len(a.entries))
}

// grow doubles the slots.
func (a *applied) grow() {
	a.slots = make([]int32, max(leastSlots, 2*len(a.slots)))
	for i := range a.entries {
		e := &a.entries[i]
		e.slot = a.find(&e.key)
		a.slots[e.slot] = int32(i + 1)
	}
}

// cut takes out all entries but the first n.
func (a *applied) cut(n int) {
	for i := range a.entries[n:] {
		a.slots[a.entries[n+i].slot] = 0
	}
	a.entries = a.entries[:n]
}
