package attention

import (
	"nxvk/synth/codegen"
	"nxvk/synth/fused"
	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// logits computes the expressions between the first product and the softmax.
type logits struct {
	*writer
	number  kernel.Value           // of the matrix
	dims    [groups][]kernel.Value // but for the first of a group
	sources []place
}

// place is a source in a kernel.
type place struct {
	buffer   int
	base     kernel.Value // its place for the matrix
	strides  [groups][]kernel.Value
	literals []kernel.Value
}

// newLogits takes the parameters of the sources, whose buffers follow so many others.
func (w *writer) newLogits(buffer int) *logits {
	l := &logits{writer: w}
	for g := range groups {
		for i := range w.job.dimsOf(g) {
			if i > 0 {
				l.dims[g] = append(l.dims[g], w.NextNumber())
			}
		}
	}
	for i := range w.job.sources {
		s := &w.job.sources[i]
		p := place{buffer: buffer}
		switch {
		case s.Kind == codegen.FromLiteral:
			p.literals = w.NextLiteral(codegen.PartsOf(s.Lit.As))
		case s.HasView():
			p.base = w.NextNumber()
			for g := range groups {
				for _, n := range s.strides[g] {
					stride := w.Index(n)
					if strideName(n) == "n" {
						stride = w.NextNumber()
					}
					p.strides[g] = append(p.strides[g], stride)
				}
			}
			if s.Kind == codegen.FromBuffer {
				buffer++
			}
		}
		l.sources = append(l.sources, p)
	}
	return l
}

// of has the sources read for a matrix.
func (l *logits) of(number kernel.Value) *logits {
	l.number = number
	for i := range l.sources {
		if l.job.sources[i].HasView() {
			p := &l.sources[i]
			p.base = l.Add(p.base, l.distance(p, batch, l.coordinates(batch, number)))
		}
	}
	return l
}

// coordinates splits an index of a group.
func (l *logits) coordinates(g int, i kernel.Value) []kernel.Value {
	if len(l.job.dimsOf(g)) == 0 {
		return nil
	}
	return l.Coordinates(i, l.dims[g])
}

func (l *logits) distance(p *place, g int, at []kernel.Value) kernel.Value {
	sum := l.Index(0)
	for d, c := range at {
		sum = l.Add(sum, l.Mul(c, p.strides[g][d]))
	}
	return sum
}

// at computes the logits of the invocation's scores with a block of keys: -Inf beyond the last key.
func (l *logits) at(scores []kernel.Value, from kernel.Value) ([]kernel.Value, error) {
	var inside []kernel.Value
	var keyAt [][]kernel.Value
	last := l.Sub(l.keys, l.Index(1))
	for k := range keysPer {
		key := l.Add(from, l.Add(l.X, l.Index(k*across)))
		inside = append(inside, l.IsLess(key, l.keys))
		keyAt = append(keyAt, l.coordinates(columns, l.Min(key, last)))
	}
	typ := l.job.scores.Outs[0].Type.DType
	loaded := make([]map[int][]kernel.Value, len(l.sources)) // what sources have, by key
	for s := range loaded {
		loaded[s] = map[int][]kernel.Value{}
	}
	start := l.coordinates(rows, l.Index(0))
	for s := range loaded { // the same for all queries
		for k := range keysPer {
			if src := &l.job.sources[s]; src.HasView() && zero(src.strides[rows]) {
				l.load(s, k, start, keyAt, loaded)
			}
		}
	}
	var failed error
	points := l.Each(l.job.perRow, scores, func(i kernel.Value, scores []kernel.Value) []kernel.Value {
		row := l.Add(l.first, l.Add(l.Mul(l.Y, l.Index(l.job.perRow)), i))
		rowAt := l.coordinates(rows, l.Min(row, l.Sub(l.queries, l.Index(1))))
		values, err := fused.Evaluate(l.job.dag, l.Emitter, l.job.dag.Outs[0], keysPer, func(s, k int) []kernel.Value {
			if l.job.sources[s].Kind == codegen.FromContraction {
				return l.EncodeParts(typ, []kernel.Value{scores[k]})
			}
			return l.load(s, k, rowAt, keyAt, loaded)
		})
		if err != nil {
			failed = err
			return scores
		}
		points := make([]kernel.Value, keysPer)
		for k, v := range values {
			points[k] = l.Select(inside[k], v[0], l.Const(scalar.F32, 0xff800000))
		}
		return points
	})
	return points, failed
}

// load is what source s has for a query and key k. It is loaded once where it is the same for
// several.
func (l *logits) load(s, k int, rowAt []kernel.Value, keyAt [][]kernel.Value, loaded []map[int][]kernel.Value) []kernel.Value {
	src, p := &l.job.sources[s], &l.sources[s]
	if src.Kind == codegen.FromLiteral {
		return p.literals
	}
	if zero(src.strides[columns]) {
		k = 0
	}
	if vs, ok := loaded[s][k]; ok {
		return vs
	}
	at := l.Add(l.Add(p.base, l.distance(p, rows, rowAt)), l.distance(p, columns, keyAt[k]))
	vs := []kernel.Value{at}
	if src.Kind == codegen.FromBuffer {
		vs = l.Fetch(p.buffer, at, 1)
	}
	loaded[s][k] = vs
	return vs
}

// zero reports whether all strides are 0.
func zero(strides []int) bool {
	for _, n := range strides {
		if n != 0 {
			return false
		}
	}
	return true
}
