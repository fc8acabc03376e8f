package graph

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"nxvk/fallback"
	"nxvk/ops"
	"nxvk/synth/graph/notation"
)

// picking is a drawn tensor, along one axis of which indices pick one element of each row.
type picking struct {
	typ   string
	shape ops.Shape
	axis  int
}

func draw(rnd *rand.Rand) picking {
	p := picking{typ: []string{"f32", "bf16", "s8", "s32", "u8"}[rnd.IntN(5)], shape: make(ops.Shape, 1+rnd.IntN(3))}
	for i := range p.shape {
		p.shape[i] = 2 + rnd.IntN(4)
	}
	p.axis = rnd.IntN(len(p.shape))
	return p
}

func joined(s []int) string { return strings.ReplaceAll(strings.Trim(fmt.Sprint(s), "[]"), " ", ",") }

func axes(n int) []int {
	a := make([]int, n)
	for i := range a {
		a[i] = i
	}
	return a
}

// indices is the text of the indices of all axes, from those of one in %2; %20 has one of each row in
// a line.
func (p picking) indices() string {
	rows := slices.Clone(p.shape)
	rows[p.axis] = 1
	var b strings.Builder
	var parts []string
	for a := range p.shape {
		if a == p.axis {
			fmt.Fprintf(&b, "  %%%d:s64[%s,1] = reshape %%2\n", 10+a, joined(rows))
		} else {
			fmt.Fprintf(&b, "  %%%d:s32[%s,1] = iota axis=%d\n", 10+a, joined(rows), a)
		}
		parts = append(parts, fmt.Sprintf("%%%d", 10+a))
	}
	n := len(p.shape)
	fmt.Fprintf(&b, "  %%19:s64[%s,%d] = concatenate %s axis=%d\n", joined(rows), n, strings.Join(parts, ", "), n)
	fmt.Fprintf(&b, "  %%20:s64[%d,%d] = reshape %%19\n", rows.Size(), n)
	return b.String()
}

func (p picking) lines() int { return p.shape.Size() / p.shape[p.axis] }

func (p picking) pick() string {
	return fmt.Sprintf("(%%1:%s[%s], %%2:s64[%d]) {\n  %%3:%[1]s[%[2]s] = add %%1, %%1\n%[4]s  %%21:%[1]s[%[3]d] = gather %%3, %%20 axes=[%[5]s]\n  give %%21\n}\n",
		p.typ, joined(p.shape), p.lines(), p.indices(), joined(axes(len(p.shape))))
}

func (p picking) along() string {
	rows := slices.Clone(p.shape)
	rows[p.axis] = 1
	return fmt.Sprintf("(%%1:%s[%s], %%2:s64[%s]) {\n  %%3:%[1]s[%[2]s] = add %%1, %%1\n  %%21:%[1]s[%[3]s] = take_along_axis %%3, %%2 axis=%[4]d\n  give %%21\n}\n",
		p.typ, joined(p.shape), joined(rows), p.axis)
}

// place updates a constant of bf16 in f32, too, as the gradient of a model of bf16 does.
func (p picking) place() string {
	number := map[string]string{"f32": "-0.5", "bf16": "-0.5", "s8": "-3", "s32": "1", "u8": "1"}[p.typ]
	out := map[string]string{"bf16": "f32"}[p.typ]
	if out == "" {
		out = p.typ
	}
	return fmt.Sprintf("(%%1:%s[%d], %%2:s64[%[2]d]) {\n  %%3:%[7]s[%[3]s] = constant %[7]s(%[6]s)\n%[4]s  %%21:%[1]s[%[3]s] = indexed_add %%3, %%20, %%1 axes=[%[5]s]\n  give %%21\n}\n",
		out, p.lines(), joined(p.shape), p.indices(), joined(axes(len(p.shape))), number, p.typ)
}

