package nuts

import "testing"

// TestCalls: the dearer a call, the fewer there are, and the more steps are in vain;
// where a call costs nothing, no step is taken that may be lost.
func TestCalls(t *testing.T) {
	const dim, draws = 20, 2000
	o := Options{Draws: draws, Seed: 3, Step: 0.3, Fixed: true, MaxDepth: 6}
	for _, c := range []struct {
		cost, calls, vain float64 // bounds of what a draw takes
	}{{0, 4, 0.5}, {16, 1.2, 5}, {1000, 1.05, 20}} {
		d := &density{f: normals(make([]float64, dim), ones(dim)), ahead: 1 << 10, cost: c.cost}
		steps := 0
		for _, draw := range sample(t, d, dim, o) {
			steps += draw.Steps
		}
		calls, vain := float64(d.calls)/draws, float64(d.count-steps)/draws
		t.Logf("calls of %v: %.2f a draw, %.2f steps, %.2f in vain", c.cost, calls, float64(steps)/draws, vain)
		if calls > c.calls || vain > c.vain {
			t.Errorf("calls of %v: %v a draw, %v steps in vain, want at most %v and %v", c.cost, calls, vain, c.calls, c.vain)
		}
	}
}

func ones(n int) []float64 {
	xs := make([]float64, n)
	for i := range xs {
		xs[i] = 1
	}
	return xs
}

// TestStepsAreTakenUpToRecentDepths: a call asks for steps up to the depth of recent
// trajectories, if the steps cost less than another call.
func TestStepsAreTakenUpToRecentDepths(t *testing.T) {
	for _, c := range []struct {
		name   string
		depths []int // of trajectories, again and again
		begun  int   // doublings
		cost   float64
		want   int
	}{
		{"nothing is known", nil, 0, 16, 3},
		{"nothing is known, and a call is cheap", nil, 0, 0, 1},
		{"always three", []int{3}, 0, 16, 3},
		{"always three, and it begins a fourth", []int{3}, 3, 16, 4},
		{"three or four", []int{3, 4}, 0, 16, 4},
		{"three or four, and a call is cheap", []int{3, 4}, 0, 4, 3},
		{"always nine", []int{9}, 0, 16, 9},
		{"always nine, which is too deep", []int{9}, 0, 16, 5},
	} {
		most := 10
		if c.name == "always nine, which is too deep" {
			most = 5
		}
		r := newDepthPredictor()
		for i := range 200 {
			if c.depths != nil {
				r.learn(c.depths[i%len(c.depths)])
			}
		}
		if got := r.depth(c.begun, most, c.cost); got != c.want {
			t.Errorf("%s: up to depth %d, want %d", c.name, got, c.want)
		}
	}
}
