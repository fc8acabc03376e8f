package mesh

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"nxvk/fallback/sched"
)

// TestEarly has another node tell of many meshes that nobody joins, with long texts: the latest are kept, within
// a bound, and each once.
func TestEarly(t *testing.T) {
	ms := NewMeshes(sched.NewPool(1))
	r := rand.New(rand.NewPCG(1, 2))
	last := ""
	for range 20_000 {
		last = fmt.Sprint("mesh", r.IntN(5000))
		n := Notice{Where: Where{Mesh: last, Group: make([]int, r.IntN(1024))}, Node: "other@host", What: strings.Repeat("x", r.IntN(16<<10))}
		if r.IntN(2) == 0 {
			n.Event, n.Err, n.What = Failed, errors.New(n.What), ""
		}
		ms.Notify(n)
		sum := 0
		for _, m := range ms.early.meshes {
			sum += m.bytes
		}
		if sum != ms.early.bytes || len(ms.early.order) != len(ms.early.meshes) || sum > earlyBytes+64<<10 || len(ms.early.order) > maxEarly {
			t.Fatalf("%d meshes in order, %d kept, %d bytes, counted %d", len(ms.early.order), len(ms.early.meshes), sum, ms.early.bytes)
		}
	}
	if got := ms.early.take(last); len(got) == 0 {
		t.Error("the last notice is not kept")
	}
	if got := ms.early.take(last); got != nil {
		t.Error("a notice is given twice")
	}
	for range 2 * maxEarly {
		ms.Notify(Notice{Where: Where{Mesh: "one"}})
	}
	if got := ms.early.take("one"); len(got) != maxEarly {
		t.Errorf("%d notices of one mesh", len(got))
	}
}
