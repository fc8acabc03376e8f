package sweep

import (
	"os"
	"regexp"
	"testing"

	"nxvk/ops"
)

// undrawn are the operations that no family draws, and why.
var undrawn = map[ops.Op]string{
	ops.Tensor:       "an upload",
	ops.Bitcast:      "a view",
	ops.Reshape:      "a view",
	ops.Squeeze:      "a view",
	ops.ReduceFun:    "PyTorch has no function of a region",
	ops.WindowReduce: "PyTorch has no function of a region",
}

// drawn counts the operations of cases.
func drawn(t *testing.T) map[ops.Op]int {
	t.Helper()
	cases, err := Draw(Options{Seed: 7, Count: 12000, MaxBytes: MaxBytes})
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[ops.Op]int)
	for i := range cases {
		for _, s := range cases[i].Steps {
			op, ok := ops.Lookup(s.Op)
			if !ok {
				t.Fatalf("case %d has the unknown operation %q", i, s.Op)
			}
			seen[op]++
		}
	}
	return seen
}

// TestEveryOperation draws each operation of the table, but for those that are listed above.
func TestEveryOperation(t *testing.T) {
	seen := drawn(t)
	for op := range ops.Count {
		_, left := undrawn[op]
		switch {
		case op.Info().Kind == ops.Control || op.Info().Kind == ops.Composite:
		case seen[op] == 0 && !left:
			t.Errorf("no family draws %v: add it to one, or to undrawn with a reason", op)
		case seen[op] > 0 && left:
			t.Errorf("%v is drawn, and listed as one that is not", op)
		}
	}
}

// TestTorch looks for a line of each operation that is drawn, and each function of whole cases,
// in the tables of sweep_torch.py.
func TestTorch(t *testing.T) {
	text, err := os.ReadFile("../../../test/bench/sweep_torch.py")
	if err != nil {
		t.Fatal(err)
	}
	known := make(map[string]bool)
	for _, m := range regexp.MustCompile(`"(\w+)": (?:\w+\(|lambda|none|\w+,|\w+\n)`).FindAllSubmatch(text, -1) {
		known[string(m[1])] = true
	}
	for op := range drawn(t) {
		if !known[op.String()] {
			t.Errorf("sweep_torch.py has no line for %v: name the function of PyTorch, or none", op)
		}
	}
	cases, err := Draw(Options{Seed: 1, Count: 400, MaxBytes: MaxBytes})
	if err != nil {
		t.Fatal(err)
	}
	for i := range cases {
		if name := cases[i].Torch; name != "" && !known[name] {
			t.Errorf("sweep_torch.py has no line for %s", name)
		}
	}
}
