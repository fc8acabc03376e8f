package factor

import (
	"fmt"

	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// Pairing is a round of a tournament of blocks of rows: the two that meet lie one
// after the other, and where a product writes them anew they take the seats of
// the next round,
//
//	top      0 → 0,  1 → 2 → … → last ┐
//	bottom   0 ↑     1 ← 2 ← …  last  ┘
//
// so that all meet all others once in a round less than there are blocks, after
// which each is where it was (Brent and Luk, 1985).
type Pairing struct {
	Pairs   int
	A, B, C int             // elements from pair to pair, by operand
	Side    int             // rows of a pair that take new seats; 0 where none do
	Active  *codegen.Buffer // words, by sweep and matrix: products of others are left out
	Sweep   int
}

func (p *Pairing) describe() string {
	if p == nil {
		return "none"
	}
	return fmt.Sprint(p.Side, p.Active != nil)
}

// pair finds the matrix and the pair of a workgroup, and whether there is work.
func (x *updateTile) pair(batch, active kernel.Value) (matrix, work kernel.Value) {
	x.players = x.NextNumber()
	a, b, c := x.NextNumber(), x.NextNumber(), x.NextNumber()
	matrix, x.table = x.DivMod(batch, x.players)
	x.a.Off = x.Add(x.a.Off, x.Mul(x.table, a))
	x.b.Off = x.Add(x.b.Off, x.Mul(x.table, b))
	x.c.Off = x.Add(x.c.Off, x.Mul(x.table, c))
	if x.Pairs.Active == nil {
		return matrix, active
	}
	first := x.NextNumber()
	word := x.Load(3, x.Select(active, x.Add(first, matrix), first), 1)[0]
	return matrix, x.And2(active, x.Not(x.IsEqual(word, x.Index(0))))
}

// Seats are those of the rows of a pair in the next round.
type Seats struct {
	*codegen.Emitter
	Table, Players kernel.Value
	Side           int
}

// Of is the row, from the first of its pair, to which row r moves.
func (x Seats) Of(r kernel.Value) kernel.Value {
	half, side := x.Index(x.Side/2), x.Index(x.Side)
	one := x.Index(1)
	bottom := x.Compare(scalar.Le, half, r)
	first, last := x.IsEqual(x.Table, x.Index(0)), x.IsEqual(x.Add(x.Table, one), x.Players)
	alone := x.IsEqual(x.Players, one)
	// From the seat of a top row, in rows: the next table, or the bottom here.
	top := x.Select(first, x.Index(0), x.Select(last, half, side))
	// From that of a bottom row: the table before, or the top of the next.
	under := x.Select(first, half, x.Sub(x.Index(0), side))
	move := x.Select(bottom, under, top)
	return x.Add(r, x.Select(alone, x.Index(0), move))
}
