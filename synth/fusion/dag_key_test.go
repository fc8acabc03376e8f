package fusion

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"nxvk/synth/strided"
)

// Keys are told apart by everything that they have, also where hashes collide.
func TestExprKeysAreDistinct(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, collide := range []bool{false, true} {
		var s exprKeys
		for range 2 {
			s.reset()
			want := map[string]int{}
			for i := range 2000 {
				v := strided.View{Offset: r.IntN(3)}
				for range r.IntN(3) {
					v.Strides = append(v.Strides, r.IntN(3))
				}
				at := keyOf(exprKeyKind(r.IntN(3)), uint64(r.IntN(20)), v)
				if collide {
					at.hash %= 5
				}
				name := fmt.Sprint(at.kind, at.id, at.view)
				expr, ok := s.find(&at)
				if w, known := want[name]; ok != known || expr != w {
					t.Fatalf("key %s is %d, %v; want %d, %v", name, expr, ok, w, known)
				}
				if !ok {
					s.add(&at, i)
					want[name] = i
				}
			}
			if len(want) < 20*fewKeys {
				t.Errorf("only %d keys", len(want))
			}
		}
	}
}
