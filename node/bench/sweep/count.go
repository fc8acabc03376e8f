package sweep

import (
	"math"

	"nxvk/ops"
)

// count sets the traffic and the arithmetic of a case from the types of its values. The traffic
// is that of a kernel that reads each operand and writes each result once. Of operands that are
// sliced or read at indices, only the elements that are read count.
func (c *Case) count(types []ops.Type) {
	c.Bytes, c.Ops = 0, 0
	read := make(map[int]float64)
	next := len(c.Params)
	for i := range c.Steps {
		s := &c.Steps[i]
		op, _ := ops.Lookup(s.Op)
		for k, v := range s.Ins {
			n := float64(types[v].Bytes())
			if k == 0 && reads(op) {
				n = min(n, float64(types[next].Bytes()))
			}
			read[v] = max(read[v], n)
		}
		c.Ops += s.arithmetic(op, types, next)
		next += len(s.Outs)
	}
	for v := range c.Params {
		c.Bytes += read[v]
	}
	for _, v := range c.Values {
		c.Bytes += float64(types[v].Bytes())
	}
}

// reads reports whether an operation reads only as much of its first operand as its result has.
func reads(op ops.Op) bool {
	switch op {
	case ops.Slice, ops.Gather, ops.Take, ops.TakeAlongAxis:
		return true
	}
	return false
}

// arithmetic counts the operations of a step for which they matter: two for each product and
// its sum, 5 n log n for a Fourier transform, and for a factorization the product of the
// dimensions, which is a measure and no count. The results of the step begin at first.
func (s *Step) arithmetic(op ops.Op, types []ops.Type, first int) float64 {
	out := types[first]
	switch op.Info().Kind {
	case ops.Contract:
		n := 2 * float64(out.Size())
		for _, a := range s.Attrs[0] {
			n *= float64(types[s.Ins[0]].Shape[a])
		}
		return n
	case ops.Window:
		if op == ops.Conv {
			kernel := types[s.Ins[1]]
			return 2 * float64(out.Size()) * float64(kernel.Size()/kernel.Shape[s.Attrs[ops.ConvKernelPermutation][0]])
		}
		n := float64(out.Size())
		if op != ops.WindowScatterMax && op != ops.WindowScatterMin {
			n *= float64(ops.Shape(s.Attrs[0]).Size())
		}
		return n
	case ops.Transform:
		length := 1.0
		for _, n := range s.Attrs[0] {
			length *= float64(n)
		}
		return 5 * max(float64(types[s.Ins[0]].Size()), float64(out.Size())) * math.Log2(length+1)
	case ops.LinAlg:
		a := types[s.Ins[0]]
		last := a
		if len(s.Ins) == 2 {
			last = types[s.Ins[1]]
		}
		return float64(last.Size()) * float64(a.Shape[len(a.Shape)-1])
	}
	return 0
}
