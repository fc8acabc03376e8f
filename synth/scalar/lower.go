package scalar

// lowering turns the syntax trees of one function body into nodes. A call of
// a library function is a nested lowering into the same builder.
type lowering struct {
	lib    *library
	env    Env
	src    *source
	b      *builder
	vars   map[string]int32
	tname  string // name of the type parameter, or empty
	ttype  Type   // what it stands for
	dflt   Type   // type of a literal that nothing else determines
	depth  int    // of nested calls
	public bool   // the body is an expression of the op table
}

func (l *lowering) fail(e *expr, format string, args ...any) {
	panic(at(l.src, e.pos, ErrType, format, args...))
}

// one lowers an expression that has a single value. want is the type of its
// literals where nothing inside determines it.
func (l *lowering) one(e *expr, want Type) int32 {
	v := l.expr(e, want)
	if len(v) != 1 {
		l.fail(e, "%d values where one is expected", len(v))
	}
	return v[0]
}

// typed lowers an expression whose value must have the given type.
func (l *lowering) typed(e *expr, t Type) int32 {
	n := l.one(e, t)
	if got := l.b.typ(n); got != t {
		l.fail(e, "%s where %s is expected", got, t)
	}
	return n
}

// boolean lowers an expression as a truth value: a number is true where it is
// not zero.
func (l *lowering) boolean(e *expr) int32 {
	return l.truth(l.one(e, l.dflt))
}

func (l *lowering) truth(n int32) int32 {
	t := l.b.typ(n)
	if t == Bool {
		return n
	}
	return l.b.op(Ne, Bool, n, l.b.constant(t, 0))
}

// expr lowers an expression, which has several values where it is a tuple.
func (l *lowering) expr(e *expr, want Type) []int32 {
	switch e.kind {
	case numberExpr:
		return []int32{l.number(e, want)}
	case nameExpr:
		return []int32{l.name(e, want)}
	case unaryExpr:
		return []int32{l.unary(e, want)}
	case binaryExpr:
		return []int32{l.binary(e, want)}
	case ternaryExpr:
		return l.ternary(e, want)
	case callExpr:
		return l.call(e, want)
	case indexExpr:
		return []int32{l.index(e, want)}
	case tupleExpr:
		var out []int32
		for _, a := range e.args {
			out = append(out, l.one(a, want))
		}
		return out
	}
	panic("BUG: unknown kind of expression")
}

// context returns the type of a literal: the type that its place needs, else the default.
func (l *lowering) context(e *expr, want Type) Type {
	if want == noType {
		want = l.dflt
	}
	if want == noType {
		l.fail(e, "nothing determines the type of %s", e.text)
	}
	return want
}

func (l *lowering) number(e *expr, want Type) int32 {
	t := l.context(e, want)
	v, err := parseNumber(e.text, t)
	if err != nil {
		l.fail(e, "%v", err)
	}
	return l.b.constant(t, v)
}

// name finds a variable, then a constant of the environment, then one of the
// library.
func (l *lowering) name(e *expr, want Type) int32 {
	if n, ok := l.vars[e.text]; ok {
		return n
	}
	switch e.text {
	case "true", "false", "subnormals", "precise", "nans", "exp2", "narrow":
		return l.b.constant(Bool, boolBits(e.text == "true" || e.text == "subnormals" && l.env.Subnormals ||
			e.text == "precise" && l.env.PreciseDiv || e.text == "nans" && l.env.NaNs ||
			e.text == "exp2" && l.env.Exp2 || e.text == "narrow" && l.env.narrow()))
	}
	if builtinConstant(e.text) {
		t := l.context(e, want)
		v, ok := l.env.constant(e.text, t)
		if !ok {
			l.fail(e, "%s has no value of type %s", e.text, t)
		}
		return l.b.constant(t, v)
	}
	if len(l.lib.unit.constants[e.text]) == 0 {
		l.fail(e, "unknown name %s", e.text)
	}
	c := l.lib.constant(e.text, l.context(e, want))
	if c == nil || c.table {
		l.fail(e, "%s is not a constant of type %s", e.text, want)
	}
	return l.b.constant(c.typ, c.bits[0])
}

// untyped says whether an expression takes its type from its context.
func (l *lowering) untyped(e *expr) bool {
	switch e.kind {
	case numberExpr:
		return true
	case nameExpr:
		_, ok := l.vars[e.text]
		return !ok && e.text != "true" && e.text != "false"
	case unaryExpr:
		return e.text != "!" && l.untyped(e.args[0])
	case binaryExpr:
		return !comparison(e.text) && e.text != "&&" && e.text != "||" && l.untyped(e.args[0]) && l.untyped(e.args[1])
	case ternaryExpr:
		return l.untyped(e.args[1]) && l.untyped(e.args[2])
	}
	return false
}

func (l *lowering) unary(e *expr, want Type) int32 {
	if e.text == "!" {
		return l.b.op(NotB, Bool, l.boolean(e.args[0]))
	}
	n := l.one(e.args[0], want)
	t := l.b.typ(n)
	switch {
	case e.text == "~" && t.Int():
		return l.b.op(Not, t, n)
	case e.text == "-" && t == F32 && l.public:
		return l.invoke(e, "negate", n)
	case e.text == "-" && t != Bool:
		return l.b.op(Neg, t, n)
	}
	l.fail(e, "%s has no operand of type %s", e.text, t)
	return 0
}

// pair lowers two operands of one type; a literal takes the type of the other.
func (l *lowering) pair(a, b *expr, want Type) (int32, int32) {
	if l.untyped(a) && !l.untyped(b) {
		right := l.one(b, want)
		return l.typed(a, l.b.typ(right)), right
	}
	left := l.one(a, want)
	return left, l.typed(b, l.b.typ(left))
}

// ternary is a Select, except that where the condition is a constant the
// other side is not lowered at all.
func (l *lowering) ternary(e *expr, want Type) []int32 {
	cond := l.boolean(e.args[0])
	yes, no := e.args[1], e.args[2]
	if c := l.b.nodes[cond]; c.Op == Const {
		if c.Bits == 0 {
			yes, no = no, yes
		}
		if want == noType && l.untyped(yes) && !l.untyped(no) {
			want = l.b.typ(l.one(no, want))
		}
		return l.expr(yes, want)
	}
	if yes.kind == tupleExpr && no.kind == tupleExpr && len(yes.args) == len(no.args) {
		var out []int32
		for i := range yes.args {
			out = append(out, l.choose(cond, yes.args[i], no.args[i], want))
		}
		return out
	}
	return []int32{l.choose(cond, yes, no, want)}
}

func (l *lowering) choose(cond int32, yes, no *expr, want Type) int32 {
	y, n := l.pair(yes, no, want)
	return l.b.op(Select, l.b.typ(y), cond, y, n)
}

// index reads a table.
func (l *lowering) index(e *expr, want Type) int32 {
	c := l.lib.constant(e.text, want)
	if c == nil || !c.table || len(e.args) != 1 {
		l.fail(e, "%s is not a table of type %s", e.text, want)
	}
	i := l.one(e.args[0], U32)
	if t := l.b.typ(i); t != I32 && t != U32 {
		l.fail(e, "index of type %s", t)
	}
	return l.b.add(Node{Op: Lookup, Type: c.typ, Args: []int32{i}, Table: c.bits})
}
