package scalar

import (
	"fmt"
	"strconv"
	"strings"
)

// opNames are the names of operations in the text form.
var opNames = [opEnd]string{
	Const: "const", Param: "param", Add: "add", Sub: "sub", Mul: "mul", Div: "div", Rem: "rem", Neg: "neg",
	Fma: "fma", Sqrt: "sqrt", Floor: "floor", Ceil: "ceil", Trunc: "trunc", RoundEven: "rint", Exp2: "exp2", InverseSqrt: "rsqrt",
	And: "and", Or: "or", Xor: "xor", Not: "not", Shl: "shl", Shr: "shr", MulHi: "mulhi", FindMSB: "msb", BitCount: "bitcount",
	Eq: "eq", Ne: "ne", Lt: "lt", Le: "le", AndB: "andb", OrB: "orb", NotB: "notb",
	Select: "select", Convert: "convert", Bitcast: "bitcast", Pack: "pack", Lo: "lo", Hi: "hi", PackHalf: "packhalf", UnpackHalf: "unpackhalf", RoundHalf: "roundhalf", Lookup: "lookup", Rare: "rare",
}

// String returns the name that the text form gives the operation.
func (o Op) String() string {
	if o < opEnd {
		return opNames[o]
	}
	return "unknown"
}

// String returns the text form: a func for every function that Rare calls,
// before its callers, then the function itself. scalartest.Read takes it back.
//
//	func "1 - x" f32 {
//	  0 = param f32 0
//	  1 = const f32 0x1p+00
//	  2 = sub f32 %1 %0
//	}
//
// A function of two results ends with a line such as: pair %2 %1
func (f *Func) String() string {
	w := &printer{numbers: map[*Func]int{}}
	w.function(f)
	return w.text.String()
}

// printer numbers the functions in the order in which it writes them.
type printer struct {
	text    strings.Builder
	numbers map[*Func]int
}

func (w *printer) function(f *Func) {
	for i := range f.Nodes {
		if slow := f.Nodes[i].Slow; slow != nil {
			if _, ok := w.numbers[slow]; !ok {
				w.function(slow)
			}
		}
	}
	w.numbers[f] = len(w.numbers)
	fmt.Fprintf(&w.text, "func %q", f.Name)
	for _, t := range f.Params {
		fmt.Fprintf(&w.text, " %s", t)
	}
	w.text.WriteString(" {\n")
	for i := range f.Nodes {
		fmt.Fprintf(&w.text, "  %d = ", i)
		w.node(&f.Nodes[i])
		w.text.WriteByte('\n')
	}
	if f.Pair != nil {
		fmt.Fprintf(&w.text, "  pair %%%d %%%d\n", f.Pair[0], f.Pair[1])
	}
	w.text.WriteString("}\n")
}

func (w *printer) node(n *Node) {
	fmt.Fprintf(&w.text, "%s %s", n.Op, n.Type)
	switch n.Op {
	case Const:
		fmt.Fprintf(&w.text, " %s", literal(n.Type, n.Bits))
	case Param:
		fmt.Fprintf(&w.text, " %d", n.Index)
	case Rare:
		fmt.Fprintf(&w.text, " @%d", w.numbers[n.Slow])
	}
	for _, a := range n.Args {
		fmt.Fprintf(&w.text, " %%%d", a)
	}
	for _, b := range n.Table {
		fmt.Fprintf(&w.text, " %s", literal(n.Type, b))
	}
}

// literal writes a value so that it can be read back to the bit; a NaN, whose
// bits no number shows, as its bits.
func literal(t Type, b uint64) string {
	switch {
	case t == Bool:
		return strconv.FormatBool(b != 0)
	case t.Signed():
		return strconv.FormatInt(signed(t, b), 10)
	case t.Int():
		return fmt.Sprintf("%#x", b)
	}
	v := floatValue(t, b)
	if v != v {
		return fmt.Sprintf("bits:%#x", b)
	}
	return strconv.FormatFloat(v, 'x', -1, t.Width())
}
