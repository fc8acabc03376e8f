package loop

import (
	"slices"
	"testing"
)

// tracesOf cuts a stream of signatures.
func tracesOf(r *Detector, signatures []uint32) (out [][]uint32) {
	from := 0
	for i, f := range signatures {
		if r.Cuts(f) {
			out = append(out, signatures[from:i])
			from = i
		}
		r.Step(f)
	}
	return append(out, signatures[from:])
}

// rounds is a loop, entered somewhere, for n instructions.
func rounds(body []uint32, at, n int) (out []uint32) {
	for i := range n {
		out = append(out, body[(at+i)%len(body)])
	}
	return out
}

// upTo is the signatures 11, 12, ... 10+n.
func upTo(n int) (body []uint32) {
	for i := range n {
		body = append(body, uint32(11+i))
	}
	return body
}

// A loop is cut in the same places wherever it is entered, and every few rounds
// where it is short.
func TestDetectorFindsLoops(t *testing.T) {
	repeats := append(upTo(20), upTo(20)...)
	repeats = append(repeats, 5, 6)
	for name, c := range map[string]struct {
		body []uint32
		want int // the length of traces
	}{
		"one": {upTo(1), 32}, "few": {upTo(10), 40}, "many": {upTo(70), 70}, "repeats": {repeats, 42},
		"twins": {[]uint32{1, 1, 2, 2}, 32},
	} {
		t.Run(name, func(t *testing.T) {
			var first []uint32
			for at := range len(c.body) {
				traces := tracesOf(&Detector{}, rounds(c.body, at, 1000))
				for _, s := range traces[2 : len(traces)-1] {
					if len(s) != c.want {
						t.Fatalf("entered at %d: a trace of %d instructions, want %d", at, len(s), c.want)
					}
					if first == nil {
						first = s
					}
					if !slices.Equal(first, s) {
						t.Fatalf("entered at %d: trace %v, want %v", at, s, first)
					}
				}
			}
		})
	}
}

// A loop is found again after something else, and a reset forgets it.
func TestDetectorFindsAgain(t *testing.T) {
	r := &Detector{}
	body := upTo(50)
	want := tracesOf(r, rounds(body, 0, 500))[3]
	if !r.Looping() {
		t.Fatal("no loop was found")
	}
	tracesOf(r, []uint32{900, 901})
	if r.Looping() {
		t.Error("something else is taken for the loop")
	}
	traces := tracesOf(r, rounds(body, 17, 500))
	if s := traces[len(traces)-2]; !slices.Equal(s, want) {
		t.Errorf("trace %v, want %v", s, want)
	}
	if r.Reset(); r.Looping() || r.Cuts(11) {
		t.Error("a reset remembers")
	}
}

// Traces without a loop have a length; so have those of loops that are longer.
func TestDetectorBoundsLength(t *testing.T) {
	for name, signatures := range map[string][]uint32{"no loop": upTo(2000), "a long one": rounds(upTo(800), 0, 8000)} {
		r := &Detector{}
		traces := tracesOf(r, signatures)
		seen := map[int]int{}
		for _, s := range traces {
			if len(s) > longest {
				t.Errorf("%s: a trace of %d instructions", name, len(s))
			}
			seen[len(s)]++
		}
		if name == "a long one" && seen[800-longest] < 5 {
			t.Errorf("lengths of traces: %v; the loop has %d", seen, 800)
		}
	}
}
