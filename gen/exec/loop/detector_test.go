package loop

import (
	"slices"
	"testing"
)

// segmentsOf cuts a stream of forms.
func segmentsOf(r *Detector, forms []uint32) (out [][]uint32) {
	from := 0
	for i, f := range forms {
		if r.Cuts(f) {
			out = append(out, forms[from:i])
			from = i
		}
		r.Step(f)
	}
	return append(out, forms[from:])
}

// rounds is a loop, entered somewhere, for n instructions.
func rounds(body []uint32, at, n int) (out []uint32) {
	for i := range n {
		out = append(out, body[(at+i)%len(body)])
	}
	return out
}

// upTo is the forms 11, 12, ... 10+n.
func upTo(n int) (body []uint32) {
	for i := range n {
		body = append(body, uint32(11+i))
	}
	return body
}

// A loop is cut in the same places wherever it is entered, and every few rounds
// where it is short.
func TestRhythmOfLoops(t *testing.T) {
	repeats := append(upTo(20), upTo(20)...)
	repeats = append(repeats, 5, 6)
	for name, c := range map[string]struct {
		body []uint32
		want int // the length of segments
	}{
		"one": {upTo(1), 32}, "few": {upTo(10), 40}, "many": {upTo(70), 70}, "repeats": {repeats, 42},
		"twins": {[]uint32{1, 1, 2, 2}, 32},
	} {
		t.Run(name, func(t *testing.T) {
			var first []uint32
			for at := range len(c.body) {
				segments := segmentsOf(&Detector{}, rounds(c.body, at, 1000))
				for _, s := range segments[2 : len(segments)-1] {
					if len(s) != c.want {
						t.Fatalf("entered at %d: a segment of %d instructions, want %d", at, len(s), c.want)
					}
					if first == nil {
						first = s
					}
					if !slices.Equal(first, s) {
						t.Fatalf("entered at %d: segment %v, want %v", at, s, first)
					}
				}
			}
		})
	}
}

// A loop is found again after something else, and a reset forgets it.
func TestRhythmFindsAgain(t *testing.T) {
	r := &Detector{}
	body := upTo(50)
	want := segmentsOf(r, rounds(body, 0, 500))[3]
	if !r.Looping() {
		t.Fatal("no loop was found")
	}
	segmentsOf(r, []uint32{900, 901})
	if r.Looping() {
		t.Error("something else is taken for the loop")
	}
	segments := segmentsOf(r, rounds(body, 17, 500))
	if s := segments[len(segments)-2]; !slices.Equal(s, want) {
		t.Errorf("segment %v, want %v", s, want)
	}
	if r.Reset(); r.Looping() || r.Cuts(11) {
		t.Error("a reset remembers")
	}
}

// Segments without a loop have a length; so have those of loops that are longer.
func TestRhythmLength(t *testing.T) {
	for name, forms := range map[string][]uint32{"no loop": upTo(2000), "a long one": rounds(upTo(800), 0, 8000)} {
		r := &Detector{}
		segments := segmentsOf(r, forms)
		seen := map[int]int{}
		for _, s := range segments {
			if len(s) > longest {
				t.Errorf("%s: a segment of %d instructions", name, len(s))
			}
			seen[len(s)]++
		}
		if name == "a long one" && seen[800-longest] < 5 {
			t.Errorf("lengths of segments: %v; the loop has %d", seen, 800)
		}
	}
}
