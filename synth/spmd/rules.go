package spmd

import (
	"slices"

	"nxvk/ops"
)

// whole marks a dimension that no axis of the mesh may divide.
const whole = -1

// rule names the factors of an instruction: what dimensions of its operands and results go together.
type rule struct {
	operands  [][]int // for each operand the factor of each dimension; an operand that is not there is whole
	results   [][]int // the same for results
	contracts []int   // factors over which parts of the result are combined
	operator  int     // by which, of all_reduce
	restore   bool    // a result dimension that had to be whole is divided as that of the first operand was
}

func (r *rule) operand(i, rank int) []int { return dims(r.operands, i, rank) }
func (r *rule) result(i, rank int) []int  { return dims(r.results, i, rank) }

func dims(list [][]int, i, rank int) []int {
	if i < len(list) {
		return list[i]
	}
	out := make([]int, rank)
	for d := range out {
		out[d] = whole
	}
	return out
}

// but numbers the dimensions from 0, with those that must be whole.
func but(rank int, without ...int) []int {
	out := ops.AllAxes(rank)
	for _, d := range without {
		out[d] = whole
	}
	return out
}

// ruleOf returns the rule of an instruction on whole values, nil where there is none.
func ruleOf(in *ops.Instr, t []ops.Type) *rule {
	switch in.Op.Info().Kind {
	case ops.Create:
		return &rule{}
	case ops.Pointwise:
		return pointwise(in.Outs[0].Type.Shape, t)
	case ops.Reduce:
		return reduction(in, t[0].Shape)
	case ops.ArgReduce:
		if axis := in.Attrs[0][0]; axis >= 0 {
			return reduced(t[0].Shape, []int{axis}, in.Attrs[1][0] != 0)
		}
		return nil
	case ops.Movement:
		return movement(in, t)
	case ops.Contract:
		return dot(in, t)
	case ops.Window:
		return window(in, t)
	case ops.Index:
		return index(in, t)
	case ops.Order:
		if in.Op == ops.TopK {
			n := len(t[0].Shape)
			return along(in, n, n-1)
		}
		return along(in, len(t[0].Shape), in.Attrs[0][0])
	case ops.Scan:
		return along(in, len(t[0].Shape), in.Attrs[0][0])
	case ops.Transform:
		return along(in, len(t[0].Shape), in.Attrs[1]...)
	case ops.LinAlg:
		return batches(in, t)
	case ops.Fold:
		if in.Op == ops.ReduceFun {
			return reduced(t[0].Shape, in.Attrs[0], in.Attrs[1][0] != 0)
		}
	}
	return nil
}

// pointwise: dimensions are aligned from the right. One of 1 that is repeated is whole.
func pointwise(out ops.Shape, t []ops.Type) *rule {
	r := &rule{results: [][]int{but(len(out))}}
	for _, o := range t {
		from := len(out) - len(o.Shape)
		list := make([]int, len(o.Shape))
		for d, n := range o.Shape {
			list[d] = whole
			if n == out[from+d] {
				list[d] = from + d
			}
		}
		r.operands = append(r.operands, list)
	}
	return r
}

// along is the rule of operations of one operand that need axes whole.
func along(in *ops.Instr, rank int, axes ...int) *rule {
	list := but(rank, axes...)
	r := &rule{operands: [][]int{list}, restore: true}
	for range in.Outs {
		r.results = append(r.results, list)
	}
	return r
}

// reduced is the rule of a reduction that needs its axes whole.
func reduced(s ops.Shape, axes []int, keep bool) *rule {
	list := but(len(s), axes...)
	var out []int
	for d, f := range list {
		if f != whole || keep && slices.Contains(axes, d) {
			out = append(out, f)
		}
	}
	return &rule{operands: [][]int{list}, results: [][]int{out}}
}

// reduction combines the parts of what it reduces. Truth values are 0 and 1.
func reduction(in *ops.Instr, s ops.Shape) *rule {
	r := reduced(s, in.Attrs[0], in.Attrs[1][0] != 0)
	r.operands = [][]int{but(len(s))}
	r.contracts = in.Attrs[0]
	switch in.Op {
	case ops.Product:
		r.operator = 1
	case ops.ReduceMax, ops.Any:
		r.operator = 2
	case ops.ReduceMin, ops.All:
		r.operator = 3
	}
	return r
}

