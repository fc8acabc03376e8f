package reduction

import (
	"nxvk/fallback/sched"
	"nxvk/synth/strided"
)

// sums are those of the columns of a matrix, whose rows are added up one after the other. A part of a column has every
// parts-th four of its elements, and a sum for each lane of a four.
type sums[T float32 | float64] struct {
	rows[T]     // stride is that between rows of the matrix
	kept    int // columns
}

// columnsAtOnce is how many columns have their sums side by side.
const columnsAtOnce = 256

// sum adds up all columns, some of a part at a time.
func (c *sums[T]) sum(w *sched.Worker) int {
	blocks := (c.kept + columnsAtOnce - 1) / columnsAtOnce
	each := max(1, min(c.kept, columnsAtOnce)*c.count/c.parts)
	units := blocks * c.parts
	grain := max((units+sched.Processors()-1)/sched.Processors(), (sumRange+each-1)/each)
	w.For(units, grain, func(w *sched.Worker, lo, hi int) {
		var lanes [strided.Lanes][columnsAtOnce]T
		var room [columnsAtOnce]T
		for u := lo; u < hi; u++ {
			first := u / c.parts * columnsAtOnce
			n := min(columnsAtOnce, c.kept-first)
			c.sumBlock(w, &lanes, room[:n], u%c.parts, first)
		}
	})
	return c.kept * c.count
}

// sumBlock adds up a part of the columns from first on, as many as room has room for.
func (c *sums[T]) sumBlock(w *sched.Worker, lanes *[strided.Lanes][columnsAtOnce]T, room []T, part, first int) {
	n, left := len(room), sumTurn
	for lane := range lanes {
		c.begin(lanes[lane][:n])
	}
	row := func(lane, r int) { c.fold(lanes[lane][:n], c.from.Get(r*c.stride+first, room)) }
	for four := part; four < c.fours; four += c.parts {
		for lane := range strided.Lanes {
			row(lane, four*strided.Lanes+lane)
		}
		if left -= strided.Lanes * n; left <= 0 {
			w.Check()
			left = sumTurn
		}
	}
	if c.fours%c.parts == part {
		for lane := range c.count % strided.Lanes {
			row(lane, c.fours*strided.Lanes+lane)
		}
	}
	for i := range n {
		c.to.Put((first+i)*c.parts+part, c.join([strided.Lanes]T{lanes[0][i], lanes[1][i], lanes[2][i], lanes[3][i]}))
	}
}
