package fusion

import "nxvk/ops"

// Code is straight-line code that a Trace follows.
type Code struct {
	Instr  func(ops.ID) *ops.Instr // the instruction that computes a value; nil if the value is loaded
	Types  func(ops.ID) ops.Type
	Number func(ops.ID) int      // the number of a value, as a source of the trace has it
	Blocks func(*ops.Instr) bool // whether a view must be read from memory
}

// Over makes the trace one of code that is not a fusion. Literals have no numbers.
func (tr *Trace) Over(c Code) {
	tr.graph, tr.types, tr.number, tr.blocks = c.Instr, c.Types, c.Number, c.Blocks
	tr.literal = func(*ops.Literal) int { return 0 }
}

// Follow traces an instruction of the code back to what is loaded, in an iteration space of its own: that of
// the operand of a reduction, of the slice that a put_slice writes, or of the result. The former trace is
// gone. A ViewError has the value at which strides cannot express a view.
func (tr *Trace) Follow(in *ops.Instr) error {
	from, put := in.Outs[0].ID, Updates(in)
	shape, axes := in.Outs[0].Type.Shape, []int(nil)
	switch {
	case in.Op.Info().Kind == ops.Reduce:
		from = in.Ins[0].ID
		shape, axes = tr.typeOf(in.Ins[0]).Shape, in.Attrs[0]
	case put:
		shape = tr.typeOf(in.Ins[UpdateBy]).Shape
	}
	tr.space(shape, axes)
	return tr.run(func() (err error) {
		if put {
			_, err = tr.update(in)
		} else {
			_, err = tr.value(from, tr.Full)
		}
		return err
	})
}

// DataDependent reports whether the trace reads padding, or at offsets that operands give.
func (tr *Trace) DataDependent() bool { return len(tr.extraDims) > 0 }
