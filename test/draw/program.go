package draw

import (
	"encoding/binary"
	"math"
	"math/rand/v2"

	"nxvk/ops"
)

// programmer makes random programs: operations on elements, views, reductions,
// products, branches and loops. All numbers are small integers, also where their
// type is a float one, so that every order of adding them gives the same bits.
type programmer struct {
	*Builder
	r     *rand.Rand
	dtype ops.DType
	pool  []ops.ID // values that may be used in the region under way
}

// most is how far from zero a number of a program is at most.
const most = 50

// Program makes a program of two parameters and about n instructions.
func Program(seed uint64, n int) *ops.Region {
	r := rand.New(rand.NewPCG(seed, 5))
	p := &programmer{Builder: NewBuilder(), r: r,
		dtype: []ops.DType{ops.F32, ops.S32, ops.S64, ops.S8, ops.F64}[r.IntN(5)]}
	shape := ops.Shape{2 + r.IntN(4), 3 + r.IntN(6)}
	for range 2 {
		p.pool = append(p.pool, p.Param(ops.Type{DType: p.dtype, Shape: shape}).ID)
	}
	for len(p.Body) < n {
		p.step(2)
	}
	last := p.pool[len(p.pool)-1]
	region := p.Region(ops.Operand{ID: last})
	for range 2 {
		if id := p.pick(); id != last && len(region.Values) < 3 && id != region.Values[len(region.Values)-1].ID {
			region.Values = append(region.Values, ops.Operand{ID: id})
		}
	}
	return region
}

// pick prefers late values.
func (p *programmer) pick() ops.ID {
	n := len(p.pool)
	return p.pool[max(p.r.IntN(n), p.r.IntN(n))]
}

func (p *programmer) num(x int) ops.Operand { return Number(p.dtype, float64(x)) }

// small keeps a value within bounds, and makes negative zeros positive ones.
func (p *programmer) small(x ops.Operand) ops.Operand {
	t := p.types[x.ID]
	x = p.Do(ops.Add, t, nil, x, p.num(0))
	return p.Do(ops.Min, t, nil, p.Do(ops.Max, t, nil, x, p.num(-most)), p.num(most))
}

// step adds some instructions, with branches and loops at most so deep.
func (p *programmer) step(deep int) {
	x := p.pick()
	t := p.types[x]
	kinds := 9
	if deep > 0 {
		kinds = 11
	}
	var out ops.Operand
	switch k := p.r.IntN(kinds); {
	case k < 3:
		out = p.elements(x, t)
	case k < 5:
		out = p.view(x, t)
	case k < 7:
		out = p.fold(x, t)
	case k == 7:
		out = p.product(x, t)
	case k == 8:
		out = p.complex(x, t)
	case k == 9:
		out = p.branch(x, t, deep-1)
	default:
		out = p.loop(x, t, deep-1)
	}
	p.pool = append(p.pool, out.ID)
}

func (p *programmer) elements(x ops.ID, t ops.Type) ops.Operand {
	a, b := ops.Operand{ID: x}, p.num(p.r.IntN(5)-2)
	for range 4 { // something that it can be combined with
		y := p.pick()
		if s, err := ops.Broadcast(t.Shape, p.types[y].Shape); err == nil && p.r.IntN(4) > 0 {
			b, t.Shape = ops.Operand{ID: y}, s
			break
		}
	}
	switch p.r.IntN(6) {
	case 0:
		return p.small(p.Do(ops.Add, t, nil, a, b))
	case 1:
		return p.small(p.Do(ops.Subtract, t, nil, b, a))
	case 2:
		if p.dtype == ops.S8 { // 50 times 50 does not fit
			narrow := p.types[x]
			a = p.Do(ops.Max, narrow, nil, p.Do(ops.Min, narrow, nil, a, p.num(2)), p.num(-2))
		}
		return p.small(p.Do(ops.Multiply, t, nil, a, b))
	case 3:
		return p.Do(ops.Abs, t, nil, p.Do(ops.Max, t, nil, a, b))
	}
	u8 := ops.Type{DType: ops.U8, Shape: t.Shape}
	return p.Do(ops.Select, t, nil, p.Do(ops.Less, u8, nil, a, b), a, b)
}

