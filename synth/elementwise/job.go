package elementwise

import (
	"slices"

	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
	"nxvk/synth/strided"
)

// Job computes every point of an iteration space on its own: all pointwise
// and movement operations. A step computes a group of neighbours: as many elements as
// sixteen bytes hold of the largest type, four on a processor. The layout says which
// points are a group, and the access to each source how its elements are loaded, so
// that results are stored sixteen bytes at once wherever they are contiguous.
type Job struct {
	Key     string // what body computes
	Dims    []int
	Sources []codegen.Source
	Out     strided.View
	Result  codegen.Buffer
	// outShifts are of the output.
	OutShifts []codegen.Shift
	// body gives the stored form of a point of the output from what the
	// sources give, as loaded: of a complex element both parts.
	Body func(e *codegen.Emitter, xs []kernel.Value) (kernel.Value, error)
	// also are more outputs, which lie as the first does; bodies, which is used
	// instead of body where it is not nil, gives a point of each, of a complex
	// output both parts; groups is bodies for all points of a step.
	MoreResults []codegen.Buffer
	Bodies      func(e *codegen.Emitter, xs []kernel.Value) ([]kernel.Value, error)
	Groups      func(e *codegen.Emitter, xs [][]kernel.Value) ([][]kernel.Value, error)

	Flops int64
	Cost  int  // primitive operations of the body, where it has many
	Long  bool // body is long: a point a step, or drivers compile it for long
	Group int  // points a step, a power of two
	Loose bool // results may begin at any element of their memory, on GPUs

	layout   layout
	accesses []access // by source
	short    bool     // across: rows are shorter than a group
}

// Workgroup is the size of a workgroup and the steps of an invocation, by profile and vector.
func Workgroup(t *lowering.Target, group int) (local, steps int) {
	switch {
	case t.CPU:
		return codegen.CPULocal, codegen.CPUSteps
	case group == 1:
		return codegen.GPULocal, 4
	}
	return codegen.GPULocal, 1
}

// deal is Workgroup for the layout of the job.
func (j *Job) deal(t *lowering.Target) (local, steps int) {
	if j.layout == apart {
		return codegen.GPULocal, apartGroup
	}
	return Workgroup(t, j.Group)
}

// Programs makes the job a program, or two: a processor runs both sides of a
// branch, so there the last few points of a flat job are a program of their own.
func (j *Job) Programs(t *lowering.Target) []*codegen.Program {
	views := []*strided.View{&j.Out}
	for i := range j.Sources {
		if j.Sources[i].HasView() {
			views = append(views, &j.Sources[i].View)
		}
	}
	j.Dims = strided.Collapse(j.Dims, views)
	j.arrange(t)
	n := j.Dims[len(j.Dims)-1]
	if rest := n % j.Group; t.CPU && rest > 0 {
		if n < codegen.CPUFlat {
			j.Group = 1
			return []*codegen.Program{j.program(t)}
		}
		body, tail := j.cut(0, n-rest), j.cut(n-rest, rest)
		tail.Group = 1
		return []*codegen.Program{body.program(t), tail.program(t)}
	}
	return []*codegen.Program{j.program(t)}
}

// cut is the part of a flat job from a point on.
func (j *Job) cut(first, n int) *Job {
	c := *j
	c.Dims, c.Sources = []int{n}, slices.Clone(j.Sources)
	c.Out.Offset += first * c.Out.Strides[0]
	for i := range c.Sources {
		if c.Sources[i].HasView() {
			c.Sources[i].Offset += first * c.Sources[i].Strides[0]
		}
	}
	return &c
}

func (j *Job) program(t *lowering.Target) *codegen.Program {
	points := strided.Product(j.Dims)
	units := j.units()
	p := &codegen.Program{Index: codegen.IndexType(points), Flops: j.Flops * int64(points), Body: j.write}
	j.AddBuffers(p, points)
	local, steps := j.deal(t)
	p.Local = uint32(local)
	groups := func(local int) int { return (units + local*steps - 1) / (local * steps) }
	p.Groups = groups(local)
	if !t.CPU && j.layout != apart {
		p.Fit = groups
		if len(j.OutShifts) == 0 && j.dense(&j.Out) && j.Out.Offset == 0 && points%j.Group == 0 && j.layout != rows {
			p.Span = func(local int) int { return local * steps * j.Group }
			if steps == 1 && j.layout == whole {
				p.Ahead = j.ahead
			}
		}
	}
	p.Key = j.Describe(steps)
	p.Numbers = j.Numbers(units)
	return p
}

// AddBuffers lists the buffers, the words of checks behind the sources and the outputs last,
// and the literals.
func (j *Job) AddBuffers(p *codegen.Program, points int) {
	farthest := points
	add := func(b codegen.Buffer, v *strided.View, shifts []codegen.Shift) {
		extent := v.Extent(j.Dims) + codegen.Farthest(shifts)
		b.Bytes = int64(extent * b.Size())
		p.Buffers = append(p.Buffers, b)
		p.Bytes += min(b.Bytes, int64(points*b.Size()))
		farthest = max(farthest, extent)
	}
	for i := range j.Sources {
		s := &j.Sources[i]
		switch s.Kind {
		case codegen.FromBuffer:
			s.Buffer.Access = lowering.Read
			add(s.Buffer, &s.View, s.Shifts)
		case codegen.FromLiteral:
			p.Literals = append(p.Literals, s.Lit)
		case codegen.FromIndex:
			farthest = max(farthest, s.Extent(j.Dims)+codegen.Farthest(s.Shifts))
		}
	}
	for _, c := range j.checks() {
		p.Buffers = append(p.Buffers, codegen.CheckBuffer(c))
	}
	for _, to := range append([]codegen.Buffer{j.Result}, j.MoreResults...) {
		to.Access = lowering.Write
		add(to, &j.Out, j.OutShifts)
	}
	p.Index = codegen.IndexType(farthest)
}
