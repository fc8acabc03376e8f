package fusion

import (
	"nxvk/ops"
	"nxvk/synth/codegen"
)

// exprKind says how an expression gets its value.
type exprKind uint8

const (
	ExprSource exprKind = iota // loads it
	ExprApply                  // applies an instruction
	ExprFold                   // is the result of a reduction
)

// Expr is one element at one place: a node of the graph that a kernel computes.
type Expr struct {
	Kind   exprKind
	In     *ops.Instr
	Types  []ops.Type // of the operands of In
	Args   []int      // expressions of the operands of In, but for constants, which are the last
	Source int
	Type   ops.DType
	Full   bool // differs along reduced dimensions
}

// LiteralType is the type in which an instruction takes literal operand i.
func LiteralType(in *ops.Instr, types []ops.Type, i int) ops.DType {
	switch {
	case in.Op.Info().Kind == ops.Pointwise && in.Op != ops.AsType:
		if in.Op.Info().Flags&ops.Predicate != 0 && i == 0 {
			return types[i].DType.Wide()
		}
		return codegen.ComputeClass(in, types[codegen.Conditions(in.Op.Info()):]).Wide()
	}
	return in.Outs[0].Type.DType.Wide()
}

// arena is the memory of the operands of expressions.
type arena struct {
	types []ops.Type
	args  []int
}

// reset frees the arena.
func (r *arena) reset() { r.types, r.args = r.types[:0], r.args[:0] }

// operands returns memory for n operands.
func (r *arena) operands(n int) (types []ops.Type, args []int) {
	i := len(r.args)
	if i+n > cap(r.args) || i+n > cap(r.types) {
		i = 0
		r.types, r.args = make([]ops.Type, 0, max(n, 2*cap(r.types), leastRoom)), make([]int, 0, max(n, 2*cap(r.args), leastRoom))
	}
	r.types, r.args = r.types[:i+n], r.args[:i+n]
	return r.types[i : i : i+n], r.args[i : i : i+n]
}

// leastRoom is the initial size of the arena.
const leastRoom = 8