// dot combines the parts of contracted dimensions.
func dot(in *ops.Instr, t []ops.Type) *rule {
	left, right := t[0].Shape, t[1].Shape
	cl, bl, cr, br := in.Attrs[0], in.Attrs[1], in.Attrs[2], in.Attrs[3]
	l, out := but(len(left)), []int(nil)
	rt := make([]int, len(right))
	for d := range rt {
		rt[d] = len(left) + d
	}
	for i := range br {
		rt[br[i]] = bl[i]
		out = append(out, bl[i])
	}
	for i := range cr {
		rt[cr[i]] = cl[i]
	}
	for d := range l {
		if !slices.Contains(bl, d) && !slices.Contains(cl, d) {
			out = append(out, d)
		}
	}
	for d, f := range rt {
		if !slices.Contains(br, d) && !slices.Contains(cr, d) {
			out = append(out, f)
		}
	}
	return &rule{operands: [][]int{l, rt}, results: [][]int{out}, contracts: cl}
}

// batches is the rule of operations on matrices: dimensions before the last two are divided.
func batches(in *ops.Instr, t []ops.Type) *rule {
	n := len(t[0].Shape) - 2
	if slices.ContainsFunc(t, func(o ops.Type) bool { return len(o.Shape) < n || !o.Shape[:n].Equal(t[0].Shape[:n]) }) {
		return nil
	}
	r := &rule{}
	first := func(rank int) []int {
		list := make([]int, rank)
		for d := range list {
			if list[d] = whole; d < n {
				list[d] = d
			}
		}
		return list
	}
	for _, o := range t {
		r.operands = append(r.operands, first(len(o.Shape)))
	}
	for _, o := range in.Outs {
		r.results = append(r.results, first(len(o.Type.Shape)))
	}
	return r
}

// convolution: the batch, the features of the result and those that are contracted are divided, where they are not in groups. The
// gradient of a kernel contracts the batch.
func convolution(in *ops.Instr, rank int) *rule {
	const batch, contracted, made = 0, 1, 2
	x, k, out := dims(nil, 0, rank), dims(nil, 0, rank), dims(nil, 0, rank)
	input, kernel, output := in.Attrs[ops.ConvInputPermutation], in.Attrs[ops.ConvKernelPermutation], in.Attrs[ops.ConvOutputPermutation]
	together, alike := in.Attrs[ops.ConvFeatureGroups][0] == 1, in.Attrs[ops.ConvBatchGroups][0] == 1
	r := &rule{operands: [][]int{x, k}, results: [][]int{out}}
	if alike {
		x[input[0]], out[output[0]] = batch, batch
	}
	if together {
		x[input[1]], k[kernel[1]] = contracted, contracted
		r.contracts = []int{contracted}
	}
	if together && alike {
		k[kernel[0]], out[output[1]] = made, made
	}
	return r
}

// window: dimensions that the windows do not join are divided.
func window(in *ops.Instr, t []ops.Type) *rule {
	if in.Op == ops.Conv {
		return convolution(in, len(t[0].Shape))
	}
	var joined []int
	for d, n := range in.Attrs[0] {
		if n != 1 || in.Attrs[2][d] != 1 || in.Attrs[1][2*d] != 0 || in.Attrs[1][2*d+1] != 0 {
			joined = append(joined, d)
		}
	}
	r := along(in, len(t[0].Shape), joined...)
	if in.Op == ops.WindowScatterMax || in.Op == ops.WindowScatterMin {
		r.operands = append(r.operands, r.operands[0]) // what is scattered
	}
	return r
}

// index: dimensions that are not indexed are divided, and so are indices.
func index(in *ops.Instr, t []ops.Type) *rule {
	s, idx := t[0].Shape, t[1].Shape
	indexed := in.Attrs[0]
	x := but(len(s), indexed...)
	var kept []int
	for d, f := range x {
		if !slices.Contains(indexed, d) {
			kept = append(kept, f)
		}
	}
	rows := make([]int, len(idx))
	for d := range rows {
		rows[d] = len(s) + d
	}
	switch in.Op {
	case ops.Take:
		axis := indexed[0]
		return &rule{operands: [][]int{x, rows}, results: [][]int{slices.Concat(x[:axis], rows, x[axis+1:])}}
	case ops.Gather:
		rows[len(rows)-1] = whole
		return &rule{operands: [][]int{x, rows}, results: [][]int{slices.Concat(rows[:len(rows)-1], kept)}}
	case ops.TakeAlongAxis:
		out := slices.Clone(x)
		out[indexed[0]] = len(s) // only the indices have it
		return &rule{operands: [][]int{x, out}, results: [][]int{out}}
	}
	rows = dims(nil, 0, len(idx))
	return &rule{operands: [][]int{x, rows, slices.Concat([]int{whole}, kept)}, results: [][]int{x}, restore: true}
}
