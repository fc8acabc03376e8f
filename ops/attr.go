package ops

import "fmt"

// AttrKind is the form of an attribute on the wire. In an instruction each attribute is a slice
// of integers.
type AttrKind uint8

// The forms of attributes.
const (
	Int    AttrKind = iota // an integer
	Ints                   // a list of integers
	Bool                   // true or false: 1 or 0
	Enum                   // one of the names of the attribute: its index
	Pads                   // a list of {low, high, interior}: three integers each
	Pairs                  // a list of {low, high}: two integers each
	TypeOf                 // an element type: its DType
	Real64                 // a float: the bits of an IEEE double
	Block                  // a region: the next of Instr.Regions
)

// Attr is one attribute in the schema of an operation.
type Attr struct {
	Name  string
	Kind  AttrKind
	Names []string // of an Enum
}

func (k AttrKind) String() string {
	return [...]string{"an integer", "a list of integers", "a boolean", "a name",
		"a list of {low, high, interior}", "a list of {low, high}", "an element type", "a float",
		"a region, {Params, Instructions, Values}"}[k]
}

var attrAtoms = [...]string{
	Int: "int", Ints: "ints", Bool: "bool", Enum: "enum",
	Pads: "pads", Pairs: "pairs", TypeOf: "type", Real64: "float", Block: "region",
}

// Atom returns the name of the form in generated files.
func (k AttrKind) Atom() string { return attrAtoms[k] }

// width is the number of integers of an attribute; 0 is any number, and a negative number means
// any multiple.
func (k AttrKind) width() int {
	switch k {
	case Ints:
		return 0
	case Pads:
		return -3
	case Pairs:
		return -2
	}
	return 1
}

// checkAttrs reports whether the values fit the schema.
func (f *Info) checkAttrs(values [][]int) error {
	if len(values) != len(f.Attrs) {
		return fmt.Errorf("takes %d attributes, has %d", len(f.Attrs), len(values))
	}
	for i, a := range f.Attrs {
		if a.Kind == Block {
			continue
		}
		n, w := len(values[i]), a.Kind.width()
		if (w > 0 && n != w) || (w < 0 && n%-w != 0) {
			return fmt.Errorf("attribute %q must be %s", a.Name, a.Kind)
		}
		if a.Kind == Enum && (values[i][0] < 0 || values[i][0] >= len(a.Names)) {
			return fmt.Errorf("attribute %q must be one of %v", a.Name, a.Names)
		}
	}
	return nil
}

// regions counts the attributes that are regions.
func (f *Info) regions() int {
	n := 0
	for _, a := range f.Attrs {
		if a.Kind == Block {
			n++
		}
	}
	return n
}
