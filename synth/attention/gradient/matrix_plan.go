package gradient

import (
	"encoding/binary"
	"fmt"
	"slices"

	"nxvk/ops"
	"nxvk/synth/attention/tile"
	"nxvk/synth/codegen"
	"nxvk/synth/fused"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
	"nxvk/synth/scalar"
	"nxvk/synth/spirv"
)

// The bits of FLAGS, and the parameters of the kernel; see shaders/lib/attention_gradient.glsl.
const (
	ofKeys = 1 << iota
	withInner
	folding
	toMost
	inLockstep
	alike
	withRoot // the first one; the second is the next bit
)

// The bits of each root: whether it is there, whether it is a maximum, where the type of what it gives begins, and whether
// that has its rows last.
var rootBits = [2]struct{ is, most, kind, across int }{{withRoot, toMost, 9, 13}, {withRoot << 1, withRoot << 2, 11, 14}}

const (
	handBuffers = 6
	handWords   = 28
)

// rootCalled is the function of the kernel that gives a root: its number, the matrix, the query and the key, an element of S
// and one of X, and the numbers of the query.
var rootCalled = spirv.Called{Words: 4, Takes: 2 + mostNumbers, Gives: scalar.F32}

// code is the code of a pass in the place of functions: its buffers and parameters.
func (m *matrixJob) code(p *pass) (*codegen.Program, error) {
	g := &codegen.Program{Local: 1, Key: fmt.Sprintf("%s inner=%d %v%s", m.hand(p).Describe(), p.innerAt, m.types(m.inner.Outs[0].ID).DType, p.space.Describe()),
		Numbers: p.space.Numbers()}
	if err := p.space.AddTo(g, p.operandOf); err != nil {
		return nil, err
	}
	for _, r := range m.slots(p) {
		g.Key += fmt.Sprintf(" %d", r)
	}
	extent := p.space.Extent()
	if g.Index = codegen.IndexType(extent); g.Index != scalar.U32 {
		return nil, lowering.Unsupported("expressions of %d elements", extent)
	}
	return g, codegen.Check(m.target, g)
}

// hand is the hand-written kernel of a pass.
func (m *matrixJob) hand(p *pass) *tile.Shader {
	s := &tile.Shader{Target: m.target, Name: "attention_matrix_gradient." + m.scored[queries].DType.String() + ".addresses", Buffers: handBuffers, Words: handWords}
	for _, n := range []int{m.threads(), m.shape.M, m.shape.N, m.Tiles, m.Warps, m.Rows, m.depth, m.width, m.flags(p), len(p.hoisted.numbers)} {
		s.Spec = append(s.Spec, uint32(n))
	}
	return s
}

// flags are the bits of FLAGS.
func (m *matrixJob) flags(p *pass) (n int) {
	for _, f := range []struct {
		is  bool
		bit int
	}{{p.own == keys, ofKeys}, {p.innerAt >= 0, withInner}, {m.shape.Small, inLockstep}, {slices.Contains(m.target.Alike, m.shape), alike}} {
		if f.is {
			n |= f.bit
		}
	}
	if len(p.folds) > 0 {
		n |= folding
	}
	for slot, r := range m.slots(p) {
		if r < 0 {
			continue
		}
		bits := rootBits[slot]
		n |= bits.is | m.kind(p, r)<<bits.kind
		if len(p.folds) > 0 && m.Job.folds[p.folds[r]].in.Op == ops.ReduceMax {
			n |= bits.most
		}
		if len(p.results) > 0 && m.results[p.results[r]].across {
			n |= 1 << bits.across
		}
	}
	return n
}

// kind is how elements of what a root gives lie.
func (m *matrixJob) kind(p *pass, root int) int {
	var d ops.DType
	if len(p.folds) > 0 {
		d = m.foldType(p.folds[root]).DType
	} else {
		d = m.results[p.results[root]].in.Outs[0].Type.DType
	}
	kind, _ := m.kindOf(d)
	return kind
}

// slots are the roots of a pass in the order of the kernel, -1 where there is none: folds as they come, or the result for
// values and the one for keys or queries.
func (m *matrixJob) slots(p *pass) [2]int {
	slots := [2]int{-1, -1}
	for i := range p.folds {
		slots[i] = i
	}
	for i, r := range p.results {
		if m.results[r].valued {
			slots[0] = i
		} else {
			slots[1] = i
		}
	}
	return slots
}

