package reduction

import (
	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/strided"
)

// Place is a source in the kernel.
type Place struct {
	Buf           int
	offset        kernel.Value
	kept, Reduced []kernel.Value // strides
	lit           []kernel.Value
}

// places takes the parameters of the sources.
func (w *Writer) places() {
	bufs := 0
	for i := range w.Job.Ins {
		s := &w.Job.Ins[i]
		p := Place{Buf: bufs, offset: w.Index(0)}
		switch s.Kind {
		case codegen.FromLiteral:
			p.lit = w.NextLiteral(s.Parts())
			w.Ins = append(w.Ins, p)
			continue
		case codegen.FromBuffer:
			bufs++
		}
		if s.Offset != 0 {
			p.offset = w.NextNumber()
		}
		for range w.Job.Kept {
			p.kept = append(p.kept, w.NextNumber())
		}
		for range w.Job.Reduced {
			p.Reduced = append(p.Reduced, w.NextNumber())
		}
		w.Ins = append(w.Ins, p)
	}
}

// Position is the place of a group of outputs in each source.
type Position struct {
	At    [][]kernel.Value // by source, then by output; of columns one for all outputs
	point []ElementFunc    // by output
}

// Locate finds group o of outputs, and loads the sources that are the same for all
// elements of an output.
func (w *Writer) Locate(o kernel.Value) *Position {
	s := &Position{At: make([][]kernel.Value, len(w.Ins))}
	g := w.Job.Group
	still := make([][]kernel.Value, g)
	for i := range w.Ins {
		src, p := &w.Job.Ins[i], &w.Ins[i]
		for k := range g {
			if src.Kind == codegen.FromLiteral {
				still[k] = append(still[k], p.lit...)
				continue
			}
			at := w.Add(p.offset, w.Offsets(w.Add(w.Mul(o, w.Index(g)), w.Index(k)), w.kept, p.kept))
			switch src.Way {
			case steady:
				still[k] = append(still[k], w.One(i, at)...)
			case columns, Fours:
				at = w.Shr(at, ComponentsLog)
			}
			s.At[i] = append(s.At[i], at)
			if src.Way == columns {
				break
			}
		}
	}
	for _, vs := range still {
		s.point = append(s.point, w.Job.Point(w.Emitter, vs))
	}
	return s
}

// One loads one element of a source.
func (w *Writer) One(i int, at kernel.Value) []kernel.Value {
	if w.Job.Ins[i].Kind == codegen.FromIndex {
		return []kernel.Value{at}
	}
	return w.Fetch(w.Ins[i].Buf, at, 1)
}

// raw loads element r of the sources that differ between elements, output by
// output.
func (w *Writer) raw(s *Position, r kernel.Value) [][]kernel.Value {
	g := w.Job.Group
	full := make([][]kernel.Value, g)
	for i := range w.Ins {
		src, p := &w.Job.Ins[i], &w.Ins[i]
		switch src.Way {
		case steady:
		case columns:
			n := src.Parts()
			vs := w.Fetch(p.Buf, w.Add(s.At[i][0], w.Offsets(r, w.Reduced, p.Reduced)), g)
			for k := range g {
				full[k] = append(full[k], vs[k*n:(k+1)*n]...)
			}
		default:
			step := w.Offsets(r, w.Reduced, p.Reduced)
			for k := range g {
				at := s.At[i][k]
				if src.Way == Fours {
					at = w.Shl(at, ComponentsLog)
				}
				full[k] = append(full[k], w.One(i, w.Add(at, step))...)
			}
		}
	}
	return full
}

// rawFour loads a four of the sources, by component and then by output.
func (w *Writer) rawFour(s *Position, four kernel.Value) [][][]kernel.Value {
	full := make([][][]kernel.Value, strided.Components)
	if !w.together() {
		for component := range full {
			full[component] = w.raw(s, w.Element(four, w.Index(component)))
		}
		return full
	}
	r := w.Mul(four, w.Index(strided.Components))
	for component := range full {
		full[component] = make([][]kernel.Value, 1)
	}
	for i := range w.Ins {
		src, p := &w.Job.Ins[i], &w.Ins[i]
		if src.Way == steady {
			continue
		}
		n := src.Parts()
		var vs []kernel.Value
		switch {
		case src.Way != Fours:
			for component := range strided.Components {
				vs = append(vs, w.One(i, w.Add(s.At[i][0], w.Offsets(w.Add(r, w.Index(component)), w.Reduced, p.Reduced)))...)
			}
		case len(w.Reduced) == 1:
			vs = w.Fetch(p.Buf, w.Add(s.At[i][0], four), strided.Components)
		default:
			// The sum is no less than 0, though the second of the two may be.
			at := w.Add(w.Shl(s.At[i][0], ComponentsLog), w.Offsets(r, w.Reduced, p.Reduced))
			vs = w.Fetch(p.Buf, w.Shr(at, ComponentsLog), strided.Components)
		}
		for component := range strided.Components {
			full[component][0] = append(full[component][0], vs[component*n:(component+1)*n]...)
		}
	}
	return full
}

// elements computes, from the values loaded for some elements, the elements that
// the folds take: element by element and then output by output.
func (w *Writer) elements(s *Position, raw [][][]kernel.Value) []kernel.Value {
	made := make([][][]kernel.Value, w.Job.Group)
	for k := range made {
		full := make([][]kernel.Value, len(raw))
		for i := range raw {
			full[i] = raw[i][k]
		}
		var err error
		if made[k], err = s.point[k](full); err != nil {
			w.Fail(err)
			return nil
		}
	}
	var xs []kernel.Value
	for i := range raw {
		for k := range made {
			xs = append(xs, made[k][i]...)
		}
	}
	return xs
}

// together reports whether fours of a source are loaded at once.
func (w *Writer) together() bool {
	for i := range w.Job.Ins {
		if w.Job.Ins[i].Way == Fours {
			return true
		}
	}
	return false
}

// ComponentsLog is the logarithm of components.
const ComponentsLog = 2
