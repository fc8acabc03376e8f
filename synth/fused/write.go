package fused

import (
	"slices"
	"strconv"

	"nxvk/ops"
	"nxvk/synth/codegen"
	"nxvk/synth/fusion"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
	"nxvk/synth/scalar"
)

// point has the values of the expressions of a DAG at one point, part by part: in the
// type that computes them, before they were rounded to that of memory, and in the type of
// memory where somebody has asked for it. A value that has not been computed is nil.
type point struct {
	values, raw, stored [][]kernel.Value
}

func newPoint(dag *fusion.DAG) *point {
	n := len(dag.Exprs)
	return &point{make([][]kernel.Value, n), make([][]kernel.Value, n), make([][]kernel.Value, n)}
}

// newPoints are n points.
func newPoints(dag *fusion.DAG, n int) []*point {
	ps := make([]*point, n)
	for i := range ps {
		ps[i] = newPoint(dag)
	}
	return ps
}

func (p *point) clone() *point {
	return &point{slices.Clone(p.values), slices.Clone(p.raw), slices.Clone(p.stored)}
}

// store gives the stored form of expression i, of type d.
func (p *point) store(e *codegen.Emitter, i int, d ops.DType) []kernel.Value {
	switch {
	case p.stored[i] != nil:
	case p.raw[i] != nil:
		p.stored[i] = e.EncodeParts(d, p.raw[i])
	default:
		p.stored[i] = e.EncodeParts(d, p.values[i])
	}
	return p.stored[i]
}

// compute gives expression i its value at some points, where its operands have
// theirs. loaded is what its source gave, if it has one.
func compute(dag *fusion.DAG, e *codegen.Emitter, ps []*point, i int, loaded [][]kernel.Value) error {
	x := &dag.Exprs[i]
	switch {
	case x.Kind == fusion.ExprSource:
		for k, p := range ps {
			p.values[i] = loaded[k] // a literal, which has been converted, or an index
			if kind := dag.Sources[x.Source].Kind; kind == codegen.FromBuffer || kind == codegen.FromContraction {
				p.stored[i], p.values[i] = loaded[k], e.DecodeParts(x.Type, loaded[k])
			}
		}
		return nil
	case x.In.Op == ops.Bitcast && x.Type.Bits() >= 8: // else it is a conversion, see movement.LowerBitcast
		for _, p := range ps {
			a := x.Args[0]
			bits := p.store(e, a, dag.Exprs[a].Type)[0]
			p.stored[i] = []kernel.Value{e.Bitcast(bits, lowering.ElemOf[x.Type].Type())}
			p.values[i] = e.DecodeStored(x.Type, p.stored[i])
		}
		return nil
	}
	if x.In.Op == ops.Pad {
		for _, p := range ps {
			padElement(dag, e, p, i)
		}
		return nil
	}
	if op := x.In.Op; op == ops.Concatenate || op == ops.Stack {
		for _, p := range ps {
			joinElement(dag, e, p, i)
		}
		return nil
	}
	raw, err := apply(dag, e, ps, x)
	if err != nil {
		return err
	}
	for k, p := range ps {
		p.raw[i] = raw[k]
		p.values[i], p.stored[i] = e.Settle(x.Type, raw[k])
	}
	return nil
}

// padElement gives expression i, an element or the padding, its value: as a copy has it,
// which changes no bit.
func padElement(dag *fusion.DAG, e *codegen.Emitter, p *point, i int) {
	x := &dag.Exprs[i]
	either := make([][]kernel.Value, 2)
	for k, a := range x.Args[:2] {
		if d := dag.Exprs[a].Type; d == x.Type {
			either[k] = p.store(e, a, d)
		} else {
			either[k] = e.EncodeParts(x.Type, e.ConvertParts(p.values[a], d, x.Type))
		}
	}
	p.stored[i] = e.SelectAll(p.values[x.Args[2]][0], either[0], either[1])
	p.values[i] = e.DecodeStored(x.Type, p.stored[i])
}

