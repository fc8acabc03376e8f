package attention

import (
	"errors"
	"fmt"

	"nxvk/ops"
	"nxvk/synth/attention/tile"
	"nxvk/synth/codegen"
	"nxvk/synth/fused"
	"nxvk/synth/lowering"
	"nxvk/synth/strided"
)

// The shape of a workgroup.
const (
	across  = tile.Across
	local   = tile.Local
	deep    = tile.Deep
	keysPer = tile.Cols
	block   = tile.Block
)

// maxWidth is the maximum columns of values: an invocation has its columns in registers.
const maxWidth = 256

// maxCost bounds the operations that compute a logit, of which a kernel has keysPer copies.
const maxCost = 96

// job is a planned kernel.
type job struct {
	*pattern
	target  *lowering.Target
	perRow  int // queries of an invocation
	perCol  int // columns of values of an invocation
	result  ops.DType
	shape   ops.Shape // of the results
	sources []source

	exactDepth, exactWidth bool       // operands are loaded in fours
	matrix                 *matrixJob // the kernel for matrix hardware; nil where that does not compute it
	few                    *fewJob    // the one for few queries
}

// source is where the expressions of the logits read: sources of the DAG, their dimensions in groups.
type source struct {
	codegen.Source
	strides [groups][]int
}

// Lower plans an attention. The error wraps ErrUnsupported where the instruction is none, or the
// device cannot carry it out in one kernel.
func Lower(in *ops.Instr, types []ops.Type, t *lowering.Target) (*lowering.Plan, error) {
	j, err := newJob(in, t)
	if err != nil {
		return nil, err
	}
	if j.few != nil {
		return j.few.plan()
	}
	if j.matrix != nil {
		return j.matrix.plan()
	}
	p, err := j.program()
	if err != nil {
		return nil, err
	}
	return codegen.NewPlan(t, nil, p)
}

func newJob(in *ops.Instr, t *lowering.Target) (*job, error) {
	p, err := parse(in)
	if errors.Is(err, errPattern) {
		err = fmt.Errorf("%w: %w", lowering.ErrUnsupported, err)
	}
	if err != nil {
		return nil, err
	}
	j := &job{pattern: p, target: t, result: in.Outs[0].Type.DType, shape: in.Outs[0].Type.Shape}
	for _, d := range []ops.DType{p.query.DType, p.key.DType, p.value.DType, p.scores.Outs[0].Type.DType, p.types(p.logits).DType, j.result} {
		if d.Wide() != ops.F32 || !t.Narrow(lowering.ElemOf[d]) {
			return nil, lowering.Unsupported("attention of %v", d)
		}
	}
	switch {
	case t.CPU:
		return nil, lowering.Unsupported("attention in one kernel, on a processor")
	case t.MaxInvocations < local:
		return nil, lowering.Unsupported("workgroups of %d invocations", local)
	case p.width > maxWidth:
		return nil, lowering.Unsupported("values of %d columns", p.width)
	case p.width == 0 || p.depth == 0:
		return nil, lowering.Unsupported("attention of empty matrices")
	case p.cost(t) > maxCost:
		return nil, lowering.Unsupported("logits of %d operations", p.cost(t))
	}
	j.perCol = tile.PerColumn(p.width)
	j.perRow = 8
	if j.perCol > 8 {
		j.perRow = 4
	}
	if n := j.sharedBytes(); n > t.SharedMemory {
		return nil, lowering.Unsupported("workgroups of %d bytes of shared memory", n)
	}
	j.exactDepth = p.query.InGroups(4) && p.key.InGroups(4) && p.depth%4 == 0
	j.exactWidth = p.value.InGroups(4) && p.width%4 == 0
	j.groupSources()
	if j.few = j.onFew(); j.few == nil {
		j.matrix = j.onMatrix()
	}
	return j, nil
}

// sharedBytes is the shared memory of a workgroup; see write.
func (j *job) sharedBytes() int {
	return 4 * (deep*tile.LineOf(j.perRow) + deep*max(block, across*j.perCol) + local)
}

// dimsOf are the dimensions of the logits in a group.
func (j *job) dimsOf(g int) []int {
	part := tile.Divide(j.dag.Dims, [groups]int{j.batches, j.queries, j.keys})[g]
	return j.dag.Dims[part[0]:part[1]]
}

// groupSources divides the strides of the sources of the logits.
func (j *job) groupSources() {
	parts := tile.Divide(j.dag.Dims, [groups]int{j.batches, j.queries, j.keys})
	for i := range j.dag.Sources {
		s := source{Source: j.dag.Sources[i]}
		if s.HasView() {
			for g, part := range parts {
				s.strides[g] = s.Strides[part[0]:part[1]]
			}
		}
		j.sources = append(j.sources, s)
	}
}

