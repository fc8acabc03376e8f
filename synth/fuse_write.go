package synth

import (
	"slices"
	"strconv"

	"nxvk/ops"
	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// point has the values of the expressions of a trace at one point, part by part: as
// the type that computes them has them, and as memory would, where that has been
// asked. What has not been computed is nil.
type point struct {
	values, stored [][]kernel.Value
}

func (tr *trace) newPoint() *point {
	return &point{make([][]kernel.Value, len(tr.exprs)), make([][]kernel.Value, len(tr.exprs))}
}

// newPoints are n points.
func (tr *trace) newPoints(n int) []*point {
	ps := make([]*point, n)
	for i := range ps {
		ps[i] = tr.newPoint()
	}
	return ps
}

func (p *point) clone() *point {
	return &point{slices.Clone(p.values), slices.Clone(p.stored)}
}

// store gives the stored form of expression i, of type d.
func (p *point) store(e *emitter, i int, d ops.DType) []kernel.Value {
	if p.stored[i] == nil {
		p.stored[i] = e.encoded(d, p.values[i])
	}
	return p.stored[i]
}

// compute gives expression i its value at some points, where its operands have
// theirs. loaded is what its source gave, if it has one.
func (tr *trace) compute(e *emitter, ps []*point, i int, loaded [][]kernel.Value) error {
	x := &tr.exprs[i]
	switch {
	case x.kind == exprSource:
		for k, p := range ps {
			p.values[i] = loaded[k] // a literal, which has been converted, or an index
			if kind := tr.sources[x.source].kind; kind == fromBuffer || kind == fromProduct {
				p.stored[i], p.values[i] = loaded[k], e.decoded(x.typ, loaded[k])
			}
		}
		return nil
	case x.in.Op == ops.Bitcast && x.typ.Bits() >= 8: // else it is a conversion, see lowerBitcast
		for _, p := range ps {
			a := x.args[0]
			bits := p.store(e, a, tr.exprs[a].typ)[0]
			p.stored[i] = []kernel.Value{e.Bitcast(bits, storage[x.typ].Type())}
			p.values[i] = e.restored(x.typ, p.stored[i])
		}
		return nil
	}
	if x.in.Op == ops.Pad {
		for _, p := range ps {
			tr.padded(e, p, i)
		}
		return nil
	}
	raw, err := tr.applied(e, ps, x)
	if err != nil {
		return err
	}
	for k, p := range ps {
		p.values[i] = raw[k]
		if d := x.typ; storage[d].Size() < 4 { // else storing it changes nothing that arithmetic sees
			p.stored[i] = e.encoded(d, raw[k])
			p.values[i] = e.restored(d, p.stored[i])
		}
	}
	return nil
}

// padded gives expression i, an element or the padding, its value: as a copy has it,
// which changes no bit.
func (tr *trace) padded(e *emitter, p *point, i int) {
	x := &tr.exprs[i]
	either := make([][]kernel.Value, 2)
	for k, a := range x.args[:2] {
		if d := tr.exprs[a].typ; d == x.typ {
			either[k] = p.store(e, a, d)
		} else {
			either[k] = e.encoded(x.typ, e.recast(p.values[a], d, x.typ))
		}
	}
	p.stored[i] = e.selectAll(p.values[x.args[2]][0], either[0], either[1])
	p.values[i] = e.restored(x.typ, p.stored[i])
}

// restored gives what storing an element and loading it again gives.
func (e *emitter) restored(d ops.DType, stored []kernel.Value) []kernel.Value {
	if elem := storage[d]; d.IsInteger() && d.Bits() >= 8 && elem.Size() < 4 {
		return []kernel.Value{e.widen(elem, stored[0])}
	}
	return e.decoded(d, stored)
}

// applied gives the value of an instruction on elements at some points, before
// it is rounded.
func (tr *trace) applied(e *emitter, ps []*point, x *expr) ([][]kernel.Value, error) {
	out := make([][]kernel.Value, len(ps))
	if x.in.Op.Info().Kind != ops.Pointwise || x.in.Op == ops.AsType {
		for n, p := range ps {
			out[n] = e.made(x, p)
		}
		return out, nil
	}
	info, c := x.in.Op.Info(), e.t.computeType(x.in, x.types)
	truths := truthsOf(info)
	f, err := e.t.expression(codeOf(x.in, x.types), c, len(x.args), truths)
	if err != nil {
		return nil, err
	}
	args := make([][]kernel.Value, len(ps))
	for n, p := range ps {
		for k, o := range x.in.Ins {
			xs, d := p.values[x.args[k]], x.types[k].DType
			if o.Lit != nil {
				d = literalType(x.in, x.types, k)
			}
			if k < truths {
				args[n] = append(args[n], e.nonzero(xs))
			} else {
				args[n] = append(args[n], e.recast(xs, d, c)...)
			}
		}
	}
	for n, vs := range e.InlineEach(f, args) {
		out[n] = e.outcome(vs, c, x.typ)
	}
	return out, nil
}

// made is an element of a tensor that is made out of nothing, or a conversion.
func (e *emitter) made(x *expr, p *point) []kernel.Value {
	a := p.values[x.args[0]]
	switch {
	case x.in.Op == ops.Iota:
		return e.completed([]kernel.Value{e.Convert(a[0], wide(x.typ))}, x.typ)
	case x.in.Op == ops.Eye:
		on := e.Compare(scalar.Eq, a[0], p.values[x.args[1]][0])
		return e.completed([]kernel.Value{e.Convert(on, wide(x.typ))}, x.typ)
	case x.in.Op == ops.Constant, x.in.Ins[0].Lit != nil:
		return a
	}
	return e.recast(a, x.types[0].DType, x.typ)
}

// truthsOf is how many operands of an operation are truth values.
func truthsOf(info *ops.Info) int {
	if info.Flags&ops.Predicate != 0 {
		return 1
	}
	return 0
}

// describe is the text of the expressions: all that their code depends on, but
// for the sources.
func (tr *trace) describe() string {
	var b []byte
	for i := range tr.exprs {
		b = append(tr.exprs[i].describe(b), ';')
	}
	return string(b)
}

// describe appends the text of an expression.
func (x *expr) describe(b []byte) []byte {
	if x.kind == exprSource {
		b = strconv.AppendInt(append(b, '$'), int64(x.source), 10)
		return append(append(b, ':'), x.typ.String()...)
	}
	b = append(append(b, x.in.Op.String()...), ':')
	b = append(append(b, x.typ.String()...), '[')
	for i, a := range x.args {
		if i > 0 {
			b = append(b, ' ')
		}
		b = strconv.AppendInt(b, int64(a), 10)
	}
	b = strconv.AppendBool(append(b, ']'), x.full)
	for k, o := range x.in.Ins {
		b = append(b, x.types[k].DType.String()...)
		if o.Lit != nil {
			b = append(b, '=')
		}
	}
	return b
}
