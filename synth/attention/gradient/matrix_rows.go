package gradient

import (
	"slices"

	"nxvk/ops"
	"nxvk/synth/attention/tile"
	"nxvk/synth/codegen"
	"nxvk/synth/fused"
	"nxvk/synth/fusion"
	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
	"nxvk/synth/spirv"
)

// mostNumbers is how many numbers of a query the kernel for matrix hardware has: see shaders/lib/attention_gradient.glsl.
const mostNumbers = 8

// number is an expression that depends on the query alone, or its inverse, by which elements are multiplied instead of divided.
type number struct {
	expr    int
	inverse bool
}

// hoisted are the expressions of an element of S and one of X. They read numbers of the query, which are sources that follow
// those of the space.
type hoisted struct {
	*fusion.DAG
	numbers []number
}

// queryCalled is the function of the kernel that gives a number of a query: which one, the matrix and the query.
var queryCalled = spirv.Called{Words: 3, Gives: scalar.F32}

// hoist finds the numbers of queries. Expressions that look at bits or join tensors stay as they are.
func hoist(s *tile.Space) hoisted {
	h := hoisted{DAG: s.DAG}
	for _, x := range h.Exprs {
		if x.Kind != fusion.ExprSource && slices.Contains([]ops.Op{ops.Bitcast, ops.Pad, ops.Concatenate, ops.Stack}, x.In.Op) {
			return h
		}
	}
	alone := ofQueries(s)
	for i, x := range h.Exprs {
		for k, a := range x.Args {
			if n := (number{a, divides(h.DAG, i, k)}); !alone[i] && alone[a] && len(h.numbers) < mostNumbers &&
				(n.inverse || single(h.Exprs[a].Type)) && !slices.Contains(h.numbers, n) {
				h.numbers = append(h.numbers, n)
			}
		}
	}
	h.DAG = h.reading(alone)
	return h
}

// reading are the expressions with numbers as sources, which come first.
func (h *hoisted) reading(alone []bool) *fusion.DAG {
	n := len(h.numbers)
	out := &fusion.DAG{Dims: h.Dims, Kept: h.Kept, Sources: slices.Clone(h.Sources)}
	for range n {
		out.Exprs = append(out.Exprs, fusion.Expr{Kind: fusion.ExprSource, Source: len(out.Sources), Type: ops.F32})
		out.Sources = append(out.Sources, codegen.Source{Kind: codegen.FromContraction})
	}
	for i, x := range h.Exprs {
		x.Args = slices.Clone(x.Args)
		for k, a := range x.Args {
			x.Args[k] = a + n
			inverse := divides(h.DAG, i, k)
			at := slices.Index(h.numbers, number{a, inverse})
			if alone[i] || at < 0 {
				continue
			}
			if x.Args[k] = at; inverse {
				product := *x.In
				product.Op, x.In, x.Types = ops.Multiply, &product, []ops.Type{{DType: ops.F32}, {DType: ops.F32}}
			}
		}
		out.Exprs = append(out.Exprs, x)
	}
	for _, i := range h.Outs {
		out.Outs = append(out.Outs, i+n)
	}
	return tile.Pruned(out, out.Outs...)
}

// divides reports whether operand k of an expression is the divisor of a float.
func divides(dag *fusion.DAG, i, k int) bool {
	x := &dag.Exprs[i]
	return x.Kind != fusion.ExprSource && x.In.Op == ops.Divide && k == 1 && x.Type == ops.F32 && single(dag.Exprs[x.Args[0]].Type) &&
		dag.Exprs[x.Args[1]].Type.Size() <= 4
}

// single reports whether numbers of a type are f32 in a kernel.
func single(d ops.DType) bool { return d.IsFloat() && d.Wide() == ops.F32 }

// ofQueries tells the expressions that depend on the query alone; those of literals depend on nothing.
func ofQueries(s *tile.Space) []bool {
	query, key := make([]bool, len(s.DAG.Exprs)), make([]bool, len(s.DAG.Exprs))
	for i, x := range s.DAG.Exprs {
		for _, a := range x.Args {
			query[i], key[i] = query[i] || query[a], key[i] || key[a]
		}
		if x.Kind != fusion.ExprSource {
			continue
		}
		switch src := &s.Sources[x.Source]; {
		case src.Kind == codegen.FromContraction:
			key[i] = true
		case src.HasView():
			query[i], key[i] = true, !tile.Zero(src.Along[tile.Columns])
		}
	}
	for i := range query {
		query[i] = query[i] && !key[i]
	}
	return query
}

// giveNumber writes the function of the numbers of a query.
func (p *pass) giveNumber(e *codegen.Emitter) error {
	places := tile.NewPlaces(e, p.space, 0)
	which, matrix, row := e.Param(scalar.U32), e.Param(scalar.U32), e.Param(scalar.U32)
	places.Of(matrix)
	query, key := places.Split(tile.Rows, row), places.Split(tile.Columns, e.Int(scalar.U32, 0))
	var exprs []int
	for _, n := range p.hoisted.numbers {
		exprs = append(exprs, n.expr)
	}
	dag := tile.Pruned(p.space.DAG, exprs...)
	given, err := fused.EvaluateAll(dag, e, dag.Outs, 1, func(n, _ int) []kernel.Value { return places.At(n, query, key) })
	if err != nil {
		return err
	}
	result := e.Float(scalar.F32, 0)
	for i, n := range p.hoisted.numbers {
		x := e.ConvertParts(given[i][0], dag.Exprs[dag.Outs[i]].Type, ops.F32)[0]
		if n.inverse {
			x = e.Div(e.Float(scalar.F32, 1), x)
		}
		result = e.Select(e.Compare(scalar.Eq, which, e.Int(scalar.U32, i)), x, result)
	}
	tile.Give(e, result)
	return nil
}
