// Package tiles sums products of matrices a tile at a time with vector instructions of the host. Each sum is in the order
// of k, and rounds the product before the sum, so it has the bits of a loop over single numbers. What it earns: a tile
// stays in registers, where adding multiples of rows loads and stores each sum for each product.
//
// The package knows tiles and nothing of products that are made of them.
package tiles

import (
	"encoding/binary"
	"math"
)

// The size of a tile.
const (
	Rows  = 4
	Bytes = 64 // of a row of a tile: 16 of 32 bits, 8 of 64
)

// Number is a type that products have.
type Number interface {
	float32 | float64 | uint32 | uint64
}

// Sum adds products to a tile of sums, whose rows lie one after the other: element (i, j) gets those of row i of A with
// column j of B, for k of them in turn. The rows of A begin at a0 to a3, elements of a row are step bytes apart. B has a row
// of Bytes for each k, one after the other.
type Sum[T Number] func(k, step int, a0, a1, a2, a3, b, sums *T)

// Together is how many columns a Columns has.
const Together = 16

// Columns adds to the sums of Together columns of B the products with a row of A, of four k for each of fours. The
// elements of the row and of a column lie one after the other, the columns begin step bytes apart.
type Columns[T Number] func(fours, step int, a, b, sums *T)

// Pack copies four k for each of fours of Together columns of B, which lie as those of Columns, to rows of Bytes for a tile.
type Pack[T Number] func(fours, step int, b, to *T)

// Narrow is a type whose numbers convert exactly to one that products have.
type Narrow int

// The narrow types: floats, which are summed as float32, and integers, which are summed as uint32. F32 is float32 itself.
const (
	BF16 Narrow = iota
	F16
	S8
	U8
	F32
)

// Size is how many bytes a number has.
func (n Narrow) Size() int {
	switch n {
	case F32:
		return 4
	case BF16, F16:
		return 2
	}
	return 1
}

// Widen converts the numbers that begin at from, as many as to has.
func Widen[T Number](n Narrow, from []byte, to []T) {
	done := 0
	if widen := widenOf[T](n); widen != nil {
		if done = len(to) / widenTogether * widenTogether; done > 0 {
			widen(done, &from[0], &to[0])
		}
	}
	for i := done; i < len(to); i++ {
		to[i] = one[T](n, from[i*n.Size():])
	}
}

// AddsRows reports whether the processor has instructions with which AddRows adds several rows at once.
func AddsRows[T Number](n Narrow) bool { return rowsOf[T](n) != nil }

// widenTogether is how many numbers a widening converts at once.
const widenTogether = 16

// fourRows is how many rows AddRows takes at once.
const fourRows = 4

// AddRows adds to sums the products of rows of narrow numbers, which begin step bytes apart, with one number of a each, in turn.
// It may use room, which has as many numbers as sums.
func AddRows[T Number](n Narrow, a []T, from []byte, step int, sums, room []T) {
	l, whole := 0, len(sums)/widenTogether*widenTogether
	if add := rowsOf[T](n); add != nil && whole > 0 {
		for ; l+fourRows <= len(a); l += fourRows {
			add(whole, step, &a[l], &from[l*step], &sums[0])
			if whole < len(sums) {
				addRows(n, a[l:l+fourRows], from[l*step+whole*n.Size():], step, sums[whole:], room)
			}
		}
	}
	if l < len(a) {
		addRows(n, a[l:], from[l*step:], step, sums, room)
	}
}

func addRows[T Number](n Narrow, a []T, from []byte, step int, sums, room []T) {
	line := room[:len(sums)]
	for l, x := range a {
		Widen(n, from[l*step:], line)
		for i, v := range line {
			sums[i] = T(x*v) + sums[i]
		}
	}
}

// one converts a number.
func one[T Number](n Narrow, from []byte) T {
	switch n {
	case BF16:
		return T(math.Float32frombits(uint32(binary.LittleEndian.Uint16(from)) << 16))
	case F32:
		return T(math.Float32frombits(binary.LittleEndian.Uint32(from)))
	case F16:
		return T(half(binary.LittleEndian.Uint16(from)))
	case S8:
		return T(uint32(int32(int8(from[0]))))
	}
	return T(from[0])
}

// half converts a number of 16 bits with 10 bits of significand.
func half(h uint16) float32 {
	x := math.Float32frombits(uint32(h&0x7fff)<<13) * 0x1p112
	if h&0x7c00 == 0x7c00 {
		x = math.Float32frombits(0x7f800000 | uint32(h&0x3ff)<<13)
	}
	return math.Float32frombits(math.Float32bits(x) | uint32(h&0x8000)<<16)
}
