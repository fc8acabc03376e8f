package ops

import (
	"os"
	"strings"
	"testing"
)

// TestMerge has a case for each rule of Nx.Type.merge/2.
func TestMerge(t *testing.T) {
	for _, c := range []struct{ a, b, want DType }{
		{U8, U16, U16}, {S64, S8, S64}, {F32, F16, F32}, {C64, C128, C128},
		{U8, S8, S16}, {S8, U8, S16}, {U8, S32, S32}, {U64, S8, S64}, {U32, S32, S64}, {U2, S2, S4}, {U4, S2, S8},
		{U64, F16, F16}, {S64, BF16, BF16}, {S64, F8, F8}, {U8, C64, C64},
		{BF16, F16, F16}, {F16, BF16, F16}, {BF16, F32, F32}, {BF16, F8, F8},
		{F64, C64, C128}, {C64, F64, C128}, {F32, C64, C64}, {F16, C128, C128},
		{S8, F8E4M3, F8E4M3}, {C64, F8E4M3, C64},
	} {
		if got := Merge(c.a, c.b); got != c.want {
			t.Errorf("Merge(%v, %v) = %v, want %v", c.a, c.b, got, c.want)
		}
	}
}

// TestMergeOfNx compares all pairs with testdata/merge.txt: a line a type, then
// what Nx.Type.merge/2 makes of it with each type, in the order of DTypes.
func TestMergeOfNx(t *testing.T) {
	text, err := os.ReadFile("testdata/merge.txt")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if len(lines) != len(DTypes()) {
		t.Fatalf("%d lines for %d types", len(lines), len(DTypes()))
	}
	for i, a := range DTypes() {
		names := strings.Fields(lines[i])
		if names[0] != a.String() {
			t.Fatalf("line %d is of %s, want %v", i+1, names[0], a)
		}
		for j, b := range DTypes() {
			if got := Merge(a, b).String(); got != names[j+1] {
				t.Errorf("Merge(%v, %v) = %s, want %s", a, b, got, names[j+1])
			}
		}
	}
}

func TestDTypes(t *testing.T) {
	if n := len(DTypes()); n != 20 {
		t.Errorf("%d types, want 20", n)
	}
	for _, d := range DTypes() {
		if got, err := ParseDType(d.String()); err != nil || got != d {
			t.Errorf("ParseDType(%q) = %v, %v", d, got, err)
		}
		if Merge(d, d) != d {
			t.Errorf("Merge(%v, %v) = %v", d, d, Merge(d, d))
		}
		if w := d.Wide(); w.Class() != d.Class() || w.Bits() < 32 {
			t.Errorf("%v computes in %v", d, w)
		}
		if d.Size()*8 < d.Bits() {
			t.Errorf("%v has %d bits in %d bytes", d, d.Bits(), d.Size())
		}
	}
	for _, bad := range []string{"", "f128", "invalid", "F32"} {
		if _, err := ParseDType(bad); err == nil {
			t.Errorf("ParseDType(%q) is accepted", bad)
		}
	}
}
