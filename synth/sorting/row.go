package sorting

import (
	"fmt"

	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
	"nxvk/synth/scalar"
	"nxvk/synth/strided"
)

// rowJob puts every tile of a row in order, all digits in one kernel, and keeps
// the first elements of each. That is a sort where a row is one tile. Where few
// elements are asked for it is done again with what has been kept, until that is
// one tile.
type rowJob struct {
	*sortJob
	shape  tileShape
	length int // of a row before the step
	tiles  int
	kept   int // of a tile
	last   bool
	first  bool
	source []codegen.Buffer // elements and, after the first step, their positions
	target []codegen.Buffer
}

// The rows that a workgroup sorts: longer than a network is good for, and what a row may
// keep of each tile so that steps make it shorter. The rest that groups leave is short, so a
// step may halve it.
const (
	leastRow   = 192
	keptPart   = 8
	sourcePart = 2
)

// inRows reports whether a workgroup sorts a row, or a tile of a row if little of the row
// is kept.
func (j *sortJob) inRows(s tileShape) bool {
	part := keptPart
	if j.source != nil {
		part = sourcePart
	}
	return j.length > leastRow && (j.length <= s.size() || j.keep <= s.size()/part)
}

// rowPrograms are the steps. Temporaries are added to the list.
func (j *sortJob) rowPrograms(s tileShape, temps *[]int64) []*codegen.Program {
	var programs []*codegen.Program
	step := &rowJob{sortJob: j, shape: s, length: j.length, first: j.positions == nil, source: []codegen.Buffer{j.operand()}}
	if !step.first {
		step.source = append(step.source, with(*j.positions, lowering.Read))
	}
	for {
		step.tiles = (step.length + s.size() - 1) / s.size()
		step.last = step.tiles == 1
		if step.last {
			step.kept, step.target = j.keep, j.results()
			step.shape.items = (step.length + s.local() - 1) / s.local()
			return append(programs, step.program())
		}
		rest := step.length - (step.tiles-1)*s.size()
		next := *step
		next.first, step.kept = false, j.keep
		next.length = (step.tiles-1)*j.keep + min(j.keep, rest)
		step.target, next.source = nil, nil
		for _, elem := range []kernel.Elem{j.between(), kernel.U32} {
			b := codegen.Buffer{Ref: lowering.Ref{Kind: lowering.Temp, Index: len(*temps)}, Elem: elem, Bytes: int64(strided.Product(j.rows) * next.length * elem.Size())}
			*temps = append(*temps, b.Bytes)
			step.target, next.source = append(step.target, with(b, lowering.Write)), append(next.source, with(b, lowering.Read))
		}
		programs = append(programs, step.program())
		step = &next
	}
}

// with is the buffer with another access.
func with(b codegen.Buffer, a lowering.Access) codegen.Buffer {
	b.Access = a
	return b
}

// program is one step.
func (j *rowJob) program() *codegen.Program {
	own := *j
	units, next := strided.Product(j.rows)*j.tiles, 0
	if !j.last {
		next = (j.tiles-1)*j.kept + min(j.kept, j.length-(j.tiles-1)*j.shape.size())
	}
	p := &codegen.Program{Local: uint32(j.shape.local()), Index: scalar.U32, Groups: units,
		Buffers: append(append([]codegen.Buffer{}, j.source...), j.target...),
		Numbers: append([]int{units, j.tiles, j.length, j.kept, next}, j.numbers()...),
		Key:     fmt.Sprintf("sort rows %+v %s first=%v last=%v", j.shape, j.describe(), j.first, j.last),
		Body:    func(e *codegen.Emitter) error { writeRow(&own, e); return nil }}
	for _, b := range p.Buffers {
		p.Bytes += b.Bytes
	}
	p.Flops = int64(strided.Product(j.rows) * j.length)
	return p
}

// rowWriter writes the kernel of a step.
type rowWriter struct {
	*rankWriter
	job                *rowJob
	r, tile            kernel.Value
	length, kept, next kernel.Value
	first, have        kernel.Value // element of the row, and elements, of the tile
	places, inside     []kernel.Value
}

