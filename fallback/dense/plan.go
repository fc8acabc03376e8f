package dense

import (
	"sync"

	"nxvk/ops"
)

// MaxOperands is the largest number of operands of a pointwise operation.
const MaxOperands = 3

// Plan maps the elements of a result to the elements of its operands. It has the
// dimensions of the result, innermost first, and the step of each operand along them; the
// step of a broadcast operand is 0. Neighbouring dimensions are merged where the steps of
// all operands allow it.
type Plan struct {
	N     int // elements of the result
	rank  int
	shape [ops.MaxRank]int
	Steps [ops.MaxRank][MaxOperands]int
}

// Broadcast plans a result of the given shape.
func (p *Plan) Broadcast(out ops.Shape, args []Value) {
	p.Reset()
	var size [MaxOperands]int // elements of the operand inside of dimension i
	for k := range args {
		size[k] = 1
	}
	for i := range out {
		d := out[len(out)-1-i]
		var steps [MaxOperands]int
		for k := range args {
			s := args[k].Type.Shape
			if i < len(s) && s[len(s)-1-i] != 1 {
				steps[k] = size[k]
				size[k] *= d
			}
		}
		p.Push(d, steps)
	}
	p.Finish()
}

func (p *Plan) Reset() { p.N, p.rank = 1, 0 }

// Finish ends a plan. A plan of one element gets a dimension of one.
func (p *Plan) Finish() {
	if p.rank == 0 {
		p.shape[0], p.Steps[0], p.rank = 1, [MaxOperands]int{}, 1
	}
}

// Push adds an outer dimension, merged with the outermost one where possible.
func (p *Plan) Push(d int, steps [MaxOperands]int) {
	if d == 1 {
		return
	}
	p.N *= d
	if r := p.rank - 1; r >= 0 {
		merges := true
		for k, s := range p.Steps[r] {
			merges = merges && steps[k] == s*p.shape[r]
		}
		if merges {
			p.shape[r] *= d
			return
		}
	}
	p.shape[p.rank], p.Steps[p.rank] = d, steps
	p.rank++
}

// Cursor walks the elements of a plan in order, in runs along the innermost
// dimension.
type Cursor struct {
	plan  *Plan
	index [ops.MaxRank]int
	At    [MaxOperands]int // where each operand is read
}

// Seek moves to an element.
func (c *Cursor) Seek(p *Plan, pos int) {
	c.plan, c.At = p, [MaxOperands]int{}
	for i := range p.rank {
		c.index[i] = pos % p.shape[i]
		pos /= p.shape[i]
		for k, s := range p.Steps[i] {
			c.At[k] += c.index[i] * s
		}
	}
}

// Ahead returns the number of elements that follow in the same run, at most limit.
func (c *Cursor) Ahead(limit int) int { return min(limit, c.plan.shape[0]-c.index[0]) }

// Advance moves by n elements of the run.
func (c *Cursor) Advance(n int) {
	p := c.plan
	c.index[0] += n
	for k, s := range p.Steps[0] {
		c.At[k] += n * s
	}
	for i := 0; c.index[i] == p.shape[i]; i++ {
		if i+1 == p.rank {
			return // past the end
		}
		for k := range c.At {
			c.At[k] += p.Steps[i+1][k] - p.shape[i]*p.Steps[i][k]
		}
		c.index[i] = 0
		c.index[i+1]++
	}
}

// Chunk is the number of elements that are computed at a time: few enough for the first
// level cache, and enough that the calls for a chunk cost nothing.
const Chunk = 256

// Scratch is the working memory of one goroutine, pooled so that a small call
// allocates nothing.
type Scratch struct {
	Plan    Plan
	Reduced Plan // of a reduction, whose kept dimensions are plan
	Cur     Cursor
	bufs    [MaxOperands + 1][Chunk]complex128
}

var ScratchPool = sync.Pool{New: func() any { return new(Scratch) }}

// Buffers returns the buffers of a scratch as elements of a type.
func Buffers[T any](s *Scratch) (b [MaxOperands + 1][]T) {
	for i := range b {
		b[i] = viewOf[T](&s.bufs[i])[:Chunk]
	}
	return b
}
