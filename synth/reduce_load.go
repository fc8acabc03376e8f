package synth

import "nxvk/synth/kernel"

// reducePlace is a source in the kernel.
type reducePlace struct {
	buf           int
	offset        kernel.Value
	kept, reduced []kernel.Value // strides
	lit           []kernel.Value
}

// places takes the parameters of the sources.
func (w *reduceWriter) places() {
	bufs := 0
	for i := range w.job.ins {
		s := &w.job.ins[i]
		p := reducePlace{buf: bufs, offset: w.int(0)}
		switch s.kind {
		case fromLiteral:
			p.lit = w.lit(s.parts())
			w.ins = append(w.ins, p)
			continue
		case fromBuffer:
			bufs++
		}
		if s.offset != 0 {
			p.offset = w.num()
		}
		for range w.job.kept {
			p.kept = append(p.kept, w.num())
		}
		for range w.job.reduced {
			p.reduced = append(p.reduced, w.num())
		}
		w.ins = append(w.ins, p)
	}
}

// reduceSpot is where the sources have what a group of outputs is made of.
type reduceSpot struct {
	at    [][]kernel.Value // by source, then by output; of columns one for all outputs
	point []elementFunc    // by output
}

// spot finds group o of outputs, and loads what is the same for all elements of
// an output.
func (w *reduceWriter) spot(o kernel.Value) *reduceSpot {
	s := &reduceSpot{at: make([][]kernel.Value, len(w.ins))}
	g := w.job.group
	still := make([][]kernel.Value, g)
	for i := range w.ins {
		src, p := &w.job.ins[i], &w.ins[i]
		for k := range g {
			if src.kind == fromLiteral {
				still[k] = append(still[k], p.lit...)
				continue
			}
			at := w.Add(p.offset, w.walk(w.Add(w.Mul(o, w.int(g)), w.int(k)), w.kept, p.kept))
			switch src.way {
			case steady:
				still[k] = append(still[k], w.one(i, at)...)
			case columns, fours:
				at = w.Shr(at, lanesLog)
			}
			s.at[i] = append(s.at[i], at)
			if src.way == columns {
				break
			}
		}
	}
	for _, vs := range still {
		s.point = append(s.point, w.job.point(w.emitter, vs))
	}
	return s
}

// one is what a source gives at an index.
func (w *reduceWriter) one(i int, at kernel.Value) []kernel.Value {
	if w.job.ins[i].kind == fromIndex {
		return []kernel.Value{at}
	}
	return w.fetch(w.ins[i].buf, at, 1)
}

// raw gives what the sources have for element r, output by output, of what is not
// the same for all elements.
func (w *reduceWriter) raw(s *reduceSpot, r kernel.Value) [][]kernel.Value {
	g := w.job.group
	full := make([][]kernel.Value, g)
	for i := range w.ins {
		src, p := &w.job.ins[i], &w.ins[i]
		switch src.way {
		case steady:
		case columns:
			n := src.parts()
			vs := w.fetch(p.buf, w.Add(s.at[i][0], w.walk(r, w.reduced, p.reduced)), g)
			for k := range g {
				full[k] = append(full[k], vs[k*n:(k+1)*n]...)
			}
		default:
			step := w.walk(r, w.reduced, p.reduced)
			for k := range g {
				at := s.at[i][k]
				if src.way == fours {
					at = w.Shl(at, lanesLog)
				}
				full[k] = append(full[k], w.one(i, w.Add(at, step))...)
			}
		}
	}
	return full
}

// rawFour gives what the sources have for a four, by lane and then by output.
func (w *reduceWriter) rawFour(s *reduceSpot, four kernel.Value) [][][]kernel.Value {
	r := w.Mul(four, w.int(lanes))
	full := make([][][]kernel.Value, lanes)
	if !w.together() {
		for lane := range full {
			full[lane] = w.raw(s, w.Add(r, w.int(lane)))
		}
		return full
	}
	for lane := range full {
		full[lane] = make([][]kernel.Value, 1)
	}
	for i := range w.ins {
		src, p := &w.job.ins[i], &w.ins[i]
		if src.way == steady {
			continue
		}
		n := src.parts()
		var vs []kernel.Value
		switch {
		case src.way != fours:
			for lane := range lanes {
				vs = append(vs, w.one(i, w.Add(s.at[i][0], w.walk(w.Add(r, w.int(lane)), w.reduced, p.reduced)))...)
			}
		case len(w.reduced) == 1:
			vs = w.fetch(p.buf, w.Add(s.at[i][0], four), lanes)
		default:
			// The sum is no less than 0, though the second of the two may be.
			at := w.Add(w.Shl(s.at[i][0], lanesLog), w.walk(r, w.reduced, p.reduced))
			vs = w.fetch(p.buf, w.Shr(at, lanesLog), lanes)
		}
		for lane := range lanes {
			full[lane][0] = append(full[lane][0], vs[lane*n:(lane+1)*n]...)
		}
	}
	return full
}

// elements makes what the folds take of what has been loaded for some elements,
// element by element and then output by output.
func (w *reduceWriter) elements(s *reduceSpot, raw [][][]kernel.Value) []kernel.Value {
	made := make([][][]kernel.Value, w.job.group)
	for k := range made {
		full := make([][]kernel.Value, len(raw))
		for i := range raw {
			full[i] = raw[i][k]
		}
		var err error
		if made[k], err = s.point[k](full); err != nil {
			w.fail(err)
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

// together reports whether a source has fours of elements that are loaded at once.
func (w *reduceWriter) together() bool {
	for i := range w.job.ins {
		if w.job.ins[i].way == fours {
			return true
		}
	}
	return false
}

// lanesLog is the logarithm of lanes.
const lanesLog = 2
