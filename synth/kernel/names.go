package kernel

import "nxvk/synth/scalar"

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
	scalar.PackHalf: {"packhalf", 1}, scalar.UnpackHalf: {"unpackhalf", 1}, scalar.RoundHalf: {"roundhalf", 1},
}

// PrimName is the name of a primitive operation in the text form, and the empty string
// for an operation that has an instruction of its own.
func PrimName(op scalar.Op) string {
	if int(op) >= len(primInfo) {
		return ""
	}
	return primInfo[op].name
}
