package attention

import (
	"nxvk/ops"
	"nxvk/synth/fusion"
)

// tree reads the expressions of the logits.
type tree struct{ *fusion.DAG }

// float is expression i without conversions from one float to another.
func (t *tree) float(i int) int {
	for {
		x := &t.Exprs[i]
		if x.Kind != fusion.ExprApply || x.In.Op != ops.AsType || !x.Type.IsFloat() || !x.Types[0].DType.IsFloat() || x.Args[0] < 0 {
			return i
		}
		i = x.Args[0]
	}
}

// apply is expression i, if it applies an operation.
func (t *tree) apply(i int, op ops.Op) *fusion.Expr {
	if x := &t.Exprs[i]; x.Kind == fusion.ExprApply && x.In.Op == op {
		return x
	}
	return nil
}

// fold is expression i, if it is a reduction by an operation.
func (t *tree) fold(i int, op ops.Op) (x *fusion.Expr, ok bool) {
	x = &t.Exprs[t.float(i)]
	return x, x.Kind == fusion.ExprFold && x.In.Op == op
}

// quotient finds numerator and denominator of x / y, x · (1 / y) and (1 / y) · x.
func (t *tree) quotient(i int) (x, y int, ok bool) {
	if d := t.apply(i, ops.Divide); d != nil {
		return d.Args[0], d.Args[1], true
	}
	m := t.apply(i, ops.Multiply)
	if m == nil {
		return 0, 0, false
	}
	for k := range 2 {
		if d := t.apply(t.float(m.Args[k]), ops.Divide); d != nil && t.isOne(d.Args[0], d.In.Ins[0].Lit) {
			return m.Args[1-k], d.Args[1], true
		}
	}
	return 0, 0, false
}

// isOne reports whether an operand, expression i, is the literal 1 or a tensor of it.
func (t *tree) isOne(i int, l *ops.Literal) bool {
	if c := t.apply(i, ops.Constant); c != nil {
		l = c.In.Ins[0].Lit
	}
	return isOne(l)
}

// isOne reports whether a literal is the number 1.
func isOne(l *ops.Literal) bool {
	if l == nil {
		return false
	}
	x, ok := l.Number()
	return ok && x == 1
}