// complex makes a complex number of x, multiplies and looks at it in other ways, and
// takes it apart.
func (p *programmer) complex(x ops.ID, t ops.Type) ops.Operand {
	c := ops.Type{DType: ops.C64, Shape: t.Shape}
	if t.DType.Bits() == 64 {
		c.DType = ops.C128
	}
	number := func(re, im float64) ops.Operand { return Complex(c.DType, re, im) }
	a := ops.Operand{ID: x}
	z := p.Do(ops.Add, c, nil, a, p.Do(ops.Multiply, c, nil, number(0, 1), a))
	if y := p.view(z.ID, c); p.types[y.ID].Equal(c) {
		z = p.Do(ops.Subtract, c, nil, z, y)
	}
	w := p.Do(ops.Multiply, c, nil, z, number(float64(p.r.IntN(5)-2), 1))
	re, truth := ops.Type{DType: c.DType.Real(), Shape: t.Shape}, ops.Type{DType: ops.U8, Shape: t.Shape}
	switch p.r.IntN(3) {
	case 0:
		w = p.Do(ops.Conjugate, c, nil, w)
	case 1:
		w = p.Do(ops.Select, c, nil, p.Do(ops.Equal, truth, nil, w, z), w, z)
	}
	part := p.Do([]ops.Op{ops.RealPart, ops.Imag}[p.r.IntN(2)], re, nil, w)
	return p.small(p.Do(ops.AsType, t, nil, part))
}

func (p *programmer) view(x ops.ID, t ops.Type) ops.Operand {
	a, s := ops.Operand{ID: x}, t.Shape
	switch p.r.IntN(6) {
	case 0:
		perm := p.r.Perm(len(s))
		shape := ops.Shape{}
		for _, i := range perm {
			shape = append(shape, s[i])
		}
		return p.Do(ops.Transpose, ops.Type{DType: t.DType, Shape: shape}, [][]int{perm}, a)
	case 1:
		return p.Do(ops.Reverse, t, [][]int{p.r.Perm(len(s))[:p.r.IntN(len(s)+1)]}, a)
	case 2:
		at, length, step := make([]int, len(s)), make([]int, len(s)), make([]int, len(s))
		for i, n := range s {
			length[i], step[i] = 1+p.r.IntN(n), 1
			at[i] = p.r.IntN(n - length[i] + 1)
		}
		return p.Do(ops.Slice, ops.Type{DType: t.DType, Shape: ops.Shape(length)}, [][]int{at, length, step}, a)
	case 3:
		return p.padded(a, t)
	case 4:
		return p.slide(a, t)
	}
	return p.Do(ops.Reshape, ops.Type{DType: t.DType, Shape: ops.Shape{t.Size()}}, nil, a)
}

// padded pads by little or crops.
func (p *programmer) padded(a ops.Operand, t ops.Type) ops.Operand {
	out := ops.Type{DType: t.DType}
	var cfg []int
	for _, n := range t.Shape {
		low, high, between := p.r.IntN(4)-1, p.r.IntN(4)-1, p.r.IntN(2)
		if m := n + low + high + (n-1)*between; m < 1 || m > 3*most {
			low, high, between = 0, 0, 0
		}
		cfg = append(cfg, low, high, between)
		out.Shape = append(out.Shape, n+low+high+(n-1)*between)
	}
	value := ops.Operand{Lit: &ops.Literal{Type: ops.Type{DType: t.DType}, Data: make([]byte, t.DType.Size())}}
	return p.Do(ops.Pad, out, [][]int{cfg}, a, value)
}

// slide takes a part that begins where the elements say, if they are real.
func (p *programmer) slide(a ops.Operand, t ops.Type) ops.Operand {
	if t.DType.IsComplex() || len(t.Shape) == 0 {
		return a
	}
	axes, lengths, steps := make([]int, len(t.Shape)), make([]int, len(t.Shape)), make([]int, len(t.Shape))
	out := ops.Type{DType: t.DType, Shape: make(ops.Shape, len(t.Shape))}
	for i, n := range t.Shape {
		axes[i], lengths[i], steps[i] = i, 1+p.r.IntN(n), 1
		out.Shape[i] = lengths[i]
	}
	top := p.Do(ops.ReduceMax, ops.Type{DType: t.DType}, [][]int{axes, {0}}, a)
	at := p.Do(ops.AsType, ops.Type{DType: ops.S32}, nil, top)
	ins := []ops.Operand{a}
	for range t.Shape {
		ins = append(ins, at)
	}
	return p.Do(ops.Slice, out, [][]int{{}, lengths, steps}, ins...)
}

