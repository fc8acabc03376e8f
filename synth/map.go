package synth

import (
	"slices"

	"nxvk/synth/kernel"
)

// mapJob computes every point of an iteration space on its own: all pointwise
// and movement operations. It comes in three shapes, of which the best that the
// strides allow is taken:
//
//	flat: one dimension, neighbours side by side, a group a step, any length
//	rows: as flat along the innermost dimension, which the group divides; the
//	      others are decoded once for the group
//	any:  one point a step, every coordinate decoded
//
// A group is four neighbours; where elements are large, a GPU is faster with as
// many as sixteen bytes hold.
type mapJob struct {
	key  string // what body computes
	dims []int
	ins  []source
	out  view
	to   buffer
	// outShifts are of the output.
	outShifts []shift
	// body gives the stored form of a point of the output from what the
	// sources give, as loaded: of a complex element both parts.
	body func(e *emitter, xs []kernel.Value) (kernel.Value, error)
	// also are more outputs, which lie as the first does; bodies, which is used
	// instead of body where it is not nil, gives a point of each, of a complex
	// output both parts; groups is bodies for all points of a step.
	also   []buffer
	bodies func(e *emitter, xs []kernel.Value) ([]kernel.Value, error)
	groups func(e *emitter, xs [][]kernel.Value) ([][]kernel.Value, error)

	flops int64
	long  bool // body is long: a point a step, or drivers compile it for long
	group int  // points a step: 4, 2 or 1
	exact bool // the points are a multiple of the group
}

// The sizes of workgroups and the steps of an invocation, by profile. A GPU is
// fastest with one step of four elements an invocation; a processor with many.
const (
	gpuLocal = 256
	cpuLocal = 16
	cpuSteps = 8
	cpuFlat  = 256 // points below which a flat job is not worth fours
)

func (t *Target) mapShape(group int) (local, steps int) {
	switch {
	case t.CPU:
		return cpuLocal, cpuSteps
	case group == 1:
		return gpuLocal, 4
	}
	return gpuLocal, 1
}

// programs makes the job a program, or two: a processor runs both sides of a
// branch, so there the last few points of a flat job are a program of their own.
func (j *mapJob) programs(t *Target) []*program {
	views := []*view{&j.out}
	for i := range j.ins {
		if j.ins[i].walks() {
			views = append(views, &j.ins[i].view)
		}
	}
	j.dims = collapse(j.dims, views)
	j.group = j.choose(t)
	n := j.dims[len(j.dims)-1]
	if rest := n % j.group; t.CPU && rest > 0 {
		if n < cpuFlat {
			j.group = 1
			return []*program{j.program(t)}
		}
		body, tail := j.cut(0, n-rest), j.cut(n-rest, rest)
		tail.group = 1
		return []*program{body.program(t), tail.program(t)}
	}
	return []*program{j.program(t)}
}

// cut is the part of a flat job from a point on.
func (j *mapJob) cut(first, n int) *mapJob {
	c := *j
	c.dims, c.ins = []int{n}, slices.Clone(j.ins)
	c.out.offset += first * c.out.strides[0]
	for i := range c.ins {
		if c.ins[i].walks() {
			c.ins[i].offset += first * c.ins[i].strides[0]
		}
	}
	return &c
}

func (j *mapJob) program(t *Target) *program {
	j.exact = t.CPU || len(j.dims) > 1
	points := product(j.dims)
	units := (points + j.group - 1) / j.group
	p := &program{index: indexType(points), flops: j.flops * int64(points), body: j.write}
	j.addBuffers(p, points)
	local, steps := t.mapShape(j.group)
	p.local = uint32(local)
	p.groups = (units + local*steps - 1) / (local * steps)
	p.key = j.describe(steps)
	p.nums = j.numbers(units)
	return p
}

// addBuffers lists the buffers, the output last, and the literals.
func (j *mapJob) addBuffers(p *program, points int) {
	reach := points
	add := func(b buffer, v *view, shifts []shift) {
		extent := v.extent(j.dims) + farthest(shifts)
		b.bytes = int64(extent * b.size())
		p.bufs = append(p.bufs, b)
		p.bytes += min(b.bytes, int64(points*b.size()))
		reach = max(reach, extent)
	}
	for i := range j.ins {
		s := &j.ins[i]
		switch s.kind {
		case fromBuffer:
			s.buffer.access = Read
			add(s.buffer, &s.view, s.shifts)
		case fromLiteral:
			p.lits = append(p.lits, s.lit)
		case fromIndex:
			reach = max(reach, s.extent(j.dims)+farthest(s.shifts))
		}
	}
	for _, to := range append([]buffer{j.to}, j.also...) {
		to.access = Write
		add(to, &j.out, j.outShifts)
	}
	p.index = indexType(reach)
}
