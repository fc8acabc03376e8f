package wire

import (
	"fmt"
	"slices"

	"nxvk/gen/etf"
	"nxvk/ops"
)

// MaxID bounds the ids that clients choose.
const MaxID = 1 << 60

// Shared names a value of another session.
type Shared struct {
	Owner       etf.Pid
	Key         uint64
	ID          ops.ID
	Server      string // the device server that has the session; empty for the one that gets the import
	Node        string // the node of Server; empty for this one
	Incarnation uint64 // the run of Server that the client means; 0 is any
}

// Instr is an instruction as it arrived.
type Instr struct {
	ops.Instr
	Shared  *Shared // the operand of an import
	Defines         // the attributes of program, run, shader and forget
	Err     error   // why it cannot be carried out; Op may be unknown then
	Name    string  // the name of the operation, known or not
	Note    string  // the text of the note before it: where the client has sent it
	Checked bool    // the types of its operands, which are always the same, have been checked
}

// Stream is a message of instructions.
type Stream struct {
	Incarnation uint64 // the run of the server that the client means; 0 is any
	Instrs      []Instr
}

// DecodeStream reads {nxvk, Instructions} and {nxvk, Incarnation, Instructions}.
// It reports false where the message is something else.
func DecodeStream(t etf.Term) (Stream, bool) {
	var s Stream
	tuple, ok := t.(etf.Tuple)
	if !ok || len(tuple) < 2 || len(tuple) > 3 || tuple[0] != etf.Atom("nxvk") {
		return s, false
	}
	if len(tuple) == 3 {
		n, err := integer(tuple[1])
		if err != nil {
			return s, false
		}
		s.Incarnation = uint64(n)
	}
	list, ok := tuple[len(tuple)-1].(etf.List)
	if !ok {
		return s, false
	}
	s.Instrs = decodeInstrs(list)
	return s, true
}

// MaxNamed is how many values a free or a forget names at most, once decoded: a longer one becomes
// several, so that others have their turn in between.
const MaxNamed = 256

// decodeInstrs reads instructions. A note becomes a part of the instruction that follows.
func decodeInstrs(list etf.List) []Instr {
	instrs := make([]Instr, 0, len(list))
	note := ""
	for _, term := range list {
		var in Instr
		decodeInstr(term, &in, 0)
		if in.Op == ops.Note && in.Err == nil {
			note = in.Note
			continue
		}
		in.Note, note = note, ""
		instrs = appendParts(instrs, in)
	}
	return instrs
}

// appendParts appends an instruction, as several where it names more than MaxNamed values.
func appendParts(instrs []Instr, in Instr) []Instr {
	switch {
	case in.Err != nil:
	case in.Op == ops.Free && len(in.Attrs[0]) > MaxNamed:
		for part := range slices.Chunk(in.Attrs[0], MaxNamed) {
			one := in
			one.Attrs = [][]int{part}
			instrs = append(instrs, one)
		}
		return instrs
	case in.Op == ops.Forget && len(in.Keys) > MaxNamed:
		for part := range slices.Chunk(in.Keys, MaxNamed) {
			one := in
			one.Keys = part
			instrs = append(instrs, one)
		}
		return instrs
	}
	return append(instrs, in)
}

// decodeInstr reads an instruction that is nested depth regions deep.
func decodeInstr(t etf.Term, in *Instr, depth int) {
	tuple, ok := t.(etf.Tuple)
	if !ok || len(tuple) != 4 {
		in.Err = bad("an instruction is {Op, Results, Operands, Attributes}")
		return
	}
	// Results come first, so that any later error can stay with them.
	in.Outs, in.Err = results(tuple[1])
	name, ok := tuple[0].(etf.Atom)
	if !ok && in.Err == nil {
		in.Err = bad("the operation is not an atom")
	}
	in.Name = string(name)
	if in.Err != nil {
		return
	}
	if in.Op, ok = ops.Lookup(in.Name); !ok {
		in.Err = &Fault{UnknownOp, fmt.Errorf("operation %q is not in the table of this node; ops/README.md lists them", in.Name)}
		return
	}
	if in.Ins, in.Shared, in.Err = operands(tuple[2], in.Op); in.Err != nil {
		return
	}
	switch in.Op {
	case ops.Note:
		in.Note, in.Err = noteText(tuple[3])
		return
	case ops.Program, ops.Run, ops.Shader, ops.Forget:
		in.Defines, in.Err = decodeDefines(in.Op, tuple[3])
		return
	}
	in.Attrs, in.Regions, in.Err = attributes(in.Op.Info(), tuple[3], depth)
}

// results reads the results that can be read, and returns the first error.
func results(t etf.Term) (outs []ops.Result, first error) {
	list, ok := t.(etf.List)
	if !ok {
		return nil, bad("results are a list")
	}
	outs = make([]ops.Result, 0, len(list))
	for _, e := range list {
		r, err := result(e)
		if r.ID != 0 {
			outs = append(outs, r)
		}
		if first == nil {
			first = err
		}
	}
	return outs, first
}

