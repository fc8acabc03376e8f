package graph

import (
	"testing"

	"nxvk/ops"
	"nxvk/synth/graph/notation"
)

// halves is what Nx.Random does with its bits.
const halves = `(%1:u32[6], %2:u32, %3:u32[12]) {
  %4:u32[6] = add %1, %2
  %5:u32[6] = bitwise_xor %1, %2
  %6:u32[12] = concatenate %4, %5 axis=0
  %7:u32[4,3] = reshape %6
  %8:u32[4,3] = right_shift %7, u32(9)
  %9:u32[4,3] = bitwise_or %8, u32(1065353216)
  %10:f32[4,3] = bitcast %9
  %11:f32[4,3] = subtract %10, f32(1)
  give %11
}
`

func TestSink(t *testing.T) {
	for _, c := range []struct {
		name, text string
		body       int  // instructions afterwards
		last       bool // the concatenation is the last
	}{
		{"halves", halves, 2 + 2*5 + 1, true},
		{"read twice", `(%1:f32[2]) {
  %2:f32[2] = exp %1
  %3:f32[2] = negate %1
  %4:f32[4] = concatenate %2, %3 axis=0
  %5:f32[4] = exp %4
  %6:f32[4] = add %5, %4
  give %6
}
`, 5, false},
		{"another tensor", `(%1:f32[2], %2:f32[4]) {
  %3:f32[2] = exp %1
  %4:f32[2] = negate %1
  %5:f32[4] = concatenate %3, %4 axis=0
  %6:f32[4] = add %5, %2
  give %6
}
`, 4, false},
		{"parts that are there", `(%1:f32[2], %2:f32[2]) {
  %3:f32[4] = concatenate %1, %2 axis=0
  %4:f32[4] = exp %3
  give %4
}
`, 2, false},
		{"rows that no part fills", `(%1:f32[2], %2:f32[4]) {
  %3:f32[2] = exp %1
  %4:f32[4] = exp %2
  %5:f32[6] = concatenate %3, %4 axis=0
  %6:f32[2,3] = reshape %5
  give %6
}
`, 4, false},
		{"not one behind the other", `(%1:f32[2,2]) {
  %2:f32[2,2] = exp %1
  %3:f32[2,2] = negate %1
  %4:f32[2,4] = concatenate %2, %3 axis=1
  %5:f32[2,4] = exp %4
  give %5
}
`, 4, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := parsed(t, c.text)
			s := Sink(r)
			if _, err := s.CheckProgram(); err != nil {
				t.Fatalf("%v in\n%s", err, notation.Print(s))
			}
			if notation.Print(r) != c.text {
				t.Errorf("the region that was given is another one:\n%s", notation.Print(r))
			}
			if last := s.Body[len(s.Body)-1].Op == ops.Concatenate; len(s.Body) != c.body || last != c.last {
				t.Errorf("%d instructions, want %d, in\n%s", len(s.Body), c.body, notation.Print(s))
			}
			same(t, r, s)
		})
	}
}
