package scalar

import "slices"

// parser is a recursive-descent parser with one token of look-ahead.
type parser struct {
	src    *source
	tokens []token
}

func newParser(name, text string) *parser {
	src := &source{name, text}
	return &parser{src, lex(src)}
}

func (p *parser) peek() token { return p.tokens[0] }

func (p *parser) next() token {
	t := p.tokens[0]
	if t.kind != endToken {
		p.tokens = p.tokens[1:]
	}
	return t
}

// accept consumes the next token where it has the given text.
func (p *parser) accept(text string) bool {
	if t := p.peek(); t.kind == endToken || t.text != text {
		return false
	}
	p.next()
	return true
}

func (p *parser) expect(text string) token {
	t := p.next()
	if t.kind == endToken || t.text != text {
		panic(at(p.src, t.pos, ErrSyntax, "%s where %q is expected", t.text, text))
	}
	return t
}

func (p *parser) name() string {
	t := p.next()
	if t.kind != nameToken {
		panic(at(p.src, t.pos, ErrSyntax, "%s where a name is expected", t.text))
	}
	return t.text
}

// unit parses the declarations of a whole text.
func (p *parser) unit() *unit {
	u := &unit{constants: map[string][]*constant{}}
	for p.peek().kind != endToken {
		switch t := p.next(); t.text {
		case "fn":
			u.functions = append(u.functions, p.function(t.pos))
		case "const", "table":
			name := p.name()
			u.constants[name] = append(u.constants[name], p.constant(t.text == "table"))
		default:
			panic(at(p.src, t.pos, ErrSyntax, "%s where fn, const or table is expected", t.text))
		}
	}
	return u
}

// constant parses ": type = value ;" or ": type = [ values ] ;".
func (p *parser) constant(table bool) *constant {
	p.expect(":")
	pos := p.peek().pos
	typ, ok := typeNamed(p.name())
	if !ok {
		panic(at(p.src, pos, ErrSyntax, "unknown type"))
	}
	c := &constant{src: p.src, typ: typ, table: table}
	p.expect("=")
	if !table {
		c.values = []*expr{p.expr()}
		p.expect(";")
		return c
	}
	p.expect("[")
	for !p.accept("]") {
		c.values = append(c.values, p.expr())
		if !p.accept(",") {
			p.expect("]")
			break
		}
	}
	p.expect(";")
	return c
}

// function parses what follows fn.
func (p *parser) function(pos int) *function {
	f := &function{src: p.src, pos: pos, name: p.name()}
	if p.accept("<") {
		f.generic = p.name()
		if p.accept(":") {
			f.bound = p.name()
		}
		p.expect(">")
	}
	p.expect("(")
	for !p.accept(")") {
		name := p.name()
		p.expect(":")
		f.params = append(f.params, typed{name, p.name()})
		if !p.accept(",") {
			p.expect(")")
			break
		}
	}
	p.expect("->")
	if p.accept("(") {
		f.results = p.names()
	} else {
		f.results = []string{p.name()}
	}
	p.expect("{")
	for p.accept("let") {
		f.lets = append(f.lets, p.binding())
	}
	f.value = p.expr()
	p.expect("}")
	return f
}

// names parses "a, b, c)".
func (p *parser) names() []string {
	out := []string{p.name()}
	for p.accept(",") {
		out = append(out, p.name())
	}
	p.expect(")")
	return out
}

func (p *parser) binding() binding {
	var b binding
	if p.accept("(") {
		b.names = p.names()
	} else {
		b.names = []string{p.name()}
	}
	p.expect("=")
	b.value = p.expr()
	p.expect(";")
	return b
}

// expr parses a ternary or what binds tighter.
func (p *parser) expr() *expr {
	cond := p.binary(0)
	t := p.peek()
	if !p.accept("?") {
		return cond
	}
	yes := p.expr()
	p.expect(":")
	return &expr{ternaryExpr, "?:", []*expr{cond, yes, p.expr()}, t.pos}
}

// levels are the binary operators, loosest first.
var levels = [][]string{{"||"}, {"&&"}, {"==", "!=", "<", "<=", ">", ">="},
	{"|"}, {"^"}, {"&"}, {"<<", ">>"}, {"+", "-"}, {"*", "/", "%"}}

func (p *parser) binary(level int) *expr {
	if level == len(levels) {
		return p.unary()
	}
	left := p.binary(level + 1)
	for {
		t := p.peek()
		if t.kind != signToken || !slices.Contains(levels[level], t.text) {
			return left
		}
		p.next()
		left = &expr{binaryExpr, t.text, []*expr{left, p.binary(level + 1)}, t.pos}
	}
}

func (p *parser) unary() *expr {
	t := p.peek()
	if t.kind == signToken && (t.text == "-" || t.text == "~" || t.text == "!") {
		p.next()
		return &expr{unaryExpr, t.text, []*expr{p.unary()}, t.pos}
	}
	return p.primary()
}

func (p *parser) primary() *expr {
	t := p.next()
	switch {
	case t.kind == numberToken:
		return &expr{numberExpr, t.text, nil, t.pos}
	case t.kind == nameToken && p.accept("("):
		return &expr{callExpr, t.text, p.list(")"), t.pos}
	case t.kind == nameToken && p.accept("["):
		return &expr{indexExpr, t.text, p.list("]"), t.pos}
	case t.kind == nameToken:
		return &expr{nameExpr, t.text, nil, t.pos}
	case t.text == "(" && t.kind == signToken:
		args := p.list(")")
		if len(args) == 1 {
			return args[0]
		}
		return &expr{tupleExpr, "()", args, t.pos}
	}
	panic(at(p.src, t.pos, ErrSyntax, "%s where an expression is expected", t.text))
}

// list parses expressions separated by commas up to the closing sign.
func (p *parser) list(closing string) []*expr {
	var out []*expr
	for {
		out = append(out, p.expr())
		if p.accept(closing) {
			return out
		}
		p.expect(",")
	}
}
