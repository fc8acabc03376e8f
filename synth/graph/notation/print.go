package notation

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"nxvk/ops"
)

// Print returns a region in the form that Parse reads, a line an instruction.
func Print(r *ops.Region) string {
	p := &printer{}
	p.region(r)
	p.b.WriteByte('\n')
	return p.b.String()
}

// Line returns an instruction without its regions.
func Line(in *ops.Instr) string {
	p := &printer{}
	p.head(in)
	return p.b.String()
}

type printer struct {
	b      strings.Builder
	indent int
}

func (p *printer) line() {
	p.b.WriteByte('\n')
	for range p.indent {
		p.b.WriteString("  ")
	}
}

// region prints parameters and, indented, instructions and what they give.
func (p *printer) region(r *ops.Region) {
	p.b.WriteByte('(')
	p.defs(r.Params)
	p.b.WriteString(") {")
	p.indent++
	for i := range r.Body {
		p.line()
		p.instr(&r.Body[i])
	}
	p.line()
	p.b.WriteString("give")
	p.uses(r.Values)
	p.indent--
	p.line()
	p.b.WriteByte('}')
}

func (p *printer) instr(in *ops.Instr) {
	p.head(in)
	next := 0
	for _, a := range in.Op.Info().Attrs {
		if a.Kind == ops.Block && next < len(in.Regions) {
			p.b.WriteString(" " + a.Name)
			p.region(in.Regions[next])
			next++
		}
	}
}

// head prints an instruction up to its regions.
func (p *printer) head(in *ops.Instr) {
	if len(in.Outs) > 0 {
		p.defs(in.Outs)
		p.b.WriteString(" = ")
	}
	p.b.WriteString(in.Op.String())
	p.uses(in.Ins)
	for i, a := range in.Op.Info().Attrs {
		if a.Kind != ops.Block && i < len(in.Attrs) {
			fmt.Fprintf(&p.b, " %s=%s", a.Name, attr(&a, in.Attrs[i]))
		}
	}
}

// defs prints values with their types.
func (p *printer) defs(list []ops.Result) {
	for i, r := range list {
		if i > 0 {
			p.b.WriteString(", ")
		}
		fmt.Fprintf(&p.b, "%%%d:%s", r.ID, typeText(r.Type))
	}
}

// uses prints operands after a space.
func (p *printer) uses(list []ops.Operand) {
	for i, o := range list {
		if i > 0 {
			p.b.WriteByte(',')
		}
		p.b.WriteByte(' ')
		if o.Lit == nil {
			fmt.Fprintf(&p.b, "%%%d", o.ID)
			continue
		}
		p.literal(o.Lit)
	}
}

// literal prints a type and its elements; of a literal that stands for a value
// of every run, and has none itself, a question mark.
func (p *printer) literal(l *ops.Literal) {
	p.b.WriteString(typeText(l.Type) + "(")
	if l.Data == nil {
		p.b.WriteString("?)")
		return
	}
	d := l.Type.DType.Real()
	for i, n := 0, l.Type.Bytes(); i < n; i += d.Size() {
		if i > 0 {
			p.b.WriteByte(' ')
		}
		p.b.WriteString(numberText(d, bitsAt(l.Data[i:], d.Size())))
	}
	p.b.WriteByte(')')
}

// bitsAt is the first n bytes as a little-endian number.
func bitsAt(b []byte, n int) (x uint64) {
	for i := range n {
		x |= uint64(b[i]) << (8 * i)
	}
	return x
}

// numberText prints the number with the given bits: in decimal where that is
// exact, else its bits in hexadecimal.
func numberText(d ops.DType, bits uint64) string {
	shift := 64 - 8*d.Size()
	switch {
	case d.Class() == ops.Unsigned:
		return strconv.FormatUint(bits, 10)
	case d.Class() == ops.Signed:
		return strconv.FormatInt(int64(bits<<shift)>>shift, 10)
	case d == ops.F64 && !math.IsNaN(math.Float64frombits(bits)):
		return strconv.FormatFloat(math.Float64frombits(bits), 'g', -1, 64)
	case d == ops.F32 || d == ops.BF16:
		wide := math.Float32frombits(uint32(bits << (32 - 8*d.Size())))
		if wide == wide {
			return strconv.FormatFloat(float64(wide), 'g', -1, 32)
		}
	}
	return "0x" + strconv.FormatUint(bits, 16)
}

func typeText(t ops.Type) string {
	if len(t.Shape) == 0 {
		return t.DType.String()
	}
	return t.DType.String() + list(t.Shape)
}

func list(ns []int) string {
	s := make([]string, len(ns))
	for i, n := range ns {
		s[i] = strconv.Itoa(n)
	}
	return "[" + strings.Join(s, ",") + "]"
}

// attr prints the value of an attribute: by its name or in its own form where
// it has one, else as integers.
func attr(a *ops.Attr, v []int) string {
	if len(v) != 1 {
		return list(v)
	}
	switch {
	case a.Kind == ops.Int:
		return strconv.Itoa(v[0])
	case a.Kind == ops.Bool && (v[0] == 0 || v[0] == 1):
		return strconv.FormatBool(v[0] == 1)
	case a.Kind == ops.Enum && v[0] >= 0 && v[0] < len(a.Names):
		return a.Names[v[0]]
	case a.Kind == ops.TypeOf && v[0] > 0 && ops.DType(v[0]).String() != ops.Invalid.String():
		return ops.DType(v[0]).String()
	case a.Kind == ops.Real64:
		return numberText(ops.F64, uint64(v[0]))
	}
	return list(v)
}
