package fuzz

import (
	"math"

	"nxvk/gen/etf"
	"nxvk/ops"
	"nxvk/ops/example"
)

// example is the example of an operation on random literals, a part of which may
// be replaced. So operations are computed, too, whose operands are seldom right
// by chance.
func (p *programs) example() (etf.Term, bool) {
	all := ops.DTypes()
	in, types, ok := example.Of(ops.Op(p.r.IntN(int(ops.Count))), all[p.r.IntN(len(all))])
	if !ok {
		return nil, false
	}
	info := in.Op.Info()
	results, operands, attrs := etf.List{}, etf.List{}, etf.List{}
	for _, o := range in.Outs {
		p.last++
		results = append(results, append(etf.Tuple{p.last}, typeTerm(o.Type)...))
		p.latest = etf.Atom(o.Type.DType.String())
	}
	for _, t := range types {
		of := typeTerm(t)
		if p.r.IntN(15) == 0 {
			of = p.typ()
		}
		operands = append(operands, p.literal(of))
	}
	for i := range info.Attrs {
		a := &info.Attrs[i]
		if a.Kind == ops.Block || p.r.IntN(12) == 0 {
			attrs = append(attrs, p.attr(a))
		} else {
			attrs = append(attrs, attrTerm(a, in.Attrs[i]))
		}
	}
	return etf.Tuple{etf.Atom(info.Name), results, operands, attrs}, true
}

func typeTerm(t ops.Type) etf.Tuple {
	shape := etf.Tuple{}
	for _, d := range t.Shape {
		shape = append(shape, int64(d))
	}
	return etf.Tuple{etf.Atom(t.DType.String()), shape}
}

// attrTerm is an attribute as a client sends it.
func attrTerm(a *ops.Attr, v []int) etf.Term {
	width := map[ops.AttrKind]int{ops.Ints: 1, ops.Pairs: 2, ops.Pads: 3}[a.Kind]
	switch {
	case a.Kind == ops.Int:
		return int64(v[0])
	case a.Kind == ops.Bool:
		return etf.Atom([]string{"false", "true"}[v[0]])
	case a.Kind == ops.Enum:
		return etf.Atom(a.Names[v[0]])
	case a.Kind == ops.Real64:
		return math.Float64frombits(uint64(v[0]))
	case width == 0:
		return etf.Atom(ops.DType(v[0]).String())
	}
	list := etf.List{}
	for ; len(v) > 0; v = v[width:] {
		if width == 1 {
			list = append(list, int64(v[0]))
			continue
		}
		t := etf.Tuple{}
		for _, n := range v[:width] {
			t = append(t, int64(n))
		}
		list = append(list, t)
	}
	return list
}
