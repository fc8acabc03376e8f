package fusion

import (
	"slices"

	"nxvk/ops"
	"nxvk/synth/codegen"
	"nxvk/synth/lowering"
	"nxvk/synth/strided"
)

// A take, take_along_axis or gather is a view whose places are in memory: whoever reads it
// reads the index, checks it, and loads the element from there. So an embedding and an
// addition to it are one kernel. Reductions and contractions read it from memory.

// Gathers reports whether an operation reads a tensor at indices.
func Gathers(op ops.Op) bool {
	return op == ops.Take || op == ops.TakeAlongAxis || op == ops.Gather
}

// gather is an element that lies where indices say.
func (dag *DAG) gather(in *ops.Instr, v strided.View) (int, error) {
	id, from := in.Outs[0].ID, in.Ins[0].ID
	if dag.Kept < len(dag.Dims) {
		return 0, &ViewError{id}
	}
	idx, err := dag.indices(in)
	if err != nil {
		return 0, err
	}
	shape := dag.types(from).Shape
	g := strided.GatherOf(in, shape, dag.types(in.Ins[1].ID).Shape)
	inner, err := dag.through(id, v, in.Outs[0].Type.Shape, g.View)
	if err != nil {
		return 0, err
	}
	check := dag.checkOf(in, idx)
	for k, a := range g.Axes {
		at, err := dag.through(id, v, in.Outs[0].Type.Shape, g.At[k])
		if err != nil {
			return 0, err
		}
		if len(at.Strides) > len(dag.Dims) || !covers(dag.Dims, at, len(g.Axes), dag.types(idx).Size()) {
			return 0, &ViewError{id} // the place of the index is an index, too, or some indices would not be checked
		}
		x, err := dag.load(idx, at)
		if err != nil {
			return 0, err
		}
		index := dag.Exprs[x].Source
		dag.check(codegen.CheckSource(check, index, shape[a]-1))
		inner = dag.along(inner, extraDim{from: index, size: shape[a]}, g.Strides[k])
	}
	return dag.value(from, inner)
}

// covers reports whether a view leads to every step-th of n elements, in any order.
func covers(dims []int, v strided.View, step, n int) bool {
	var by [][2]int // stride and size
	for i, d := range dims {
		if s := v.Strides[i]; s != 0 && d > 1 {
			by = append(by, [2]int{max(s, -s), d})
		}
	}
	slices.SortFunc(by, func(a, b [2]int) int { return a[0] - b[0] })
	for _, b := range by {
		if b[0] != step {
			return false
		}
		step *= b[1]
	}
	return step == n
}

// indices is the value that has the indices of an instruction in memory, in their order.
func (dag *DAG) indices(in *ops.Instr) (ops.ID, error) {
	id := in.Ins[1].ID
	for {
		made := dag.graph(id)
		switch {
		case made == nil && dag.product != nil && id == *dag.product:
			return 0, &ViewError{in.Outs[0].ID}
		case made == nil:
			return id, nil
		case made.Op != ops.Reshape && made.Op != ops.Squeeze || made.Ins[0].Lit != nil:
			return 0, &ViewError{id}
		}
		id = made.Ins[0].ID
	}
}

// check adds a source that checks an index, unless there is one.
func (dag *DAG) check(s codegen.Source) {
	same := func(o codegen.Source) bool {
		return o.Kind == codegen.FromCheck && o.Check == s.Check && o.Shifts[0] == s.Shifts[0]
	}
	if !slices.ContainsFunc(dag.Sources, same) {
		dag.add(s)
	}
}

// checkOf is the number of the check of the indices of an instruction.
func (dag *DAG) checkOf(in *ops.Instr, idx ops.ID) int {
	for i, c := range dag.checked {
		if c == in {
			return i
		}
	}
	dag.checked = append(dag.checked, in)
	c := lowering.Check{Operand: dag.number(idx)}
	if dag.position != nil {
		c.Instr = dag.position(in.Outs[0].ID)
	}
	dag.Checks = append(dag.Checks, c)
	return len(dag.Checks) - 1
}

// along is a view that moves by a stride along an extra dimension, which may be known.
func (dag *DAG) along(v strided.View, r extraDim, stride int) strided.View {
	at := slices.Index(dag.extraDims, r)
	if at < 0 {
		dag.extraDims = append(dag.extraDims, r)
		at = len(dag.extraDims) - 1
	}
	strides := slices.Clone(v.Strides)
	for len(strides) <= len(dag.Dims)+at {
		strides = append(strides, 0)
	}
	strides[len(dag.Dims)+at] += stride
	return strided.View{Offset: v.Offset, Strides: strides}
}
