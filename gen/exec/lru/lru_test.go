package lru

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

type entry struct {
	Use
	key  string
	busy bool
}

// A full cache lets go of the entry that was used least recently of those that are neither busy
// nor in use, and of nothing else.
func TestEvict(t *testing.T) {
	const most = 20
	draw := rand.New(rand.NewPCG(4, 7))
	var c Cache[*entry]
	var order []*entry // by the latest use
	protected := map[*entry]bool{}
	use := func(e *entry) {
		order = append(slices.DeleteFunc(order, func(o *entry) bool { return o == e }), e)
		protected[e] = true
	}
	for i := range 20_000 {
		switch k := draw.IntN(10); {
		case k == 0 && len(order) > 0:
			e := order[draw.IntN(len(order))]
			c.Delete(e.key)
			order = slices.DeleteFunc(order, func(o *entry) bool { return o == e })
			c.Touch(e) // it may still be in use, and does not come back
		case k < 5 && len(order) > 0:
			e := order[draw.IntN(len(order))]
			c.Touch(e)
			use(e)
		case k < 7:
			c.Tick()
			clear(protected)
		default:
			for len(order) >= most && !protected[order[0]] { // as Evict does
				if e := order[0]; e.busy {
					use(e)
				} else {
					order = order[1:]
				}
			}
			c.Evict(most, func(e *entry) bool { return !e.busy }, func(e *entry) {
				if slices.Contains(order, e) {
					t.Fatalf("change %d: %s goes", i, e.key)
				}
			})
			e := &entry{key: fmt.Sprint(i), busy: draw.IntN(8) == 0}
			c.Add(e.key, e)
			use(e)
		}
		if c.Len() != len(order) {
			t.Fatalf("change %d: %d entries, want %d", i, c.Len(), len(order))
		}
		for _, e := range order {
			if got, ok := c.Find([]byte(e.key)); !ok || got != e {
				t.Fatalf("change %d: %s is lost", i, e.key)
			}
		}
	}
	c.Clear()
	if c.Len() != 0 || c.first != nil || c.last != nil {
		t.Error("not empty")
	}
}

// An eviction looks at few entries, however many there are and are busy.
func TestEvictIsShort(t *testing.T) {
	var c Cache[*entry]
	for i := range 10_000 {
		c.Add(fmt.Sprint(i), &entry{busy: true})
	}
	c.Tick()
	looks := 0
	c.Evict(10, func(e *entry) bool { looks++; return !e.busy }, nil)
	if looks > mostBusy {
		t.Errorf("%d entries are looked at", looks)
	}
}
