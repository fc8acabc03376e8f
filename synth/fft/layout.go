package fft

// layout says where the elements of columns lie in shared memory between two stages.
// Elements of a column are place words apart, with a gap after each block of elements;
// columns are column words apart. All strides are constants, so that a place costs no
// instruction but that of the first of a run.
type layout struct {
	place, column int
	block         int // elements without a gap: the results of one transform of the stage
	gap           int
}

// size is how many words the columns take.
func (l layout) size(radix, columns int) int {
	return (radix-1)*l.place + (radix/l.block-1)*l.gap + (columns-1)*l.column + 1
}

// word is where an element lies.
func (l layout) word(i, column int) int { return i*l.place + i/l.block*l.gap + column*l.column }

// banks are the words of shared memory that can be reached at once.
const banks = 32

// layouts are the layouts between the stages of a block and, if another transform follows,
// from the last stage to the first. Each is the shortest of those with the fewest bank
// conflicts between neighbouring invocations. An element is so many words.
func (b *fftBlock) layouts(wide, wideLast, again bool, words int) []layout {
	out := make([]layout, len(b.Stages)-1, len(b.Stages))
	span := 1
	for i := range out {
		next := wide
		if i == len(out)-1 {
			next = wideLast
		}
		out[i] = b.layout(i, span, wide, next, banks/words)
		span *= b.Stages[i]
	}
	if again {
		out = append(out, b.layout(len(out), span, wideLast, wide, banks/words))
	}
	return out
}

func (b *fftBlock) layout(stage, span int, wide, next bool, banks int) layout {
	n, radix, after := b.radix(), b.Stages[stage], b.Stages[(stage+1)%len(b.Stages)]
	block := span * radix
	most := n*b.Columns + max(banks, n*b.Columns/8)
	var best layout
	least, size := -1, 0
	try := func(l layout) {
		s := l.size(n, b.Columns)
		if s > most {
			return
		}
		cost := 0
		for first := 0; first < b.Threads*b.Columns && first < 8*banks; first += banks {
			var put, take [64]int
			for invocation := first; invocation < min(first+banks, b.Threads*b.Columns); invocation++ {
				if column, t := b.placeOf(invocation, wide); t < n/radix {
					put[l.word(t/span*block+t%span, column)%banks]++
				}
				if column, t := b.placeOf(invocation, next); t < n/after {
					take[l.word(t, column)%banks]++
				}
			}
			worst, worstTake := 0, 0
			for k := range put {
				worst, worstTake = max(worst, put[k]), max(worstTake, take[k])
			}
			cost += worst*n/b.Threads + worstTake*n/b.Threads
		}
		if least < 0 || cost < least || cost == least && s < size {
			best, least, size = l, cost, s
		}
	}
	for gap := range banks {
		try(layout{place: b.Columns, column: 1, block: block, gap: gap})
		try(layout{place: b.Columns | 1, column: 1, block: block, gap: gap})
		whole := n + (n/block-1)*gap
		for more := range 2 {
			try(layout{place: 1, column: whole + more, block: block, gap: gap})
		}
	}
	return best
}

// placeOf is the column and the thread of an invocation.
func (b *fftBlock) placeOf(i int, wide bool) (column, thread int) {
	if wide {
		return i % b.Columns, i / b.Columns
	}
	return i / b.Threads, i % b.Threads
}

// Words is how many words or pairs of words of shared memory a part of the elements
// takes.
func (b *fftBlock) Words(wide, wideLast, again bool, words int) int {
	most := 0
	for _, l := range b.layouts(wide, wideLast, again, words) {
		most = max(most, l.size(b.radix(), b.Columns))
	}
	return (most + banks - 1) / banks * banks
}
