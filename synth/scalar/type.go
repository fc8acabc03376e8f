package scalar

// typeNames are the names of types in the language.
var typeNames = [...]string{Bool: "bool", I32: "i32", U32: "u32", I64: "i64", U64: "u64", F32: "f32", F64: "f64"}

// noType stands for a type that the context does not determine.
const noType Type = 0xff

// String returns the name that the language gives the type.
func (t Type) String() string {
	switch {
	case int(t) < len(typeNames):
		return typeNames[t]
	case t == C64:
		return "c64"
	case t == C128:
		return "c128"
	}
	return "untyped"
}

// Complex says whether the type is a complex one.
func (t Type) Complex() bool { return t == C64 || t == C128 }

// Part returns the type of the parts of a complex type, and of a real one itself.
func (t Type) Part() Type {
	switch t {
	case C64:
		return F32
	case C128:
		return F64
	}
	return t
}

// Float says whether the type is a floating-point one.
func (t Type) Float() bool { return t == F32 || t == F64 }

// Int says whether the type is an integer.
func (t Type) Int() bool { return t >= I32 && t <= U64 }

// Signed says whether the type is an integer with a sign.
func (t Type) Signed() bool { return t == I32 || t == I64 }

// Width returns the number of bits of a value; a Bool has one.
func (t Type) Width() int {
	switch t {
	case Bool:
		return 1
	case I32, U32, F32:
		return 32
	}
	return 64
}

// typeNamed returns the type with the given name.
func typeNamed(name string) (Type, bool) {
	for t, n := range typeNames {
		if n == name {
			return Type(t), true
		}
	}
	return noType, false
}
