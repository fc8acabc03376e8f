// Package ops is the table of tensor operations: what each is called, what it
// takes, what it gives, and how a scalar of it computes. Everything else in
// the program (the wire decoder, the host path, the kernel compiler, the
// Elixir callbacks, the documentation, the tests) is driven by it.
//
// The package refuses to know how an operation is carried out: it imports the
// standard library alone and has no memory, no device and no Erlang term. Start
// reading at Info, then at a row of table_unary.go.
package ops

// Op is an operation, a dense index into the table.
type Op uint16

// Kind groups operations that are carried out in the same way.
type Kind uint8

// The kinds of operations.
const (
	Control   Kind = iota // no value: bookkeeping of the instruction stream
	Create                // a value out of attributes or literals
	Pointwise             // each output element from the elements at its place
	Reduce                // a pointwise operator folded over axes
	ArgReduce             // the index of an extreme along an axis
	Movement              // elements moved, not changed
	Contract              // products summed over axes
	Window                // a reduction of every window
	Index                 // elements chosen by index tensors
	Order                 // sort and its kin
	Scan                  // running reductions
	Transform             // Fourier transforms
	LinAlg                // factorisations and solvers
	Fold                  // a reduction by a function that comes with the instruction
)

// Rule says which type the result may have. The client states the type of
// every result, as Nx's out template does; the rule is what it must obey.
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
	Predicate // the first operand is a truth value: whether it is zero, in its own type
)

// Code is how one element computes, in the language of synth/scalar: an
// expression over the operands x, y and z, already converted to the type of
// computation; bits is the width of the stored type, wide that of the type it
// computes in, and mask has the low bits bits set. Of complex operands x, y and
// z are the real parts and xi, yi and zi the imaginary ones; the result is a pair
// of parts, or a real number. A column that is empty has no device code for that
// class.
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

// Domain says from where tests draw operands.
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

// Info is everything the rest of the program knows about one operation.
type Info struct {
	Name     string     // Nx callback or block name; also the atom on the wire
	Kind     Kind       // how it is carried out
	Arity    int        // number of operands; Variadic for one or more
	Attrs    []Attr     // attributes in order: the schema of the wire
	Results  int        // number of results, or Variadic
	Result   Rule       // what their type must obey
	Flags    Flag       // algebraic facts
	Compare  bool       // computes in the merged type of the operands, not in that of the result
	Code     Code       // one element on a device; of a reduction, the operator that joins x and y
	Identity Code       // reductions: the value that the operator starts from
	Domain   Domain     // where test operands are drawn from
	ULP      int        // permitted error in units in the last place; 0 is exact
	Infer    InferShape // shapes of the results
	Stream   bool       // an instruction of the stream that no program has
	Closed   bool       // its regions see nothing but their parameters
	Doc      string     // one sentence
}

// Variadic is the arity of operations that take one or more operands, and the
// number of results of those that give as many as their regions do.
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
