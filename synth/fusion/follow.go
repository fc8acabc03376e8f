package fusion

import "nxvk/ops"

// Code is straight-line code that a DAG follows.
type Code struct {
	Instr  func(ops.ID) *ops.Instr // the instruction that computes a value; nil if the value is loaded
	Types  func(ops.ID) ops.Type
	Number func(ops.ID) int      // the number of a value, as a source of the DAG has it
	Blocks func(*ops.Instr) bool // whether a view must be read from memory
}

// Over has the DAG follow code that is not a fusion. Literals have no numbers.
func (dag *DAG) Over(c Code) {
	dag.graph, dag.types, dag.number, dag.blocks = c.Instr, c.Types, c.Number, c.Blocks
	dag.literal = func(*ops.Literal) int { return 0 }
}

// Follow follows an instruction of the code back to its loads, in an iteration space of its own: that of
// the operand of a reduction, of the slice that a put_slice writes, or of the result. The expressions of an
// earlier call are gone. A ViewError has the value at which strides cannot express a view.
func (dag *DAG) Follow(in *ops.Instr) error {
	from, put := in.Outs[0].ID, Updates(in)
	shape, axes := in.Outs[0].Type.Shape, []int(nil)
	switch {
	case in.Op.Info().Kind == ops.Reduce:
		from = in.Ins[0].ID
		shape, axes = dag.typeOf(in.Ins[0]).Shape, in.Attrs[0]
	case put:
		shape = dag.typeOf(in.Ins[UpdateBy]).Shape
	}
	dag.space(shape, axes)
	return dag.run(func() (err error) {
		if put {
			_, err = dag.update(in)
		} else {
			_, err = dag.value(from, dag.Full)
		}
		return err
	})
}

// DataDependent reports whether the DAG reads padding, or at offsets that operands give.
func (dag *DAG) DataDependent() bool { return len(dag.extraDims) > 0 }
