package wire

import (
	"math"

	"nxvk/gen/etf"
	"nxvk/ops"
)

// What clients write: the terms of instructions and requests, made from their
// decoded form.

func streamTerm(s Stream) etf.Term {
	list := etf.List{}
	for i := range s.Instrs {
		list = append(list, instrTerm(&s.Instrs[i]))
	}
	if s.Incarnation != 0 {
		return etf.Tuple{etf.Atom("nxvk"), int64(s.Incarnation), list}
	}
	return etf.Tuple{etf.Atom("nxvk"), list}
}

func instrTerm(in *Instr) etf.Term {
	outs, ins, attrs := etf.List{}, etf.List{}, etf.List{}
	for _, r := range in.Outs {
		outs = append(outs, etf.Tuple{int64(r.ID), etf.Atom(r.Type.DType.String()), shapeTerm(r.Type.Shape)})
	}
	for i := range in.Ins {
		ins = append(ins, operandTerm(&in.Ins[i]))
	}
	if s := in.Shared; s != nil {
		shared := etf.Tuple{etf.Atom("shared")}
		if s.Server != "" {
			shared = append(shared, etf.Atom(s.Server), int64(s.Incarnation))
		}
		ins = append(ins, append(shared, s.Owner, s.Key, int64(s.ID)))
	}
	for i, v := range in.Attrs {
		attrs = append(attrs, attrTerm(&in.Op.Info().Attrs[i], v))
	}
	return etf.Tuple{etf.Atom(in.Name), outs, ins, attrs}
}

func shapeTerm(s ops.Shape) etf.Term {
	t := make(etf.Tuple, len(s))
	for i, n := range s {
		t[i] = int64(n)
	}
	return t
}

func operandTerm(o *ops.Operand) etf.Term {
	if o.Lit == nil {
		return int64(o.ID)
	}
	d := etf.Atom(o.Lit.Type.DType.String())
	if len(o.Lit.Type.Shape) == 0 {
		return etf.Tuple{d, o.Lit.Data}
	}
	return etf.Tuple{d, shapeTerm(o.Lit.Type.Shape), o.Lit.Data}
}

func attrTerm(a *ops.Attr, v []int) etf.Term {
	switch a.Kind {
	case ops.Int:
		return int64(v[0])
	case ops.Bool:
		return v[0] != 0
	case ops.Enum:
		return etf.Atom(a.Names[v[0]])
	case ops.TypeOf:
		return etf.Atom(ops.DType(v[0]).String())
	case ops.Real64:
		return math.Float64frombits(uint64(v[0]))
	}
	width := map[ops.AttrKind]int{ops.Ints: 1, ops.Pairs: 2, ops.Pads: 3}[a.Kind]
	list := etf.List{}
	for ; len(v) > 0; v = v[width:] {
		group := make(etf.Tuple, width)
		for i := range group {
			group[i] = int64(v[i])
		}
		if width == 1 {
			list = append(list, group[0])
		} else {
			list = append(list, group)
		}
	}
	return list
}

func requestTerm(r Request) etf.Term {
	var t etf.Term = etf.Atom(r.Verb)
	switch r.Verb {
	case Open:
		t = etf.Tuple{etf.Atom(Open), optionsTerm(r.Options)}
	case Describe:
		t = etf.Tuple{etf.Atom(Describe), int64(r.ID)}
	case Download:
		t = etf.Tuple{etf.Atom(Download), int64(r.ID)}
		if r.Offset != 0 || r.Count != math.MaxInt {
			t = append(t.(etf.Tuple), int64(r.Offset), int64(r.Count))
		}
	}
	if r.Incarnation != 0 {
		return etf.Tuple{etf.Atom("at"), int64(r.Incarnation), t}
	}
	return t
}

func optionsTerm(o Options) etf.Term {
	m := etf.Map{{Key: etf.Atom("sweep"), Value: o.Sweep}, {Key: etf.Atom("flow"), Value: o.Flow}, {Key: etf.Atom("label"), Value: o.Label},
		{Key: etf.Atom("digest"), Value: o.Digest}}
	if o.LimitSet {
		limit := etf.Term(etf.Atom("infinity"))
		if o.Limit != math.MaxInt64 {
			limit = o.Limit
		}
		m = append(m, etf.Pair{Key: etf.Atom("limit"), Value: limit})
	}
	if o.DeadlineSet {
		deadline := etf.Term(etf.Atom("infinity"))
		if o.Deadline != 0 {
			deadline = o.Deadline.Milliseconds()
		}
		m = append(m, etf.Pair{Key: etf.Atom("deadline"), Value: deadline})
	}
	if o.Weight != 0 {
		m = append(m, etf.Pair{Key: etf.Atom("weight"), Value: int64(o.Weight)})
	}
	return m
}
