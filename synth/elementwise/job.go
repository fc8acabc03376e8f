package elementwise

import (
	"slices"

	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
	"nxvk/synth/strided"
)

// Job computes every point of an iteration space on its own: all pointwise
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
	Long  bool // body is long: a point a step, or drivers compile it for long
	Group int  // points a step: 4, 2 or 1
	Exact bool // the points are a multiple of the group
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
	j.Group = j.choose(t)
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
	j.Exact = t.CPU || len(j.Dims) > 1
	points := strided.Product(j.Dims)
	units := (points + j.Group - 1) / j.Group
	p := &codegen.Program{Index: codegen.IndexType(points), Flops: j.Flops * int64(points), Body: j.write}
	j.AddBuffers(p, points)
	local, steps := Workgroup(t, j.Group)
	p.Local = uint32(local)
	p.Groups = (units + local*steps - 1) / (local * steps)
	p.Key = j.Describe(steps)
	p.Numbers = j.Numbers(units)
	return p
}

// AddBuffers lists the buffers, the words of checks behind the sources and the outputs last,
// and the literals.
func (j *Job) AddBuffers(p *codegen.Program, points int) {
	reach := points
	add := func(b codegen.Buffer, v *strided.View, shifts []codegen.Shift) {
		extent := v.Extent(j.Dims) + codegen.Farthest(shifts)
		b.Bytes = int64(extent * b.Size())
		p.Buffers = append(p.Buffers, b)
		p.Bytes += min(b.Bytes, int64(points*b.Size()))
		reach = max(reach, extent)
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
			reach = max(reach, s.Extent(j.Dims)+codegen.Farthest(s.Shifts))
		}
	}
	for _, c := range j.checks() {
		p.Buffers = append(p.Buffers, codegen.CheckBuffer(c))
	}
	for _, to := range append([]codegen.Buffer{j.Result}, j.MoreResults...) {
		to.Access = lowering.Write
		add(to, &j.Out, j.OutShifts)
	}
	p.Index = codegen.IndexType(reach)
}
