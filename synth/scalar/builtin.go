package scalar

// builtin is a function of the language that is not written in it.
type builtin struct {
	arity int // -1: any
	lower func(l *lowering, e *expr, want Type) int32
}

var builtins map[string]builtin

// The table refers to functions that refer to it.
func init() {
	builtins = map[string]builtin{
		"fma":      {3, lowerFma},
		"floor":    {1, float1(Floor)},
		"ceil":     {1, float1(Ceil)},
		"trunc":    {1, lowerTrunc},
		"sqrt":     {1, lowerSqrt},
		"rawsqrt":  {1, float1(Sqrt)},
		"rawdiv":   {2, lowerRawDiv},
		"rawexp2":  {1, raw(Exp2)},
		"rawrsqrt": {1, raw(InverseSqrt)},
		"bitcast":  {2, lowerBitcast},
		"pack":     {3, lowerPack},
		"lo":       {1, half(Lo)},
		"hi":       {1, half(Hi)},
		"mulhi":    {2, lowerMulHi},
		"msb":      {1, word(FindMSB, I32)},
		"bitcount": {1, word(BitCount, U32)},
		"poly":     {-1, lowerPoly},
	}
}

// float lowers an argument that must be a float.
func (l *lowering) float(e *expr, want Type) int32 {
	n := l.one(e, want)
	if t := l.b.typ(n); !t.Float() {
		l.fail(e, "%s where a float is expected", t)
	}
	return n
}

func float1(op Op) func(*lowering, *expr, Type) int32 {
	return func(l *lowering, e *expr, want Type) int32 {
		x := l.float(e.args[0], want)
		return l.b.op(op, l.b.typ(x), x)
	}
}

// lowerTrunc takes f64 from the library: Mesa 22 leaves one of 2^24 and more as it is.
func lowerTrunc(l *lowering, e *expr, want Type) int32 {
	x := l.float(e.args[0], want)
	if l.b.typ(x) == F64 {
		return l.invoke(e, "trunc64", x)
	}
	return l.b.op(Trunc, F32, x)
}

// lowerSqrt gives the square root rounded correctly, by the library where the
// device's own is not.
func lowerSqrt(l *lowering, e *expr, want Type) int32 {
	x := l.float(e.args[0], want)
	if l.b.typ(x) == F32 && !l.env.PreciseDiv {
		return l.invoke(e, "root", x)
	}
	return l.b.op(Sqrt, l.b.typ(x), x)
}

func lowerRawDiv(l *lowering, e *expr, want Type) int32 {
	x, y := l.pair(e.args[0], e.args[1], want)
	if t := l.b.typ(x); !t.Float() {
		l.fail(e, "%s where a float is expected", t)
	}
	return l.b.op(Div, l.b.typ(x), x, y)
}

// raw is a function of the device that is as good as the device makes it.
func raw(op Op) func(*lowering, *expr, Type) int32 {
	return func(l *lowering, e *expr, _ Type) int32 { return l.b.op(op, F32, l.typed(e.args[0], F32)) }
}

// lowerFma takes the type of its first typed argument.
func lowerFma(l *lowering, e *expr, want Type) int32 {
	for _, a := range e.args {
		if !l.untyped(a) {
			want = l.b.typ(l.float(a, want))
			break
		}
	}
	t := l.context(e, want)
	if !t.Float() {
		l.fail(e, "%s where a float is expected", t)
	}
	var n [3]int32
	for i, a := range e.args {
		n[i] = l.typed(a, t)
	}
	return l.b.op(Fma, l.b.typ(n[0]), n[:]...)
}

// movement.LowerBitcast lowers bitcast(type, value).
func lowerBitcast(l *lowering, e *expr, _ Type) int32 {
	t, ok := l.typeNamed(e.args[0].text)
	if !ok {
		l.fail(e, "unknown type %s", e.args[0].text)
	}
	want := U32
	if t.Width() == 64 {
		want = U64
	}
	x := l.one(e.args[1], want)
	if from := l.b.typ(x); from.Width() != t.Width() || t == Bool {
		l.fail(e, "%s does not have the width of %s", from, t)
	}
	return l.b.op(Bitcast, t, x)
}

// lowerPack lowers pack(type, low word, high word).
func lowerPack(l *lowering, e *expr, _ Type) int32 {
	t, ok := l.typeNamed(e.args[0].text)
	if !ok || t.Width() != 64 {
		l.fail(e, "pack makes values of 64 bits")
	}
	return l.b.op(Pack, t, l.typed(e.args[1], U32), l.typed(e.args[2], U32))
}

func half(op Op) func(*lowering, *expr, Type) int32 {
	return func(l *lowering, e *expr, want Type) int32 {
		x := l.one(e.args[0], want)
		if l.b.typ(x).Width() != 64 {
			l.fail(e, "%s has no halves", l.b.typ(x))
		}
		return l.b.op(op, U32, x)
	}
}

func lowerMulHi(l *lowering, e *expr, _ Type) int32 {
	return l.b.op(MulHi, U32, l.typed(e.args[0], U32), l.typed(e.args[1], U32))
}

func word(op Op, result Type) func(*lowering, *expr, Type) int32 {
	return func(l *lowering, e *expr, _ Type) int32 {
		return l.b.op(op, result, l.typed(e.args[0], U32))
	}
}

// lowerPoly lowers poly(x, table), the polynomial with the coefficients of a
// table of x's type, lowest power first, by Horner's rule.
func lowerPoly(l *lowering, e *expr, want Type) int32 {
	if len(e.args) != 2 || e.args[1].kind != nameExpr {
		l.fail(e, "poly takes a value and a table")
	}
	x := l.float(e.args[0], want)
	t := l.b.typ(x)
	c := l.lib.constant(e.args[1].text, t)
	if c == nil || !c.table {
		l.fail(e, "%s is not a table of type %s", e.args[1].text, t)
	}
	n := len(c.bits) - 1
	sum := l.b.constant(t, c.bits[n])
	for n--; n >= 0; n-- {
		sum = l.b.op(Fma, t, sum, x, l.b.constant(t, c.bits[n]))
	}
	return sum
}
