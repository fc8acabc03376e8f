package kerneltest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// values reads uses of values.
func values(toks []string) ([]kernel.Value, error) {
	var vs []kernel.Value
	for _, t := range toks {
		n, err := number(t, "v")
		if err != nil {
			return nil, err
		}
		vs = append(vs, kernel.Value(n))
	}
	return vs, nil
}

// defs reads definitions of values, up to a word that is none.
func (p *parser) defs() ([]kernel.Value, error) {
	var vs []kernel.Value
	for len(p.toks) > 0 && strings.Contains(p.toks[0], ":") {
		name, typ, _ := strings.Cut(p.next(), ":")
		n, err := number(name, "v")
		if err != nil {
			return nil, err
		}
		t, ok := typeByName[typ]
		if !ok || n > 1<<20 {
			return nil, fmt.Errorf("cannot define %s of type %q", name, typ)
		}
		for len(p.k.Types) <= n {
			p.k.Types = append(p.k.Types, scalar.Bool)
		}
		p.k.Types[n] = t
		vs = append(vs, kernel.Value(n))
	}
	return vs, nil
}

// indexed are the instructions whose first word after the name is an index.
var indexed = map[string]struct {
	op     kernel.Op
	prefix string
}{
	"param": {kernel.ParamOf, "p"}, "lookup": {kernel.Lookup, "t"}, "load": {kernel.Load, "b"}, "store": {kernel.Store, "b"},
	"word": {kernel.LoadWord, "b"}, "get": {kernel.LoadShared, "s"}, "put": {kernel.StoreShared, "s"}, "grow": {kernel.AddShared, "s"},
	"accumulate": {kernel.AddBuffer, "b"}, "raise": {kernel.MaxBuffer, "b"}, "look": {kernel.LoadAtomic, "b"},
}

// inst reads one instruction; its blocks are still empty.
func (p *parser) inst() (in kernel.Inst, err error) {
	if in.Res, err = p.defs(); err != nil {
		return in, err
	}
	if len(in.Res) > 0 && p.next() != "=" {
		return in, fmt.Errorf("definitions must be followed by =")
	}
	name := p.next()
	if x, ok := indexed[name]; ok {
		in.Op = x.op
		if in.Index, err = number(p.next(), x.prefix); err != nil {
			return in, err
		}
		in.Args, err = values(p.toks)
		return in, err
	}
	if i := slices.Index(kernel.BuiltinNames[:], name); i >= 0 {
		in.Op, in.Index = kernel.Builtin, i
		return in, nil
	}
	if prim, ok := primByName[name]; ok {
		in.Op, in.Prim = kernel.Prim, prim
		in.Args, err = values(p.toks)
		return in, err
	}
	return p.structural(in, name)
}

func (p *parser) structural(in kernel.Inst, name string) (kernel.Inst, error) {
	var err error
	switch name {
	case "const":
		in.Bits, err = strconv.ParseUint(p.next(), 0, 64)
		return in, err
	case "barrier":
		in.Op = kernel.Barrier
		return in, nil
	case "subgroupbarrier":
		in.Op = kernel.SubgroupBarrier
		return in, nil
	case "ballot", "exclusivesum":
		in.Op = map[string]kernel.Op{"ballot": kernel.Ballot, "exclusivesum": kernel.ExclusiveSum}[name]
		in.Args, err = values(p.toks)
		return in, err
	case "if":
		in.Op, in.Blocks = kernel.If, make([]kernel.Block, 2)
		in.Args, err = values(p.toks[:max(len(p.toks)-1, 0)])
		return in, err
	case "loop":
		in.Op, in.Blocks = kernel.Loop, make([]kernel.Block, 1)
		i := slices.Index(p.toks, "with")
		if i < 0 {
			return in, fmt.Errorf("loop without with")
		}
		if in.Args, err = values(p.toks[:i]); err != nil {
			return in, err
		}
		p.toks = p.toks[i+1:]
		in.Blocks[0].Params, err = p.defs()
		return in, err
	}
	return in, fmt.Errorf("unknown instruction %q", name)
}
