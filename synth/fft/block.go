package fft

import (
	"slices"

	"nxvk/synth/lowering"
	"nxvk/synth/strided"
)

// fftBlock is how a workgroup carries out a pass of a large radix: stages of small
// radices, which are passes of Stockham's algorithm in shared memory. The radix
// elements of a transform are a column; a workgroup has a few columns side by
// side, so that it reads and writes runs of neighbours.
//
// Where Chirp is not 0, a column has that many elements, and the stages are those of the
// transforms of the convolution that gives its transform.
type fftBlock struct {
	Stages  []int
	Chirp   int
	Columns int
	Threads int  // of a column, each with the elements of one or a few small transforms
	Joint   bool // real and imaginary parts are exchanged at once, not one after the other
}

// radix is the number of elements that the stages transform.
func (b *fftBlock) radix() int { return strided.Product(b.Stages) }

// elements is the number of elements of a column, which is the radix of the pass.
func (b *fftBlock) elements() int {
	if b.Chirp > 0 {
		return b.Chirp
	}
	return b.radix()
}

// The limits of passes and blocks on GPUs. A block of 4,096 words exchanges real
// and imaginary parts one after the other through 18 KiB of shared memory, a smaller one
// both at once.
const (
	blockRadix   = 16 // of a stage, unless a prime factor is greater
	BlockWords   = 4096
	jointWords   = BlockWords * 9 / 8
	lineWords    = 8192 // of a block that is one line
	BlockThreads = 512
	leastColumns = 4   // that lie side by side
	leastWords   = 8   // side by side
	passRadix    = 512 // whose runs of columns cost no more than longer ones
	leastBlock   = 12  // lengths below, and primes, are the work of an invocation
	shortBlock   = 32  // below, invocations are more and have less
	shortRadix   = 9   // of a stage of such a block
)

// sharedBytes is the shared memory of a block of so many words, with the gaps of its
// layouts.
func sharedBytes(words int) int { return 4 * (words + words/8 + banks) }

// primes are the factors that passes have.
var primes = []int{31, 29, 23, 19, 17, 13, 11, 7, 5, 3, 2}

// factors are the prime factors of n, greatest first, or nothing where one is too
// large for a pass.
func factors(n int) []int {
	var out []int
	for _, p := range primes {
		for n%p == 0 {
			out, n = append(out, p), n/p
		}
	}
	if n > 1 {
		return nil
	}
	return out
}

// dealt deals factors out to so many products, as equal as it gets, greatest
// first, or gives nothing where one of them is above the limit.
func dealt(factors []int, products, limit int) []int {
	out := make([]int, products)
	for i := range out {
		out[i] = 1
	}
	for _, f := range factors {
		least := 0
		for i, p := range out {
			if p < out[least] {
				least = i
			}
		}
		out[least] *= f
		if out[least] > limit {
			return nil
		}
	}
	slices.Sort(out)
	slices.Reverse(out)
	return out
}

// fewest deals factors out to as few products as the limit allows.
func fewest(factors []int, limit int) []int {
	for n := 1; ; n++ {
		if out := dealt(factors, n, limit); out != nil {
			return out
		}
	}
}

// Passes are the radices of the passes of a length, and their blocks; the block
// of a small radix has one stage. There are none where a prime factor is too
// large, also for a convolution in a workgroup. Where lines lie side by side, a block
// has some of them, so that it reads and writes neighbours.
//
// A long line is divided into radices of at most passRadix, or into one or two greater
// ones where those cost less.
func Passes(t *lowering.Target, n, words int, aside bool) []fftBlock {
	longest := widest(t)
	if !aside {
		longest = mostWords(t) / words
	}
	f := factors(n)
	switch {
	case t.CPU || t.SharedMemory < sharedBytes(BlockWords) || t.MaxInvocations < BlockThreads || n < leastBlock || len(f) == 1:
		var out []fftBlock
		for _, r := range radices(t, n) {
			out = append(out, fftBlock{Stages: []int{r}})
		}
		return out
	case f == nil:
		return chirped(t, n, words, longest, aside)
	case n <= longest && (!aside || n <= passRadix):
		return blocks(t, []int{n}, words)
	}
	best := blocks(t, fewest(f, passRadix), words)
	for count, limit := range []int{longest, widest(t)} {
		if radices := dealt(f, count+1, limit); radices != nil {
			best = cheaper(best, blocks(t, radices, words), n, words, aside)
		}
	}
	return best
}

