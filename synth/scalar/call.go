package scalar

// maxDepth bounds nested calls; the library does not recurse.
const maxDepth = 32

// call lowers a cast, a builtin or a library function.
func (l *lowering) call(e *expr, want Type) []int32 {
	if t, ok := l.typeNamed(e.text); ok {
		return []int32{l.cast(e, t)}
	}
	if e.text == "rare" {
		return []int32{l.rare(e, want)}
	}
	if f, ok := builtins[e.text]; ok {
		if f.arity >= 0 && len(e.args) != f.arity {
			l.fail(e, "%s takes %d arguments, not %d", e.text, f.arity, len(e.args))
		}
		return []int32{f.lower(l, e, want)}
	}
	f, args, t := l.resolve(e, want)
	return l.inline(e, f, t, args)
}

// typeNamed finds a type or the type parameter.
func (l *lowering) typeNamed(name string) (Type, bool) {
	if name == l.tname && name != "" {
		return l.ttype, true
	}
	return typeNamed(name)
}

// cast converts a value to another type; a truth value becomes 1 or 0.
func (l *lowering) cast(e *expr, t Type) int32 {
	if len(e.args) != 1 {
		l.fail(e, "%s takes one value", e.text)
	}
	x := l.one(e.args[0], t)
	from := l.b.typ(x)
	switch {
	case from == t:
		return x
	case t == Bool:
		return l.truth(x)
	case from == Bool:
		one := uint64(1)
		if t.Float() {
			one = floatBits(1, t)
		}
		return l.b.op(Select, t, x, l.b.constant(t, one), l.b.constant(t, 0))
	}
	if t.Int() && from.Int() && from.Width() == t.Width() {
		return l.b.op(Bitcast, t, x)
	}
	return l.b.op(Convert, t, x)
}

// resolve chooses the function that the types of the arguments fit, one that
// names them before a generic one. It returns the lowered arguments and the
// type that the type parameter stands for.
func (l *lowering) resolve(e *expr, want Type) (*function, []int32, Type) {
	args := make([]int32, len(e.args))
	types := make([]Type, len(e.args))
	for i, a := range e.args {
		types[i] = noType
		if !l.untyped(a) {
			args[i] = l.one(a, noType)
			types[i] = l.b.typ(args[i])
		}
	}
	f, t := l.lib.find(e.text, types)
	if f == nil && len(l.lib.byName[e.text]) == 0 {
		l.fail(e, "unknown function %s", e.text)
	}
	if f == nil || f.generic != "" && t == noType {
		for i := range types {
			if types[i] == noType {
				types[i] = l.context(e, want)
			}
		}
		f, t = l.lib.find(e.text, types)
	}
	if f == nil {
		l.fail(e, "no %s of %v", e.text, types)
	}
	for i, a := range e.args {
		if l.untyped(a) {
			args[i] = l.typed(a, f.paramType(i, t))
		}
	}
	return f, args, t
}

// invoke inlines the library function of the given name.
func (l *lowering) invoke(e *expr, name string, args ...int32) int32 {
	types := make([]Type, len(args))
	for i, a := range args {
		types[i] = l.b.typ(a)
	}
	f, t := l.lib.find(name, types)
	if f == nil {
		panic("BUG: the library has no " + name)
	}
	return l.inline(e, f, t, args)[0]
}

// inline lowers the body of a function with its parameters bound to nodes.
func (l *lowering) inline(e *expr, f *function, t Type, args []int32) []int32 {
	if l.depth == maxDepth {
		l.fail(e, "calls nest too deep")
	}
	in := &lowering{lib: l.lib, env: l.env, src: f.src, b: l.b, vars: map[string]int32{},
		tname: f.generic, ttype: t, dflt: noType, depth: l.depth + 1}
	for i, p := range f.params {
		in.vars[p.name] = args[i]
	}
	return in.body(f, t)
}

// body lowers the lets and the value of a function and checks its results.
func (l *lowering) body(f *function, t Type) []int32 {
	for _, b := range f.lets {
		v := l.expr(b.value, noType)
		if len(v) != len(b.names) {
			l.fail(b.value, "%d values for %d names", len(v), len(b.names))
		}
		for i, name := range b.names {
			l.vars[name] = v[i]
		}
	}
	if len(f.results) == 1 {
		return []int32{l.typed(f.value, f.typeOf(f.results[0], t))}
	}
	if f.value.kind == tupleExpr && len(f.value.args) == len(f.results) {
		var v []int32
		for i, e := range f.value.args {
			v = append(v, l.typed(e, f.typeOf(f.results[i], t)))
		}
		return v
	}
	v := l.expr(f.value, noType)
	if len(v) != len(f.results) {
		l.fail(f.value, "%d values where %s returns %d", len(v), f.name, len(f.results))
	}
	for i, r := range f.results {
		if got, want := l.b.typ(v[i]), f.typeOf(r, t); got != want {
			l.fail(f.value, "result %d of %s is %s, not %s", i, f.name, got, want)
		}
	}
	return v
}

// rare lowers rare(cond, slow(args…), fast).
func (l *lowering) rare(e *expr, want Type) int32 {
	if len(e.args) != 3 || e.args[1].kind != callExpr {
		l.fail(e, "rare takes a condition, a call and a value")
	}
	cond := l.boolean(e.args[0])
	fast := l.one(e.args[2], want)
	if c := l.b.nodes[cond]; c.Op == Const && c.Bits == 0 {
		return fast
	}
	f, args, t := l.resolve(e.args[1], want)
	if len(args)+2 > maxOperands {
		l.fail(e, "%s has too many parameters for rare", f.name)
	}
	slow := l.separate(f, t)
	if slow.Result() != l.b.typ(fast) {
		l.fail(e, "%s and %s in one place", slow.Result(), l.b.typ(fast))
	}
	return l.b.add(Node{Op: Rare, Type: slow.Result(), Args: append([]int32{cond, fast}, args...), Slow: slow})
}

// separate compiles a library function by itself, once for each type.
func (l *lowering) separate(f *function, t Type) *Func {
	key := instance{f, t, l.env.PreciseDiv, l.env.Subnormals, l.env.NaNs, l.env.Exp2, l.env.narrow()}
	if g, ok := l.lib.compiled.Load(key); ok {
		return g.(*Func)
	}
	params := make([]Type, len(f.params))
	for i := range params {
		params[i] = f.paramType(i, t)
	}
	in := &lowering{lib: l.lib, env: l.env, src: f.src, b: newBuilder(f.name, params), vars: map[string]int32{},
		tname: f.generic, ttype: t, dflt: noType}
	for i, p := range f.params {
		in.vars[p.name] = in.b.param(i)
	}
	g, _ := l.lib.compiled.LoadOrStore(key, in.b.finish(in.body(f, t)[0]))
	return g.(*Func)
}
