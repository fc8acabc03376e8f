package kernel

import "nxvk/synth/scalar"

var typeNames = [...]string{scalar.Bool: "bool", scalar.I32: "i32", scalar.U32: "u32",
	scalar.I64: "i64", scalar.U64: "u64", scalar.F32: "f32", scalar.F64: "f64"}

// primInfo is the name and the number of operands of a primitive operation. The
// operations of the scalar language that are not here have instructions of
// their own.
var primInfo = [...]struct {
	name  string
	arity int
}{
	scalar.Add: {"add", 2}, scalar.Sub: {"sub", 2}, scalar.Mul: {"mul", 2}, scalar.Div: {"div", 2},
	scalar.Rem: {"rem", 2}, scalar.Neg: {"neg", 1}, scalar.Fma: {"fma", 3}, scalar.Sqrt: {"sqrt", 1},
	scalar.Floor: {"floor", 1}, scalar.Ceil: {"ceil", 1}, scalar.Trunc: {"trunc", 1},
	scalar.RoundEven: {"roundeven", 1}, scalar.Exp2: {"exp2", 1}, scalar.InverseSqrt: {"inversesqrt", 1}, scalar.And: {"and", 2}, scalar.Or: {"or", 2},
	scalar.Xor: {"xor", 2}, scalar.Not: {"not", 1}, scalar.Shl: {"shl", 2}, scalar.Shr: {"shr", 2},
	scalar.MulHi: {"mulhi", 2}, scalar.FindMSB: {"findmsb", 1}, scalar.BitCount: {"bitcount", 1},
	scalar.Eq: {"eq", 2}, scalar.Ne: {"ne", 2}, scalar.Lt: {"lt", 2}, scalar.Le: {"le", 2},
	scalar.AndB: {"andb", 2}, scalar.OrB: {"orb", 2}, scalar.NotB: {"notb", 1},
	scalar.Select: {"select", 3}, scalar.Convert: {"convert", 1}, scalar.Bitcast: {"bitcast", 1},
	scalar.Pack: {"pack", 2}, scalar.Lo: {"lo", 1}, scalar.Hi: {"hi", 1},
}

var primByName = func() map[string]scalar.Op {
	m := make(map[string]scalar.Op, len(primInfo))
	for op, p := range primInfo {
		if p.name != "" {
			m[p.name] = scalar.Op(op)
		}
	}
	return m
}()

var typeByName = func() map[string]scalar.Type {
	m := make(map[string]scalar.Type, len(typeNames))
	for t, n := range typeNames {
		m[n] = scalar.Type(t)
	}
	return m
}()

var elemByName = func() map[string]Elem {
	m := make(map[string]Elem, elemEnd)
	for e := Elem(0); e < elemEnd; e++ {
		m[e.String()] = e
	}
	return m
}()
