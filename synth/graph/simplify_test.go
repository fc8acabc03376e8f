package graph

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nxvk/fallback"
	"nxvk/ops"
	"nxvk/synth/graph/notation"
)

var update = flag.Bool("update", false, "write testdata")

// onHost computes a scalar as the executor does.
func onHost(in *ops.Instr) ([]byte, error) {
	var args []fallback.Value
	for _, o := range in.Ins {
		args = append(args, fallback.Value{Type: o.Lit.Type, Data: o.Lit.Data})
	}
	out := fallback.Value{Type: in.Outs[0].Type, Data: make([]byte, in.Outs[0].Type.Bytes())}
	return out.Data, fallback.Run(in, args, []fallback.Value{out})
}

// checked is Simplify with every pass verified.
func checked(t *testing.T, r *ops.Region, o Options) *ops.Region {
	t.Helper()
	want, err := r.CheckProgram()
	if err != nil {
		t.Fatal(err)
	}
	o.After = func(p *Pass, r *ops.Region) {
		got, err := r.CheckProgram()
		if err != nil {
			t.Fatalf("after %s: %v in\n%s", p.Name, err, notation.Print(r))
		}
		for i := range want {
			if !got[i].Equal(want[i]) {
				t.Fatalf("after %s: value %d is %v, was %v", p.Name, i, got[i], want[i])
			}
		}
	}
	return Simplify(r, o)
}

const arrow = "=>\n"

// A text for every rule and every pass, before and after it. After a change
// that is meant: go test ./synth/graph -run Texts -update.
func TestTexts(t *testing.T) {
	var names []string
	for _, r := range rules {
		names = append(names, r.name)
	}
	for _, p := range Passes[1:] {
		names = append(names, p.Name)
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join("testdata", "simplify", strings.ReplaceAll(name, " ", "_")+".txt")
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			before, want, _ := strings.Cut(string(b), arrow)
			r, err := notation.Parse(before)
			if err != nil {
				t.Fatal(err)
			}
			if before != notation.Print(r) {
				t.Errorf("%s is not what Print gives:\n%s", path, notation.Print(r))
			}
			got := notation.Print(checked(t, r, Options{Eval: onHost}))
			for range 10 {
				if again := notation.Print(Simplify(r, Options{Eval: onHost})); again != got {
					t.Fatalf("another result the next time:\n%s", again)
				}
			}
			if notation.Print(r) != before {
				t.Errorf("the code that was given has changed:\n%s", notation.Print(r))
			}
			if *update {
				if err := os.WriteFile(path, []byte(before+arrow+got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// TestCommon: what several instructions would do is done once, and nothing else changes. A program with a loop that looks outside
// stays as it is.
func TestCommon(t *testing.T) {
	r := parsed(t, `(%1:f32[3,4], %2:f32[4]) {
  %3:f32[4] = sum %1 axes=[0] keep_axes=false
  %4:f32[4] = sum %1 axes=[0] keep_axes=false
  %5:f32[3,4] = multiply %1, f32(1)
  %6:f32[4] = add %3, %4
  %7:f32[4] = exp %2
  give %6, %5
}
`)
	before := notation.Print(r)
	if out := notation.Print(Common(r)); strings.Count(out, "sum") != 1 || !strings.Contains(out, "multiply") || strings.Contains(out, "exp") {
		t.Errorf("it becomes\n%s", out)
	}
	if notation.Print(r) != before {
		t.Error("the code that was given has changed")
	}
	same(t, r, Common(r))
	if loop := parsed(t, cell(0, 9, 1)); Common(loop) != loop {
		t.Error("a loop that looks outside has changed")
	}
}
