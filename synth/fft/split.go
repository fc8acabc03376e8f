package fft

import (
	"math"
	"slices"

	"nxvk/synth/lowering"
)

// A radix with a prime factor that is too large for a stage is a pass, too, where a
// workgroup holds the convolution that gives its transform: of 65,024 = 127·512 points,
// columns of 127 are convolutions of 256 points in shared memory. The convolution of the
// whole line would move more than three times as much.

// splitter divides a length with a large prime factor into radices of passes.
type splitter struct {
	t     *lowering.Target
	whole int // the length
	words int // of a part of an element
	aside bool
	most  int              // the greatest radix, and points of a convolution
	known map[[2]int]split // by length and number
	costs map[int]float64  // of passes
}

// split is the cheapest division of a length into a number of radices, the first of which it
// has.
type split struct {
	cost  float64
	radix int
}

// chirped gives the passes of a length with a large prime factor. There are none where the
// convolution of whole lines in global memory costs less, or where nothing else fits
// workgroups, which hold so many elements of a line.
func chirped(t *lowering.Target, n, words, longest int, aside bool) []fftBlock {
	if size := convolutionLength(t, 2*n-1, words, aside); size <= longest {
		b := stagesOf(t, size, words)
		b.Chirp = n
		return []fftBlock{b}
	}
	least := convolutionCost(t, n, words, aside)
	var best []fftBlock
	s := &splitter{t: t, whole: n, words: words, aside: aside, most: widest(t), known: map[[2]int]split{}, costs: map[int]float64{}}
	for count := 2; count <= 4; count++ {
		if math.IsInf(s.best(n, count).cost, 1) {
			continue
		}
		passes := s.blocks(n, count)
		if cost := costOf(passes, n, words, aside); cost < least {
			best, least = passes, cost
		}
	}
	return best
}

// convolutionCost is the cost of a transform as a convolution of whole lines in global
// memory: there and back, where the first pass reads and the last one writes the line itself.
func convolutionCost(t *lowering.Target, n, words int, aside bool) float64 {
	size := convolutionLength(t, 2*n-1, words, aside)
	longer := float64(size) / float64(n)
	return 2*longer*costOf(Passes(t, size, words, aside), size, words, aside) - longer + 1
}

// best divides a length into so many radices.
func (s *splitter) best(n, count int) split {
	if count == 1 {
		return split{s.cost(n), n}
	}
	key := [2]int{n, count}
	if known, ok := s.known[key]; ok {
		return known
	}
	out := split{cost: math.Inf(1)}
	for r := 2; r <= s.most && r < n; r++ {
		if n%r != 0 {
			continue
		}
		if cost := s.cost(r); cost < out.cost {
			if cost += s.best(n/r, count-1).cost; cost < out.cost {
				out = split{cost, r}
			}
		}
	}
	s.known[key] = out
	return out
}

// cost is the cost of a pass of a radix, which is not the first.
func (s *splitter) cost(r int) float64 {
	cost, ok := s.costs[r]
	if !ok {
		cost = math.Inf(1)
		if r <= s.most {
			if b := s.pass(r); b.radix() <= s.most {
				cost = b.cost(s.whole, s.whole/r, s.words, s.aside)
			}
		}
		s.costs[r] = cost
	}
	return cost
}

// pass is the pass of a radix.
func (s *splitter) pass(r int) fftBlock {
	if factors(r) != nil {
		return stagesOf(s.t, r, s.words)
	}
	b := stagesOf(s.t, convolutionLength(s.t, 2*r-1, s.words, false), s.words)
	b.Chirp = r
	return b
}

// blocks are the passes of the best division: convolutions, which are cheaper without
// twiddles, first, then by radix.
func (s *splitter) blocks(n, count int) (out []fftBlock) {
	for ; count > 0; count-- {
		r := s.best(n, count).radix
		n /= r
		out = append(out, s.pass(r))
	}
	slices.SortFunc(out, func(x, y fftBlock) int {
		if d := min(y.Chirp, 1) - min(x.Chirp, 1); d != 0 {
			return d
		}
		return y.elements() - x.elements()
	})
	return out
}
