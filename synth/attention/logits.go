package attention

import (
	"nxvk/synth/attention/tile"
	"nxvk/synth/codegen"
	"nxvk/synth/fused"
	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// logits computes the expressions between the first product and the softmax.
type logits struct {
	*writer
	*tile.Places
}

// newLogits takes the parameters of the sources, whose buffers follow so many others.
func (w *writer) newLogits(buffer int) *logits {
	return &logits{w, tile.NewPlaces(w.Emitter, w.job.space, buffer)}
}

// of has the sources read for a matrix.
func (l *logits) of(number kernel.Value) *logits {
	l.Of(number)
	return l
}

// at computes the logits of the invocation's scores with a block of keys: -Inf beyond the last key.
func (l *logits) at(scores []kernel.Value, from kernel.Value) ([]kernel.Value, error) {
	var inside []kernel.Value
	var keyAt [][]kernel.Value
	last := l.Sub(l.keys, l.Index(1))
	for k := range keysPer {
		key := l.Add(from, l.Add(l.X, l.Index(k*across)))
		inside = append(inside, l.IsLess(key, l.keys))
		keyAt = append(keyAt, l.Split(columns, l.Min(key, last)))
	}
	typ := l.job.scores.Outs[0].Type.DType
	loaded := make([]map[int][]kernel.Value, len(l.List)) // what sources have, by key
	for s := range loaded {
		loaded[s] = map[int][]kernel.Value{}
	}
	start := l.Split(rows, l.Index(0))
	for s := range loaded { // the same for all queries
		for k := range keysPer {
			if src := &l.job.space.Sources[s]; src.HasView() && tile.Zero(src.Along[rows]) {
				l.load(s, k, start, keyAt, loaded)
			}
		}
	}
	var failed error
	points := l.Each(l.job.perRow, scores, func(i kernel.Value, scores []kernel.Value) []kernel.Value {
		row := l.Add(l.first, l.Add(l.Mul(l.Y, l.Index(l.job.perRow)), i))
		rowAt := l.Split(rows, l.Min(row, l.Sub(l.queries, l.Index(1))))
		values, err := fused.Evaluate(l.job.dag, l.Emitter, l.job.dag.Outs[0], keysPer, func(s, k int) []kernel.Value {
			if l.job.space.Sources[s].Kind == codegen.FromContraction {
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
	src := &l.job.space.Sources[s]
	if src.Kind == codegen.FromLiteral {
		return l.List[s].Literals
	}
	if tile.Zero(src.Along[columns]) {
		k = 0
	}
	if vs, ok := loaded[s][k]; ok {
		return vs
	}
	vs := l.At(s, rowAt, keyAt[k])
	loaded[s][k] = vs
	return vs
}
