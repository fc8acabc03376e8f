package reduction

import (
	"nxvk/fallback/sched"
	"nxvk/synth/strided"
)

// sums are those of the columns of a matrix, whose rows are added up one after the other. A part of a column has every
// parts-th four of its elements, and a sum for each component of a four.
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
		var components [strided.Components][columnsAtOnce]T
		var room [columnsAtOnce]T
		for u := lo; u < hi; u++ {
			first := u / c.parts * columnsAtOnce
			n := min(columnsAtOnce, c.kept-first)
			c.sumBlock(w, &components, room[:n], u%c.parts, first)
		}
	})
	return c.kept * c.count
}

// sumBlock adds up a part of the columns from first on, as many as room has room for.
func (c *sums[T]) sumBlock(w *sched.Worker, components *[strided.Components][columnsAtOnce]T, room []T, part, first int) {
	n, left := len(room), sumTurn
	for component := range components {
		c.begin(components[component][:n])
	}
	row := func(component, r int) { c.fold(components[component][:n], c.from.Get(r*c.stride+first, room)) }
	for four := part; four < c.fours; four += c.parts {
		for component := range strided.Components {
			row(component, four*strided.Components+component)
		}
		if left -= strided.Components * n; left <= 0 {
			w.Check()
			left = sumTurn
		}
	}
	if c.fours%c.parts == part {
		for component := range c.count % strided.Components {
			row(component, c.fours*strided.Components+component)
		}
	}
	for i := range n {
		c.to.Put((first+i)*c.parts+part, c.join([strided.Components]T{components[0][i], components[1][i], components[2][i], components[3][i]}))
	}
}
