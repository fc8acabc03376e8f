package fused

import (
	"slices"

	"nxvk/ops"
	"nxvk/synth/codegen"
	"nxvk/synth/fusion"
	"nxvk/synth/lowering"
)

// AttentionStage is an attention as a stage of a fusion. It may put a key and a value among those that it reads: put_slices
// are then in its fusion before it, and what they give are more results.
type AttentionStage struct {
	First *codegen.Program // its operands are those of the attention, and then those of the put_slices
	Join  *codegen.Program // makes the result of the parts that First leaves in temporaries; nil where First makes it
	Temps []int64          // their bytes

	Rows map[int]int // elements of a row, of buffers of First that earlier stages may make in rows
}

// PlanAttention plans an attention as a stage, with its put_slices. types are those of the operands. Package synth sets it:
// attention is built of this package.
var PlanAttention func(in *ops.Instr, puts []*ops.Instr, types []ops.Type, t *lowering.Target) (s AttentionStage, ok bool)

// attends reports whether a stage is an attention.
func attends(u fusion.Fusion) bool { return u.Body[len(u.Body)-1].Op == ops.Attention }

// putsOf are the put_slices before the attention of a stage.
func putsOf(u *fusion.Fusion) (list []*ops.Instr) {
	for i := range u.Body[:len(u.Body)-1] {
		list = append(list, &u.Body[i])
	}
	return list
}

// attend has the programs of the attention that is stage n, with the stages before it. It reports whether there are such.
func (c *chained) attend(u *fusion.Fusion, n int, types func(ops.ID) ops.Type, t *lowering.Target) bool {
	part := &u.Stages[n]
	in := &part.Body[len(part.Body)-1]
	operands := slices.Clone(in.Ins)
	ts, places := part.Operands(in, types)
	puts := putsOf(part)
	for _, put := range puts {
		more, at := part.Operands(put, types)
		operands, ts, places = append(operands, put.Ins...), append(ts, more...), append(places, at...)
	}
	s, ok := PlanAttention(in, puts, ts, t)
	if !ok {
		return false
	}
	m := makersOf(u.Stages[:n])
	first, sizes, ok := m.hold(&s, operands, places)
	if !ok {
		return false
	}
	first.Buffers, first.Literals = numbered(u, part, first.Program, first.Held)
	program := first.Program
	if n > 0 {
		stages, ok := m.rowStages(u, sizes, types, t)
		if !ok || slices.ContainsFunc(first.Held, func(a int) bool { return a >= 0 && !stages[m.of[a]].Row.Same() }) {
			return false
		}
		if program, ok = codegen.ChainRows(t, stages, m.of, first); !ok {
			return false
		}
	}
	if !fits(program, t) {
		return false
	}
	if c.join, c.temps = s.Join, s.Temps; c.join != nil {
		c.before = program
	} else {
		c.Program = program
	}
	return true
}

// makers are stages whose results are in shared arrays: which array has a value, and which stage makes each array.
type makers struct {
	stages []fusion.Fusion
	arrays map[ops.ID]int
	of     []int
}

func makersOf(stages []fusion.Fusion) *makers {
	m := &makers{stages: stages, arrays: make(map[ops.ID]int)}
	for i := range stages {
		for _, o := range stages[i].Outs {
			m.arrays[o.ID] = len(m.of)
			m.of = append(m.of, i)
		}
	}
	return m
}

// array is the number of the array that has an operand, or InMemory.
func (m *makers) array(o ops.Operand) int {
	if a, made := m.arrays[o.ID]; made && o.Lit == nil {
		return a
	}
	return codegen.InMemory
}

// hold is the first program of an attention with the arrays that take the places of its buffers; places are the numbers of
// its operands in its fusion. sizes has the elements of the rows that the stages make. ok is false where an array has what
// the program does not read in rows.
func (m *makers) hold(s *AttentionStage, operands []ops.Operand, places []int) (first codegen.Stage, sizes []int, ok bool) {
	p := *s.First
	p.Buffers, p.Literals = slices.Clone(p.Buffers), slices.Clone(p.Literals)
	sizes = make([]int, len(m.stages))
	for i := range p.Buffers {
		r, array := &p.Buffers[i].Ref, codegen.InMemory
		if r.Kind == lowering.Operand {
			array, r.Index = m.array(operands[r.Index]), places[r.Index]
		}
		if first.Held = append(first.Held, array); array == codegen.InMemory {
			continue
		}
		size, rows := s.Rows[i]
		if !rows {
			return first, nil, false
		}
		sizes[m.of[array]] = size
	}
	for i := range p.Literals {
		p.Literals[i].Operand = places[p.Literals[i].Operand]
	}
	first.Program = &p
	return first, sizes, true
}