func writeRow(j *rowJob, e *codegen.Emitter) {
	w := &rowWriter{job: j}
	units, tiles := e.NextNumber(), e.NextNumber()
	w.length, w.kept, w.next = e.NextNumber(), e.NextNumber(), e.NextNumber()
	w.rankWriter = j.shape.writer(j.sortJob, e, true)
	group, zero, size := e.Group(), e.Index(0), e.Index(j.shape.size())
	active := e.Compare(scalar.Lt, group, units) // a group beyond the last tile has no elements
	w.r, w.tile = e.DivMod(e.Select(active, group, zero), tiles)
	w.first = e.Mul(w.tile, size)
	rest := e.Sub(w.length, w.first)
	w.have = e.Select(active, e.Select(e.Compare(scalar.Lt, rest, size), rest, size), zero)
	for k := range j.shape.items {
		w.places = append(w.places, w.element(k))
		w.inside = append(w.inside, e.Compare(scalar.Lt, w.places[k], w.have))
	}
	w.store(w.sorted(w.load()))
}

// load gives the elements and, where they are asked for, their positions.
func (w *rowWriter) load() (all []kernel.Value) {
	base, start := w.row(w.r), w.Mul(w.r, w.length)
	var positions []kernel.Value
	for k, place := range w.places {
		i := w.Add(w.first, w.Select(w.inside[k], place, w.Index(0)))
		i = w.Select(w.Compare(scalar.Lt, i, w.length), i, w.Index(0))
		if w.job.first {
			x := w.Fetch(0, w.Add(base, w.Mul(i, w.step)), 1)[0]
			all, positions = append(all, w.Bitcast(x, w.job.keyType())), append(positions, i)
			continue
		}
		all = append(all, w.Load(0, w.Add(start, i), 1)[0])
		positions = append(positions, w.Load(1, w.Add(start, i), 1)[0])
	}
	if w.job.travels() {
		all = append(all, positions...)
	}
	return all
}

// travels reports whether positions travel with the elements.
func (j *rowJob) travels() bool { return j.indices != nil || !j.last }

// sorted puts elements, and positions behind them, in order: digit after digit.
func (w *rowWriter) sorted(all []kernel.Value) []kernel.Value {
	bits := (w.job.keyBits() + tileDigit - 1) / tileDigit * tileDigit
	n := len(w.places)
	return w.Loop(w.Index(0), w.Index(bits), w.Index(tileDigit), all, func(shift kernel.Value, all []kernel.Value) []kernel.Value {
		digits := make([]kernel.Value, n)
		for k, v := range all[:n] {
			// Elements beyond the last one stay there.
			digits[k] = w.Select(w.inside[k], w.digit(v, shift), w.Index(1<<tileDigit-1))
		}
		places, _, _ := w.order(digits, nil)
		out := w.exchange(all[:n], places, w.places)
		if len(all) > n {
			out = append(out, w.exchange(all[n:], places, w.places)...)
		}
		return out
	})
}

// store writes the first elements and positions of the tile.
func (w *rowWriter) store(all []kernel.Value) {
	n := len(w.places)
	out := len(w.job.source)
	for k, place := range w.places {
		w.If(w.inside[k], func() []kernel.Value {
			if !w.job.last {
				w.If(w.Compare(scalar.Lt, place, w.kept), func() []kernel.Value {
					at := w.Add(w.Mul(w.r, w.next), w.Add(w.Mul(w.tile, w.kept), place))
					w.Store(out, at, all[k])
					w.Store(out+1, at, all[n+k])
					return nil
				}, nil)
				return nil
			}
			buf := out
			if w.job.values != nil {
				w.result(buf, w.r, place, all[k], false)
				buf++
			}
			if w.job.indices != nil {
				w.result(buf, w.r, place, all[n+k], true)
			}
			return nil
		}, nil)
	}
}
