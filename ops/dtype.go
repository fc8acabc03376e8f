package ops

import (
	"fmt"
	"slices"
	"strings"
)

// DType is the type of one element. The twenty types are those of Nx; a name
// is the Nx short form ("f32", "u8", "bf16").
type DType uint8

// The element types, by class and size.
const (
	Invalid DType = iota
	U2
	U4
	U8
	U16
	U32
	U64
	S2
	S4
	S8
	S16
	S32
	S64
	F8     // E5M2
	F8E4M3 // E4M3FN: no infinities, one NaN
	BF16
	F16
	F32
	F64
	C64  // two f32
	C128 // two f64
	dtypeEnd
)

// Class says how elements of a type compute.
type Class uint8

// The classes of element types.
const (
	Unsigned Class = iota
	Signed
	Float
	Complex
)

type dtypeInfo struct {
	name  string
	class Class
	bits  int   // as Nx counts them; a complex counts both parts
	size  int   // bytes of one element in memory; sub-byte types take one
	wide  DType // the type that computes it exactly enough: f16 computes in f32
}

var dtypes = [dtypeEnd]dtypeInfo{
	Invalid: {"invalid", Unsigned, 0, 0, Invalid},
	U2:      {"u2", Unsigned, 2, 1, U32},
	U4:      {"u4", Unsigned, 4, 1, U32},
	U8:      {"u8", Unsigned, 8, 1, U32},
	U16:     {"u16", Unsigned, 16, 2, U32},
	U32:     {"u32", Unsigned, 32, 4, U32},
	U64:     {"u64", Unsigned, 64, 8, U64},
	S2:      {"s2", Signed, 2, 1, S32},
	S4:      {"s4", Signed, 4, 1, S32},
	S8:      {"s8", Signed, 8, 1, S32},
	S16:     {"s16", Signed, 16, 2, S32},
	S32:     {"s32", Signed, 32, 4, S32},
	S64:     {"s64", Signed, 64, 8, S64},
	F8:      {"f8", Float, 8, 1, F32},
	F8E4M3:  {"f8_e4m3fn", Float, 8, 1, F32},
	BF16:    {"bf16", Float, 16, 2, F32},
	F16:     {"f16", Float, 16, 2, F32},
	F32:     {"f32", Float, 32, 4, F32},
	F64:     {"f64", Float, 64, 8, F64},
	C64:     {"c64", Complex, 64, 8, C64},
	C128:    {"c128", Complex, 128, 16, C128},
}

var dtypeByName = func() map[string]DType {
	m := make(map[string]DType, dtypeEnd)
	for d := U2; d < dtypeEnd; d++ {
		m[d.String()] = d
	}
	return m
}()

// DTypes lists every element type.
func DTypes() []DType {
	all := make([]DType, 0, dtypeEnd-1)
	for d := U2; d < dtypeEnd; d++ {
		all = append(all, d)
	}
	return all
}

// ParseDType returns the type with the given name.
func ParseDType(name string) (DType, error) {
	if d, ok := dtypeByName[name]; ok {
		return d, nil
	}
	return Invalid, fmt.Errorf("unknown type %q", name)
}

func (d DType) info() *dtypeInfo {
	if d >= dtypeEnd {
		d = Invalid
	}
	return &dtypes[d]
}

// String returns the name of the type.
func (d DType) String() string { return d.info().name }

// Class returns how elements compute.
func (d DType) Class() Class { return d.info().class }

// Bits returns the size of an element as Nx counts it.
func (d DType) Bits() int { return d.info().bits }

// Size returns the bytes that one element takes in memory. Types of less than
// a byte take one; they are packed only at the edge of the VM.
func (d DType) Size() int { return d.info().size }

// Wide returns the type in which elements of d compute: narrow integers in 32
// bits, narrow floats in f32, everything else in itself.
func (d DType) Wide() DType { return d.info().wide }

// IsInteger reports whether d is a signed or unsigned integer.
func (d DType) IsInteger() bool { c := d.Class(); return c == Signed || c == Unsigned }

// IsFloat reports whether d is a real floating-point type.
func (d DType) IsFloat() bool { return d.Class() == Float }

// IsComplex reports whether d is complex.
func (d DType) IsComplex() bool { return d.Class() == Complex }

// Real returns the type of the parts of a complex type, and d otherwise.
func (d DType) Real() DType {
	switch d {
	case C64:
		return F32
	case C128:
		return F64
	}
	return d
}

// Merge returns the type in which a binary operation of a and b computes. It
// is Nx.Type.merge/2 to the letter, also where that is not symmetric (E4M3FN
// with another float gives the left type).
func Merge(a, b DType) DType {
	ra, rb := a.rank(), b.rank()
	if ra == rb && a != F8E4M3 && b != F8E4M3 {
		return larger(a, b)
	}
	if ra >= rb {
		a, b, ra, rb = b, a, rb, ra
	}
	switch {
	case ra == 0 && rb == 1:
		return signedOf(max(min(2*a.Bits(), 64), b.Bits()))
	case a == F64 && rb == 4:
		return C128
	}
	return b
}

// rank orders the kinds of types as Nx.Type.merge/2 does.
func (d DType) rank() int {
	switch d.Class() {
	case Unsigned, Signed:
		return int(d.Class())
	case Complex:
		return 4
	}
	if d == BF16 {
		return 2
	}
	return 3
}

func larger(a, b DType) DType {
	if a.Bits() >= b.Bits() {
		return a
	}
	return b
}

func signedOf(bits int) DType {
	switch {
	case bits <= 2:
		return S2
	case bits <= 4:
		return S4
	case bits <= 8:
		return S8
	case bits <= 16:
		return S16
	case bits <= 32:
		return S32
	}
	return S64
}

// TypeNames lists types in few words: classes that are complete by their names.
func TypeNames(types []DType) string {
	if len(types) == len(DTypes()) {
		return "all"
	}
	var words []string
	rest := slices.Clone(types)
	for _, g := range []struct {
		name string
		has  func(DType) bool
	}{{"integers", DType.IsInteger}, {"floats", DType.IsFloat}, {"complex", DType.IsComplex}} {
		of := func(all []DType) int {
			return len(slices.DeleteFunc(slices.Clone(all), func(d DType) bool { return !g.has(d) }))
		}
		if of(rest) == of(DTypes()) {
			words = append(words, g.name)
			rest = slices.DeleteFunc(rest, g.has)
		}
	}
	for _, d := range rest {
		words = append(words, d.String())
	}
	return strings.Join(words, ", ")
}