// rowStages are the programs of stages, each of which makes rows of what is in memory, or of a row of what an earlier one
// makes. sizes has the elements of a row that those make which the attention reads, and 0 elsewhere.
func (m *makers) rowStages(u *fusion.Fusion, sizes []int, types func(ops.ID) ops.Type, t *lowering.Target) (list []codegen.RowStage, ok bool) {
	list = make([]codegen.RowStage, len(m.stages))
	known := make([]bool, len(m.stages)) // which row a later stage reads
	for i := len(m.stages) - 1; i >= 0; i-- {
		r := &list[i]
		if r.Size = sizes[i]; r.Size == 0 {
			return nil, false
		}
		for k, id := range m.stages[i].Ins {
			array := m.array(ops.Operand{ID: id})
			if array < 0 {
				continue
			}
			row, ok := rowOf(&m.stages[i], k, r.Size, types)
			from := &list[m.of[array]]
			if !ok || !row.Same() && !r.Row.Same() {
				return nil, false
			}
			if row.Same() {
				row = r.Row
			}
			maker := m.of[array]
			if known[maker] && !row.Equal(from.Row) || sizes[maker] != 0 && sizes[maker] != r.Size {
				return nil, false
			}
			r.Exact, from.Row, known[maker], sizes[maker] = true, row, true, r.Size
		}
	}
	for i := range list {
		r := &list[i]
		p, checks := stageProgram(&m.stages[i], types, t)
		if p == nil || len(checks) > 0 {
			return nil, false
		}
		r.Stage = stageOf(u, &m.stages[i], p, m.arrays, false)
		for _, a := range r.Held {
			if a != codegen.InMemory && m.of[a] != i {
				r.Level = max(r.Level, list[m.of[a]].Level+1)
			}
		}
	}
	return list, true
}

// rowOf tells which row of operand k an elementwise fusion reads for a row of its result; ok is false where it reads several.
func rowOf(u *fusion.Fusion, k, size int, types func(ops.ID) ops.Type) (row codegen.RowOf, ok bool) {
	dag, err := fusion.NewDAG(u, types)
	if err != nil || u.FirstReduction() != nil || u.Contraction() != nil {
		return row, false
	}
	lead := len(dag.Dims)
	for n := 1; n < size; {
		if lead--; lead < 0 {
			return row, false
		}
		if n *= dag.Dims[lead]; n > size {
			return row, false
		}
	}
	first := true
	for i := range dag.Sources {
		s := &dag.Sources[i]
		if s.Kind != codegen.FromBuffer || s.Buffer.Ref != (lowering.Ref{Kind: lowering.Operand, Index: k}) {
			continue
		}
		if !withinRow(s, dag.Dims[lead:], lead, size) {
			return row, false
		}
		one := codegen.RowOf{}
		for a, d := range dag.Dims[:lead] {
			if d > 1 {
				if s.Strides[a]%size != 0 {
					return row, false
				}
				one.Dims, one.Strides = append(one.Dims, d), append(one.Strides, s.Strides[a]/size)
			}
		}
		if slices.Equal(one.Strides, ops.Shape(one.Dims).Strides()) {
			one = codegen.RowOf{}
		}
		if !first && !one.Equal(row) {
			return row, false
		}
		row, first = one, false
	}
	return row, !first
}

// withinRow reports whether a source reads the first size elements alone, at all points of which the leading coordinates
// are 0.
func withinRow(s *codegen.Source, dims []int, lead, size int) bool {
	low, high := s.Offset, s.Offset
	reach := func(n int) { low, high = low+min(n, 0), high+max(n, 0) }
	for a, d := range dims {
		reach(s.Strides[lead+a] * (d - 1))
	}
	for _, h := range s.Shifts {
		reach(h.Limit * h.Stride)
	}
	return low >= 0 && high < size
}
