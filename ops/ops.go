// Package ops is the table of tensor operations. A row has the name of an operation, its
// operands, attributes and results, the rules of its types and shapes, the expression of one
// element, and its documentation. The wire decoder, the host path, the kernel compiler, the
// Elixir callbacks, the documentation and the tests read it. The package also has the
// element types of Nx, shapes, instructions and regions, and checks that an instruction fits
// its row.
//
// The package does not know how an operation is executed: it imports only the standard
// library, and has no memory, no device and no Erlang term. Start reading at Info, then at a
// row of table_unary.go.
package ops

// Op is an operation, a dense index into the table.
type Op uint16

// Kind groups operations that are executed in the same way.
type Kind uint8

// The kinds of operations.
const (
	Control   Kind = iota // no value: bookkeeping of the instruction stream
	Create                // a value from attributes or literals
	Pointwise             // each element of the result from the elements at its position
	Reduce                // a pointwise operator applied along axes
	ArgReduce             // the index of an extremum along an axis
	Movement              // elements moved, not changed
	Contract              // products summed over axes
	Window                // a reduction of every window
	Index                 // elements chosen by index tensors
	Order                 // sorts and selections
	Scan                  // cumulative reductions
	Transform             // Fourier transforms
	LinAlg                // factorizations and solvers
	Fold                  // a reduction by a function in the instruction
	Composite             // the instructions of a region, carried out as one (as StableHLO has composites)
)

// Rule says which types a result may have. The client states the type of each result, as
// Nx's out template does, and the rule checks it.
type Rule uint8

// The rules of result types.
const (
	AnyType     Rule = iota // the stated type is the type of computation
	SameType                // that of the first operand
	BoolType                // u8, of 0 and 1
	IndexType               // an integer
	FloatType               // a real or complex float
	RealType                // the real type of the first operand
	ComplexType             // complex
)

// Flag is a set of algebraic facts.
type Flag uint8

// The facts that a row may state.
const (
	Commutative Flag = 1 << iota
	Associative
	Predicate // the first operand is a truth value: it is tested for zero in its own type
	Periodic  // a rounding error of a large operand changes the result altogether
)

// Code has the expression of one element, in the language of synth/scalar, for each class of
// types. Its variables are the operands x, y and z, converted to the type of computation. bits
// is the width of the stored type, wide the width of the type of computation, and mask has the
// lowest bits set, as many as bits. Of complex operands x, y and z are the real parts, and xi,
// yi and zi the imaginary parts; the result is a pair of parts, or a real number. A class with
// an empty expression has no device code.
type Code struct {
	Float   string
	Sint    string
	Uint    string
	Complex string
}

// reals is Code for floats and both classes of integers.
func reals(float, sint, uint string) Code { return Code{Float: float, Sint: sint, Uint: uint} }

// same is Code whose expression holds for every class of real numbers.
func same(e string) Code { return reals(e, e, e) }

// ints is Code for integers alone.
func ints(e string) Code { return Code{Sint: e, Uint: e} }

// For returns the expression for a class, or the empty string.
func (c Code) For(k Class) string {
	switch k {
	case Float:
		return c.Float
	case Signed:
		return c.Sint
	case Unsigned:
		return c.Uint
	}
	return c.Complex
}

// Domain says which operands tests draw.
type Domain uint8

// The domains of test operands.
const (
	Real     Domain = iota // all of the type
	Positive               // > 0
	Unit                   // [-1, 1]
	OpenUnit               // (0, 1) or (-1, 1): inverse error function
	AboveOne               // >= 1
	NonZero                // the last operand is not zero
	Small                  // magnitudes that do not overflow
	ShiftBy                // the last operand is in 0..bits-1
)

// Info is the row of one operation.
type Info struct {
	Name     string     // Nx callback or block name; also the atom on the wire
	Kind     Kind       // how it is executed
	Arity    int        // number of operands; Variadic for one or more
	Attrs    []Attr     // attributes in order: the schema of the wire
	Results  int        // number of results, or Variadic
	Result   Rule       // of their types
	Flags    Flag       // algebraic facts
	Compare  bool       // computes in the merged type of the operands, not in the type of the result
	Code     Code       // expression of one element; for a reduction, the operator of x and y
	Identity Code       // for a reduction, its initial value
	Domain   Domain     // of test operands
	ULP      int        // permitted error in units in the last place; 0 is exact
	Infer    InferShape // computes the shapes of the results
	Stream   bool       // an instruction of the stream, not of programs
	Closed   bool       // its regions use no value but their parameters
	Doc      string     // one sentence
}

// Variadic is the arity of operations with one or more operands, and the number of results of
// operations that give as many as their regions.
const Variadic = -1

// Info returns the row of an operation.
func (o Op) Info() *Info {
	if o >= Count {
		panic("BUG: operation outside the table")
	}
	return &table[o]
}

// String returns the name of the operation.
func (o Op) String() string { return o.Info().Name }

// Lookup returns the operation with the given name.
func Lookup(name string) (Op, bool) {
	o, ok := byName[name]
	return o, ok
}

// The names by which generated files and messages call what the table says.

var kindNames = [...]string{
	Control: "control", Create: "create", Pointwise: "pointwise", Reduce: "reduce", ArgReduce: "arg_reduce",
	Movement: "movement", Contract: "contract", Window: "window", Index: "index", Order: "order",
	Scan: "scan", Transform: "transform", LinAlg: "linalg", Fold: "fold", Composite: "composite",
}

// String returns the name of the kind.
func (k Kind) String() string { return kindNames[k] }

var ruleNames = [...]string{
	AnyType: "any", SameType: "same", BoolType: "bool", IndexType: "integer",
	FloatType: "float", RealType: "real", ComplexType: "complex",
}

// String returns the name of the rule.
func (r Rule) String() string { return ruleNames[r] }
