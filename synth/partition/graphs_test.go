package partition_test

import (
	"os"
	"path/filepath"
	"testing"

	"nxvk/ops"
	"nxvk/synth"
	"nxvk/synth/fusion"
	"nxvk/synth/lowering"
	"nxvk/synth/synthtest"
	"nxvk/test/fewtest"
)

// The fusions of known graphs as text, before and after. After a change that is
// meant: go test ./synth -run Patterns -update.
func TestPatterns(t *testing.T) {
	for name, g := range synthtest.Patterns(t) {
		t.Run(name, func(t *testing.T) {
			g.T = t
			got := synthtest.String(&g.Graph) + synthtest.Show(g.Check(synthtest.GPU, 9))
			path := filepath.Join("testdata", "fusions_"+name+".txt")
			if *synthtest.Update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			for range 10 {
				if again := synthtest.Show(synth.Fuse(&g.Graph, synthtest.GPU)); again != synthtest.Show(synth.Fuse(&g.Graph, synthtest.GPU)) || synthtest.String(&g.Graph)+again != got {
					t.Fatalf("other fusions the next time:\n%s", again)
				}
			}
			g.Check(synthtest.CPU, 9)
		})
	}
}

// With any rule switched off the bits are the same, and with all of them every
// instruction that is kept is alone.
func TestRulesOff(t *testing.T) {
	all := lowering.Rules(0)
	for name, rule := range lowering.RulesByName {
		all |= rule
		t.Run(name, func(t *testing.T) {
			parsed, err := lowering.ParseRules(name)
			if err != nil || parsed != rule {
				t.Fatalf("ParseRules(%q) = %v, %v", name, parsed, err)
			}
			for target := range synthtest.Targets {
				off := *synthtest.Targets[target]
				off.Off = rule
				for _, g := range synthtest.Patterns(t) {
					g.Check(&off, 3)
				}
				for seed := range uint64(fewtest.Of(8, 4)) {
					synthtest.Grow(t, seed, 12, true).Check(&off, seed)
				}
			}
		})
	}
	off := *synthtest.GPU
	off.Off = all
	for name, g := range synthtest.Patterns(t) {
		for _, u := range synth.Fuse(&g.Graph, &off) {
			if len(u.Outs) > 1 || countArithmetic(&u) > 1 {
				t.Errorf("%s: with no rule on:\n%s", name, synthtest.Show([]fusion.Fusion{u}))
			}
		}
	}
	if r, err := lowering.ParseRules("beside"); err != nil || r != lowering.RuleHorizontal {
		t.Errorf("the former name of horizontal is %v, %v", r, err)
	}
	if _, err := lowering.ParseRules("pointwise,magic"); err == nil {
		t.Error("an unknown rule is taken")
	}
}

// countArithmetic counts the instructions of a fusion that are no views.
func countArithmetic(u *fusion.Fusion) int {
	n := 0
	for i := range u.Body {
		if k := u.Body[i].Op.Info().Kind; k != ops.Movement && k != ops.Create {
			n++
		}
	}
	return n
}