// result reads one result. Its ID is 0 where the id cannot be read.
func result(t etf.Term) (r ops.Result, err error) {
	tuple, ok := t.(etf.Tuple)
	if !ok || len(tuple) != 3 {
		return r, bad("a result is {Id, Type, Shape}")
	}
	if r.ID, err = identifier(tuple[0]); err != nil {
		return r, err
	}
	r.Type, err = typeOf(tuple[1], tuple[2])
	return r, err
}

func identifier(t etf.Term) (ops.ID, error) {
	n, err := integer(t)
	if err != nil || n < 1 || n > MaxID {
		return 0, bad("an id is an integer from 1 to 2^60")
	}
	return ops.ID(n), nil
}

func typeOf(dtype, shape etf.Term) (ops.Type, error) {
	d, err := dtypeOf(dtype)
	if err != nil {
		return ops.Type{}, err
	}
	tuple, ok := shape.(etf.Tuple)
	if !ok {
		return ops.Type{}, bad("a shape is a tuple of integers")
	}
	s := make(ops.Shape, len(tuple))
	for i, e := range tuple {
		if s[i], err = integer(e); err != nil {
			return ops.Type{}, bad("a shape is a tuple of integers")
		}
	}
	typ := ops.Type{DType: d, Shape: s}
	if err := typ.Check(); err != nil {
		return ops.Type{}, &Fault{BadArgument, err}
	}
	return typ, nil
}

func dtypeOf(t etf.Term) (ops.DType, error) {
	a, ok := t.(etf.Atom)
	if !ok {
		return ops.Invalid, bad("a type is an atom such as f32")
	}
	d, err := ops.ParseDType(string(a))
	if err != nil {
		return d, &Fault{BadArgument, err}
	}
	return d, nil
}

func operands(t etf.Term, op ops.Op) ([]ops.Operand, *Shared, error) {
	list, ok := t.(etf.List)
	if !ok {
		return nil, nil, bad("operands are a list")
	}
	if op == ops.Import {
		return importOperand(list)
	}
	ins := make([]ops.Operand, len(list))
	for i, e := range list {
		var err error
		if ins[i], err = operand(e); err != nil {
			return nil, nil, fmt.Errorf("operand %d: %w", i, err)
		}
	}
	return ins, nil, nil
}

func operand(t etf.Term) (ops.Operand, error) {
	tuple, ok := t.(etf.Tuple)
	if !ok {
		id, err := identifier(t)
		return ops.Operand{ID: id}, err
	}
	shape := etf.Term(etf.Tuple(nil))
	switch len(tuple) {
	case 2:
	case 3:
		shape = tuple[1]
	default:
		return ops.Operand{}, bad("must be an id, {Type, Data} or {Type, Shape, Data}")
	}
	typ, err := typeOf(tuple[0], shape)
	if err != nil {
		return ops.Operand{}, err
	}
	lit, err := literal(typ, tuple[len(tuple)-1])
	return ops.Operand{Lit: lit}, err
}

func literal(typ ops.Type, data etf.Term) (*ops.Literal, error) {
	lit := &ops.Literal{Type: typ}
	switch d := data.(type) {
	case []byte:
		lit.Data = d
	case *etf.Binary:
		lit.Data, lit.Hold = d.Bytes(), d
	case etf.Lost:
		return nil, &Fault{OutOfMemory, fmt.Errorf("receive %d bytes: %w", d.Size, d.Err)}
	default:
		return nil, bad("data is a binary")
	}
	if len(lit.Data) != typ.Bytes() {
		return nil, &Fault{BadArgument, fmt.Errorf("%v takes %d bytes of data, got %d", typ, typ.Bytes(), len(lit.Data))}
	}
	return lit, nil
}

// serverOf reads a name of a device server, or {Name, Node}.
func serverOf(t etf.Term) (server, node string, ok bool) {
	if pair, isPair := t.(etf.Tuple); isPair && len(pair) == 2 {
		a, ok := pair[1].(etf.Atom)
		if !ok || a == "" {
			return "", "", false
		}
		t, node = pair[0], string(a)
	}
	name, ok := t.(etf.Atom)
	return string(name), node, ok && name != ""
}

func importOperand(list etf.List) ([]ops.Operand, *Shared, error) {
	const form = "import takes one operand, {shared, Pid, Key, Id} or {shared, Server, Incarnation, Pid, Key, Id}; " +
		"Server is nxvk_1, or {nxvk_1, Node} of another node"
	if len(list) != 1 {
		return nil, nil, bad(form)
	}
	tuple, ok := list[0].(etf.Tuple)
	if !ok || len(tuple) != 4 && len(tuple) != 6 || tuple[0] != etf.Atom("shared") {
		return nil, nil, bad(form)
	}
	var s Shared
	if len(tuple) == 6 {
		server, node, ok := serverOf(tuple[1])
		n, err := integer(tuple[2])
		if !ok || err != nil || n < 0 {
			return nil, nil, bad(form)
		}
		s.Server, s.Node, s.Incarnation = server, node, uint64(n)
	}
	value := tuple[len(tuple)-3:]
	pid, ok := value[0].(etf.Pid)
	key, err := Key(value[1])
	id, err2 := identifier(value[2])
	if !ok || err != nil || err2 != nil {
		return nil, nil, bad(form)
	}
	s.Owner, s.Key, s.ID = pid, key, id
	return nil, &s, nil
}