// total sums the rows of an update of zeros, or of ones, whose sum is another number.
func (p picking) total(number string) string {
	rows := slices.Clone(p.shape)
	rows[p.axis] = 1
	return fmt.Sprintf("(%%1:%s[%d], %%2:s64[%[2]d]) {\n  %%3:%[1]s[%[3]s] = constant %[1]s(%[6]s)\n%[4]s  %%21:%[1]s[%[3]s] = indexed_add %%3, %%20, %%1 axes=[%[5]s]\n  %%22:%[1]s[%[7]s] = sum %%21 axes=[%[8]d] keep_axes=true\n  give %%22\n}\n",
		p.typ, p.lines(), joined(p.shape), p.indices(), joined(axes(len(p.shape))), number, joined(rows), p.axis)
}

// TestCompare: picking and placing one element of each row gives the same bits by comparisons, and the
// same error where an index is out of bounds.
func TestCompare(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 8))
	for range 120 {
		p := draw(rnd)
		for name, text := range map[string]string{"pick": p.pick(), "along": p.along(), "place": p.place(), "total": p.total("0"), "sum": p.total("1")} {
			r := parsed(t, text)
			c := Compare(r)
			if _, err := c.CheckProgram(); err != nil {
				t.Fatalf("%s: %v in\n%s", name, err, notation.Print(c))
			}
			if out := notation.Print(c); notation.Print(r) != text || strings.Contains(out, "gather %3") || strings.Contains(out, "along %3") || strings.Contains(out, "indexed_add") {
				t.Fatalf("%s: the region is\n%sand was\n%s", name, out, notation.Print(r))
			}
			if sums := strings.Contains(notation.Print(c), "= sum"); sums != (name == "sum") {
				t.Errorf("%s: the region is\n%s", name, notation.Print(c))
			}
			for _, beyond := range []bool{false, true} {
				sameElements(t, rnd, name, r, c, p.shape[p.axis], beyond)
			}
		}
	}
}

// sameElements compares the results of a region and of the one that it was rewritten to, for elements of any bits and indices below n,
// or beyond.
func sameElements(t *testing.T, rnd *rand.Rand, name string, r, c *ops.Region, n int, beyond bool) {
	t.Helper()
	x, index := fallback.Value{Type: r.Params[0].Type}, fallback.Value{Type: r.Params[1].Type}
	x.Data, index.Data = make([]byte, x.Type.Bytes()), make([]byte, index.Type.Bytes())
	for i := range x.Data {
		x.Data[i] = byte(rnd.Uint32())
	}
	for i := range index.Type.Size() {
		binary.LittleEndian.PutUint64(index.Data[8*i:], uint64(rnd.IntN(n)))
	}
	if beyond {
		binary.LittleEndian.PutUint64(index.Data, uint64(n))
	}
	want, wantErr := fallback.NewEvaluator(r).Eval(x, index)
	got, err := fallback.NewEvaluator(c).Eval(x, index)
	switch {
	case (wantErr != nil) != beyond || (err != nil) != beyond:
		t.Errorf("%s: the errors are %v and %v", name, wantErr, err)
	case !beyond && !bytes.Equal(got[0].Data, want[0].Data):
		t.Errorf("%s: %x, want %x, in\n%s", name, got[0].Data, want[0].Data, notation.Print(c))
	}
}

