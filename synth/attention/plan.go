package attention

import (
	"errors"
	"fmt"

	"nxvk/ops"
	"nxvk/synth/attention/gradient"
	"nxvk/synth/attention/tile"
	"nxvk/synth/codegen"
	"nxvk/synth/lowering"
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

// maxCost bounds the operations that compute a logit. A kernel has keysPer copies of them.
const maxCost = 96

// job is a planned kernel.
type job struct {
	*pattern
	target *lowering.Target
	perRow int // queries of an invocation
	perCol int // columns of values of an invocation
	result ops.DType
	shape  ops.Shape // of the results
	space  *tile.Space

	exactDepth, exactWidth bool       // operands are loaded in fours
	matrix                 *matrixJob // the kernel for matrix hardware; nil where that does not compute it
	few                    *fewJob    // the one for few queries
}

// Lower plans an attention. The error wraps ErrUnsupported where the instruction is none, or the
// device cannot carry it out in one kernel.
func Lower(in *ops.Instr, types []ops.Type, t *lowering.Target) (*lowering.Plan, error) {
	if isGradient(in) {
		j, err := gradient.New(in, t)
		if err != nil {
			return nil, err
		}
		return j.Plan()
	}
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

// isGradient reports whether an instruction is the gradient of an attention: products of its region are more than two.
func isGradient(in *ops.Instr) bool {
	n := 0
	for i := range in.Regions[0].Body {
		if in.Regions[0].Body[i].Op == ops.Dot {
			n++
		}
	}
	return n > 2
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
	j.space = tile.NewSpace(p.dag, [groups]int{p.batches, p.queries, p.keys})
	if j.few = j.onFew(); j.few == nil {
		j.matrix = j.onMatrix()
	}
	return j, nil
}

// sharedBytes is the shared memory of a workgroup; see write.
func (j *job) sharedBytes() int {
	return 4 * (deep*tile.LineOf(j.perRow) + deep*max(block, across*j.perCol) + local)
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
	extent := max(stored, j.query.Extent(), j.key.Extent(), j.value.Extent(), j.space.Extent())
	p.Index = codegen.IndexType(extent)
	for _, o := range []*operand{&j.query, &j.key, &j.value} {
		p.AddBuffer(o.Buffer, o.Extent(), o.Size())
	}
	return p, j.space.AddTo(p, j.operandOf)
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
	return append(nums, j.space.Numbers()...)
}

// describe is the key of the kernel.
func (j *job) describe() string {
	key := fmt.Sprintf("attention %v %v %v %v to %v rows=%d columns=%d fours=%v,%v", j.query.DType, j.key.DType, j.value.DType,
		j.scores.Outs[0].Type.DType, j.result, j.perRow, j.perCol, j.exactDepth, j.exactWidth)
	for _, o := range []*operand{&j.query, &j.key, &j.value} {
		key += o.Describe()
	}
	return key + j.space.Describe()
}
