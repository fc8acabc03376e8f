package sorting

import (
	"math/bits"

	"nxvk/ops"
	"nxvk/synth/codegen"
	"nxvk/synth/lowering"
	"nxvk/synth/strided"
)

// sortJob puts the elements of rows in order. Every element has an unsigned key
// of as many bits as its type, and elements of equal keys keep their order: that
// is a total order, so results do not depend on how they are found. These
// are the ways to find them:
//
//	short rows   every element counts those before it
//	middle rows  a bitonic network in the memory of a workgroup, on GPUs; of longer
//	             ones, too, where few elements are kept; see bitonicJob
//	longer rows  by the digits of the key in the memory of a workgroup, on GPUs
//	             with subgroups; see rowJob, which serves a few of many, too,
//	             and groupJob, which finds those that rowJob has to order
//	long rows    by the digits of the key, least significant first: see digitJob
//	             for GPUs with subgroups, radixJob for other devices
//
// Elements travel as they are stored, or they come from the operand at the end, so
// that zeros keep their signs.
type sortJob struct {
	from       ops.DType
	descending bool
	length     int // of a row
	keep       int // how many elements of a row the result has, from the first

	rows []int        // the other dimensions
	at   strided.View // of rows, in the operand
	step int          // of a row, in the operand
	to   strided.View // of rows, in the results
	next int          // of a row, in the results

	bits int // of a key that differ; 0 means all

	// Elements that do not come from the operand, as a temporary has them, and where they are
	// in its rows, if that is not where they are in these.
	source, positions *codegen.Buffer

	values  *codegen.Buffer // results, of which one may be absent
	indices *codegen.Buffer
	index   ops.DType
}

// The limits of rows, by way.
const (
	shortSort  = 64
	middleSort = 2048
)

// Lower plans a sort or an argsort along an axis.
func Lower(in *ops.Instr, types []ops.Type, t *lowering.Target) (*lowering.Plan, error) {
	s, axis := types[0].Shape, in.Attrs[0][0]
	j := &sortJob{descending: in.Attrs[1][0] != 0, length: 1, step: 1, next: 1}
	if len(s) > 0 {
		strides := s.Strides()
		j.length, j.step, j.next = s[axis], strides[axis], strides[axis]
		for i, d := range s {
			if i != axis {
				j.rows = append(j.rows, d)
				j.at.Strides = append(j.at.Strides, strides[i])
				j.to.Strides = append(j.to.Strides, strides[i])
			}
		}
	}
	j.keep = j.length
	out := codegen.ResultBuffer(in.Outs[0].Type.DType)
	if in.Op == ops.Argsort {
		j.indices, j.index = &out, in.Outs[0].Type.DType
	} else {
		j.values = &out
	}
	return j.plan(in, types, t)
}

// LowerTopK plans the greatest elements of the last axis and their indices.
func LowerTopK(in *ops.Instr, types []ops.Type, t *lowering.Target) (*lowering.Plan, error) {
	s, k := types[0].Shape, in.Attrs[0][0]
	n := s[len(s)-1]
	values, indices := codegen.ResultBuffer(in.Outs[0].Type.DType), codegen.ResultBuffer(in.Outs[1].Type.DType)
	indices.Ref.Index = 1
	j := &sortJob{descending: true, length: n, step: 1, next: 1, keep: k, rows: []int{s.Size() / n},
		at: strided.View{Strides: []int{n}}, to: strided.View{Strides: []int{k}},
		values: &values, indices: &indices, index: in.Outs[1].Type.DType}
	return j.plan(in, types, t)
}

// Order plans the order of n numbers below limit, operand 0, a u32 each: result 0 are
// the numbers in ascending order and result 1 (u32) where each came from. Equal numbers
// keep their order.
func Order(n, limit int, t *lowering.Target) (*lowering.Plan, error) {
	if n >= 1<<30 {
		return nil, lowering.Unsupported("order of 2^30 elements")
	}
	values, indices := codegen.ResultBuffer(ops.U32), codegen.ResultBuffer(ops.U32)
	indices.Ref.Index = 1
	j := &sortJob{from: ops.U32, length: n, keep: n, step: 1, next: 1, bits: max(1, bits.Len(uint(limit-1))),
		values: &values, indices: &indices, index: ops.U32}
	return j.choose(t)
}

func (j *sortJob) plan(in *ops.Instr, types []ops.Type, t *lowering.Target) (*lowering.Plan, error) {
	j.from = types[0].DType
	if err := codegen.CheckReal(j.from); err != nil {
		return nil, err
	}
	if in.Ins[0].Lit != nil {
		return nil, lowering.Unsupported("order of a literal")
	}
	if types[0].Shape.Size() >= 1<<30 {
		return nil, lowering.Unsupported("order of 2^30 elements")
	}
	return j.choose(t)
}

// choose plans the sort by the way that suits its rows.
func (j *sortJob) choose(t *lowering.Target) (*lowering.Plan, error) {
	var temps []int64
	programs := j.programs(t, &temps)
	return codegen.NewPlan(t, temps, programs...)
}

// programs are those of the way that suits the rows. Temporaries are added to the list.
func (j *sortJob) programs(t *lowering.Target, temps *[]int64) []*codegen.Program {
	j.rows = strided.Collapse(j.rows, []*strided.View{&j.at, &j.to})
	shape, tiles := tileShapeOf(t, j.words())
	switch {
	case j.inRanks(t):
		return []*codegen.Program{j.rankProgram(t)}
	case j.inNetwork(t):
		return []*codegen.Program{j.bitonicProgram(t)}
	case j.inGroups(t):
		return j.groupPrograms(t, temps)
	case tiles && j.inRows(shape):
		return j.rowPrograms(shape, temps)
	case !t.CPU && j.fitsNetwork(t):
		return []*codegen.Program{j.bitonicProgram(t)}
	case tiles && j.positions == nil:
		return newDigitJob(j, shape, temps).programs(t)
	}
	return newRadixJob(j, t, temps).programs(t)
}

// keyBits is how many bits of a key differ.
func (j *sortJob) keyBits() int {
	if j.bits > 0 {
		return j.bits
	}
	return j.from.Bits()
}

func (j *sortJob) elements() int { return strided.Product(j.rows) * j.length }

// operand is the buffer of the elements.
func (j *sortJob) operand() codegen.Buffer {
	if j.source != nil {
		return with(*j.source, lowering.Read)
	}
	elem := lowering.ElemOf[j.from]
	return codegen.Buffer{Ref: lowering.Ref{Kind: lowering.Operand, Index: 0}, Elem: elem, Access: lowering.Read, Bytes: int64(j.elements() * elem.Size())}
}

// buffers are those of a program that has all elements of a row: the elements, the results and
// the positions.
func (j *sortJob) buffers() []codegen.Buffer {
	out := append([]codegen.Buffer{j.operand()}, j.results()...)
	if j.positions != nil {
		out = append(out, with(*j.positions, lowering.Read))
	}
	return out
}

// results are the buffers of the results that there are.
func (j *sortJob) results() []codegen.Buffer {
	var out []codegen.Buffer
	for _, b := range []*codegen.Buffer{j.values, j.indices} {
		if b != nil {
			b.Access, b.Bytes = lowering.Write, int64(strided.Product(j.rows)*j.keep*b.Elem.Size())
			out = append(out, *b)
		}
	}
	return out
}
