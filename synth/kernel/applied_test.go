package kernel

import (
	"math/rand/v2"
	"testing"

	"nxvk/synth/scalar"
)

// A table has what a map would have, whatever is added and cut.
func TestApplied(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	key := func() primKey {
		return primKey{scalar.Op(r.IntN(3)), scalar.F32, [3]Value{Value(r.IntN(40)), Value(r.IntN(40)), Value(r.IntN(3) - 1)}}
	}
	var a applied
	want, order := map[primKey]Value{}, []primKey{}
	for i := range 20000 {
		k := key()
		v, slot, ok := a.get(&k)
		if w, known := want[k]; ok != known || v != w {
			t.Fatalf("step %d: %v is %d, %v; want %d, %v", i, k, v, ok, w, known)
		}
		if !ok {
			a.add(&k, slot, Value(i))
			want[k], order = Value(i), append(order, k)
		}
		if r.IntN(500) > 0 {
			continue
		}
		n := len(order) - r.IntN(len(order)/4+1)
		for _, k := range order[n:] {
			delete(want, k)
		}
		order = order[:n]
		a.cut(n)
	}
	if len(order) < leastSlots {
		t.Errorf("%d entries at the end: too few for the table to have grown", len(order))
	}
}
