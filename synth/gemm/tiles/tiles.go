// Package tiles sums products of matrices a tile at a time with vector instructions of the host. Each sum is in the order
// of k, and rounds the product before the sum, so it has the bits of a loop over single numbers. What it earns: a tile
// stays in registers, where adding multiples of rows loads and stores each sum for each product.
//
// The package knows tiles and nothing of products that are made of them.
package tiles

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
