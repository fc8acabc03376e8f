package model

import (
	"bytes"
	"strings"
	"testing"

	"nxvk/ops"
	"nxvk/synth/graph/notation"
	"nxvk/test/fewtest"
)

// TestDraw: each model is a program that the table of operations accepts, the same for the same seed, and all kinds are drawn.
func TestDraw(t *testing.T) {
	drawn, longest := make(map[string]int), 0
	used := make(map[ops.Op]int)
	for seed := range uint64(fewtest.Of(400, 100)) {
		m := Draw(seed, Size(seed%3), 12)
		p := m.Program()
		if _, err := p.CheckProgram(); err != nil {
			t.Fatalf("seed %d, %s: %v", seed, m.Title, err)
		}
		longest = max(longest, len(p.Body))
		for i := range p.Body {
			used[p.Body[i].Op]++
		}
		for _, k := range kinds {
			if strings.HasPrefix(m.Title, k.name) {
				drawn[k.name]++
			}
		}
		if seed < 10 {
			n := Draw(seed, Size(seed%3), 12)
			a, b := m.Data(), n.Data()
			if notation.Print(p) != notation.Print(n.Program()) || len(a) != len(b) || !bytes.Equal(bytes.Join(a, nil), bytes.Join(b, nil)) {
				t.Fatalf("seed %d draws something else the next time", seed)
			}
		}
	}
	t.Logf("drawn %v, the longest has %d instructions of %d operations", drawn, longest, len(used))
	if len(drawn) < len(kinds) || longest < 2000 || len(used) < 60 {
		t.Errorf("drawn %v, the longest has %d instructions of %d operations", drawn, longest, len(used))
	}
}
