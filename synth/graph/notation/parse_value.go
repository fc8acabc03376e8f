package notation

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"nxvk/ops"
)

func (p *parser) typ() ops.Type {
	d, err := ops.ParseDType(p.next())
	if err != nil {
		p.fail("%w", err)
	}
	t := ops.Type{DType: d}
	if p.peek() == "[" {
		t.Shape = p.ints()
	}
	if err := t.Check(); err != nil {
		p.fail("%w", err)
	}
	return t
}

// ints reads integers in brackets.
func (p *parser) ints() []int {
	list := []int{}
	p.want("[")
	for p.err == nil && !p.take("]") {
		if len(list) > 0 {
			p.want(",")
		}
		list = append(list, p.integer())
	}
	return list
}

func (p *parser) integer() int {
	t := p.next()
	n, err := strconv.Atoi(t)
	if err != nil {
		p.fail("%q is no integer", t)
	}
	return n
}

// literal reads a type and its elements.
func (p *parser) literal() *ops.Literal {
	l := &ops.Literal{Type: p.typ()}
	d := l.Type.DType.Real()
	p.want("(")
	for p.err == nil && !p.take(")") {
		bits := p.number(d)
		for i := range d.Size() {
			l.Data = append(l.Data, byte(bits>>(8*i)))
		}
	}
	if len(l.Data) != l.Type.Bytes() {
		p.fail("the literal %v has %d bytes", l.Type, len(l.Data))
	}
	return l
}

// number reads a number and gives its bits.
func (p *parser) number(d ops.DType) uint64 {
	t := p.next()
	if digits, hex := strings.CutPrefix(t, "0x"); hex {
		bits, err := strconv.ParseUint(digits, 16, 8*d.Size())
		if err != nil {
			p.fail("%q are not the bits of %v", t, d)
		}
		return bits
	}
	bits, err := decimal(d, t)
	if err != nil {
		p.fail("%q is no %v", t, d)
	}
	return bits
}

// decimal is the bits of a number in decimal.
func decimal(d ops.DType, text string) (uint64, error) {
	switch {
	case d.Class() == ops.Unsigned:
		return strconv.ParseUint(text, 10, 8*d.Size())
	case d.Class() == ops.Signed:
		n, err := strconv.ParseInt(text, 10, 8*d.Size())
		return uint64(n), err
	case d == ops.F64:
		x, err := strconv.ParseFloat(text, 64)
		return math.Float64bits(x), err
	}
	x, err := strconv.ParseFloat(text, 32)
	bits := uint64(math.Float32bits(float32(x)))
	switch {
	case err != nil:
		return 0, err
	case d == ops.F32:
		return bits, nil
	case d == ops.BF16 && bits&0xffff == 0:
		return bits >> 16, nil
	}
	return 0, strconv.ErrSyntax
}

// attr reads the attribute a, whose name comes first.
func (p *parser) attr(a *ops.Attr) []int {
	p.want(a.Name)
	p.want("=")
	if p.peek() == "[" {
		return p.ints()
	}
	t := p.peek()
	switch a.Kind {
	case ops.Bool:
		if t == "true" || t == "false" {
			p.next()
			return []int{slices.Index([]string{"false", "true"}, t)}
		}
	case ops.Enum:
		if i := slices.Index(a.Names, t); i >= 0 {
			p.next()
			return []int{i}
		}
	case ops.TypeOf:
		if d, err := ops.ParseDType(t); err == nil {
			p.next()
			return []int{int(d)}
		}
	case ops.Real64:
		return []int{int(p.number(ops.F64))}
	case ops.Int:
		return []int{p.integer()}
	}
	p.fail("%q is not the attribute %q, %v", t, a.Name, a.Kind)
	return nil
}