// queriesPer is the number of queries of a workgroup.
func (j *job) queriesPer() int { return tile.Down * j.perRow }

// program is the kernel and its dispatch.
func (j *job) program() (*codegen.Program, error) {
	blocks := (j.queries + j.queriesPer() - 1) / j.queriesPer()
	n := j.batches * j.queries * j.width
	p, err := j.loads(j.batches*blocks, n)
	if err != nil {
		return nil, err
	}
	p.Local, p.Body = local, j.write
	j.addResult(p)
	p.Numbers, p.Key = append([]int{j.queries, j.keys, j.depth, j.width, blocks, j.batches * blocks}, j.placeNumbers()...), j.describe()
	return p, nil
}

// loads is a program that reads the operands and the sources of the logits, and stores no more than so many
// elements.
func (j *job) loads(workgroups, stored int) (*codegen.Program, error) {
	p := &codegen.Program{Groups: workgroups,
		Flops: 2 * int64(j.batches) * int64(j.queries) * int64(j.keys) * int64(j.depth+j.width)}
	extent := max(stored, j.query.Extent(), j.key.Extent(), j.value.Extent())
	for i := range j.sources {
		if s := &j.sources[i]; s.HasView() {
			extent = max(extent, s.Extent(j.dag.Dims))
		}
	}
	p.Index = codegen.IndexType(extent)
	for _, o := range []*operand{&j.query, &j.key, &j.value} {
		p.AddBuffer(o.Buffer, o.Extent(), o.Size())
	}
	return p, j.addSources(p)
}

// addSources adds the buffers and the literals that the logits read to a program.
func (j *job) addSources(p *codegen.Program) error {
	for i := range j.sources {
		switch s := &j.sources[i]; s.Kind {
		case codegen.FromBuffer:
			p.AddBuffer(s.Buffer, s.Extent(j.dag.Dims), strided.Product(j.dag.Dims))
		case codegen.FromLiteral:
			operand, ok := j.operandOf(s.Lit.Operand)
			if !ok {
				return lowering.Unsupported("a number of the region in the logits")
			}
			p.Literals = append(p.Literals, codegen.Literal{Operand: operand, As: s.Lit.As})
		}
	}
	return nil
}

// operandOf is the operand of the instruction that a literal of the expressions is.
func (j *job) operandOf(lit int) (operand int, ok bool) {
	n := len(j.body.Ins)
	return lit - n, lit < 2*n
}

// placeNumbers are the parameters that tell where operands and the sources of the logits lie.
func (j *job) placeNumbers() (nums []int) {
	for _, o := range []*operand{&j.query, &j.key, &j.value} {
		nums = append(nums, o.Numbers()...)
	}
	return append(nums, j.logitNumbers()...)
}

// logitNumbers are the parameters of the logits.
func (j *job) logitNumbers() (nums []int) {
	for g := range groups {
		if dims := j.dimsOf(g); len(dims) > 0 {
			nums = append(nums, dims[1:]...)
		}
	}
	for i := range j.sources {
		s := &j.sources[i]
		if !s.HasView() {
			continue
		}
		nums = append(nums, s.Offset)
		for g := range groups {
			for _, n := range s.strides[g] {
				if n != 0 && n != 1 {
					nums = append(nums, n)
				}
			}
		}
	}
	return nums
}

// describe is the key of the kernel.
func (j *job) describe() string {
	key := fmt.Sprintf("attention %v %v %v %v to %v rows=%d columns=%d fours=%v,%v", j.query.DType, j.key.DType, j.value.DType,
		j.scores.Outs[0].Type.DType, j.result, j.perRow, j.perCol, j.exactDepth, j.exactWidth)
	for _, o := range []*operand{&j.query, &j.key, &j.value} {
		key += o.Describe()
	}
	return key + j.describeLogits()
}

// describeLogits is the part of a key that the logits are.
func (j *job) describeLogits() string {
	key := fmt.Sprintf(" %s logits=%v", fused.Describe(j.dag), j.dag.Outs)
	for g := range groups {
		key += fmt.Sprintf(" %d", len(j.dimsOf(g)))
	}
	for i := range j.sources {
		s := &j.sources[i]
		key += fmt.Sprintf(" %d", s.Kind)
		for g := range groups {
			key += "/"
			for _, n := range s.strides[g] {
				key += strideName(n)
			}
		}
	}
	return key
}

// strideName tells strides that kernels contain from those that are parameters.
func strideName(n int) string {
	if n == 0 || n == 1 {
		return fmt.Sprint(n)
	}
	return "n"
}
