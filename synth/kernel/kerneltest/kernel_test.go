package kerneltest

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// testdata has kernels in text form; each is read, verified and printed again.
func TestTextRoundTrip(t *testing.T) {
	files, _ := filepath.Glob("testdata/*.txt")
	if len(files) == 0 {
		t.Fatal("no kernels in testdata")
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		k, err := Parse(string(text))
		if err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		again, err := Parse(k.String())
		if err != nil {
			t.Fatalf("%s printed: %v\n%s", f, err, k)
		}
		if again.String() != k.String() {
			t.Errorf("%s: got\n%s\nwant\n%s", f, again, k)
		}
	}
}

func load(t *testing.T, name string) *kernel.Kernel {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	k, err := Parse(string(text))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func words(n int, f func(i int) uint32) []byte {
	b := make([]byte, 4*n)
	for i := range n {
		binary.LittleEndian.PutUint32(b[4*i:], f(i))
	}
	return b
}

// The kernel sums 64 numbers a workgroup through a shared array.
func TestRunBarriers(t *testing.T) {
	k := load(t, "shared_sum.txt")
	in := words(128, func(i int) uint32 { return uint32(i) })
	out := make([]byte, 8)
	Run(k, [][]byte{in, out}, nil, [3]uint32{2, 1, 1})
	for g, want := range []uint32{63 * 64 / 2, 63*64/2 + 64*64} {
		if got := binary.LittleEndian.Uint32(out[4*g:]); got != want {
			t.Errorf("sum of group %d: got %d, want %d", g, got, want)
		}
	}
}

// Invocations count by a ballot, by a sum and in a shared array.
func TestRunSubgroups(t *testing.T) {
	k := load(t, "subgroups.txt")
	in := words(64, func(i int) uint32 { return uint32(i * i / 3) })
	out := make([]byte, 4*64)
	Run(k, [][]byte{in, out}, nil, [3]uint32{1, 1, 1})
	for s := range 2 {
		var odd []uint32
		n := uint32(0)
		for i := range 32 {
			odd = append(odd, n)
			n += binary.LittleEndian.Uint32(in[4*(32*s+i):]) % 2
		}
		for i, before := range odd {
			if got, want := binary.LittleEndian.Uint32(out[4*(32*s+i):]), 100*n+before; got != want {
				t.Errorf("invocation %d of subgroup %d: got %d, want %d", i, s, got, want)
			}
		}
	}
}

// Atomic additions of invocations of any workgroup to one word add up.
func TestAccumulate(t *testing.T) {
	k := load(t, "accumulate.txt")
	in := words(64, func(i int) uint32 { return uint32(i * i % 8) })
	out := make([]byte, 4*8)
	Run(k, [][]byte{in, out}, nil, [3]uint32{4, 1, 1})
	want := make([]uint32, 8)
	for i := range 64 {
		want[i*i%8]++
	}
	for i, n := range want {
		if got := binary.LittleEndian.Uint32(out[4*i:]); got != n {
			t.Errorf("%d occurs %d times, want %d", i, got, n)
		}
	}
}

// The largest of the numbers that invocations of any workgroup raise a word to stays.
func TestRaise(t *testing.T) {
	k := load(t, "raise.txt")
	in := words(64, func(i int) uint32 { return uint32(i * i % 8) })
	out := make([]byte, 4*8)
	Run(k, [][]byte{in, out}, nil, [3]uint32{4, 1, 1})
	want := make([]uint32, 8)
	for i := range 64 {
		want[i*i%8] = uint32(i + 1)
	}
	for i, n := range want {
		if got := binary.LittleEndian.Uint32(out[4*i:]); got != n {
			t.Errorf("%d occurs at %d last, want %d", i, got, n)
		}
	}
}

func TestVerifyRefuses(t *testing.T) {
	for _, tt := range []struct{ name, body, want string }{
		{"use before definition", "v1:u32 = add v1 v0\n", "not defined"},
		{"types", "v1:f32 = add v0 v0\n", "do not fit"},
		{"twice", "v0:u32 = add v0 v0\n", "twice"},
		{"write of what is read", "store b0 v0 v0\n", "not declared"},
		{"sum in what is read", "accumulate b0 v0 v0\n", "cannot grow"},
		{"raising what is read", "raise b0 v0 v0\n", "cannot grow"},
		{"no such buffer", "v1:u32 = load b9 v0\n", "declared"},
		{"diverging barrier", "v1:bool = eq v0 v0\nif v1 {\nbarrier\n} else {\n}\n", "diverge"},
		{"yield of another type", "v1:bool = eq v0 v0\nv2:bool = if v1 {\nyield v1\n} else {\nyield v0\n}\n", "must be bool"},
		{"value of a branch outside", "v1:bool = eq v0 v0\nif v1 {\nv2:u32 = add v0 v0\n} else {\n}\nv3:u32 = add v2 v2\n", "not defined"},
		{"ballot without subgroups", "v1:bool = eq v0 v0\nv2:u32 = ballot v1\n", "has none"},
		{"unknown", "v1:u32 = frobnicate v0\n", "unknown instruction"},
		{"open block", "v1:bool = eq v0 v0\nif v1 {\n", "inside of a block"},
	} {
		text := "kernel \"x\" local 1 1 1\nbuffer b0 u32 read\nv0:u32 = group.x\nbody {\n" + tt.body + "}\n"
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want an error about %q", tt.name, err, tt.want)
		}
	}
}

// A function with a rare path becomes a branch.
func TestInline(t *testing.T) {
	slow := &scalar.Func{Params: []scalar.Type{scalar.U32}, Nodes: []scalar.Node{
		{Op: scalar.Param, Type: scalar.U32}, {Op: scalar.Neg, Type: scalar.U32, Args: []int32{0}}}}
	f := &scalar.Func{Params: []scalar.Type{scalar.U32}, Nodes: []scalar.Node{
		{Op: scalar.Param, Type: scalar.U32},
		{Op: scalar.Const, Type: scalar.U32, Bits: 10},
		{Op: scalar.Lt, Type: scalar.Bool, Args: []int32{0, 1}},
		{Op: scalar.Add, Type: scalar.U32, Args: []int32{0, 1}},
		{Op: scalar.Rare, Type: scalar.U32, Args: []int32{2, 3, 0}, Slow: slow},
	}}
	b := kernel.NewBuilder("inline", [3]uint32{1, 1, 1})
	buf := b.Buffer(kernel.U32, true, true)
	i := b.Builtin(kernel.GroupX)
	b.Store(buf, i, b.Inline(f, b.Load(buf, i, 1)))
	if err := kernel.Verify(b.Kernel()); err != nil {
		t.Fatal(err)
	}
	data := words(2, func(i int) uint32 { return uint32(4 + 20*i) })
	Run(b.Kernel(), [][]byte{data}, nil, [3]uint32{2, 1, 1})
	for i, want := range []uint32{^uint32(3), 34} {
		if got := binary.LittleEndian.Uint32(data[4*i:]); got != want {
			t.Errorf("element %d: got %d, want %d", i, got, want)
		}
	}
}
