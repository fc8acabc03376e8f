package fallback

import (
	"sync"

	"nxvk/ops"
)

// maxOperands is the most operands that a pointwise operation takes.
const maxOperands = 3

// plan is how the elements of operands meet those of a result: the dimensions
// of the result, innermost first, neighbours merged where every operand allows
// it, and the step of each operand along them: 0 where it is stretched.
type plan struct {
	n     int // elements of the result
	rank  int
	shape [ops.MaxRank]int
	steps [ops.MaxRank][maxOperands]int
}

// broadcast plans a result of the given shape.
func (p *plan) broadcast(out ops.Shape, args []Value) {
	p.reset()
	var size [maxOperands]int // elements of the operand inside of dimension i
	for k := range args {
		size[k] = 1
	}
	for i := range out {
		d := out[len(out)-1-i]
		var steps [maxOperands]int
		for k := range args {
			s := args[k].Type.Shape
			if i < len(s) && s[len(s)-1-i] != 1 {
				steps[k] = size[k]
				size[k] *= d
			}
		}
		p.push(d, steps)
	}
	p.finish()
}

func (p *plan) reset() { p.n, p.rank = 1, 0 }

// finish ends a plan: it has a dimension even where there is one element.
func (p *plan) finish() {
	if p.rank == 0 {
		p.shape[0], p.steps[0], p.rank = 1, [maxOperands]int{}, 1
	}
}

// push adds an outer dimension, or widens the outermost one.
func (p *plan) push(d int, steps [maxOperands]int) {
	if d == 1 {
		return
	}
	p.n *= d
	if r := p.rank - 1; r >= 0 {
		merges := true
		for k, s := range p.steps[r] {
			merges = merges && steps[k] == s*p.shape[r]
		}
		if merges {
			p.shape[r] *= d
			return
		}
	}
	p.shape[p.rank], p.steps[p.rank] = d, steps
	p.rank++
}

// cursor walks the elements of a plan in order, in runs along the innermost
// dimension.
type cursor struct {
	plan  *plan
	index [ops.MaxRank]int
	at    [maxOperands]int // where each operand is read
}

// seek moves to an element.
func (c *cursor) seek(p *plan, pos int) {
	c.plan, c.at = p, [maxOperands]int{}
	for i := range p.rank {
		c.index[i] = pos % p.shape[i]
		pos /= p.shape[i]
		for k, s := range p.steps[i] {
			c.at[k] += c.index[i] * s
		}
	}
}

// run returns how many elements, at most limit, lie ahead in one run.
func (c *cursor) run(limit int) int { return min(limit, c.plan.shape[0]-c.index[0]) }

// advance moves by n elements of the run.
func (c *cursor) advance(n int) {
	p := c.plan
	c.index[0] += n
	for k, s := range p.steps[0] {
		c.at[k] += n * s
	}
	for i := 0; c.index[i] == p.shape[i]; i++ {
		if i+1 == p.rank {
			return // past the end
		}
		for k := range c.at {
			c.at[k] += p.steps[i+1][k] - p.shape[i]*p.steps[i][k]
		}
		c.index[i] = 0
		c.index[i+1]++
	}
}

// chunk is how many elements are computed at a time: few enough for the first
// level cache, enough that dispatch costs nothing.
const chunk = 256

// scratch is the working memory of one goroutine, pooled so that a small call
// allocates nothing.
type scratch struct {
	plan    plan
	reduced plan // of a reduction, whose kept dimensions are plan
	cur     cursor
	bufs    [maxOperands + 1][chunk]complex128
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// bufs returns the buffers of a scratch as elements of a type.
func bufs[T any](s *scratch) (b [maxOperands + 1][]T) {
	for i := range b {
		b[i] = viewOf[T](&s.bufs[i])[:chunk]
	}
	return b
}
