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
//	choose   the k groups whose keys come first, a sortJob
//	collect  the elements of these groups, in the order of the row
//	sort     the first k of them, a sortJob
//
// Equal keys keep their order in both choices, because neighbours are in one group and groups
// are in the order of the row. The cost is one read of the operand.
type groupJob struct {
	*sortJob
	size   int // elements of a group, a power of two
	groups int // of a row
	four   bool
	alone  bool // an invocation has a group, on processors
	// Temporaries: keys of all groups, numbers of the chosen ones, and their elements with the
	// positions that these have in the row.
	keys, chosen, elems, origins codegen.Buffer
}

// Groups have from leastGroup to mostGroup elements. They are worth their kernels in rows of
// groupedPart times as many elements as are asked for, and in operands of gpuGrouped or
// cpuGrouped elements.
const (
	leastGroup  = 16
	mostGroup   = 256
	groupedPart = 128
	gpuGrouped  = 1 << 18
	cpuGrouped  = 1 << 12
	groupedRank = 512 // elements of groups that processors put in order by rank

	groupLocal   = 256 // invocations that look for the first of groups
	groupRounds  = 4   // vectors that each of them loads, and twice as many single elements
	collectLocal = 64  // invocations that collect a group
)

// inGroups reports whether the first elements of rows are found by groups.
func (j *sortJob) inGroups(t *lowering.Target) bool {
	least := gpuGrouped
	if t.CPU {
		least = cpuGrouped
	}
	if shape, tiles := tileShapeOf(t, j.words()); tiles && j.keep > shape.size()/sourcePart {
		return false
	}
	return j.source == nil && j.values != nil && j.indices != nil && j.step == 1 && j.next == 1 &&
		j.length >= groupedPart*j.keep && j.elements() >= least && t.MaxInvocations >= groupLocal
}

// groupSize makes as many groups of a row as k groups have elements, to a power of two.
func groupSize(n, k int) int {
	size := leastGroup
	for size < mostGroup && 2*size*size*k < n {
		size *= 2
	}
	return size
}

// groupPrograms are the four steps. Temporaries are added to the list.
func (j *sortJob) groupPrograms(t *lowering.Target, temps *[]int64) []*codegen.Program {
	rows := strided.Product(j.rows)
	temp := func(elem kernel.Elem, count int) codegen.Buffer {
		b := codegen.Buffer{Ref: lowering.Ref{Kind: lowering.Temp, Index: len(*temps)}, Elem: elem, Bytes: int64(rows * count * elem.Size())}
		*temps = append(*temps, b.Bytes)
		return b
	}
	g := &groupJob{sortJob: j, size: groupSize(j.length, j.keep), four: j.length%strided.Components == 0, alone: t.CPU}
	for _, stride := range j.at.Strides {
		g.four = g.four && stride%strided.Components == 0
	}
	g.groups = (j.length + g.size - 1) / g.size
	g.keys, g.chosen = temp(j.between(), g.groups), temp(kernel.U32, j.keep)
	g.elems, g.origins = temp(j.between(), j.keep*g.size), temp(kernel.U32, j.keep*g.size)
	programs := append([]*codegen.Program{g.first()}, g.choose().programs(t, temps)...)
	programs = append(programs, g.collect(t))
	return append(programs, g.sort().programs(t, temps)...)
}

// choose sorts the keys of groups and keeps the numbers of the first ones.
func (j *groupJob) choose() *sortJob {
	c := j.ofRows(j.groups, &j.keys)
	c.from, c.descending, c.bits = ops.U32, false, j.keyBits()
	if j.keyType() == scalar.U64 {
		c.from = ops.U64
	}
	c.at.Strides, c.to.Strides = []int{j.groups}, []int{j.keep}
	c.values, c.indices, c.index = nil, &j.chosen, ops.U32
	return c
}

// sort is the order of the elements of the chosen groups.
func (j *groupJob) sort() *sortJob {
	s := j.ofRows(j.keep*j.size, &j.elems)
	s.positions = &j.origins
	return s
}

// ofRows is the order of rows of a temporary.
func (j *groupJob) ofRows(length int, source *codegen.Buffer) *sortJob {
	s := *j.sortJob
	s.length, s.source = length, source
	s.rows = []int{strided.Product(j.rows)}
	s.at, s.to = strided.View{Strides: []int{length}}, strided.View{Strides: []int{j.keep}}
	return &s
}

// rounds is how many vectors, or single elements, an invocation of first loads, unless it has
// a group alone: fewer where a workgroup would have more than a row.
func (j *groupJob) rounds() (rounds, width int) {
	rounds, width = 2*groupRounds, 1
	if j.four {
		rounds, width = groupRounds, strided.Components
	}
	for rounds > 1 && rounds/2*width*groupLocal >= j.length {
		rounds /= 2
	}
	return rounds, width
}

// first is the program that finds the key of the first element of each group.
func (j *groupJob) first() *codegen.Program {
	rounds, width := j.rounds()
	rows := strided.Product(j.rows)
	p := &codegen.Program{Local: groupLocal, Index: scalar.U32,
		Buffers: []codegen.Buffer{j.operand(), with(j.keys, lowering.Write)}, Flops: int64(j.elements())}
	if j.alone {
		p.Local, p.Groups = codegen.CPULocal, (rows*j.groups+codegen.CPULocal-1)/codegen.CPULocal
		p.Numbers = []int{rows * j.groups, j.groups}
		p.Body = func(e *codegen.Emitter) error { writeAlone(j, e); return nil }
	} else {
		span := rounds * width * groupLocal
		spans := (j.length + span - 1) / span
		p.Groups = rows * spans
		p.Numbers = []int{p.Groups, spans, j.groups}
		p.Body = func(e *codegen.Emitter) error { writeFirst(j, e); return nil }
	}
	p.Numbers = append(p.Numbers, j.numbers()...)
	p.Bytes = p.Buffers[0].Bytes + p.Buffers[1].Bytes
	p.Key = fmt.Sprintf("first of groups of %d alone=%v rounds=%d width=%d %s", j.size, j.alone, rounds, width, j.describe())
	return p
}

// collect is the program that copies the elements of the chosen groups.
func (j *groupJob) collect(t *lowering.Target) *codegen.Program {
	p := &codegen.Program{Local: collectLocal, Index: scalar.U32, Groups: strided.Product(j.rows) * j.keep,
		Buffers: []codegen.Buffer{j.operand(), with(j.chosen, lowering.Read), with(j.elems, lowering.Write), with(j.origins, lowering.Write)},
		Bytes:   2*j.elems.Bytes + j.origins.Bytes + j.chosen.Bytes,
		Body:    func(e *codegen.Emitter) error { writeCollect(j, e); return nil },
		Key:     fmt.Sprintf("collect groups %s", j.describe())}
	if t.CPU {
		p.Local = codegen.CPULocal
	}
	p.Numbers = append([]int{p.Groups, bits.TrailingZeros(uint(j.size))}, j.numbers()...)
	return p
}
