package sorting

import (
	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// passWriter writes the kernels of one pass over long rows.
type passWriter struct {
	*rankWriter
	job         *digitJob
	tiles       kernel.Value
	shift       kernel.Value
	active      kernel.Value // whether there is such a tile
	r, tile     kernel.Value
	base, start kernel.Value // of the row, in the operand and in temporaries
	first       kernel.Value // element of the row in the tile
	have        kernel.Value // elements of the tile
}

// newPassWriter begins a kernel that counts, or moves.
func newPassWriter(j *digitJob, e *codegen.Emitter, move bool) *passWriter {
	units, tiles, shift := e.NextNumber(), e.NextNumber(), e.NextNumber()
	w := &passWriter{rankWriter: j.shape.writer(j.sortJob, e, move), job: j, tiles: tiles, shift: shift}
	// Groups beyond the last tile take part in the barriers, with no elements.
	group := e.Group()
	w.active = e.Compare(scalar.Lt, group, units)
	w.r, w.tile = e.DivMod(e.Select(w.active, group, e.Index(0)), tiles)
	w.base, w.start = w.row(w.r), e.Mul(w.r, w.length)
	w.first = e.Mul(w.tile, e.Index(j.shape.size()))
	rest := e.Sub(w.length, w.first)
	size := e.Index(j.shape.size())
	w.have = e.Select(w.active, e.Select(e.Compare(scalar.Lt, rest, size), rest, size), e.Index(0))
	return w
}

// load gives the element at a place in the tile, or any other beyond the last.
func (w *passWriter) load(place kernel.Value) kernel.Value {
	i := w.Add(w.first, place)
	i = w.Select(w.Compare(scalar.Lt, place, w.have), i, w.Index(0))
	if w.job.pass > 0 {
		return w.Load(0, w.Add(w.start, i), 1)[0]
	}
	x := w.Fetch(0, w.Add(w.base, w.Mul(i, w.step)), 1)[0]
	return w.Bitcast(x, w.job.keyType())
}

// total is the place of the total of a digit.
func (w *passWriter) total(digit kernel.Value) kernel.Value {
	return w.Add(w.Shl(w.r, tileDigit), digit)
}

// counted is the place of the count of a digit in the tile.
func (w *passWriter) counted(digit kernel.Value) kernel.Value {
	return w.Add(w.Mul(w.total(digit), w.tiles), w.tile)
}

// count counts the digits of a tile.
func (w *passWriter) count() {
	var places, values []kernel.Value
	for k := range w.shape.items {
		places = append(places, w.Add(w.Index(k*w.shape.local()), w.Invocation()))
		values = append(values, w.load(places[k]))
	}
	w.clear(1 << tileDigit)
	for k, v := range values {
		w.If(w.Compare(scalar.Lt, places[k], w.have), func() []kernel.Value {
			w.AddShared(w.words, w.digit(v, w.shift), w.Index(1))
			return nil
		}, nil)
	}
	w.Barrier()
	w.If(w.active, func() []kernel.Value {
		for d := range w.shape.digits() {
			w.Store(1, w.counted(w.own(d)), w.LoadShared(w.words, w.own(d)))
		}
		return nil
	}, nil)
}

// move puts the elements of a tile in their places of the row.
func (w *passWriter) move(b tileBuffers) {
	var digits, values, others []kernel.Value
	for k := range w.shape.items {
		place := w.rankWriter.element(k)
		values = append(values, w.load(place))
		// Elements beyond the last one stay there.
		digit := w.Select(w.Compare(scalar.Lt, place, w.have), w.digit(values[k], w.shift), w.Index(1<<tileDigit-1))
		digits = append(digits, digit)
	}
	for d := range w.shape.digits() {
		others = append(others, w.Load(b.totals, w.total(w.own(d)), 1)[0])
	}
	places, starts, before := w.order(digits, others)
	for d := range w.shape.digits() {
		before[d] = w.Add(before[d], w.Load(b.counted, w.counted(w.own(d)), 1)[0])
		w.StoreShared(w.bases, w.own(d), w.Sub(before[d], starts[d]))
	}
	at := make([]kernel.Value, w.shape.items)
	for k := range at {
		at[k] = w.Add(w.Index(k*w.shape.local()), w.Invocation())
	}
	sorted := w.exchange(values, places, at)
	ranks := make([]kernel.Value, len(at))
	for k, v := range sorted {
		ranks[k] = w.Add(w.LoadShared(w.bases, w.digit(v, w.shift)), at[k])
	}
	out := b.out
	if !w.job.last || w.job.sortJob.values != nil {
		w.put(out, at, ranks, sorted, false)
		out++
	}
	if w.job.indices != nil {
		w.put(out, at, ranks, w.exchange(w.indices(b), places, at), true)
	}
}

// indices are the positions in the row of the items.
func (w *passWriter) indices(b tileBuffers) []kernel.Value {
	out := make([]kernel.Value, w.shape.items)
	for k := range out {
		place := w.rankWriter.element(k)
		out[k] = w.Add(w.first, place)
		if w.job.pass > 0 {
			i := w.Select(w.Compare(scalar.Lt, place, w.have), out[k], w.Index(0))
			out[k] = w.Load(b.positions, w.Add(w.start, i), 1)[0]
		}
	}
	return out
}

// put stores elements, or indices, by their ranks.
func (w *passWriter) put(buf int, at, ranks, values []kernel.Value, indices bool) {
	for k, v := range values {
		w.If(w.Compare(scalar.Lt, at[k], w.have), func() []kernel.Value {
			if w.job.last {
				w.result(buf, w.r, ranks[k], v, indices)
			} else {
				w.Store(buf, w.Add(w.start, ranks[k]), v)
			}
			return nil
		}, nil)
	}
}

// result stores an element as it is stored, or an index, as the one of the given
// rank, where the results have so many.
func (w *rankWriter) result(buf int, r, rank, v kernel.Value, index bool) {
	w.If(w.Compare(scalar.Lt, rank, w.keep), func() []kernel.Value {
		j := w.sortPlaces.job
		if index {
			v = w.Encode(j.index, w.Convert(v, codegen.WideType(j.index)))
		} else {
			v = w.Bitcast(v, j.values.Elem.Type())
		}
		w.Store(buf, w.Add(w.Offsets(r, w.dims, w.to), w.Mul(rank, w.next)), v)
		return nil
	}, nil)
}
