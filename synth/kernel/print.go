package kernel

import (
	"fmt"
	"strings"
)

// String prints the kernel in its text form, which kerneltest.Parse reads.
func (k *Kernel) String() string {
	p := &printer{k: k}
	p.line("kernel %q local %d %d %d", k.Name, k.Local[0], k.Local[1], k.Local[2])
	if k.SubgroupSize > 0 {
		p.line("subgroups %d", k.SubgroupSize)
	}
	for i, b := range k.Buffers {
		p.line("buffer b%d %v%s%s", i, b.Elem, when(b.Read, " read"), when(b.Write, " write"))
	}
	for i, q := range k.Params {
		p.line("param p%d %s at %d", i, q.Type, q.Offset)
	}
	for i, s := range k.Shared {
		p.line("shared s%d %s %d", i, s.Type, s.Len)
	}
	for i, t := range k.Tables {
		p.line("table t%d%s", i, hexList(t))
	}
	for i := range k.Head {
		p.inst(&k.Head[i])
	}
	p.line("body {")
	p.block(&k.Body)
	p.line("}")
	return p.b.String()
}

func when(c bool, s string) string {
	if c {
		return s
	}
	return ""
}

func hexList(bits []uint64) string {
	var b strings.Builder
	for _, x := range bits {
		fmt.Fprintf(&b, " 0x%x", x)
	}
	return b.String()
}

type printer struct {
	k      *Kernel
	b      strings.Builder
	indent int
}

func (p *printer) line(format string, args ...any) {
	p.b.WriteString(strings.Repeat("  ", p.indent))
	fmt.Fprintf(&p.b, format, args...)
	p.b.WriteByte('\n')
}

// defs prints values with their types: v1:u32 v2:f32.
func (p *printer) defs(vs []Value) string {
	s := make([]string, len(vs))
	for i, v := range vs {
		s[i] = fmt.Sprintf("v%d:%s", v, p.k.Types[v])
	}
	return strings.Join(s, " ")
}

// uses prints values, each after a space.
func uses(vs []Value) string {
	var b strings.Builder
	for _, v := range vs {
		fmt.Fprintf(&b, " v%d", v)
	}
	return b.String()
}

func (p *printer) block(b *Block) {
	p.indent++
	for i := range b.Insts {
		p.inst(&b.Insts[i])
	}
	if len(b.Yield) > 0 {
		p.line("yield%s", uses(b.Yield))
	}
	p.indent--
}

func (p *printer) inst(in *Inst) {
	left := ""
	if len(in.Res) > 0 {
		left = p.defs(in.Res) + " = "
	}
	p.line("%s%s", left, p.text(in))
	for i := range in.Blocks {
		if i > 0 {
			p.line("} else {")
		}
		p.block(&in.Blocks[i])
	}
	if len(in.Blocks) > 0 {
		p.line("}")
	}
}

// text prints the part after the equals sign.
func (p *printer) text(in *Inst) string {
	switch in.Op {
	case Const:
		return fmt.Sprintf("const 0x%x", in.Bits)
	case ParamOf:
		return fmt.Sprintf("param p%d", in.Index)
	case Builtin:
		return BuiltinNames[in.Index]
	case Prim:
		return PrimName(in.Prim) + uses(in.Args)
	case Lookup:
		return fmt.Sprintf("lookup t%d%s", in.Index, uses(in.Args))
	case Load:
		return fmt.Sprintf("load b%d%s", in.Index, uses(in.Args))
	case Store:
		return fmt.Sprintf("store b%d%s", in.Index, uses(in.Args))
	case AddBuffer:
		return fmt.Sprintf("accumulate b%d%s", in.Index, uses(in.Args))
	case MaxBuffer:
		return fmt.Sprintf("raise b%d%s", in.Index, uses(in.Args))
	case LoadAtomic:
		return fmt.Sprintf("look b%d%s", in.Index, uses(in.Args))
	case LoadWord:
		return fmt.Sprintf("word b%d%s", in.Index, uses(in.Args))
	case LoadShared:
		return fmt.Sprintf("get s%d%s", in.Index, uses(in.Args))
	case StoreShared:
		return fmt.Sprintf("put s%d%s", in.Index, uses(in.Args))
	case AddShared:
		return fmt.Sprintf("grow s%d%s", in.Index, uses(in.Args))
	case Barrier:
		return "barrier"
	case SubgroupBarrier:
		return "subgroupbarrier"
	case Ballot:
		return "ballot" + uses(in.Args)
	case ExclusiveSum:
		return "exclusivesum" + uses(in.Args)
	case If:
		return fmt.Sprintf("if%s {", uses(in.Args))
	case Loop:
		return fmt.Sprintf("loop%s with %s {", uses(in.Args), p.defs(in.Blocks[0].Params))
	}
	panic("BUG: unknown instruction")
}
