package attention

import (
	"slices"

	"nxvk/ops"
	"nxvk/shaders"
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
	dag := widened(j.dag)
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
		s.logits = pruned(dag, dag.Outs[0])
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

// widened is a copy of expressions that rounds nothing to narrow floats. Its loads are as narrow as before.
func widened(dag *fusion.DAG) *fusion.DAG {
	wide := func(d ops.DType) ops.DType {
		if d == ops.BF16 || d == ops.F16 {
			return ops.F32
		}
		return d
	}
	out := &fusion.DAG{Dims: dag.Dims, Kept: dag.Kept, Sources: dag.Sources, Outs: slices.Clone(dag.Outs), Exprs: slices.Clone(dag.Exprs)}
	for i := range out.Exprs {
		x := &out.Exprs[i]
		if x.Kind == fusion.ExprSource {
			if dag.Sources[x.Source].Kind != codegen.FromBuffer {
				x.Type = wide(x.Type)
			}
			continue
		}
		if x.In.Op == ops.Bitcast { // looks at bits
			continue
		}
		x.Type, x.Types = wide(x.Type), slices.Clone(x.Types)
		for k := range x.Types {
			x.Types[k].DType = wide(x.Types[k].DType)
		}
	}
	return out
}

// pruned is the DAG of one expression of another, without those that it does not need.
func pruned(dag *fusion.DAG, root int) *fusion.DAG {
	need, place := make([]bool, len(dag.Exprs)), make([]int, len(dag.Exprs))
	need[root] = true
	out := &fusion.DAG{Dims: dag.Dims, Kept: dag.Kept, Sources: dag.Sources}
	for i, x := range slices.Backward(dag.Exprs) {
		for _, a := range x.Args {
			need[a] = need[a] || need[i]
		}
	}
	for i, x := range dag.Exprs {
		if !need[i] {
			continue
		}
		x.Args = slices.Clone(x.Args)
		for k, a := range x.Args {
			x.Args[k] = place[a]
		}
		place[i] = len(out.Exprs)
		out.Exprs = append(out.Exprs, x)
	}
	out.Outs = []int{place[root]}
	return out
}

// logitProgram is the code in the place of functions of the kernel: its buffers and parameters. Body is set for each.
func (m *matrixJob) logitProgram() (*codegen.Program, error) {
	p := &codegen.Program{Local: 1, Key: m.describeMatrix() + m.space.Describe() + m.mask.describe(), Numbers: m.space.Numbers()}
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

// kernel is a step with the kernel, and room for its parameters. code is what it has in the place of functions; it may be nil.
func (m *matrixJob) kernel(code *codegen.Program) (s lowering.Step, err error) {
	for _, r := range m.lies {
		s.Args = append(s.Args, lowering.Arg{Ref: r.ref, Access: lowering.Read})
	}
	s.Args = append(s.Args, lowering.Arg{Ref: lowering.Ref{Kind: lowering.Result}, Access: lowering.Write})
	if code == nil {
		s.Push = make([]byte, handBytes)
		s.Kernel, err = m.plainKernel()
		return s, err
	}
	for _, b := range code.Buffers {
		s.Args = append(s.Args, lowering.Arg{Ref: b.Ref, Access: b.Access})
	}
	head, size, fixed := m.room(code)
	s.Push = make([]byte, size)
	s.Lits = code.Fill(s.Push, head, fixed)
	s.Bytes = code.Bytes
	s.Kernel, err = m.spliced(code, len(s.Args), head, size, fixed)
	return s, err
}

// room is where the parameters of the code begin in the push constants, and how long these are. With fixed, the
// code has its numbers as constants.
func (m *matrixJob) room(code *codegen.Program) (head, size int, fixed bool) {
	head = whole(handBytes+8*len(code.Buffers), 8)
	for _, fixed = range []bool{false, true} {
		size = head + codegen.PushSize(m.target, code, fixed) - codegen.ParamsAt(m.target, code)
		if size <= m.target.PushBytes() {
			break
		}
	}
	return head, size, fixed
}

// hasRoom reports whether the logits have room in the kernel.
func (m *matrixJob) hasRoom() bool {
	code, err := m.logitProgram()
	if err != nil {
		return false
	}
	_, size, _ := m.room(code)
	return size <= m.target.PushBytes() && handBuffers+len(code.Buffers) <= fusion.MaxBuffers
}

// plainKernel is the hand-written kernel as it is.
func (m *matrixJob) plainKernel() (*lowering.Kernel, error) {
	if k, ok := codegen.CompiledKernels.Get(m.describeMatrix()); ok {
		return k, nil
	}
	code, err := shaders.Code(m.shader())
	if err != nil {
		return nil, err
	}
	return codegen.CompiledKernels.Put(m.describeMatrix(), m.kernelOf(code, handBuffers, handBytes)), nil
}

// kernelOf is a kernel of some code.
func (m *matrixJob) kernelOf(code []uint32, buffers, push int) *lowering.Kernel {
	return &lowering.Kernel{Name: codegen.HashName(code) + " " + m.describeMatrix(), Code: code, Buffers: buffers, PushBytes: push, Addresses: true,
		Spec: m.spec(), Local: [3]uint32{uint32(m.threads()), 1, 1}, Lanes: m.target.SubgroupSize}
}

// spliced is the hand-written kernel with the code of a program, from the caches or made.
func (m *matrixJob) spliced(p *codegen.Program, buffers, at, push int, fixed bool) (*lowering.Kernel, error) {
	key := codegen.FullKey(m.target, p, fixed)
	if k, ok := codegen.CompiledKernels.Get(key); ok {
		return k, nil
	}
	if k := codegen.FromArchive(m.target, key); k != nil {
		k.Name += " " + m.describeMatrix()
		return codegen.CompiledKernels.Put(key, k), nil
	}
	base, err := shaders.Code(m.shader())
	if err != nil {
		return nil, err
	}
	code, irs, err := m.splice(base, p, at, fixed)
	if err != nil {
		return nil, err
	}
	k := m.kernelOf(code, buffers, push)
	codegen.Dump(k, irs...)
	codegen.ToArchive(m.target, key, k)
	return codegen.CompiledKernels.Put(key, k), nil
}

// splice puts the code of the logits and of their mask into the kernel.
func (m *matrixJob) splice(base []uint32, p *codegen.Program, at int, fixed bool) (code []uint32, list []*kernel.Kernel, err error) {
	bodies := map[spirv.Called]func(*writer) error{{Words: 3, Takes: true, Gives: scalar.F32}: (*writer).giveLogit}
	if m.mask != nil {
		bodies[spirv.Called{Words: 5, Gives: scalar.U32}] = (*writer).giveCover
		bodies[spirv.Called{Words: 1, Gives: scalar.F32}] = (*writer).giveLeast
	}
	irs := map[spirv.Called]*kernel.Kernel{}
	for c, body := range bodies {
		q := *p
		q.Body = func(e *codegen.Emitter) error {
			w := &writer{Writer: tile.Writer{Emitter: e}, job: m.job}
			w.logits = w.newLogits(0)
			return body(w)
		}
		k, err := codegen.Build(m.target, &q, fixed)
		if err != nil {
			return nil, nil, err
		}
		irs[c], list = k, append(list, k)
	}
	code = spirv.SpliceCalls(base, func(c spirv.Called) *kernel.Kernel { return irs[c] }, handBuffers, at, codegen.SPIRVOptions(m.target))
	return code, list, nil
}

// give ends the code of a function with what it gives.
func (w *writer) give(v kernel.Value) {
	w.StoreShared(w.Shared(w.Type(v), 1), w.Int(scalar.U32, 0), v)
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
		w.give(xs[0][0])
	}
	return err
}
