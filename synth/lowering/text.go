package lowering

import (
	"fmt"
	"strings"
)

var refNames = [...]string{Operand: "operand", Result: "result", Temp: "temp", CheckWord: "check"}

var accessNames = [...]string{Read: "read", Write: "write", Read | Write: "read and write"}

// String is the plan as text, a step a line.
func (p *Plan) String() string {
	var b strings.Builder
	if p.Alias >= 0 {
		fmt.Fprintf(&b, "  is operand %d\n", p.Alias)
	}
	for _, u := range p.InPlace {
		fmt.Fprintf(&b, "  updates operand %d in place as result %d without %d of the first kernels\n", u.Operand, u.Result, u.Copies)
	}
	for i, n := range p.Temps {
		fmt.Fprintf(&b, "  temp %d of %d bytes\n", i, n)
	}
	for i := range p.Steps {
		s := &p.Steps[i]
		fmt.Fprintf(&b, "  kernel %.12s grid %v, %d bytes, %d flops:", s.Kernel.Name, s.Grid, s.Bytes, s.Flops)
		for k, a := range s.Args {
			if k > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, " %s %d %s", refNames[a.Ref.Kind], a.Ref.Index, accessNames[a.Access])
		}
		if s.Barrier {
			b.WriteString(", behind a barrier")
		}
		b.WriteByte('\n')
	}
	for i, c := range p.Checks {
		if c.Singular {
			fmt.Fprintf(&b, "  check %d of a singular matrix\n", i)
			continue
		}
		fmt.Fprintf(&b, "  check %d of operand %d\n", i, c.Operand)
	}
	return b.String()
}
