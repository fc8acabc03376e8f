package main

import (
	"math/rand/v2"
	"sync"

	"nxvk/fallback"
	"nxvk/ops"
	"nxvk/test/draw"
)

// pointwise are the operations on elements.
var pointwise = func() (list []ops.Op) {
	for op := range ops.Count {
		if op.Info().Kind == ops.Pointwise {
			list = append(list, op)
		}
	}
	return list
}()

// computes reports whether the host computes an operation that gives a type: what it
// refuses says little.
var computes = func() func(op ops.Op, d ops.DType) bool {
	type row struct {
		op ops.Op
		d  ops.DType
	}
	var known sync.Map
	return func(op ops.Op, d ops.DType) bool {
		r := row{op, d}
		ok, have := known.Load(r)
		if !have {
			ok = fallback.Computes(op, d) == nil
			known.Store(r, ok)
		}
		return ok.(bool)
	}
}()

// elements is one operation on elements, of shapes that broadcast.
func (m *maker) elements() []ops.Operand {
	all := ops.DTypes()
	for {
		op := pick(m.s.Rand, pointwise...)
		f := op.Info()
		d := all[m.s.IntN(len(all))]
		s := m.shape(m.s.IntN(5), 5000)
		var ins []ops.Operand
		for i := range f.Arity {
			own := s[m.s.IntN(len(s)+1):]
			if i == 0 {
				own = s
			}
			if op == ops.Clip && i > 0 {
				own = ops.Shape{}
			}
			t := ops.Type{DType: d, Shape: own}
			if m.s.IntN(4) == 0 && f.Result != ops.IndexType {
				t.DType = all[m.s.IntN(len(all))]
			}
			if m.s.IntN(6) == 0 {
				t.Shape = ops.Shape{}
				ins = append(ins, ops.Operand{Lit: &ops.Literal{Type: t, Data: m.fill(t, f.Domain, i == f.Arity-1)}})
				continue
			}
			ins = append(ins, m.param(t, m.fill(t, f.Domain, i == f.Arity-1)))
		}
		if to := m.result(op, ins); computes(op, m.merged(op, ins)) {
			if outs, ok := m.Add(op, []ops.DType{to}, nil, nil, ins...); ok {
				return outs
			}
		}
		m.Builder, m.inputs = draw.NewBuilder(), nil
	}
}

// merged is the type that holds those of the operands, but for a truth value.
func (m *maker) merged(op ops.Op, ins []ops.Operand) ops.DType {
	d := m.TypeOf(ins[len(ins)-1]).DType
	for i, o := range ins {
		if i > 0 || op.Info().Flags&ops.Predicate == 0 {
			d = ops.Merge(d, m.TypeOf(o).DType)
		}
	}
	return d
}

// result is the type of an operation's result, as Nx would state it from the
// operands.
func (m *maker) result(op ops.Op, ins []ops.Operand) ops.DType {
	d := m.merged(op, ins)
	switch op.Info().Result {
	case ops.BoolType:
		return ops.U8
	case ops.FloatType:
		if d.IsInteger() {
			return ops.F32
		}
	case ops.RealType:
		if d.IsInteger() && op != ops.Abs {
			return ops.F32
		}
		return d.Real()
	case ops.ComplexType:
		if d.Real() == ops.F64 {
			return ops.C128
		}
		return ops.C64
	case ops.SameType:
		return m.TypeOf(ins[0]).DType
	}
	if op == ops.AsType {
		return pick(m.s.Rand, ops.DTypes()...)
	}
	return d
}

// straight is a program of several operations, of which most can be fused: each takes
// values that are there and gives more.
func (m *maker) straight() []ops.Operand {
	const most = 6000 // elements of a value
	shape := m.shape(1+m.s.IntN(3), 600)
	var pool []ops.Operand
	for range 2 + m.s.IntN(3) {
		pool = append(pool, m.real(pick(m.s.Rand, computed...), shape[m.s.IntN(len(shape)):]...))
	}
	for n := 4 + m.s.IntN(17); len(m.Body) < n; {
		x := pool[max(m.s.IntN(len(pool)), m.s.IntN(len(pool)))]
		var y ops.Operand
		ok := true
		switch k := m.s.IntN(20); {
		case k < 10:
			y, ok = m.combine(x, pool)
		case k < 14:
			y = m.look(x)
		case k < 17:
			y, ok = m.folded(x)
		default:
			y, ok = m.heavy(x)
		}
		if ok && m.TypeOf(y).Size() <= most {
			pool = append(pool, y)
		}
	}
	values := []ops.Operand{{ID: m.Body[len(m.Body)-1].Outs[0].ID}}
	for _, v := range []ops.Operand{pool[len(pool)-1], pool[m.s.IntN(len(pool))]} {
		if v.ID != values[0].ID {
			values = append(values, v)
		}
	}
	return values
}

