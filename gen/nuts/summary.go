package nuts

import (
	"math"
	"slices"
)

// Summary is what chains say of one parameter: moments, quantiles, and whether the chains
// have mixed. R-hat is the rank-normalised split one, and the effective sizes of the bulk
// and of the tail as Vehtari, Gelman, Simpson, Carpenter and Bürkner (2021) define them.
// A number that the draws do not determine is NaN: if they are constant, not finite, or
// fewer than six a chain.
type Summary struct {
	Mean, SD, Error    float64 // Error is the Monte-Carlo standard error of the mean
	Q05, Median, Q95   float64
	Bulk, Tail, Centre float64 // effective sample sizes: of the ranks, the quantiles, the mean
	Rhat               float64
}

// Summarize gives the summary of chains, which have equally many draws.
func Summarize(chains [][]float64) Summary {
	all := slices.Concat(chains...)
	s := Summary{Mean: mean(all), SD: math.Sqrt(variance(all))}
	nan := math.NaN()
	s.Error, s.Bulk, s.Tail, s.Centre, s.Rhat = nan, nan, nan, nan, nan
	if !allFinite(all) {
		s.Q05, s.Median, s.Q95 = nan, nan, nan
		return s
	}
	slices.Sort(all)
	s.Q05, s.Median, s.Q95 = quantile(all, 0.05), quantile(all, 0.5), quantile(all, 0.95)
	half := len(chains[0]) / 2
	if half < 3 || all[0] == all[len(all)-1] {
		return s
	}
	var halves [][]float64
	for _, c := range chains {
		halves = append(halves, c[:half], c[len(c)-half:]) // an odd number's middle one is in neither
	}
	s.Centre = effective(halves)
	s.Error = s.SD / math.Sqrt(s.Centre)
	bulk, tails := ranked(halves, s.Median)
	s.Bulk = effective(bulk)
	s.Tail = smaller(effective(below(halves, s.Q05)), effective(below(halves, s.Q95)))
	s.Rhat = larger(rhat(bulk), rhat(tails))
	return s
}

// smaller and larger compare two numbers; either may be missing.
func smaller(a, b float64) float64 {
	if math.IsNaN(a) || b < a {
		return b
	}
	return a
}

func larger(a, b float64) float64 {
	if math.IsNaN(b) || a > b {
		return a
	}
	return b
}

// below is 1 where a draw is at most a bound, and 0 elsewhere.
func below(chains [][]float64, bound float64) [][]float64 {
	out := make([][]float64, len(chains))
	for i, c := range chains {
		out[i] = make([]float64, len(c))
		for k, x := range c {
			if x <= bound {
				out[i][k] = 1
			}
		}
	}
	return out
}

// rankedDraw is a draw, and which of all it is.
type rankedDraw struct {
	x  float64
	at int
}

// ranked gives the normal scores of the ranks of draws, and of their distances from a
// centre.
func ranked(chains [][]float64, centre float64) (scores, distances [][]float64) {
	n := len(chains[0])
	list := make([]rankedDraw, 0, n*len(chains))
	for i, c := range chains {
		for k, x := range c {
			list = append(list, rankedDraw{x, i*n + k})
		}
	}
	slices.SortFunc(list, func(a, b rankedDraw) int { return order(a.x, b.x) })
	table := make([]float64, len(list)) // symmetric, and of an even length
	for i := range len(table) / 2 {
		z := score(float64(i+1), len(list))
		table[i], table[len(table)-1-i] = z, -z
	}
	scores = scored(list, table, n)
	// By distance the draws below the centre come in the opposite order.
	from := make([]rankedDraw, 0, len(list))
	up, _ := slices.BinarySearchFunc(list, centre, func(r rankedDraw, x float64) int { return order(r.x, x) })
	for down := up - 1; len(from) < len(list); {
		if up == len(list) || down >= 0 && centre-list[down].x < list[up].x-centre {
			from = append(from, rankedDraw{centre - list[down].x, list[down].at})
			down--
		} else {
			from = append(from, rankedDraw{list[up].x - centre, list[up].at})
			up++
		}
	}
	return scores, scored(from, table, n)
}

// order compares two numbers, neither of which is NaN.
func order(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// score is the normal score of a rank (Blom, 1958).
func score(rank float64, count int) float64 {
	return math.Sqrt2 * math.Erfinv(2*(rank-0.375)/(float64(count)+0.25)-1)
}

// scored gives each draw of a sorted list the score of its rank, and equal ones that of
// the mean of theirs, in chains of n.
func scored(list []rankedDraw, table []float64, n int) [][]float64 {
	flat := make([]float64, len(list))
	for i := 0; i < len(list); {
		end := i + 1
		for end < len(list) && list[end].x == list[i].x {
			end++
		}
		z := table[i]
		if end > i+1 {
			z = score(float64(i+1+end)/2, len(list))
		}
		for ; i < end; i++ {
			flat[list[i].at] = z
		}
	}
	return slices.Collect(slices.Chunk(flat, n))
}

// rhat compares the variance between chains with that within; NaN where there is none.
func rhat(chains [][]float64) float64 {
	n := float64(len(chains[0]))
	means, within := make([]float64, len(chains)), 0.0
	for i, c := range chains {
		means[i] = mean(c)
		within += variance(c) / float64(len(chains))
	}
	if !(within > 0) {
		return math.NaN()
	}
	return math.Sqrt(((n-1)/n*within + variance(means)) / within)
}

// effective is how many independent draws estimate the mean as well as these; NaN where
// they do not vary.
func effective(chains [][]float64) float64 {
	n, size := len(chains[0]), float64(len(chains)*len(chains[0]))
	means := make([]float64, len(chains))
	for i, c := range chains {
		means[i] = mean(c)
	}
	covariance := newCovariances(chains, means)
	within := covariance.at(0) * float64(n) / float64(n-1)
	total := covariance.at(0) + variance(means)
	if !(total > 0) {
		return math.NaN()
	}
	rho := func(t int) float64 { return 1 - (within-covariance.at(t))/total }
	return size / max(correlationTime(rho, n), 1/math.Log10(size))
}

// correlationTime is the sum of autocorrelations: of pairs as long as those are positive,
// none larger than the one before (Geyer, 1992); what follows the last adds half as much.
func correlationTime(rho func(t int) float64, n int) float64 {
	sum, last := 0.0, math.Inf(1)
	even, odd := 1.0, rho(1) // the first pair counts whatever it is
	t := 0
	for ; t < n-5 && even+odd > 0; t += 2 {
		last = min(last, even+odd)
		sum += last
		even, odd = rho(t+2), rho(t+3)
	}
	return -1 + 2*sum + max(even, 0)
}

func mean(xs []float64) float64 {
	s := 0.0
	for _, x := range xs {
		s += x
	}
	return s / float64(len(xs))
}

// variance is that of a sample; 0 of one number.
func variance(xs []float64) float64 {
	if len(xs) == 1 {
		return 0
	}
	m, s := mean(xs), 0.0
	for _, x := range xs {
		s += (x - m) * (x - m)
	}
	return s / float64(len(xs)-1)
}

// quantile lies between the two nearest draws of a sorted list.
func quantile(sorted []float64, p float64) float64 {
	at := p * float64(len(sorted)-1)
	low := int(at)
	if low+1 == len(sorted) {
		return sorted[low]
	}
	return sorted[low] + (at-float64(low))*(sorted[low+1]-sorted[low])
}
