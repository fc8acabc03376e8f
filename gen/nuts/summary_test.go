package nuts

import (
	"math"
	"math/rand/v2"
	"testing"
)

// autoregressions are chains x' = phi x + noise.
func autoregressions(chains, n int, phi float64, seed uint64) [][]float64 {
	random := rand.New(rand.NewPCG(seed, 7))
	out := make([][]float64, chains)
	for i := range out {
		x := 0.0
		for range n {
			x = phi*x + random.NormFloat64()
			out[i] = append(out[i], x)
		}
	}
	return out
}

// TestCovariances: a Fourier transform gives what sums of products give, also of chains
// whose length is no power of two.
func TestCovariances(t *testing.T) {
	for _, n := range []int{6, 100, 128, 999} {
		chains := autoregressions(3, n, 0.9, 1)
		means := make([]float64, len(chains))
		for i, c := range chains {
			means[i] = mean(c)
		}
		one, many := newCovariances(chains, means), newCovariances(chains, means)
		many.all()
		for lag := range min(n, shortLags) {
			if a, b := one.at(lag), many.at(lag); math.Abs(a-b) > 1e-12*many.at(0) {
				t.Errorf("%d draws, lag %d: %v and %v", n, lag, a, b)
			}
		}
	}
}

// TestEffective: draws of an autoregression are worth what is known.
func TestEffective(t *testing.T) {
	for _, phi := range []float64{-0.5, 0, 0.5, 0.9, 0.99} {
		s := Summarize(autoregressions(8, 20_000, phi, 3))
		want := 160_000 * (1 - phi) / (1 + phi)
		for name, got := range map[string]float64{"centre": s.Centre, "bulk": s.Bulk} {
			if math.Abs(got/want-1) > 0.2 {
				t.Errorf("phi %v: %s is worth %v, want %v", phi, name, got, want)
			}
		}
		if !(s.Rhat < 1.02) || math.Abs(s.SD-1/math.Sqrt(1-phi*phi))*(1-math.Abs(phi)) > 0.05 {
			t.Errorf("phi %v: %+v", phi, s)
		}
	}
}

// TestScored: equal draws have the score of their mean rank, also by distance.
func TestScored(t *testing.T) {
	scores, distances := ranked([][]float64{{3, 1, 2}, {2, 5, -1}}, 2)
	z := func(rank float64) float64 { return score(rank, 6) }
	for i, want := range [][]float64{{z(5), z(2), z(3.5)}, {z(3.5), z(6), z(1)}} {
		for k := range want {
			if scores[i][k] != want[k] {
				t.Errorf("score %d of chain %d is %v, want %v", k, i, scores[i][k], want[k])
			}
		}
	}
	for i, want := range [][]float64{{z(3.5), z(3.5), z(1.5)}, {z(1.5), z(5.5), z(5.5)}} {
		for k := range want {
			if distances[i][k] != want[k] {
				t.Errorf("score of distance %d of chain %d is %v, want %v", k, i, distances[i][k], want[k])
			}
		}
	}
}

// TestSummaryNone: what cannot be told is NaN.
func TestSummaryNone(t *testing.T) {
	for name, chains := range map[string][][]float64{
		"constant": {{1, 1, 1, 1, 1, 1}}, "few": {{1, 2, 3, 4, 5}}, "infinite": {{1, 2, math.Inf(1), 3, 4, 5}}, "none": {{1, 2, math.NaN(), 3, 4, 5}},
	} {
		s := Summarize(chains)
		for _, x := range []float64{s.Bulk, s.Tail, s.Centre, s.Rhat, s.Error} {
			if !math.IsNaN(x) {
				t.Errorf("%s: %+v", name, s)
				break
			}
		}
	}
}

func BenchmarkSummarize(b *testing.B) {
	for _, phi := range []float64{0, 0.9, 0.999} {
		chains := autoregressions(256, 1000, phi, 1)
		b.Run("", func(b *testing.B) {
			for b.Loop() {
				Summarize(chains)
			}
		})
	}
}
