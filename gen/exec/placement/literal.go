package placement

import (
	"nxvk/ops"
)

// Detach is a literal that lies in Go's memory.
func Detach(lit *ops.Literal) *ops.Literal {
	if lit.Hold == nil {
		return lit
	}
	return &ops.Literal{Type: lit.Type, Data: append([]byte(nil), lit.Data...)}
}
