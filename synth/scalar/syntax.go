package scalar

// The language. A text declares functions, constants and tables:
//
//	const name: type = value;
//	table name: type = [value, …];
//	fn name(x: f32, n: i32) -> f32 { let a = x * x; let (h, l) = pair(a); h + l }
//	fn name<T: float>(x: T) -> (T, T) { (x, -x) }
//
// A function body is lets and one expression or tuple. Names may be declared
// once for each type: a call takes the function that the types of its arguments
// fit, one that names them before a generic one; a constant has the type that its
// place wants. A type parameter is bounded by float or int, or not at all. There
// are no loops and no recursion: a call is its body.
//
// Operators, loosest first: c ? a : b (both are computed), ||, &&, comparisons,
// |, ^, &, shifts, + -, * / %, and the prefixes - ~ !. Numbers count as true where
// they are not zero. A type's name converts: f32(n); bitcast(f32, n) keeps the bits.
// Literals take their type from the other operand or from the place: 1, 0x1f,
// 1.5, 0x1.8p-3.
//
// Builtins: fma sqrt floor ceil trunc; lo hi pack(type, low, high); mulhi
// msb bitcount of u32; poly(x, table), lowest coefficient first; rawdiv,
// rawsqrt, rawrsqrt and rawexp2, the device's own; rare(c, slow(x), fast), which computes slow(x) only
// where c holds. Constants: true false inf nan lowest highest bits wide mask, and
// precise, subnormals and exp2, which tell what the device can, and narrow, which tells
// that elements have 16 bits at most and the device has exp2.

type exprKind uint8

const (
	numberExpr  exprKind = iota // text
	nameExpr                    // text
	unaryExpr                   // text args[0]
	binaryExpr                  // args[0] text args[1]
	ternaryExpr                 // args[0] ? args[1] : args[2]
	callExpr                    // text(args…)
	indexExpr                   // text[args[0]]
	tupleExpr                   // (args…)
)

// expr is a node of the syntax tree.
type expr struct {
	kind exprKind
	text string
	args []*expr
	pos  int
}

// binding is one let: the values of a tuple, or a single one, get names.
type binding struct {
	names []string
	value *expr
}

// typed is a parameter: its type is the name of a type or of the type
// parameter of the function.
type typed struct {
	name, typ string
}

// function is a declared fn.
type function struct {
	src     *source
	pos     int
	name    string
	generic string // name of the type parameter, or empty
	bound   string // "float" or "int" where the type parameter is bounded
	params  []typed
	results []string
	lets    []binding
	value   *expr
}

// constant is a declared const or table; the same name may be declared once
// for each type.
type constant struct {
	src    *source
	typ    Type
	table  bool
	values []*expr
	bits   []uint64 // the values once evaluated
}

// unit is the content of one text.
type unit struct {
	functions []*function
	constants map[string][]*constant
}