// mostWords are the words of the largest block.
func mostWords(t *lowering.Target) int {
	if t.SharedMemory >= sharedBytes(lineWords) {
		return lineWords
	}
	return BlockWords
}

// widest is the greatest radix of a pass whose columns lie side by side.
func widest(t *lowering.Target) int { return 2 * mostWords(t) / leastWords }

// blocks are the passes of radices.
func blocks(t *lowering.Target, radices []int, words int) []fftBlock {
	out := make([]fftBlock, len(radices))
	for i, r := range radices {
		out[i] = stagesOf(t, r, words)
	}
	return out
}

// stagesOf deals a radix out to stages, threads and columns. Blocks are large where small ones
// would have too few columns.
func stagesOf(t *lowering.Target, r, words int) (b fftBlock) {
	limit := BlockWords / words
	if 2*words*(limit/r) < leastWords {
		limit = mostWords(t) / words
	}
	f := factors(r)
	radix := max(blockRadix, f[0])
	if r < shortBlock {
		radix = max(shortRadix, f[0])
	}
	b.Stages = fewest(f, radix)
	if len(b.Stages) > 1 {
		b.Threads, _ = b.threads()
		b.Columns = sectors(max(1, min(limit/r, BlockThreads/b.Threads)), words)
	}
	return b
}

// threads is the number of invocations of a column. It is the number of transforms of a
// stage, or a part of it if that is too many: the choice that leaves the fewest
// invocations idle over all stages. The work of all invocations, idle ones included, is so
// many times that of the stages.
func (b *fftBlock) threads() (threads int, work float64) {
	n, best, least := b.radix(), 0, 0.0
	for _, by := range b.Stages {
		t := n / by
		for t > BlockThreads {
			t = (t + 1) / 2
		}
		cost, held := 0.0, 0
		for _, radix := range b.Stages {
			rounds := (n/radix + t - 1) / t
			cost += float64(rounds * t * radix)
			held = max(held, rounds*radix)
		}
		if held > blockRadix {
			cost *= 1.2 // for registers
		}
		if least == 0 || cost < least {
			best, least = t, cost
		}
	}
	return best, least / float64(n*len(b.Stages))
}

// fit takes fewer columns where a device would have too few workgroups for so
// many elements, or where columns are apart, so that nothing is gained by them but
// whole subgroups.
func (b fftBlock) fit(elements, words int, apart bool) fftBlock {
	const groups, columns, threads = 128, 4, 128
	if len(b.Stages) == 1 {
		return b
	}
	if apart {
		b.Columns = b.aligned(min(b.Columns, max(1, threads/b.Threads)))
	}
	for b.Columns >= 2*columns && elements/b.elements() < groups*b.Columns {
		b.Columns = sectors(b.Columns/2, words)
	}
	b.Joint = 2*words*b.radix()*b.Columns <= jointWords
	return b
}

// aligned is the number of columns, of at most so many, whose invocations fill whole
// subgroups best.
func (b *fftBlock) aligned(most int) int {
	best, least := 1, 0.0
	for c := 1; c <= most; c++ {
		n := c * b.Threads
		waste := float64((n+banks-1)/banks*banks) / float64(n)
		if c == 1 || waste < least-0.05 {
			best, least = c, waste
		}
	}
	return best
}

// parts is how many parts of elements are in shared memory at once.
func (b *fftBlock) parts() int {
	if b.Joint {
		return 2
	}
	return 1
}