// joinElement gives expression i, an element of one of several parts, its value: as a copy has it, which
// changes no bit.
func joinElement(dag *fusion.DAG, e *codegen.Emitter, p *point, i int) {
	x := &dag.Exprs[i]
	n := len(x.In.Ins)
	p.stored[i] = p.store(e, x.Args[0], x.Type)
	for k := 1; k < n; k++ {
		p.stored[i] = e.SelectAll(p.values[x.Args[n+k-1]][0], p.store(e, x.Args[k], x.Type), p.stored[i])
	}
	p.values[i] = e.DecodeStored(x.Type, p.stored[i])
}

// apply gives the value of an instruction on elements at some points, before
// it is rounded.
func apply(dag *fusion.DAG, e *codegen.Emitter, ps []*point, x *fusion.Expr) ([][]kernel.Value, error) {
	out := make([][]kernel.Value, len(ps))
	if x.In.Op.Info().Kind != ops.Pointwise || x.In.Op == ops.AsType {
		for n, p := range ps {
			out[n] = made(e, x, p)
		}
		return out, nil
	}
	info, c := x.In.Op.Info(), codegen.ComputeType(e.Target, x.In, x.Types)
	truths := codegen.Conditions(info)
	f, err := codegen.Expression(e.Target, fusion.CodeOf(x.In, x.Types), c, len(x.In.Ins), truths)
	if err != nil {
		return nil, err
	}
	args := make([][]kernel.Value, len(ps))
	for n, p := range ps {
		for k, o := range x.In.Ins {
			d := x.Types[k].DType
			if o.Lit != nil {
				d = fusion.LiteralType(x.In, x.Types, k)
			}
			var xs []kernel.Value
			if n, ok := fusion.ConstantOperand(x.In, k); ok {
				xs = constant(e, d, n)
			} else {
				xs = p.values[x.Args[k]]
			}
			if k < truths {
				args[n] = append(args[n], e.IsNonzero(xs))
			} else {
				args[n] = append(args[n], e.ConvertParts(xs, d, c)...)
			}
		}
	}
	for n, vs := range e.InlineEach(f, args) {
		out[n] = e.ConvertResult(vs, c, x.Type)
	}
	return out, nil
}

// constant is a whole number in a type.
func constant(e *codegen.Emitter, d ops.DType, n int64) []kernel.Value {
	t := codegen.WideType(d)
	if d.Class() == ops.Float {
		return []kernel.Value{e.Float(t, float64(n))}
	}
	return []kernel.Value{e.Const(t, uint64(n))}
}

// made is an element of a tensor that is made out of nothing, or a conversion.
func made(e *codegen.Emitter, x *fusion.Expr, p *point) []kernel.Value {
	a := p.values[x.Args[0]]
	switch {
	case x.In.Op == ops.Iota:
		return e.Complete([]kernel.Value{e.Convert(a[0], codegen.WideType(x.Type))}, x.Type)
	case x.In.Op == ops.Eye:
		on := e.Compare(scalar.Eq, a[0], p.values[x.Args[1]][0])
		return e.Complete([]kernel.Value{e.Convert(on, codegen.WideType(x.Type))}, x.Type)
	case x.In.Op == ops.Constant, x.In.Ins[0].Lit != nil:
		return a
	}
	return e.ConvertParts(a, x.Types[0].DType, x.Type)
}

// describe is the text of the expressions: all that their code depends on, but
// for the sources.
func describe(dag *fusion.DAG) string {
	var b []byte
	for i := range dag.Exprs {
		b = append(describeExpr(&dag.Exprs[i], b), ';')
	}
	return string(b)
}

// describeExpr appends the text of an expression.
func describeExpr(x *fusion.Expr, b []byte) []byte {
	if x.Kind == fusion.ExprSource {
		b = strconv.AppendInt(append(b, '$'), int64(x.Source), 10)
		return append(append(b, ':'), x.Type.String()...)
	}
	b = append(append(b, x.In.Op.String()...), ':')
	b = append(append(b, x.Type.String()...), '[')
	for i, a := range x.Args {
		if i > 0 {
			b = append(b, ' ')
		}
		b = strconv.AppendInt(b, int64(a), 10)
	}
	b = strconv.AppendBool(append(b, ']'), x.Full)
	for k, o := range x.In.Ins {
		b = append(b, x.Types[k].DType.String()...)
		if o.Lit != nil {
			b = append(b, '=')
		}
		if n, ok := fusion.ConstantOperand(x.In, k); ok {
			b = strconv.AppendInt(b, n, 10)
		}
	}
	return b
}
