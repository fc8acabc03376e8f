package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nxvk/ops"
)

// A program that both runs have is compared, under whichever number. One that has other instructions in the other
// run is not.
func TestCompare(t *testing.T) {
	const same = "add.f32 program=1 gpu=2 host=3\nsort.f32 program=4 gpu=5 host=6\n"
	for _, c := range []struct{ name, base, here, want string }{
		{"same", same, same, ""},
		{"order", same, "sort.f32 program=4 gpu=5 host=6\nadd.f32 program=1 gpu=2 host=3\n", ""},
		{"new here", same, "pad.f32 program=7 gpu=8 host=9\n" + same, ""},
		{"other program", same, "add.f32 program=0 gpu=0 host=0\nsort.f32 program=4 gpu=5 host=6\n", ""},
		{"other plan", same, "add.f32 program=1 gpu=0 host=3\nsort.f32 program=4 gpu=5 host=6\n", "add.f32 gpu\n"},
		{"other results", same, "add.f32 program=1 gpu=2 host=0\nsort.f32 program=4 gpu=0 host=0\n", "add.f32 host\nsort.f32 gpu host\n"},
		{"fewer columns", same, "add.f32 program=1 gpu=2\n", "add.f32 columns\n"},
		{"nothing in common", same, "add.f32 program=0 gpu=2 host=3\n", "no program is in both"},
		{"no run", "", same, "no program is in both"},
	} {
		base, here := filepath.Join(t.TempDir(), "base"), filepath.Join(t.TempDir(), "here")
		for file, text := range map[string]string{base: c.base, here: c.here} {
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		var out strings.Builder
		err := compare(&out, base, here)
		if (err != nil) != (c.want != "") {
			t.Errorf("%s: the error is %v", c.name, err)
		}
		if err != nil {
			out.WriteString(err.Error())
		}
		if !strings.Contains(out.String(), c.want) {
			t.Errorf("%s: %q, not %q", c.name, out.String(), c.want)
		}
	}
}

// Whatever there is in a program makes a difference.
func TestWritten(t *testing.T) {
	scalar := ops.Type{DType: ops.F32, Shape: ops.Shape{}}
	text := func(change func(p *program)) string {
		inner := &ops.Region{Values: []ops.Operand{{ID: 1}}}
		p := &program{inputs: [][]byte{{1, 2, 3, 4}}, region: &ops.Region{
			Params: []ops.Result{{ID: 1, Type: scalar}},
			Body: []ops.Instr{{Op: ops.Add, Attrs: [][]int{{1}}, Regions: []*ops.Region{inner},
				Ins:  []ops.Operand{{ID: 1}, {Lit: &ops.Literal{Type: scalar, Data: []byte{0, 0, 0, 0}}}},
				Outs: []ops.Result{{ID: 2, Type: scalar}}}},
			Values: []ops.Operand{{ID: 2}},
		}}
		change(p)
		return written(p)
	}
	same := text(func(*program) {})
	for name, change := range map[string]func(p *program){
		"input":        func(p *program) { p.inputs[0][3]++ },
		"parameter":    func(p *program) { p.region.Params[0].Type.DType = ops.S32 },
		"operation":    func(p *program) { p.region.Body[0].Op = ops.Subtract },
		"attribute":    func(p *program) { p.region.Body[0].Attrs[0][0]++ },
		"operand":      func(p *program) { p.region.Body[0].Ins[0].ID++ },
		"literal":      func(p *program) { p.region.Body[0].Ins[1].Lit.Data[0]++ },
		"literal type": func(p *program) { p.region.Body[0].Ins[1].Lit.Type.DType = ops.S32 },
		"result":       func(p *program) { p.region.Body[0].Outs[0].Type.Shape = ops.Shape{1} },
		"inner region": func(p *program) { p.region.Body[0].Regions[0].Values[0].ID++ },
		"value":        func(p *program) { p.region.Values[0].ID-- },
	} {
		if text(change) == same {
			t.Errorf("a program with another %s has the same digest", name)
		}
	}
}

// The programs of single operations stay as they are when operations come into the table before theirs.
func TestSinglesByName(t *testing.T) {
	want := map[string]string{"add.f32": "e3707f8f157519eae246d040395578f7", "window_reduce.f32": "0ebfec27f63309132513e916d624406f"}
	for _, p := range singles(1) {
		if hash, ok := want[p.name]; ok {
			if got := written(p); got != hash {
				t.Errorf("%s is the program %s, not %s", p.name, got, hash)
			}
			delete(want, p.name)
		}
	}
	for name := range want {
		t.Errorf("there is no program %s", name)
	}
}
