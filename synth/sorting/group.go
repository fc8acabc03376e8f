package sorting

import (
	"fmt"
	"math/bits"

	"nxvk/ops"
	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
	"nxvk/synth/scalar"
	"nxvk/synth/strided"
)

// groupJob finds the first k elements of long rows without an order of the others. A row is
// cut into groups of neighbours. An element that k groups begin before is not among the first
// k, so those are in the k groups whose first elements come first:
//
//	first    the key of the first element of each group
//	choose   the k groups whose keys come first, by rowJob
//	collect  the elements of these groups, in the order of the row
//	sort     the first k of them, by rowJob
//
// Equal keys keep their order in both choices, because neighbours are in one group and groups
// are in the order of the row. The cost is one read of the operand.
type groupJob struct {
	*sortJob
	size   int // elements of a group, a power of two
	groups int // of a row
	four   bool
	// Temporaries: keys and numbers of groups, and elements with their positions.
	keys, numbers, elems, positions codegen.Buffer
}

// Groups have from leastGroup to mostGroup elements. They are worth their kernels in operands
// of leastGrouped elements.
const (
	leastGroup   = 16
	mostGroup    = 256
	groupedPart  = 128 // elements of a row for each that is asked for
	leastGrouped = 1 << 18

	groupLocal   = 256 // invocations that look for the first of groups
	groupRounds  = 4   // vectors that each of them loads, and twice as many single elements
	collectLocal = 64  // invocations that collect a group
)

// inGroups reports whether the first elements of rows are found by groups.
func (j *sortJob) inGroups(t *lowering.Target, s tileShape) bool {
	return j.step == 1 && j.next == 1 && j.values != nil && j.indices != nil && j.keep <= s.size()/2 &&
		j.length >= groupedPart*j.keep && j.elements() >= leastGrouped && t.MaxInvocations >= groupLocal
}

// groupSize makes as many groups of a row as k groups have elements, to a power of two.
func groupSize(n, k int) int {
	size := leastGroup
	for size < mostGroup && 2*size*size*k < n {
		size *= 2
	}
	return size
}

// groupPlan plans the four steps.
func (j *sortJob) groupPlan(t *lowering.Target, s tileShape) (*lowering.Plan, error) {
	var temps []int64
	rows := strided.Product(j.rows)
	temp := func(elem kernel.Elem, count int) codegen.Buffer {
		b := codegen.Buffer{Ref: lowering.Ref{Kind: lowering.Temp, Index: len(temps)}, Elem: elem, Bytes: int64(rows * count * elem.Size())}
		temps = append(temps, b.Bytes)
		return b
	}
	g := &groupJob{sortJob: j, size: groupSize(j.length, j.keep), four: j.length%strided.Lanes == 0}
	for _, stride := range j.at.Strides {
		g.four = g.four && stride%strided.Lanes == 0
	}
	g.groups = (j.length + g.size - 1) / g.size
	g.keys, g.numbers = temp(j.between(), g.groups), temp(kernel.U32, j.keep)
	g.elems, g.positions = temp(j.between(), j.keep*g.size), temp(kernel.U32, j.keep*g.size)
	programs := []*codegen.Program{g.first()}
	programs = append(programs, g.choose().rowPrograms(s, &temps, true, g.groups, []codegen.Buffer{with(g.keys, lowering.Read)})...)
	programs = append(programs, g.collect())
	source := []codegen.Buffer{with(g.elems, lowering.Read), with(g.positions, lowering.Read)}
	programs = append(programs, j.rowPrograms(s, &temps, false, j.keep*g.size, source)...)
	return codegen.NewPlan(t, temps, programs...)
}

// choose is the order of the keys of groups, of which only the numbers of the first are kept.
func (j *groupJob) choose() *sortJob {
	from := ops.U32
	if j.keyType() == scalar.U64 {
		from = ops.U64
	}
	rows := strided.Product(j.rows)
	numbers := j.numbers
	return &sortJob{from: from, length: j.groups, keep: j.keep, rows: []int{rows}, step: 1, next: 1,
		at: strided.View{Strides: []int{j.groups}}, to: strided.View{Strides: []int{j.keep}},
		bits: j.keyBits(), indices: &numbers, index: ops.U32}
}

// rounds is how many vectors, or single elements, an invocation of first loads.
func (j *groupJob) rounds() (rounds, width int) {
	if j.four {
		return groupRounds, strided.Lanes
	}
	return 2 * groupRounds, 1
}

// first is the program that finds the key of the first element of each group.
func (j *groupJob) first() *codegen.Program {
	rounds, width := j.rounds()
	span := rounds * width * groupLocal
	spans := (j.length + span - 1) / span
	p := &codegen.Program{Local: groupLocal, Index: scalar.U32, Groups: strided.Product(j.rows) * spans,
		Buffers: []codegen.Buffer{j.operand(), with(j.keys, lowering.Write)},
		Body:    func(e *codegen.Emitter) error { writeFirst(j, e); return nil },
		Flops:   int64(j.elements())}
	p.Numbers = append([]int{p.Groups, spans, j.groups}, j.sortJob.numbers()...)
	p.Key = fmt.Sprintf("first of groups of %d four=%v %s", j.size, j.four, j.describe())
	p.Bytes = p.Buffers[0].Bytes + p.Buffers[1].Bytes
	return p
}

// collect is the program that copies the elements of the chosen groups.
func (j *groupJob) collect() *codegen.Program {
	p := &codegen.Program{Local: collectLocal, Index: scalar.U32, Groups: strided.Product(j.rows) * j.keep,
		Buffers: []codegen.Buffer{j.operand(), with(j.numbers, lowering.Read), with(j.elems, lowering.Write), with(j.positions, lowering.Write)},
		Body:    func(e *codegen.Emitter) error { writeCollect(j, e); return nil }}
	p.Numbers = append([]int{p.Groups, bits.TrailingZeros(uint(j.size))}, j.sortJob.numbers()...)
	p.Bytes = 2*j.elems.Bytes + j.positions.Bytes + j.numbers.Bytes
	p.Key = fmt.Sprintf("collect groups %s", j.describe())
	return p
}
