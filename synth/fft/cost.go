package fft

import "math"

// What a pass costs, in units of a pass at the speed of memory, is what it moves or what its
// workgroups calculate and exchange, whichever is more.
//
// A workgroup moves the elements of its columns in runs, as long as there are columns side by
// side. A run costs the sectors of memory that it touches, and half a sector more: one of four
// complex elements 1.5 times its bytes; one of three, which begins anywhere in a sector, 2.7
// times. So one pass of 2,048 points costs less than two passes of 64 and 32, but one of 1,500
// points more than two of 50 and 30.
//
// An exchange of all elements through shared memory, between two stages, costs a quarter of a
// pass. Passes have one to three, which memory hides; those of convolutions have three to
// seven, of twice as many elements. These numbers are fitted to times on an H100.
const (
	elementBytes = 8 // of one whose parts are words
	sectorBytes  = 32
	exchangeCost = 1.0 / 4
	workCost     = 1.0 / 48 // of a radix-2 butterfly of each element
)

// costOf is the cost of the passes of a length.
func costOf(passes []fftBlock, n, words int, aside bool) (cost float64) {
	span := 1
	for i := range passes {
		cost += passes[i].cost(n, span, words, aside)
		span *= passes[i].elements()
	}
	return cost
}

// cheaper is the cheaper division of a length, the first where they cost the same.
func cheaper(x, y []fftBlock, n, words int, aside bool) []fftBlock {
	if costOf(y, n, words, aside) < costOf(x, n, words, aside) {
		return y
	}
	return x
}

// cost is the cost of a pass of a transform of n points after passes of the given span.
func (b *fftBlock) cost(n, span, words int, aside bool) float64 {
	moved := (b.runCost(n/b.elements(), words, aside) + b.runCost(span, words, aside)) / 2
	if len(b.Stages) == 1 {
		return moved
	}
	size := float64(b.radix())
	exchanges, butterflies := float64(len(b.Stages)-1), math.Log2(size)
	_, work := b.threads()
	if b.Chirp > 0 { // there and back
		work *= size / float64(b.Chirp)
		exchanges, butterflies = 2*exchanges+1, 2*butterflies
	}
	return max(moved, work*(exchanges*exchangeCost+butterflies*workCost))
}

// runCost is the cost of the memory that columns touch whose elements are so many elements
// apart, as a multiple of the bytes of the columns. Elements that are no further apart than there
// are columns are contiguous.
func (b *fftBlock) runCost(apart, words int, aside bool) float64 {
	columns := max(b.Columns, 1)
	if len(b.Stages) == 1 {
		columns = banks
	}
	run, step := columns*words*elementBytes, apart*words*elementBytes
	switch {
	case aside:
		step = sectorBytes
	case apart <= columns:
		return 1
	}
	return float64(run+sectorBytes/2+sectorBytes-common(sectorBytes, common(run, step))) / float64(run)
}

// sectors is a number of columns whose runs fill sectors of memory, of at most so many, unless
// they are too few for one.
func sectors(columns, words int) int {
	if fill := sectorBytes / (words * elementBytes); columns > fill {
		return columns / fill * fill
	}
	return columns
}

// common is the greatest common divisor.
func common(x, y int) int {
	for y != 0 {
		x, y = y, x%y
	}
	return x
}
