package fft

import (
	"math"
	"slices"

	"nxvk/synth/lowering"
)

// A radix with a prime factor that is too large for a stage is a pass, too, where a
// workgroup holds the convolution that gives its transform: of 65,024 = 254·256 points,
// columns of 254 are convolutions of 512 points in shared memory. The convolution of the
// whole line would move more than three times as much.

// workCost is the cost of a radix-2 butterfly of an element, in units of a pass that reads
// and writes as many elements as a line has.
const workCost = 1.0 / 24

// splitter divides a length with a large prime factor into radices of passes.
type splitter struct {
	t      *lowering.Target
	words  int              // of a part of an element
	smooth int              // the greatest radix that is no convolution
	most   int              // points of a convolution
	known  map[[2]int]split // by length and number
	costs  map[int]float64  // of passes
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
	for count := 2; count <= 4; count++ {
		s := &splitter{t: t, words: words, smooth: passRadix, most: widest(t), known: map[[2]int]split{}, costs: map[int]float64{}}
		if count == 2 {
			s.smooth = widest(t)
		}
		if cost := s.best(n, count).cost; cost < least {
			best, least = s.blocks(n, count), cost
		}
	}
	return best
}

// convolutionCost is the cost of a transform as a convolution of whole lines in global
// memory: there and back, where the first pass reads and the last one writes the line itself.
func convolutionCost(t *lowering.Target, n, words int, aside bool) float64 {
	size := convolutionLength(t, 2*n-1, words, aside)
	passes, longer := float64(len(Passes(t, size, words, aside))), float64(size)/float64(n)
	return 2*passes*longer - longer + 1 + 2*longer*math.Log2(float64(size))*workCost
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
	for r := 2; r <= max(s.smooth, s.most/2) && r < n; r++ {
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

// cost is the cost of a pass of a radix.
func (s *splitter) cost(r int) float64 {
	cost, ok := s.costs[r]
	if !ok {
		cost = math.Inf(1)
		if factors(r) == nil {
			if size := s.size(r); size <= s.most {
				cost = 1 + 2*float64(size)/float64(r)*math.Log2(float64(size))*workCost
			}
		} else if r <= s.smooth {
			cost = 1 + math.Log2(float64(r))*workCost
		}
		s.costs[r] = cost
	}
	return cost
}

// size is the length of the transforms of the convolution of a radix.
func (s *splitter) size(r int) int { return convolutionLength(s.t, 2*r-1, s.words, false) }

// blocks are the passes of the best division: convolutions, which are cheaper without
// twiddles, first, then by radix.
func (s *splitter) blocks(n, count int) (out []fftBlock) {
	for ; count > 0; count-- {
		r := s.best(n, count).radix
		n /= r
		if factors(r) != nil {
			out = append(out, stagesOf(s.t, r, s.words))
			continue
		}
		b := stagesOf(s.t, s.size(r), s.words)
		b.Chirp = r
		out = append(out, b)
	}
	slices.SortFunc(out, func(x, y fftBlock) int {
		if d := min(y.Chirp, 1) - min(x.Chirp, 1); d != 0 {
			return d
		}
		return y.elements() - x.elements()
	})
	return out
}
