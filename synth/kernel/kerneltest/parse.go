package kerneltest

import (
	"fmt"
	"strconv"
	"strings"

	"nxvk/synth/kernel"
)

// Parse reads the text form of a kernel and verifies it.
func Parse(text string) (*kernel.Kernel, error) {
	p := &parser{k: &kernel.Kernel{}, open: []*kernel.Block{}}
	for i, line := range strings.Split(text, "\n") {
		p.line, p.toks = line, fields(line)
		if len(p.toks) == 0 {
			continue
		}
		if err := p.parseLine(); err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
	}
	if !p.started || len(p.open) != 0 {
		return nil, fmt.Errorf("the text ends inside of a block")
	}
	return p.k, kernel.Verify(p.k)
}

// fields splits a line at spaces; what follows # is a comment.
func fields(line string) []string {
	if i := strings.IndexByte(line, '#'); i >= 0 {
		line = line[:i]
	}
	return strings.Fields(line)
}

type parser struct {
	k       *kernel.Kernel
	line    string
	toks    []string        // its words
	open    []*kernel.Block // the blocks around the line, innermost last
	started bool            // the body has begun
}

// next takes the next word of the line.
func (p *parser) next() string {
	if len(p.toks) == 0 {
		return ""
	}
	t := p.toks[0]
	p.toks = p.toks[1:]
	return t
}

// number reads a number behind a prefix.
func number(tok, prefix string) (int, error) {
	n, err := strconv.ParseUint(strings.TrimPrefix(tok, prefix), 0, 31)
	if err != nil || !strings.HasPrefix(tok, prefix) {
		return 0, fmt.Errorf("%q is not %q and a number", tok, prefix)
	}
	return int(n), nil
}

func (p *parser) parseLine() error {
	if p.started {
		return p.statement()
	}
	switch p.toks[0] {
	case "kernel":
		return p.header()
	case "subgroups":
		return p.subgroups()
	case "buffer":
		return p.buffer()
	case "param":
		return p.param()
	case "shared":
		return p.shared()
	case "table":
		return p.table()
	case "body":
		p.started = true
		p.open = append(p.open, &p.k.Body)
		return nil
	}
	in, err := p.inst()
	p.k.Head = append(p.k.Head, in)
	return err
}

// header reads the first line. The name is quoted and may have spaces.
func (p *parser) header() error {
	rest := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(p.line), "kernel"))
	quoted, err := strconv.QuotedPrefix(rest)
	if err != nil {
		return fmt.Errorf("name %s: %w", rest, err)
	}
	if p.k.Name, err = strconv.Unquote(quoted); err != nil {
		return fmt.Errorf("name %s: %w", quoted, err)
	}
	toks := strings.Fields(rest[len(quoted):])
	if len(toks) != 4 || toks[0] != "local" {
		return fmt.Errorf("the header must be: kernel NAME local X Y Z")
	}
	for i := range p.k.Local {
		n, err := number(toks[1+i], "")
		if err != nil {
			return err
		}
		p.k.Local[i] = uint32(n)
	}
	return nil
}

func (p *parser) subgroups() error {
	if len(p.toks) != 2 {
		return fmt.Errorf("the size of subgroups must be: subgroups NUMBER")
	}
	n, err := number(p.toks[1], "")
	p.k.SubgroupSize = uint32(n)
	return err
}

func (p *parser) buffer() error {
	if len(p.toks) < 3 {
		return fmt.Errorf("a buffer must be: buffer bN TYPE [read] [write]")
	}
	e, ok := elemByName[p.toks[2]]
	if !ok {
		return fmt.Errorf("unknown element type %q", p.toks[2])
	}
	b := kernel.Buffer{Elem: e}
	for _, t := range p.toks[3:] {
		b.Read = b.Read || t == "read"
		b.Write = b.Write || t == "write"
	}
	p.k.Buffers = append(p.k.Buffers, b)
	return nil
}

func (p *parser) param() error {
	if len(p.toks) != 5 {
		return fmt.Errorf("a parameter must be: param pN TYPE at OFFSET")
	}
	t, ok := typeByName[p.toks[2]]
	off, err := number(p.toks[4], "")
	if !ok || err != nil {
		return fmt.Errorf("parameter %q at %q is malformed", p.toks[2], p.toks[4])
	}
	p.k.Params = append(p.k.Params, kernel.Param{Type: t, Offset: off})
	return nil
}

func (p *parser) shared() error {
	if len(p.toks) != 4 {
		return fmt.Errorf("a shared array must be: shared sN TYPE LENGTH")
	}
	t, ok := typeByName[p.toks[2]]
	n, err := number(p.toks[3], "")
	if !ok || err != nil {
		return fmt.Errorf("shared array %q of %q is malformed", p.toks[2], p.toks[3])
	}
	p.k.Shared = append(p.k.Shared, kernel.Shared{Type: t, Len: n})
	return nil
}

func (p *parser) table() error {
	var t []uint64
	for _, tok := range p.toks[min(2, len(p.toks)):] {
		x, err := strconv.ParseUint(tok, 0, 64)
		if err != nil {
			return err
		}
		t = append(t, x)
	}
	p.k.Tables = append(p.k.Tables, t)
	return nil
}

// statement reads a line of the body.
func (p *parser) statement() error {
	if len(p.open) == 0 {
		return fmt.Errorf("text after the end of the body")
	}
	blk := p.open[len(p.open)-1]
	switch {
	case p.toks[0] == "}" && len(p.toks) == 1:
		p.open = p.open[:len(p.open)-1]
		return nil
	case p.toks[0] == "}":
		return p.otherwise()
	case p.toks[0] == "yield":
		var err error
		blk.Yield, err = values(p.toks[1:])
		return err
	}
	in, err := p.inst()
	blk.Insts = append(blk.Insts, in)
	if n := len(in.Blocks); n > 0 {
		p.open = append(p.open, &in.Blocks[0])
	}
	return err
}

// otherwise moves from the first branch of an If to the second.
func (p *parser) otherwise() error {
	if len(p.open) < 2 {
		return fmt.Errorf("else without if")
	}
	outer := p.open[len(p.open)-2]
	in := &outer.Insts[len(outer.Insts)-1]
	if in.Op != kernel.If {
		return fmt.Errorf("else without if")
	}
	p.open[len(p.open)-1] = &in.Blocks[1]
	return nil
}