func (p *programmer) fold(x ops.ID, t ops.Type) ops.Operand {
	if len(t.Shape) == 0 {
		return p.elements(x, t)
	}
	axis := p.r.IntN(len(t.Shape))
	kept := append(ops.Shape{}, t.Shape...)
	kept[axis] = 1
	op := []ops.Op{ops.Sum, ops.ReduceMax, ops.ReduceMin}[p.r.IntN(3)]
	return p.small(p.Do(op, ops.Type{DType: t.DType, Shape: kept}, [][]int{{axis}, {1}}, ops.Operand{ID: x}))
}

// product multiplies a matrix by its transpose.
func (p *programmer) product(x ops.ID, t ops.Type) ops.Operand {
	if len(t.Shape) != 2 || t.Shape[0] > 12 {
		return p.elements(x, t)
	}
	out := ops.Type{DType: t.DType, Shape: ops.Shape{t.Shape[0], t.Shape[0]}}
	a := ops.Operand{ID: x}
	return p.small(p.Do(ops.Dot, out, [][]int{{1}, {}, {1}, {}}, a, a))
}

// region makes a region of some instructions that gives what x becomes.
func (p *programmer) region(x ops.ID, deep int) (body []ops.Instr, value ops.Operand) {
	outer, pool := p.Body, p.pool
	p.Body, p.pool = nil, append([]ops.ID(nil), pool...)
	p.pool = append(p.pool, x)
	for range 1 + p.r.IntN(3) {
		p.step(deep)
	}
	t := p.types[x]
	value = p.Do(ops.Add, t, nil, ops.Operand{ID: x}, p.num(1))
	if y := p.pool[len(p.pool)-1]; p.types[y].Equal(t) {
		value = p.Do(ops.Subtract, t, nil, value, ops.Operand{ID: y})
	}
	value = p.small(value)
	body, p.Body, p.pool = p.Body, outer, pool
	return body, value
}

// branch goes one way or the other by the sum of x.
func (p *programmer) branch(x ops.ID, t ops.Type, deep int) ops.Operand {
	axes := make([]int, len(t.Shape))
	for i := range axes {
		axes[i] = i
	}
	sum := p.Do(ops.ReduceMax, ops.Type{DType: t.DType}, [][]int{axes, {0}}, ops.Operand{ID: x})
	yes := p.Do(ops.Greater, ops.Type{DType: ops.U8}, nil, sum, p.num(p.r.IntN(9)-4))
	var regions []*ops.Region
	for range 2 {
		body, value := p.region(x, deep)
		regions = append(regions, &ops.Region{Body: body, Values: []ops.Operand{value}})
	}
	out := p.Do(ops.Branch, t, [][]int{nil, nil}, yes)
	p.Body[len(p.Body)-1].Regions = regions
	return out
}

// loop goes three times over x.
func (p *programmer) loop(x ops.ID, t ops.Type, deep int) ops.Operand {
	count := ops.Type{DType: ops.S32}
	number := func(n uint32) ops.Operand {
		return ops.Operand{Lit: &ops.Literal{Type: count, Data: binary.LittleEndian.AppendUint32(nil, n)}}
	}
	state := func() []ops.Result { return []ops.Result{{ID: p.ID(t), Type: t}, {ID: p.ID(count), Type: count}} }
	add := func(op ops.Op, out ops.Type, a, b ops.Operand) ops.Instr {
		return ops.Instr{Op: op, Outs: []ops.Result{{ID: p.ID(out), Type: out}}, Ins: []ops.Operand{a, b}}
	}
	c := state()
	less := add(ops.Less, ops.Type{DType: ops.U8}, ops.Operand{ID: c[1].ID}, number(3))
	cond := &ops.Region{Params: c, Body: []ops.Instr{less}, Values: []ops.Operand{{ID: less.Outs[0].ID}}}
	s := state()
	body, value := p.region(s[0].ID, deep)
	plus := add(ops.Add, count, ops.Operand{ID: s[1].ID}, number(1))
	round := &ops.Region{Params: s, Body: append(body, plus), Values: []ops.Operand{value, {ID: plus.Outs[0].ID}}}
	outs := state()
	p.Body = append(p.Body, ops.Instr{Op: ops.While, Outs: outs, Ins: []ops.Operand{{ID: x}, number(0)},
		Attrs: [][]int{nil, nil}, Regions: []*ops.Region{cond, round}})
	return ops.Operand{ID: outs[0].ID}
}

// Whole draws small integers.
func Whole(r *rand.Rand, t ops.Type) []byte {
	v := make([]float64, t.Size())
	for i := range v {
		v[i] = math.Floor(r.Float64()*(2*most+1)) - most
	}
	return Encode(v, t)
}