// step is the kernel of a pass and its dispatch.
func (m *matrixJob) step(p *pass) (s lowering.Step, err error) {
	code, err := m.code(p)
	if err != nil {
		return s, err
	}
	operands := [4]int{atQuery, atUp, atKey, atValue}
	if p.own == keys {
		operands = [4]int{atKey, atValue, atQuery, atUp}
	}
	owners, streamed := m.lengths[p.own], m.lengths[1-p.own]
	blocks := (owners + m.owned() - 1) / m.owned()
	var args []lowering.Arg
	nums := append([]int{owners, streamed, m.Job.depth, m.Job.width, blocks, m.batches * blocks}, m.lies.Inner()...)
	for _, i := range operands {
		args = append(args, lowering.Arg{Ref: m.lies.Rows[i].Ref, Access: lowering.Read})
		nums = append(nums, m.lies.Rows[i].Words()...)
	}
	args = append(args, m.outs(p)...)
	if s, err = m.hand(p).Step(args, code, tile.Functions{rootCalled: func(e *codegen.Emitter) error { return m.give(e, p) }, queryCalled: p.giveNumber}); err != nil {
		return s, err
	}
	if s.Grid, err = m.target.FoldGrid(m.batches * blocks); err != nil {
		return s, err
	}
	for i, n := range nums {
		binary.LittleEndian.PutUint32(s.Push[8*len(s.Args)+4*i:], uint32(n))
	}
	s.Bytes += 2 * int64(m.batches) * int64(owners+streamed) * int64(m.depth+m.width)
	s.Flops = 2 * int64(m.batches) * int64(owners) * int64(streamed) * int64(m.columns(p))
	return s, nil
}

// columns counts multiply-adds for each score of a pass.
func (m *matrixJob) columns(p *pass) int {
	n := m.depth
	if p.innerAt >= 0 {
		n += m.width
	}
	for _, i := range p.results {
		n += m.columnsOf(&m.results[i])
	}
	return n
}

// outs are what the two roots give; a pass that has one gives it as both.
func (m *matrixJob) outs(p *pass) (args []lowering.Arg) {
	slots := m.slots(p)
	for i, r := range slots {
		if r < 0 {
			r = slots[1-i]
		}
		ref := lowering.Ref{Kind: lowering.Temp}
		if len(p.folds) > 0 {
			ref.Index = p.folds[r]
		} else {
			ref = lowering.Ref{Kind: lowering.Result, Index: p.results[r]}
		}
		args = append(args, lowering.Arg{Ref: ref, Access: lowering.Write})
	}
	return args
}

// give writes the function of the roots.
func (m *matrixJob) give(e *codegen.Emitter, p *pass) error {
	places := tile.NewPlaces(e, p.space, 0)
	which, number, row, column := e.Param(scalar.U32), e.Param(scalar.U32), e.Param(scalar.U32), e.Param(scalar.U32)
	s, x := e.Param(scalar.F32), e.Param(scalar.F32)
	places.Of(number)
	query, key := places.Split(tile.Rows, row), places.Split(tile.Columns, column)
	var numbers []kernel.Value
	for range mostNumbers {
		numbers = append(numbers, e.Param(scalar.F32))
	}
	dag, own := p.hoisted.DAG, len(p.space.Sources)
	roots, err := fused.EvaluateAll(dag, e, dag.Outs, 1, func(n, _ int) []kernel.Value {
		switch {
		case n >= own:
			return []kernel.Value{numbers[n-own]}
		case n == p.innerAt:
			return []kernel.Value{x}
		case dag.Sources[n].Kind == codegen.FromContraction:
			return []kernel.Value{s}
		}
		return places.At(n, query, key)
	})
	if err != nil {
		return err
	}
	var given [2]kernel.Value
	slots := m.slots(p)
	for i, r := range slots {
		if r < 0 {
			r = slots[1-i]
		}
		typ := dag.Exprs[dag.Outs[r]].Type
		given[i] = e.ConvertParts(roots[r][0], typ, ops.F32)[0]
	}
	first := e.Compare(scalar.Eq, which, e.Int(scalar.U32, 0))
	tile.Give(e, e.Select(first, given[0], given[1]))
	return nil
}
