package scalar

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
