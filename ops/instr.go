package ops

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// ID names a value of a session. The client chooses it.
type ID uint64

// Literal is a constant inside an instruction.
type Literal struct {
	Type Type
	Data []byte // dense, little-endian; one byte an element below 8 bits
	Hold any    // keeps Data alive if it is not Go memory; may be nil
}

// Operand is an input of an instruction: the value with an ID, or a literal.
type Operand struct {
	ID  ID
	Lit *Literal // nil if the operand is a value
}

// Result is an output of an instruction.
type Result struct {
	ID   ID
	Type Type
}

// Instr is one instruction. An eager operation is one; a compiled program is a
// list of them.
type Instr struct {
	Op    Op
	Outs  []Result
	Ins   []Operand
	Attrs [][]int // by the schema of the operation, each flattened to integers; nil at the places of regions

	Regions []*Region // the attributes that are regions, in their order
}

// Error is the error of an instruction: its operation, the types of its operands and the cause.
// Results that depend on it carry the same error.
type Error struct {
	Op     string
	Shapes []string // types of the operands, printed
	Err    error
}

// Error returns the failure in words.
func (e *Error) Error() string {
	return fmt.Sprintf("%s(%s): %v", e.Op, join(e.Shapes), e.Err)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

func join(s []string) string {
	out := ""
	for i, e := range s {
		if i > 0 {
			out += ", "
		}
		out += e
	}
	return out
}

// Wrap returns err as the error of in on operands of the given types. An operand without a
// type, whose value is unknown, is named by its id.
func (in *Instr) Wrap(types []Type, err error) *Error {
	e := &Error{Op: in.Op.String(), Err: err}
	for i, t := range types {
		text := t.String()
		if t.DType == Invalid && i < len(in.Ins) && in.Ins[i].Lit == nil {
			text = fmt.Sprintf("unknown value %d", in.Ins[i].ID)
		}
		e.Shapes = append(e.Shapes, text)
	}
	return e
}

// ComputeType returns the type in which a pointwise instruction computes: the type of its
// result or, if the operation compares, the merged type of its operands.
func (in *Instr) ComputeType(types []Type) DType {
	if !in.Op.Info().Compare {
		return in.Outs[0].Type.DType
	}
	d := types[0].DType
	for _, t := range types[1:] {
		d = Merge(d, t.DType)
	}
	return d
}

// Check reports whether an instruction is well formed: arity, attributes,
// shapes and result types. types are those of its operands.
func (in *Instr) Check(types []Type) error {
	f := in.Op.Info()
	switch {
	case f.Arity != Variadic && len(in.Ins) != f.Arity:
		return fmt.Errorf("takes %d operands, has %d", f.Arity, len(in.Ins))
	case f.Arity == Variadic && len(in.Ins) == 0 && f.Kind != Control:
		return errors.New("takes at least one operand, has none")
	case f.Results != Variadic && len(in.Outs) != f.Results:
		return fmt.Errorf("gives %d results, has %d", f.Results, len(in.Outs))
	}
	if err := f.checkAttrs(in.Attrs); err != nil {
		return err
	}
	if want := f.regions(); len(in.Regions) != want {
		return fmt.Errorf("takes %d regions, has %d", want, len(in.Regions))
	}
	for i := range in.Outs {
		if err := in.Outs[i].Type.Check(); err != nil {
			return fmt.Errorf("result %d: %w", i, err)
		}
	}
	if err := in.checkResultTypes(f, types); err != nil {
		return err
	}
	if f.Infer == nil {
		return nil
	}
	return in.checkShapes(f, types)
}

func (in *Instr) checkShapes(f *Info, types []Type) error {
	shapes, err := f.Infer(in, types)
	if err != nil {
		return err
	}
	for i, s := range shapes {
		if got := in.Outs[i].Type.Shape; !got.Equal(s) {
			return fmt.Errorf("%w of result %d must be %v, is stated as %v", ErrShape, i, s, got)
		}
	}
	return nil
}

func (in *Instr) checkResultTypes(f *Info, types []Type) error {
	for _, o := range in.Outs {
		d, ok, want := o.Type.DType, true, ""
		switch f.Result {
		case SameType:
			ok, want = d == types[0].DType, types[0].DType.String()
		case BoolType:
			ok, want = d == U8, "u8"
		case IndexType:
			ok, want = d.IsInteger(), "an integer type"
		case FloatType:
			ok, want = !d.IsInteger(), "a float or complex type"
		case RealType:
			ok, want = !d.IsComplex(), "a real type"
		case ComplexType:
			ok, want = d.IsComplex(), "a complex type"
		}
		if !ok {
			return fmt.Errorf("the result type must be %s, is %v", want, d)
		}
	}
	if f.Result == IndexType && f.Kind == Pointwise {
		for i, t := range types {
			if !t.DType.IsInteger() {
				return fmt.Errorf("operand %d must be of an integer type, is of %v", i, t.DType)
			}
		}
	}
	return nil
}

// KeepsOrder reports whether the result of an instruction that moves elements has those of its first operand, of type
// from, in their order: its bytes are those of the operand, as those of a reshape are. A transposition of axes of one
// element keeps the order, and so does a slice of everything. Other operands are the number of a padding or
// the starts of a slice, and change nothing then.
func (in *Instr) KeepsOrder(from Type) bool {
	if len(in.Outs) != 1 || in.Outs[0].Type.DType != from.DType || in.Outs[0].Type.Size() != from.Size() {
		return false
	}
	wide := func(axis int) bool { return from.Shape[axis] > 1 }
	switch in.Op {
	case Reshape, Squeeze, AsType, Bitcast, Slice:
		return true
	case BroadcastTo:
		return increasing(in.Attrs[0], wide)
	case Transpose:
		// Axis i of the result is axes[i] of the operand.
		return slices.IsSorted(slices.DeleteFunc(slices.Clone(in.Attrs[0]), func(a int) bool { return !wide(a) }))
	case Reverse:
		return !slices.ContainsFunc(in.Attrs[0], wide)
	case Pad:
		return !slices.ContainsFunc(in.Attrs[0], func(n int) bool { return n != 0 })
	case Concatenate:
		return len(in.Ins) == 1
	}
	return false
}

// increasing reports whether those of the axes whose index counts are increasing.
func increasing(axes []int, counts func(i int) bool) bool {
	last := -1
	for i, a := range axes {
		if !counts(i) {
			continue
		}
		if a < last {
			return false
		}
		last = a
	}
	return true
}

// Integer returns the number of a literal that has one element, of an integer type of 8 bits or more.
// ok is false for others, for a literal without data and for numbers of 2^63 and more.
func (l *Literal) Integer() (n int64, ok bool) {
	d := l.Type.DType
	if !d.IsInteger() || d.Bits() < 8 || l.Type.Size() != 1 || len(l.Data) < d.Size() {
		return 0, false
	}
	n = int64(l.pattern())
	if d.Class() == Signed {
		shift := 64 - d.Bits()
		return n << shift >> shift, true
	}
	return n, n >= 0
}

// pattern has the bits of the first element.
func (l *Literal) pattern() (bits uint64) {
	for i, b := range l.Data[:l.Type.DType.Size()] {
		bits |= uint64(b) << (8 * i)
	}
	return bits
}

// Number returns the number of a literal that has one element, of an integer type of 8 bits or more or of f64, f32, bf16 or
// f16. ok is false for others, for a literal without data and for integers that float64 may not have.
func (l *Literal) Number() (x float64, ok bool) {
	if n, ok := l.Integer(); ok {
		return float64(n), -1<<53 <= n && n <= 1<<53
	}
	if l.Type.Size() != 1 || len(l.Data) < l.Type.DType.Size() {
		return 0, false
	}
	switch l.Type.DType {
	case F64:
		return math.Float64frombits(l.pattern()), true
	case F32:
		return float64(math.Float32frombits(uint32(l.pattern()))), true
	case BF16:
		return float64(math.Float32frombits(uint32(l.pattern()) << 16)), true
	case F16:
		return halfNumber(l.pattern()), true
	}
	return 0, false
}

// NumberLiteral returns a scalar literal of one of the floats that Number reads; nil where the type does not have the number.
func NumberLiteral(d DType, x float64) *Literal {
	var bits uint64
	switch d {
	case F64:
		bits = math.Float64bits(x)
	case F32:
		bits = uint64(math.Float32bits(float32(x)))
	case BF16:
		bits = uint64(math.Float32bits(float32(x)) >> 16)
	case F16:
		bits = halfBits(x)
	default:
		return nil
	}
	l := &Literal{Type: Type{DType: d}}
	for i := range d.Size() {
		l.Data = append(l.Data, byte(bits>>(8*i)))
	}
	if back, _ := l.Number(); back != x {
		return nil
	}
	return l
}

// The parts of an f16: its significand, the unit of subnormal numbers, and the exponents that mean something else.
const (
	halfSignificand = 10
	halfUnit        = -24
	halfSpecial     = 31
	halfSign        = 1 << 15
)

func halfNumber(bits uint64) float64 {
	x := float64(bits & (1<<halfSignificand - 1))
	switch e := int(bits >> halfSignificand & halfSpecial); {
	case e == halfSpecial && x != 0:
		return math.NaN()
	case e == halfSpecial:
		x = math.Inf(1)
	case e == 0:
		x = math.Ldexp(x, halfUnit)
	default:
		x = math.Ldexp(x+1<<halfSignificand, halfUnit+e-1)
	}
	if bits&halfSign != 0 {
		return -x
	}
	return x
}

// halfBits finds the number among those of f16; for another it returns that of some.
func halfBits(x float64) (bits uint64) {
	if math.Signbit(x) {
		return halfSign | halfBits(-x)
	}
	// The patterns are in the order of their numbers.
	for step := uint64(1 << 14); step > 0; step /= 2 {
		if halfNumber(bits+step) <= x {
			bits += step
		}
	}
	return bits
}
