package attention

import (
	"slices"

	"nxvk/ops"
	"nxvk/synth/attention/tile"
	"nxvk/synth/codegen"
	"nxvk/synth/fused"
	"nxvk/synth/fusion"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
	"nxvk/synth/scalar"
	"nxvk/synth/spirv"
)

// scaling is what the logits are: scores times a number, or over it, and what logits computes of that.
type scaling struct {
	literal *codegen.Literal // nil for 1
	divides bool
	logits  *fusion.DAG // in f32, of scaled scores; nil where these are the logits
}

// findScaling finds the number by which scores are scaled, where nothing else reads the scores.
func (j *job) findScaling() (s scaling) {
	dag := tile.Widened(j.dag)
	t := &tree{dag}
	at := slices.IndexFunc(dag.Exprs, func(x fusion.Expr) bool {
		return x.Kind == fusion.ExprSource && dag.Sources[x.Source].Kind == codegen.FromContraction
	})
	score := dag.Exprs[at]
	for at != dag.Outs[0] {
		user, ok := t.onlyUser(at)
		if !ok {
			break
		}
		x := &dag.Exprs[user]
		if x.In.Op == ops.AsType && x.Type == ops.F32 {
			at = user
			continue
		}
		lit, divides, ok := t.scaled(x, at)
		if _, known := j.operandOf(litOperand(lit)); !ok || !known || s.literal != nil {
			break
		}
		operand, _ := j.operandOf(lit.Operand)
		s.literal, s.divides, at = &codegen.Literal{Operand: operand, As: ops.F32}, divides, user
	}
	if at != dag.Outs[0] {
		dag.Exprs[at] = score
		s.logits = tile.Pruned(dag, dag.Outs[0])
	}
	return s
}

func litOperand(l *codegen.Literal) int {
	if l == nil {
		return 0
	}
	return l.Operand
}

// onlyUser is the expression that reads expression i, if only one does, once.
func (t *tree) onlyUser(i int) (user int, ok bool) {
	n := 0
	for k := range t.Exprs {
		for _, a := range t.Exprs[k].Args {
			if a == i {
				user, n = k, n+1
			}
		}
	}
	return user, n == 1
}

// scaled is the literal that x scales expression i by, in f32; divides tells that it divides by it.
func (t *tree) scaled(x *fusion.Expr, i int) (lit *codegen.Literal, divides, ok bool) {
	if x.Kind != fusion.ExprApply || x.Type != ops.F32 || x.In.Op != ops.Multiply && x.In.Op != ops.Divide {
		return nil, false, false
	}
	divides = x.In.Op == ops.Divide
	other := x.Args[1]
	if other == i && !divides {
		other = x.Args[0]
	}
	lit = t.literal(other)
	return lit, divides, other != i && lit != nil && lit.As == ops.F32
}

// literal is the literal that expression i is, or a tensor of; nil where it is none.
func (t *tree) literal(i int) *codegen.Literal {
	if c := t.apply(i, ops.Constant); c != nil && len(c.Args) == 1 {
		i = c.Args[0]
	}
	if x := &t.Exprs[i]; x.Kind == fusion.ExprSource && t.Sources[x.Source].Kind == codegen.FromLiteral {
		return &t.Sources[x.Source].Lit
	}
	return nil
}

// logitProgram is the code in the place of functions of the kernel: its buffers and parameters. Body is set for each.
func (m *matrixJob) logitProgram() (*codegen.Program, error) {
	p := &codegen.Program{Local: 1, Key: m.hand().Describe() + m.space.Describe() + m.mask.describe(), Numbers: m.space.Numbers()}
	if err := m.space.AddTo(p, m.operandOf); err != nil {
		return nil, err
	}
	extent := m.space.Extent()
	p.Index = codegen.IndexType(extent)
	if p.Index != scalar.U32 {
		return nil, lowering.Unsupported("a mask of %d elements", extent)
	}
	return p, codegen.Check(m.target, p)
}

// hand is the hand-written kernel.
func (m *matrixJob) hand() *tile.Shader {
	return &tile.Shader{Target: m.target, Name: m.shader(), Spec: m.spec(), Buffers: handBuffers, Words: handWords}
}

// kernel is a step with the kernel, and room for its parameters. code is what it has in the place of functions; it may be nil.
func (m *matrixJob) kernel(code *codegen.Program) (s lowering.Step, err error) {
	var args []lowering.Arg
	for _, r := range m.lies.Rows {
		args = append(args, lowering.Arg{Ref: r.Ref, Access: lowering.Read})
	}
	out := lowering.Ref{Kind: lowering.Result}
	if m.parts > 1 {
		out = m.partRef()
	}
	args = append(args, lowering.Arg{Ref: out, Access: lowering.Write})
	return m.hand().Step(args, code, m.functions())
}

// functions write the code of the logits and of their mask.
func (m *matrixJob) functions() tile.Functions {
	with := func(body func(*writer) error) func(*codegen.Emitter) error {
		return func(e *codegen.Emitter) error {
			w := &writer{Writer: tile.Writer{Emitter: e}, job: m.job}
			w.logits = w.newLogits(0)
			return body(w)
		}
	}
	list := tile.Functions{{Words: 3, Takes: 1, Gives: scalar.F32}: with((*writer).giveLogit)}
	if m.mask != nil {
		list[spirv.Called{Words: 5, Gives: scalar.U32}] = with((*writer).giveCover)
		list[spirv.Called{Words: 1, Gives: scalar.F32}] = with((*writer).giveLeast)
	}
	return list
}

// hasRoom reports whether the logits have room in the kernel.
func (m *matrixJob) hasRoom() bool {
	code, err := m.logitProgram()
	return err == nil && m.hand().HasRoom(code)
}

// points evaluates expressions at points, each with a row and a column. score may be none.
func (w *writer) points(dag *fusion.DAG, score kernel.Value, at ...[2]kernel.Value) ([][]kernel.Value, error) {
	l := w.logits
	return fused.Evaluate(dag, w.Emitter, dag.Outs[0], len(at), func(s, k int) []kernel.Value {
		if w.job.space.Sources[s].Kind == codegen.FromContraction {
			return []kernel.Value{score}
		}
		return l.At(s, l.Split(rows, at[k][0]), l.Split(columns, at[k][1]))
	})
}

// giveLogit is a logit: its arguments are the matrix, the row and the column, and the scaled score.
func (w *writer) giveLogit() error {
	number, row, column := w.Param(scalar.U32), w.Param(scalar.U32), w.Param(scalar.U32)
	score := w.Param(scalar.F32)
	w.logits.of(number)
	xs, err := w.points(w.job.matrix.scale.logits, score, [2]kernel.Value{row, column})
	if err == nil {
		tile.Give(w.Emitter, xs[0][0])
	}
	return err
}
