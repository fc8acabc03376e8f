// Package fuzz sends what no client should: programs whose operations,
// operands, shapes and attributes are chosen at random, and messages that are
// random bytes. Whatever arrives, the node answers with values or with errors
// that name their kind, and a session that ends leaves nothing.
//
// Everything runs on the host, without a device and without a BEAM.
package fuzz

import (
	"math/rand/v2"

	"nxvk/gen/etf"
	"nxvk/ops"
)

// programs makes instructions as terms. Most are nearly right, so that they
// come far before something is wrong with them.
type programs struct {
	r      *rand.Rand
	last   int64    // the latest id
	latest etf.Term // the type of the latest result
}

// message is a stream of instructions.
func (p *programs) message() etf.Term {
	list := etf.List{}
	for range 1 + p.r.IntN(12) {
		list = append(list, p.instruction())
	}
	return etf.Tuple{etf.Atom("nxvk"), list}
}

func (p *programs) instruction() etf.Term {
	if p.r.IntN(4) == 0 {
		if e, ok := p.example(); ok {
			return e
		}
	}
	op := ops.Op(p.r.IntN(int(ops.Count)))
	if p.r.IntN(3) == 0 {
		op = ops.Tensor
	}
	info := op.Info()
	t := p.typ()
	p.latest = t[0]
	results := etf.List{}
	for range max(info.Results, p.r.IntN(2)) {
		p.last++
		results = append(results, etf.Tuple{p.last, t[0], t[1]})
	}
	arity := info.Arity
	if arity < 0 || p.r.IntN(30) == 0 {
		arity = p.r.IntN(4)
	}
	operands := etf.List{}
	for range arity {
		operands = append(operands, p.operand(op, t))
	}
	attrs := etf.List{}
	for i := range info.Attrs {
		attrs = append(attrs, p.attr(&info.Attrs[i]))
	}
	return etf.Tuple{etf.Atom(info.Name), results, operands, attrs}
}

// typ is an element type and a shape of at most some hundred elements, but for
// a few that no memory holds.
func (p *programs) typ() etf.Tuple {
	all := ops.DTypes()
	shape := etf.Tuple{}
	for range p.r.IntN(4) {
		shape = append(shape, int64(1+p.r.IntN(5)))
	}
	if p.r.IntN(40) == 0 {
		shape = append(shape, int64(1)<<p.r.IntN(63))
	}
	return etf.Tuple{etf.Atom(all[p.r.IntN(len(all))].String()), shape}
}

// operand is a value made before, or a literal of the result's type or of any.
func (p *programs) operand(op ops.Op, t etf.Tuple) etf.Term {
	if op != ops.Tensor && op != ops.Constant && p.last > 1 && p.r.IntN(5) > 0 {
		return 1 + p.r.Int64N(p.last)
	}
	if p.r.IntN(4) == 0 {
		t = p.typ()
	}
	if op == ops.Constant || p.r.IntN(3) == 0 && op != ops.Tensor {
		t = etf.Tuple{t[0], etf.Tuple{}}
	}
	return p.literal(t)
}

// literal has random bytes, zeros as often as not.
func (p *programs) literal(t etf.Tuple) etf.Term {
	n := 1
	for _, d := range t[1].(etf.Tuple) {
		n = min(n*int(min(d.(int64), 1<<12)), 1<<12)
	}
	d, _ := ops.ParseDType(string(t[0].(etf.Atom)))
	data := make([]byte, n*d.Size())
	for i := range data[:len(data)*p.r.IntN(2)] {
		data[i] = byte(p.r.Uint32() >> p.r.IntN(8))
	}
	return etf.Tuple{t[0], t[1], data}
}

// attr is an attribute of the right form and of a value that may not fit.
func (p *programs) attr(a *ops.Attr) etf.Term {
	if p.r.IntN(60) == 0 {
		return etf.Atom("odd")
	}
	switch a.Kind {
	case ops.Int:
		return p.number()
	case ops.Ints:
		return p.list(1)
	case ops.Pairs:
		return p.list(2)
	case ops.Pads:
		return p.list(3)
	case ops.Bool:
		return etf.Atom([]string{"true", "false"}[p.r.IntN(2)])
	case ops.Enum:
		return etf.Atom(a.Names[p.r.IntN(len(a.Names))])
	case ops.Real64:
		return p.r.NormFloat64()
	case ops.Block:
		return p.function()
	}
	return etf.Atom("f32")
}

// function is a region of an element and an accumulator, scalars of the type of the
// latest result: one or two operations, some of which do not fit.
func (p *programs) function() etf.Term {
	t := func() etf.Term {
		if p.r.IntN(20) == 0 {
			return p.typ()[0]
		}
		return p.latest
	}
	scalar := func(id int64) etf.Term { return etf.Tuple{id, t(), etf.Tuple{}} }
	body, last := etf.List{}, int64(2)
	for range 1 + p.r.IntN(2) {
		op := []ops.Op{ops.Add, ops.Subtract, ops.Max, ops.Multiply, ops.Negate, ops.Select}[p.r.IntN(6)]
		operands := etf.List{}
		for range op.Info().Arity {
			operands = append(operands, 1+p.r.Int64N(last))
		}
		last++
		body = append(body, etf.Tuple{etf.Atom(op.String()), etf.List{scalar(last)}, operands, etf.List{}})
	}
	return etf.Tuple{etf.List{scalar(1), scalar(2)}, body, etf.List{last}}
}

// number is small, but for one in many.
func (p *programs) number() etf.Term {
	if p.r.IntN(50) == 0 {
		return int64(p.r.Uint64())
	}
	return int64(p.r.IntN(6) - 1)
}

func (p *programs) list(width int) etf.Term {
	l := etf.List{}
	for i := range p.r.IntN(4) {
		if width == 1 {
			// Axes in order are often right.
			if p.r.IntN(2) == 0 {
				l = append(l, int64(i))
			} else {
				l = append(l, p.number())
			}
			continue
		}
		t := etf.Tuple{}
		for range width {
			t = append(t, p.number())
		}
		l = append(l, t)
	}
	return l
}
