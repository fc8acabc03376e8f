package scalar

// comparison says whether an operator compares.
func comparison(sign string) bool {
	switch sign {
	case "==", "!=", "<", "<=", ">", ">=":
		return true
	}
	return false
}

// operator says which operation an operator is, and for which types.
type operator struct {
	op            Op
	floats, ints  bool
	swap, boolean bool
}

var operators = map[string]operator{
	"+":  {op: Add, floats: true, ints: true},
	"-":  {op: Sub, floats: true, ints: true},
	"*":  {op: Mul, floats: true, ints: true},
	"/":  {op: Div, floats: true, ints: true},
	"%":  {op: Rem, ints: true},
	"&":  {op: And, ints: true},
	"|":  {op: Or, ints: true},
	"^":  {op: Xor, ints: true},
	"==": {op: Eq, floats: true, ints: true, boolean: true},
	"!=": {op: Ne, floats: true, ints: true, boolean: true},
	"<":  {op: Lt, floats: true, ints: true, boolean: true},
	"<=": {op: Le, floats: true, ints: true, boolean: true},
	">":  {op: Lt, floats: true, ints: true, boolean: true, swap: true},
	">=": {op: Le, floats: true, ints: true, boolean: true, swap: true},
}

func (l *lowering) binary(e *expr, want Type) int32 {
	switch e.text {
	case "&&":
		return l.b.op(AndB, Bool, l.boolean(e.args[0]), l.boolean(e.args[1]))
	case "||":
		return l.b.op(OrB, Bool, l.boolean(e.args[0]), l.boolean(e.args[1]))
	case "<<", ">>":
		return l.shift(e, want)
	}
	o := operators[e.text]
	if o.boolean {
		want = noType
	}
	x, y := l.pair(e.args[0], e.args[1], want)
	t := l.b.typ(x)
	switch {
	case t == Bool && o.op == Eq:
		return l.b.op(Select, Bool, x, y, l.b.op(NotB, Bool, y))
	case t == Bool && o.op == Ne:
		return l.b.op(Select, Bool, x, l.b.op(NotB, Bool, y), y)
	case t.Float() && !o.floats || t.Int() && !o.ints || t == Bool:
		l.fail(e, "%s has no operands of type %s", e.text, t)
	case t == F32 && o.op == Div && !l.env.PreciseDiv:
		return l.invoke(e, "div32", x, y)
	}
	if o.swap {
		x, y = y, x
	}
	if o.boolean {
		t = Bool
	}
	return l.b.op(o.op, t, x, y)
}

// shift lowers a shift, whose count is an I32 or U32 below the width.
func (l *lowering) shift(e *expr, want Type) int32 {
	x, count := l.one(e.args[0], want), l.one(e.args[1], U32)
	t := l.b.typ(x)
	if !t.Int() {
		l.fail(e, "%s has no operands of type %s", e.text, t)
	}
	switch l.b.typ(count) {
	case I32:
		count = l.b.op(Bitcast, U32, count)
	case U32:
	default:
		l.fail(e, "shift by %s", l.b.typ(count))
	}
	if e.text == "<<" {
		return l.b.op(Shl, t, x, count)
	}
	return l.b.op(Shr, t, x, count)
}
