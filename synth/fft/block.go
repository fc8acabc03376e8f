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
type fftBlock struct {
	Stages  []int
	Columns int
	Threads int // of a column, each with the elements of one or a few small transforms
}

// radix is the number of elements of a column.
func (b *fftBlock) radix() int { return strided.Product(b.Stages) }

// The limits of passes and blocks on GPUs. A block of 4,096 words exchanges real
// and imaginary parts one after the other through 16 KiB of shared memory, which
// leaves room for three workgroups where an SM has 48 KiB.
const (
	blockRadix   = 16 // of a stage
	BlockWords   = 4096
	BlockThreads = 512
	passRadix    = 512  // of one pass of several
	twoPasses    = 1024 // of one pass of two
	leastBlock   = 32   // radices below are a pass without shared memory
)

// primes are the factors that passes have.
var primes = []int{13, 11, 7, 5, 3, 2}

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
// large. Where lines lie side by side, a block has some of them, so that it reads
// and writes neighbours.
func Passes(t *lowering.Target, n, words int, aside bool) []fftBlock {
	limit := BlockWords / words
	longest := limit
	if aside {
		longest = passRadix
	}
	f := factors(n)
	switch {
	case t.CPU || t.SharedMemory < 5*BlockWords || t.MaxInvocations < BlockThreads || n < leastBlock || f == nil:
		var out []fftBlock
		for _, r := range radices(t, n) {
			out = append(out, fftBlock{Stages: []int{r}})
		}
		return out
	case n > longest:
		two := dealt(f, 2, min(longest, twoPasses))
		if two == nil {
			two = fewest(f, passRadix)
		}
		return blocks(two, limit)
	}
	return blocks([]int{n}, limit)
}

// blocks deals each radix out to stages, threads and columns.
func blocks(radices []int, limit int) []fftBlock {
	out := make([]fftBlock, len(radices))
	for i, r := range radices {
		b := &out[i]
		b.Stages = fewest(factors(r), blockRadix)
		if len(b.Stages) == 1 {
			continue
		}
		b.Threads = r / b.Stages[0]
		b.Columns = max(1, min(limit/r, BlockThreads/b.Threads))
	}
	return out
}

// fit takes fewer columns where a device would have too few workgroups for so
// many elements, or where columns are apart, so that nothing is gained by them but
// an exchange among fewer invocations is sooner done.
func (b fftBlock) fit(elements int, apart bool) fftBlock {
	const groups, columns, threads = 128, 4, 128
	if apart && len(b.Stages) > 1 {
		b.Columns = min(b.Columns, max(1, threads/b.Threads))
	}
	for b.Columns >= 2*columns && elements/b.radix() < groups*b.Columns {
		b.Columns /= 2
	}
	return b
}