// combine applies an elementwise operation to x and to other values that fit.
func (m *maker) combine(x ops.Operand, pool []ops.Operand) (ops.Operand, bool) {
	op := pick(m.s.Rand, pointwise...)
	ins := []ops.Operand{x}
	for i := 1; i < op.Info().Arity; i++ {
		y := pick(m.s.Rand, pool...)
		if m.s.IntN(4) == 0 || op == ops.Clip {
			y = draw.Number(pick(m.s.Rand, ops.S32, ops.F32, ops.U8), float64(m.s.IntN(5)))
		}
		ins = append(ins, y)
	}
	m.s.Shuffle(len(ins), func(i, k int) {
		if op != ops.Clip {
			ins[i], ins[k] = ins[k], ins[i]
		}
	})
	if !computes(op, m.merged(op, ins)) {
		return x, false
	}
	outs, ok := m.Add(op, []ops.DType{m.result(op, ins)}, nil, nil, ins...)
	if !ok {
		return x, false
	}
	return outs[0], true
}

// folded folds axes of x.
func (m *maker) folded(x ops.Operand) (ops.Operand, bool) {
	t := m.TypeOf(x)
	if len(t.Shape) == 0 {
		return x, false
	}
	axes := []int{len(t.Shape) - 1}
	if m.s.IntN(2) == 0 {
		axes = m.s.Perm(len(t.Shape))[:1+m.s.IntN(len(t.Shape))]
	}
	list := []ops.Op{ops.Sum, ops.Any, ops.Product, ops.All, ops.ReduceMax, ops.ReduceMin}
	if t.DType.IsComplex() {
		list = list[:4]
	}
	op, d := pick(m.s.Rand, list...), t.DType
	if op == ops.Any || op == ops.All {
		d = ops.U8
	}
	return m.one(op, d, [][]int{axes, {m.s.IntN(2)}}, x), true
}

// heavy is an operation that has a plan of its own, or takes others into it.
func (m *maker) heavy(x ops.Operand) (ops.Operand, bool) {
	t := m.TypeOf(x)
	if len(t.Shape) == 0 || t.Size() > 2000 {
		return x, false
	}
	last := len(t.Shape) - 1
	switch m.s.IntN(6) {
	case 0:
		return m.one(ops.Concatenate, t.DType, [][]int{{last}}, x, x), true
	case 1:
		if !t.DType.IsInteger() {
			return m.one(ops.Dot, t.DType, [][]int{{last}, {}, {0}, {}}, x, m.real(t.DType, t.Shape[last], 5)), true
		}
	case 2:
		if !t.DType.IsComplex() {
			return m.one(ops.Sort, t.DType, [][]int{{last}, {0}, {1}}, x), true
		}
	case 3:
		return m.one(ops.CumulativeSum, t.DType, [][]int{{last}, {0}}, x), true
	case 4:
		return m.one(ops.Take, t.DType, [][]int{{0}}, x, m.indices(t.Shape[0]-1, 1+m.s.IntN(9))), true
	}
	i := m.shaped(ops.Iota, ops.S32, t.Shape, [][]int{{m.s.IntN(last+2) - 1}})
	d := ops.Merge(t.DType, ops.S32)
	return m.one(ops.Add, d, nil, x, i), true
}

// loops is a program with branches and loops.
func (m *maker) loops() []ops.Operand {
	m.ready = draw.Program(m.s.Uint64(), 14)
	r := rand.New(rand.NewPCG(m.s.Uint64(), 8))
	for _, p := range m.ready.Params {
		m.inputs = append(m.inputs, draw.Whole(r, p.Type))
	}
	return m.ready.Values
}

// density is a log density and its gradient, as the sampler takes them: a regression
// of drawn size, type and link.
func (m *maker) density() []ops.Operand {
	m.grad = true
	num := pick(m.s.Rand, ops.F64, ops.F64, ops.F32)
	rows, dim := pick(m.s.Rand, 5, 40, 300, 1000), pick(m.s.Rand, 1, 3, 10, 40)
	q, xs, ys := m.real(num, dim), m.real(num, rows, dim), m.real(num, rows)
	two := func(op ops.Op, x, y ops.Operand) ops.Operand { return m.one(op, num, nil, x, y) }
	all := func(x ops.Operand) ops.Operand { return m.one(ops.Sum, num, [][]int{{0}, {0}}, x) }
	z := m.one(ops.Dot, num, [][]int{{1}, {}, {0}, {}}, xs, q)
	var each, residual ops.Operand
	switch m.s.IntN(3) {
	case 0: // logistic
		each = two(ops.Subtract, two(ops.Multiply, ys, z), m.one(ops.Log1p, num, nil, m.one(ops.Exp, num, nil, z)))
		residual = two(ops.Subtract, ys, m.one(ops.Sigmoid, num, nil, z))
	case 1: // Poisson
		rate := m.one(ops.Exp, num, nil, z)
		each, residual = two(ops.Subtract, two(ops.Multiply, ys, z), rate), two(ops.Subtract, ys, rate)
	default: // normal
		residual = two(ops.Subtract, ys, z)
		each = two(ops.Multiply, two(ops.Multiply, residual, residual), draw.Number(num, -0.5))
	}
	prior := two(ops.Multiply, all(two(ops.Multiply, q, q)), draw.Number(num, -0.5))
	logp := two(ops.Add, all(each), prior)
	grad := two(ops.Subtract, m.one(ops.Dot, num, [][]int{{0}, {}, {0}, {}}, xs, residual), q)
	return []ops.Operand{logp, grad}
}
