package notation

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"nxvk/ops"
)

// Parse reads the text form of a region that stands alone, and checks it.
func Parse(text string) (*ops.Region, error) {
	p := &parser{toks: tokens(text)}
	p.lines()
	r := p.region()
	p.lines()
	if p.err == nil && len(p.toks) > 0 {
		p.fail("text after the end of the region")
	}
	if p.err != nil {
		return nil, p.err
	}
	if _, err := r.CheckProgram(); err != nil {
		return nil, err
	}
	return r, nil
}

// parser reads tokens. After the first mistake it reads nothing more.
type parser struct {
	toks  []token
	depth int
	err   error
}

func (p *parser) fail(format string, args ...any) {
	if p.err == nil {
		line := 0
		if len(p.toks) > 0 {
			line = p.toks[0].line
		}
		p.err = fmt.Errorf("line %d: %w", line, fmt.Errorf(format, args...))
	}
	p.toks = nil
}

// peek is the next token; nothing at the end.
func (p *parser) peek() string {
	if len(p.toks) == 0 {
		return ""
	}
	return p.toks[0].text
}

func (p *parser) next() string {
	t := p.peek()
	if len(p.toks) > 0 {
		p.toks = p.toks[1:]
	}
	return t
}

// take reads a token where it is the next one.
func (p *parser) take(text string) bool {
	if p.peek() != text {
		return false
	}
	p.next()
	return true
}

func (p *parser) want(text string) {
	if !p.take(text) {
		p.fail("%q where %q is due", p.peek(), text)
	}
}

// lines skips the ends of lines.
func (p *parser) lines() {
	for p.take(endOfLine) {
	}
}

var errDeep = errors.New("the regions lie too deep")

func (p *parser) region() *ops.Region {
	if p.depth++; p.depth > ops.MaxDepth {
		p.fail("%w", errDeep)
	}
	defer func() { p.depth-- }()
	r := &ops.Region{}
	p.want("(")
	if p.peek() != ")" {
		r.Params = p.defs()
	}
	p.want(")")
	p.want("{")
	for p.lines(); p.err == nil && !p.take("give"); p.lines() {
		r.Body = append(r.Body, p.instr())
	}
	r.Values = p.uses()
	p.lines()
	p.want("}")
	return r
}

func (p *parser) instr() (in ops.Instr) {
	if p.peek() == "%" {
		in.Outs = p.defs()
		p.want("=")
	}
	op, ok := ops.Lookup(p.peek())
	if !ok {
		p.fail("unknown operation %q", p.peek())
		return in
	}
	p.next()
	in.Op, in.Ins = op, p.uses()
	in.Attrs = make([][]int, len(op.Info().Attrs))
	for i := range in.Attrs {
		a := &op.Info().Attrs[i]
		if a.Kind != ops.Block {
			in.Attrs[i] = p.attr(a)
		}
	}
	for _, a := range op.Info().Attrs {
		if a.Kind == ops.Block {
			p.want(a.Name)
			in.Regions = append(in.Regions, p.region())
		}
	}
	p.want(endOfLine)
	return in
}

// defs reads values with their types.
func (p *parser) defs() (list []ops.Result) {
	for {
		p.want("%")
		id := p.id()
		p.want(":")
		list = append(list, ops.Result{ID: id, Type: p.typ()})
		if !p.take(",") {
			return list
		}
	}
}

func (p *parser) id() ops.ID {
	t := p.next()
	n, err := strconv.ParseUint(t, 10, 64)
	if err != nil {
		p.fail("%q is no id", t)
	}
	return ops.ID(n)
}

// uses reads operands; there may be none.
func (p *parser) uses() (list []ops.Operand) {
	if _, err := ops.ParseDType(p.peek()); p.peek() != "%" && err != nil {
		return nil
	}
	for {
		if p.take("%") {
			list = append(list, ops.Operand{ID: p.id()})
		} else {
			list = append(list, ops.Operand{Lit: p.literal()})
		}
		if !p.take(",") {
			return list
		}
	}
}

// token is a word, a mark of one byte, or the end of a line.
type token struct {
	text string
	line int
}

const (
	marks     = "%:=,()[]{}"
	endOfLine = "\n"
)

// tokens splits a text; what follows # in a line is a comment.
func tokens(text string) []token {
	var list []token
	for i, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		for line = strings.TrimSpace(line); line != ""; line = strings.TrimSpace(line) {
			n := strings.IndexAny(line, marks+" \t\r")
			switch n {
			case -1:
				n = len(line)
			case 0:
				n = 1
			}
			list = append(list, token{line[:n], i + 1})
			line = line[n:]
		}
		list = append(list, token{endOfLine, i + 1})
	}
	return list
}
