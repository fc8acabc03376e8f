// Package scalartest reads functions of package scalar from their text. By it a test
// shows that the text says all of a function. Nothing that ships imports it.
package scalartest

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"nxvk/synth/scalar"
)

// Read takes the text that Func.String prints back. It checks that operands precede their uses and
// that names are known, not that types fit.
func Read(text string) (*scalar.Func, error) {
	r := &reader{}
	for i, line := range strings.Split(text, "\n") {
		if err := r.line(line); err != nil {
			return nil, fmt.Errorf("line %d: %w: %w", i+1, err, scalar.ErrSyntax)
		}
	}
	if r.open != nil || len(r.done) == 0 {
		return nil, fmt.Errorf("text ends within a function: %w", scalar.ErrSyntax)
	}
	return r.done[len(r.done)-1], nil
}

// reader holds the functions that are complete and the one that is not.
type reader struct {
	done []*scalar.Func
	open *scalar.Func
}

func (r *reader) line(line string) error {
	line = strings.TrimSpace(line)
	switch {
	case line == "":
		return nil
	case r.open == nil:
		return r.header(line)
	case strings.HasPrefix(line, "pair "):
		return r.pair(strings.Fields(line)[1:])
	case line != "}":
		return r.node(strings.Fields(line))
	case len(r.open.Nodes) == 0:
		return fmt.Errorf("function without nodes")
	}
	r.done = append(r.done, r.open)
	r.open = nil
	return nil
}

// header reads: func "name" types {
func (r *reader) header(line string) error {
	rest, ok := strings.CutPrefix(line, "func ")
	quoted, err := strconv.QuotedPrefix(rest)
	if !ok || err != nil {
		return fmt.Errorf("a function starts with func and its name in quotes")
	}
	name, err := strconv.Unquote(quoted)
	if err != nil {
		return err
	}
	f := &scalar.Func{Name: name}
	fields := strings.Fields(rest[len(quoted):])
	if len(fields) == 0 || fields[len(fields)-1] != "{" {
		return fmt.Errorf("{ is missing")
	}
	for _, s := range fields[:len(fields)-1] {
		t, ok := typeNamed(s)
		if !ok {
			return fmt.Errorf("unknown type %s", s)
		}
		f.Params = append(f.Params, t)
	}
	r.open = f
	return nil
}

// pair reads the two results of a function: %2 %1
func (r *reader) pair(fields []string) error {
	var results scalar.Node
	for _, s := range fields {
		if err := r.operand(&results, s); err != nil {
			return err
		}
	}
	if len(results.Args) != 2 || len(fields) != 2 {
		return fmt.Errorf("a pair is two nodes")
	}
	r.open.Pair = results.Args
	return nil
}

// node reads: number = op type rest
func (r *reader) node(fields []string) error {
	if len(fields) < 4 || fields[1] != "=" || fields[0] != strconv.Itoa(len(r.open.Nodes)) {
		return fmt.Errorf("a node is written as number = op type operands")
	}
	op, ok := opNamed(fields[2])
	t, known := typeNamed(fields[3])
	if !ok || !known {
		return fmt.Errorf("unknown operation or type: %s %s", fields[2], fields[3])
	}
	n := scalar.Node{Op: op, Type: t}
	for _, s := range fields[4:] {
		if err := r.operand(&n, s); err != nil {
			return err
		}
	}
	r.open.Nodes = append(r.open.Nodes, n)
	return nil
}

// operand reads an operand (%3), a function (@1), or a literal.
func (r *reader) operand(n *scalar.Node, s string) error {
	var err error
	switch {
	case s[0] == '%':
		i, err := strconv.Atoi(s[1:])
		if err != nil || i < 0 || i >= len(r.open.Nodes) {
			return fmt.Errorf("no node %s", s)
		}
		n.Args = append(n.Args, int32(i))
	case s[0] == '@':
		i, err := strconv.Atoi(s[1:])
		if err != nil || i < 0 || i >= len(r.done) {
			return fmt.Errorf("no function %s", s)
		}
		n.Slow = r.done[i]
	case n.Op == scalar.Param:
		n.Index, err = strconv.Atoi(s)
		if err != nil || n.Index < 0 || n.Index >= len(r.open.Params) {
			return fmt.Errorf("no parameter %s", s)
		}
	case n.Op == scalar.Lookup:
		b, err := readLiteral(n.Type, s)
		n.Table = append(n.Table, b)
		return err
	default:
		n.Bits, err = readLiteral(n.Type, s)
	}
	return err
}

// readLiteral is the inverse of literal.
func readLiteral(t scalar.Type, s string) (uint64, error) {
	if hex, ok := strings.CutPrefix(s, "bits:"); ok {
		return strconv.ParseUint(hex, 0, t.Width())
	}
	switch {
	case t == scalar.Bool:
		b, err := strconv.ParseBool(s)
		return boolBits(b), err
	case t.Signed():
		v, err := strconv.ParseInt(s, 10, t.Width())
		return uint64(v) << (64 - t.Width()) >> (64 - t.Width()), err
	case t.Int():
		return strconv.ParseUint(s, 0, t.Width())
	}
	v, err := strconv.ParseFloat(s, t.Width())
	return floatBits(v, t), err
}

func boolBits(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// floatBits are the bits of v, rounded to type t.
func floatBits(v float64, t scalar.Type) uint64 {
	if t == scalar.F32 {
		return uint64(math.Float32bits(float32(v)))
	}
	return math.Float64bits(v)
}

// opNamed is the operation that prints as a name.
func opNamed(name string) (scalar.Op, bool) {
	for o := scalar.Const; o <= scalar.Rare; o++ {
		if o.String() == name {
			return o, true
		}
	}
	return 0, false
}

// typeNamed is the type that prints as a name; functions have no complex ones.
func typeNamed(name string) (scalar.Type, bool) {
	for t := scalar.Bool; t <= scalar.F64; t++ {
		if t.String() == name {
			return t, true
		}
	}
	return 0, false
}