// An element of a softmax and its like is computed from that of the logits, which are gathered where they are in memory: no
// comparison waits for the sum of the row.
func TestPickBelow(t *testing.T) {
	const head = "(%1:T[5,7], %2:s64[5,1]) {\n"
	const tail = `  %4:T[5,1] = reduce_max %3 axes=[1] keep_axes=true
  %5:T[5,7] = subtract %3, %4
  %6:T[5,7] = exp %5
  %7:T[5,1] = sum %6 axes=[1] keep_axes=true
  %8:T[5,1] = log %7
  %9:T[5,7] = subtract %5, %8
  %10:T[5,1] = take_along_axis %9, %2 axis=1
`
	rnd := rand.New(rand.NewPCG(9, 8))
	for name, m := range map[string]struct{ body, has, lacks string }{
		"in memory":          {"  %3:T[5,7] = negate %1\n" + tail + "  give %10\n}\n", "take_along_axis %1,", "select"},
		"a view":             {"  %3:T[5,7] = reverse %1 axes=[0,1]\n" + tail + "  give %10\n}\n", "= bitcast %3", "along"},
		"a bias of columns":  {"  %11:T[1,7] = iota axis=1\n  %3:T[5,7] = add %1, %11\n" + tail + "  give %10\n}\n", "= bitcast %3", "along"},
		"two that are views": {"  %11:T[5,7] = reverse %1 axes=[0]\n  %12:T[5,7] = reverse %1 axes=[1]\n  %3:T[5,7] = add %11, %12\n" + tail + "  give %10\n}\n", "= bitcast %3", "along"},
	} {
		for _, typ := range []string{"f32", "bf16", "f16"} {
			r := parsed(t, strings.ReplaceAll(head+m.body, "T", typ))
			c := Compare(r)
			if _, err := c.CheckProgram(); err != nil {
				t.Fatalf("%s: %v in\n%s", name, err, notation.Print(c))
			}
			if out := notation.Print(c); !strings.Contains(out, m.has) || strings.Contains(out, m.lacks) {
				t.Errorf("%s: the region is\n%s", name, out)
			}
			for _, beyond := range []bool{false, true} {
				sameElements(t, rnd, name, r, c, 7, beyond)
			}
		}
	}
}

// TestCompareRefuses: what is in memory is sooner gathered, and several updates of a row are no comparison.
func TestCompareRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"a parameter":      "(%1:f32[3,4], %2:s64[3,1]) {\n  %3:f32[3,1] = take_along_axis %1, %2 axis=1\n  give %3\n}\n",
		"read twice":       "(%1:f32[3,4], %2:s64[3,1]) {\n  %3:f32[3,4] = exp %1\n  %4:f32[3,1] = take_along_axis %3, %2 axis=1\n  give %3, %4\n}\n",
		"several of a row": "(%1:f32[3,4], %2:s64[3,2]) {\n  %3:f32[3,4] = exp %1\n  %4:f32[3,2] = take_along_axis %3, %2 axis=1\n  give %4\n}\n",
		"several updates": `(%1:f32[6], %2:s64[6]) {
  %3:f32[3,4] = constant f32(0)
  %4:s32[3,2,1] = iota axis=0
  %5:s64[3,2,1] = reshape %2
  %6:s64[3,2,2] = concatenate %4, %5 axis=2
  %7:s64[6,2] = reshape %6
  %8:f32[3,4] = indexed_add %3, %7, %1 axes=[0,1]
  give %8
}
`,
		"a target that is no constant": `(%1:f32[3], %2:s64[3], %3:f32[3,4]) {
  %4:s32[3,1] = iota axis=0
  %5:s64[3,1] = reshape %2
  %6:s64[3,2] = concatenate %4, %5 axis=1
  %8:f32[3,4] = indexed_add %3, %6, %1 axes=[0,1]
  give %8
}
`,
		"rows in another order": `(%1:f32[12], %2:s64[12]) {
  %3:f32[4,3,5] = constant f32(0)
  %4:s32[3,4,1] = iota axis=1
  %5:s32[3,4,1] = iota axis=0
  %6:s64[3,4,1] = reshape %2
  %7:s64[3,4,3] = concatenate %4, %5, %6 axis=2
  %8:s64[12,3] = reshape %7
  %9:f32[4,3,5] = indexed_add %3, %8, %1 axes=[0,1,2]
  give %9
}
`,
	} {
		if r := parsed(t, text); Compare(r) != r {
			t.Errorf("%s becomes\n%s", name, notation.Print(Compare(r)))
		}
	}
}
