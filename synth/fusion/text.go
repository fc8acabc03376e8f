package fusion

import (
	"fmt"
	"strings"

	"nxvk/synth/graph/notation"
)

// String is the fusion as text: its operands, results and instructions.
func (u *Fusion) String() string {
	var b strings.Builder
	b.WriteString("fusion")
	for _, id := range u.Ins {
		fmt.Fprintf(&b, " %%%d", id)
	}
	b.WriteString(" ->")
	for _, o := range u.Outs {
		fmt.Fprintf(&b, " %%%d", o.ID)
	}
	b.WriteByte('\n')
	for i := range u.Body {
		fmt.Fprintf(&b, "  %s\n", notation.Line(&u.Body[i]))
	}
	return b.String()
}
