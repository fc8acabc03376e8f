package kerneltest

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// raceOf runs a kernel in text form in two workgroups, and tells what Run says of it.
func raceOf(t *testing.T, text string, buffers [][]byte) (said string) {
	t.Helper()
	k, err := Parse(text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	defer func() {
		if x := recover(); x != nil {
			said = fmt.Sprint(x)
		}
	}()
	Run(k, buffers, nil, [3]uint32{2, 1, 1})
	return ""
}

// A kernel without one of its barriers, of the workgroup or of a subgroup, has a data race.
func TestMissingBarrier(t *testing.T) {
	for _, name := range []string{"shared_sum.txt", "subgroups.txt"} {
		whole, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		buffers := func() [][]byte {
			return [][]byte{words(128, func(i int) uint32 { return uint32(i) }), make([]byte, 4*128)}
		}
		lines, barriers := strings.Split(string(whole), "\n"), 0
		if said := raceOf(t, string(whole), buffers()); said != "" {
			t.Errorf("%s: %s", name, said)
		}
		for i, line := range lines {
			if !strings.HasSuffix(line, "barrier") {
				continue
			}
			barriers++
			without := strings.Join(append(append([]string(nil), lines[:i]...), lines[i+1:]...), "\n")
			if said := raceOf(t, without, buffers()); !strings.Contains(said, "data race") {
				t.Errorf("%s without line %d, %q: got %q, want a data race", name, i+1, line, said)
			}
		}
		if barriers != 2 {
			t.Errorf("%s has %d barriers, want 2", name, barriers)
		}
	}
}

// Two accesses of an element of a buffer or of a shared array, by two invocations of a workgroup,
// are a race if one is a write, neither a barrier nor a common subgroup orders them, and they
// are neither atomic nor two writes of one number. Here v0 is the invocation, of 4 in subgroups
// of 2, v1 its neighbour, of the other subgroup, v2 the other invocation of its subgroup.
func TestRaces(t *testing.T) {
	const head = `kernel "race" local 4 1 1
subgroups 2
buffer b0 u32 read write
shared s0 u32 4
v0:u32 = local.x
v3:u32 = const 0x2
v4:u32 = const 0x1
v5:u32 = const 0x0
v9:u32 = group.x
v10:u32 = const 0x4
body {
  v1:u32 = xor v0 v3
  v2:u32 = xor v0 v4
  barrier
`
	for body, race := range map[string]bool{
		"store b0 v0 v0\nv6:u32 = load b0 v1\n":                  true,
		"store b0 v0 v0\nv6:u32 = load b0 v2\n":                  true,
		"store b0 v0 v0\nv6:u32 = load b0 v0\n":                  false,
		"store b0 v0 v0\nbarrier\nv6:u32 = load b0 v1\n":         false,
		"store b0 v0 v0\nsubgroupbarrier\nv6:u32 = load b0 v2\n": false,
		"store b0 v0 v0\nsubgroupbarrier\nv6:u32 = load b0 v1\n": true,
		"v6:u32 = load b0 v1\nstore b0 v0 v0\n":                  true,
		"v6:u32 = load b0 v2\nsubgroupbarrier\nstore b0 v0 v0\n": false,
		"v6:u32 = load b0 v5\nbarrier\nstore b0 v5 v4\n":         false, // readers of both subgroups
		"v6:u32 = load b0 v5\nsubgroupbarrier\nstore b0 v5 v4\n": true,
		"store b0 v5 v4\n":                                    false, // one number
		"store b0 v5 v0\n":                                    true,
		"store b0 v0 v0\nstore b0 v2 v0\n":                    true,
		"store b0 v5 v4\nv6:u32 = load b0 v5\n":               true,
		"put s0 v0 v0\nv6:u32 = get s0 v1\n":                  true,
		"put s0 v0 v0\nv6:u32 = get s0 v2\n":                  true,
		"put s0 v0 v0\nbarrier\nv6:u32 = get s0 v1\n":         false,
		"put s0 v0 v0\nsubgroupbarrier\nv6:u32 = get s0 v2\n": false,
		"put s0 v0 v0\nsubgroupbarrier\nv6:u32 = get s0 v1\n": true,
		"put s0 v5 v4\n":                                      false,
		"put s0 v5 v0\n":                                      true,
		"grow s0 v5 v4\n":                                     false, // atomic
		"grow s0 v5 v4\nv6:u32 = get s0 v5\n":                 true,
		"grow s0 v5 v4\nbarrier\nv6:u32 = get s0 v5\n":        false,
		"put s0 v5 v5\ngrow s0 v5 v4\n":                       true,
		"v6:u32 = get s0 v5\ngrow s0 v5 v4\n":                 true,
		"grow s0 v5 v4\nput s0 v5 v4\n":                       true,
		"v6:u32 = get s0 v1\nbarrier\nput s0 v0 v0\n":         false,
		"v7:u32 = mul v9 v10\nv8:u32 = add v7 v0\nstore b0 v8 v0\nv6:u32 = load b0 v8\n": false,
	} {
		said := raceOf(t, head+body+"}\n", [][]byte{make([]byte, 4*8)})
		if got := strings.Contains(said, "data race"); got != race || !got && said != "" {
			t.Errorf("got %q, want a race: %v\n%s", said, race, body)
		}
	}
}

// Buffers that overlap are the same memory, whatever their elements are.
func TestRacesOfOverlappingBuffers(t *testing.T) {
	const text = `kernel "overlap" local 2 1 1
buffer b0 u32 write
buffer b1 u8 read
v0:u32 = local.x
v1:u32 = const %s
body {
  barrier
  store b0 v0 v0
  v2:u32 = %s b1 v1
}
`
	for _, tt := range []struct {
		index, load string
		race        bool
	}{{"0x0", "load", true}, {"0x3", "load", true}, {"0x4", "load", false}, {"0x8", "load", false}, {"0x0", "word", true}, {"0x1", "word", false}} {
		data := make([]byte, 16)
		said := raceOf(t, fmt.Sprintf(text, tt.index, tt.load), [][]byte{data[:8], data[4:]})
		if got := strings.Contains(said, "data race"); got != tt.race || !got && said != "" {
			t.Errorf("%s of %s: got %q, want a race: %v", tt.load, tt.index, said, tt.race)
		}
	}
}

// A barrier that not all invocations reach is an error: the test does not wait for ever.
func TestBarrierThatSomeMiss(t *testing.T) {
	b := kernel.NewBuilder("missed", [3]uint32{4, 1, 1})
	first := b.Compare(scalar.Eq, b.Builtin(kernel.LocalX), b.Int(scalar.U32, 0))
	b.If(first, func() []kernel.Value { return nil }, func() []kernel.Value { b.Barrier(); return nil })
	defer func() {
		if said := fmt.Sprint(recover()); !strings.Contains(said, "3 invocations wait at a barrier") {
			t.Errorf("got %q", said)
		}
	}()
	Run(b.Kernel(), nil, nil, [3]uint32{1, 1, 1})
}
