package codegen

import (
	"fmt"
	"slices"
	"strings"

	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
)

// RowStage is a stage of which a workgroup of the reader needs one row of each result. That takes it part of its invocations.
type RowStage struct {
	Stage
	Row   RowOf
	Size  int  // elements of a row
	Exact bool // it makes no row more, since shared arrays have no operands for that
	Level int  // more than that of the stages which it reads

	threads int // that carry it out
	first   int // the first of these
	span    int // elements that it makes
}

// RowOf tells which row of a stage is needed for a row of the reader: the coordinates of that in Dims times Strides. No
// dimensions stand for the same row.
type RowOf struct{ Dims, Strides []int }

// Same reports whether it is the row of the reader.
func (r RowOf) Same() bool { return len(r.Dims) == 0 }

// Equal reports whether both tell the same row.
func (r RowOf) Equal(o RowOf) bool {
	return slices.Equal(r.Dims, o.Dims) && slices.Equal(r.Strides, o.Strides)
}

// of is the row.
func (r RowOf) of(e *Emitter, row kernel.Value) kernel.Value {
	if r.Same() {
		return row
	}
	var dims, strides []kernel.Value
	for i := range r.Dims {
		dims, strides = append(dims, e.Index(r.Dims[i])), append(strides, e.Index(r.Strides[i]))
	}
	return e.Offsets(row, dims, strides)
}

// ChainRows is a Chain of stages whose results are operands of the last one, which has ByRows, in rows: a workgroup needs the
// row that ByRows tells. It has subgroups carry the stages out for that row alone, those of a level side by side. makers has
// the stage that makes each shared array.
//
// ok is false where a stage cannot be carried out so, or the device has no subgroups of one size.
func ChainRows(t *lowering.Target, stages []RowStage, makers []int, last Stage) (p *Program, ok bool) {
	c := &rowChain{stages: stages, makers: makers, last: last, subgroup: t.FixedSubgroup()}
	p = &Program{Local: last.Local, Index: last.Index, Groups: last.Groups, Body: c.write}
	key := []string{fmt.Sprintf("rows of subgroups of %d", c.subgroup)}
	if c.subgroup == 0 || !c.deal() {
		return nil, false
	}
	for i := range stages {
		s := &stages[i]
		for k, b := range s.Buffers {
			if s.Held[k] != InMemory && (b.Pair || !t.Narrow(b.Elem)) {
				return nil, false
			}
		}
		if s.Index != p.Index {
			return nil, false
		}
		c.add(p, s.Stage)
		key = append(key, fmt.Sprintf("%d:%d+%d %v %d/%d %v %v %s", s.Level, s.first, s.threads, s.Row, s.Size, s.span, s.Held, c.places[i], s.Key))
	}
	c.add(p, last)
	p.Key = strings.Join(append(key, fmt.Sprintf("%v %v %s", last.Held, c.places[len(stages)], last.Key)), "; ")
	return p, true
}

// rowChain is the body of a ChainRows.
type rowChain struct {
	stages   []RowStage
	makers   []int // the stages that make the shared arrays
	last     Stage
	subgroup int
	places   [][]int // of the buffers of each stage, and of the last one
}

// deal gives the stages invocations: as few as make the row.
func (c *rowChain) deal() bool {
	used := map[int]int{} // invocations by level
	for i := range c.stages {
		s := &c.stages[i]
		if s.Fit == nil || s.Span == nil {
			return false
		}
		for n := 1; n <= int(c.last.Local); n++ {
			if s.Fit(n) < 1 {
				continue
			}
			if s.span = s.Span(n); s.span%s.Size == 0 && s.span > 0 && (s.span == s.Size || !s.Exact) {
				s.threads = n
				break
			}
		}
		s.first = used[s.Level]
		used[s.Level] += (s.threads + c.subgroup - 1) / c.subgroup * c.subgroup
		if s.threads == 0 || used[s.Level] > int(c.last.Local) {
			return false
		}
	}
	return true
}

// add adds a stage to the program. What several read is one buffer.
func (c *rowChain) add(p *Program, s Stage) {
	var places []int
	for k, b := range s.Buffers {
		place := -1
		if held := s.Held[k]; held != InMemory {
			p.Bytes -= min(p.Bytes, b.Bytes)
		} else {
			place = p.buffer(b)
		}
		places = append(places, place)
	}
	c.places = append(c.places, places)
	p.Numbers, p.Literals = append(p.Numbers, s.Numbers...), append(p.Literals, s.Literals...)
	p.Flops, p.Bytes = p.Flops+s.Flops, p.Bytes+s.Bytes
}

func (c *rowChain) write(e *Emitter) error {
	e.SetSubgroup(c.subgroup)
	var arrays []int
	for a, i := range c.makers {
		s := &c.stages[i]
		arrays = append(arrays, e.Shared(s.Buffers[slices.Index(s.Held, a)].Elem.Type(), s.span))
	}
	own := make([]*Emitter, len(c.stages)+1)
	for i := range own {
		s, o := c.last, *e
		if i < len(c.stages) {
			s = c.stages[i].Stage
		}
		o.Buffers, o.places, o.begins = s.Buffers, nil, make([]kernel.Value, len(s.Buffers))
		for k, at := range c.places[i] {
			if held := s.Held[k]; held != InMemory {
				o.places = append(o.places, -1-arrays[held])
			} else {
				o.places = append(o.places, e.place(at))
			}
			o.begins[k] = e.Index(0)
		}
		o.take(e, s.Program)
		own[i] = &o
	}
	row, early := c.last.ByRows(own[len(c.stages)])
	begins := c.begins(e, row, own)
	place := e.InSubgroups(c.subgroup)
	bodies := make([]func() error, len(c.stages))
	for i := range c.stages {
		s, o := &c.stages[i], own[i]
		o.Local, o.group, o.repeats, o.team = s.threads, begins[i].group, true, &team{e.Sub(place, e.Index(s.first))}
		if bodies[i] = func() error { return s.Body(o) }; s.Ahead != nil {
			bodies[i] = s.Ahead(o)
		}
	}
	rest := early()
	for level := 0; ; level++ {
		more := false
		for i := range c.stages {
			s := &c.stages[i]
			more = more || s.Level > level
			if s.Level != level {
				continue
			}
			var err error
			e.When(e.IsLess(own[i].team.place, e.Index(s.threads)), func() { err = bodies[i]() })
			if err != nil {
				return err
			}
		}
		e.Barrier()
		if !more {
			return rest()
		}
	}
}

// rowBegin is where a row that is needed begins: in which workgroup of a stage, and at which of its elements.
type rowBegin struct{ group, at kernel.Value }

// begins finds where the row begins in each stage, and tells the emitters of those that read it.
func (c *rowChain) begins(e *Emitter, row kernel.Value, own []*Emitter) (list []rowBegin) {
	for i := range c.stages {
		s := &c.stages[i]
		group := e.Div(e.Mul(s.Row.of(e, row), e.Index(s.Size)), e.Index(s.span))
		list = append(list, rowBegin{group, e.Mul(group, e.Index(s.span))})
	}
	for i, o := range own {
		held := c.last.Held
		if i < len(c.stages) {
			held = c.stages[i].Held
		}
		for k, from := range held {
			if from != InMemory {
				o.begins[k] = list[c.makers[from]].at
			}
		}
	}
	return list
}

// team is some neighbouring invocations of a workgroup, which carry out a program as a workgroup of their own would. They
// are of one subgroup where the program has subgroups wait for themselves.
type team struct {
	place kernel.Value // of the invocation among them
}
