package wire

import (
	"fmt"
	"slices"
	"strings"

	"nxvk/gen/etf"
	"nxvk/ops"
	"nxvk/ops/shard"
)

// MaxKey bounds the keys of programs, in bytes.
const MaxKey = 64

// Defines are the attributes of the instructions program, run, shader and forget.
type Defines struct {
	Key       string       // of the program
	Keys      []string     // of those to forget
	Program   *ops.Region  // the program, nil where it is malformed
	Broken    error        // why it is malformed
	Share     *shard.Share // the rank whose share of Program it defines; nil for the whole
	Shader    []byte       // SPIR-V of the client
	Callbacks *etf.Pid     // the process that gets hooks and callbacks of a run, or nil
	Context   *Context     // the trace context of a run, or nil
	Round     uint64       // of the collectives of a run; 0 where it names none
}

// decodeDefines reads [Key, Region] and Share of program, [Key, Binary] of shader,
// [Key, Callbacks], Context and Round of run, and [Keys] of forget. A malformed region
// is no error here: the runs of the key report it.
func decodeDefines(op ops.Op, t etf.Term) (d Defines, err error) {
	list, ok := t.(etf.List)
	if op == ops.Forget {
		if !ok || len(list) != 1 {
			return d, bad("attributes of forget are [Keys]")
		}
		d.Keys, err = programKeys(list[0])
		return d, err
	}
	if op == ops.Run && len(list) > 2 && len(list) < 5 {
		if err = d.decodeMore(list[2:]); err != nil {
			return d, err
		}
		list = list[:2]
	}
	if op == ops.Program && len(list) == 3 {
		if d.Share, err = decodeShare(list[2]); err != nil {
			return d, err
		}
		list = list[:2]
	}
	if !ok || len(list) != 2 {
		return d, bad("attributes are [Key, Region] of a program, and then Share; of a run [Key, Callbacks], and then Context and Round")
	}
	if d.Key, err = programKey(list[0]); err != nil {
		return d, err
	}
	switch op {
	case ops.Program:
		d.Program, d.Broken = region(list[1], 0)
		return d, nil
	case ops.Shader:
		d.Shader, err = bytesOf(list[1])
		return d, err
	}
	switch p := list[1].(type) {
	case etf.Pid:
		d.Callbacks = &p
	case etf.Atom:
		ok = p == "nil"
	default:
		ok = false
	}
	if !ok {
		return d, bad("callbacks are a pid or nil")
	}
	return d, nil
}

// decodeMore reads Context or nil, and Round, which end the attributes of a run.
func (d *Defines) decodeMore(list etf.List) (err error) {
	if len(list) == 1 || list[0] != etf.Atom("nil") {
		if d.Context, err = decodeContext(list[0]); err != nil {
			return err
		}
	}
	if len(list) == 2 {
		n, err := integer(list[1])
		if err != nil || n < 1 {
			return bad("a round is a positive integer")
		}
		d.Round = uint64(n)
	}
	return nil
}

// MaxNote bounds a note, in bytes; later bytes are left out.
const MaxNote = 256

// noteText reads [Text] of note.
func noteText(t etf.Term) (string, error) {
	list, ok := t.(etf.List)
	if !ok || len(list) != 1 {
		return "", bad("attributes of note are [Text]")
	}
	b, ok := list[0].([]byte)
	if !ok {
		return "", bad("a note is a binary")
	}
	return strings.ToValidUTF8(string(b[:min(len(b), MaxNote)]), ""), nil
}

func programKeys(t etf.Term) ([]string, error) {
	list, ok := t.(etf.List)
	if !ok {
		return nil, bad("keys are a list")
	}
	keys := make([]string, len(list))
	for i, e := range list {
		var err error
		if keys[i], err = programKey(e); err != nil {
			return nil, err
		}
	}
	return keys, nil
}

func programKey(t etf.Term) (string, error) {
	b, ok := t.([]byte)
	if !ok || len(b) == 0 || len(b) > MaxKey {
		return "", bad(fmt.Sprintf("a key is a binary of 1 to %d bytes", MaxKey))
	}
	return string(b), nil
}

// region reads {Params, Instructions, Values}.
func region(t etf.Term, depth int) (*ops.Region, error) {
	tuple, ok := t.(etf.Tuple)
	if !ok || len(tuple) != 3 {
		return nil, bad("a region is {Params, Instructions, Values}")
	}
	if depth > ops.MaxDepth {
		return nil, &Fault{BadArgument, fmt.Errorf("%w: regions lie more than %d deep", ops.ErrRegion, ops.MaxDepth)}
	}
	r := &ops.Region{}
	var err error
	if r.Params, err = results(tuple[0]); err != nil {
		return nil, fmt.Errorf("parameters: %w", err)
	}
	if r.Body, err = body(tuple[1], depth); err != nil {
		return nil, err
	}
	if r.Values, _, err = operands(tuple[2], ops.Program); err != nil {
		return nil, fmt.Errorf("values: %w", err)
	}
	adopt(r.Values)
	return r, nil
}

func body(t etf.Term, depth int) ([]ops.Instr, error) {
	list, ok := t.(etf.List)
	if !ok {
		return nil, bad("the instructions of a region are a list")
	}
	out := make([]ops.Instr, len(list))
	for i, e := range list {
		var in Instr
		decodeInstr(e, &in, depth)
		adopt(in.Ins)
		if in.Err != nil {
			return nil, fmt.Errorf("instruction %d (%s): %w", i, in.Name, in.Err)
		}
		out[i] = in.Instr
	}
	return out, nil
}

// adopt copies literals that lie outside of Go's memory: a program outlives the
// message that brought it.
func adopt(list []ops.Operand) {
	for _, o := range list {
		if o.Lit == nil || o.Lit.Hold == nil {
			continue
		}
		b := o.Lit.Hold.(*etf.Binary)
		o.Lit.Data, o.Lit.Hold = slices.Clone(o.Lit.Data), nil
		b.Release()
	}
}
