package wire

import (
	"nxvk/gen/etf"
	"nxvk/ops"
)

// Density is the part of a request that names a log density. That is a program: it
// takes a position and data, and gives the log density and its gradient.
type Density struct {
	Program string        // its key
	Data    []ops.Operand // its operands after the position
	Type    ops.DType     // of positions: f32 or f64
	Dim     int           // parameters
}

// set reads an option. known says that it is one of a density.
func (d *Density) set(name string, v etf.Term) (known bool, err error) {
	switch name {
	case "program":
		d.Program, err = programKey(v)
	case "data":
		d.Data, _, err = operands(v, ops.Program)
		adopt(d.Data)
	case "type":
		d.Type, err = realType(v)
	case "dim":
		d.Dim, err = between(v, 1, MaxDim)
	default:
		return false, nil
	}
	return true, err
}
