package indexing

import (
	"fmt"

	"nxvk/ops"
	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
	"nxvk/synth/scalar"
)

// tally carries out indexed_add with many updates of few elements on GPUs, without a sort: the updates are
// dealt out in parts, an invocation has an element of the tensor and a part, and adds those updates of
// the part that are of its element, in their order. Then the sums of the parts are added to the
// element, in the order of the parts.
type tally struct {
	*segments
	places
	sums  codegen.Buffer // by part and element
	parts int
	each  int // updates of a part: whole workgroups of them
}

const (
	mostTallied  = 1 << 26 // updates times elements of the tensor
	tallyParts   = 64
	tallyUnroll  = 4
	tallySummers = 8 // sums of parts that are loaded together
)

// tallies reports whether the elements are few enough.
func (j *scatterJob) tallies() bool { return j.add && j.size()*j.count <= mostTallied }

// tallyPrograms plan the updates of a tensor that has been copied. temp makes a temporary.
func (s *segments) tallyPrograms(in *ops.Instr, types []ops.Type, temp func(elem kernel.Elem, n int) codegen.Buffer) []*codegen.Program {
	sizes, _ := apart(types[0].Shape, in.Attrs[0])
	y := &tally{segments: s, places: placesOf(in, types, ops.Shape(sizes).Strides())}
	y.parts = min(tallyParts, (s.count+rankLocal-1)/rankLocal)
	y.each = (s.count + y.parts*rankLocal - 1) / (y.parts * rankLocal) * rankLocal
	y.parts = (s.count + y.each - 1) / y.each
	y.sums = temp(s.toElem(), y.parts*s.size())
	return []*codegen.Program{y.partsProgram(), y.sumProgram()}
}

// partsProgram sums the updates of each part.
func (y *tally) partsProgram() *codegen.Program {
	what := fmt.Sprintf("parts indices=%d scalars=%v", len(y.limits), y.elements == 1)
	p := y.program(what, y.size(), y.count, nil, y.indices, codegen.CheckBuffer(0), with(y.updates, lowering.Read), with(y.sums, lowering.Write))
	blocks := p.Groups
	p.Local, p.Groups = rankLocal, blocks*y.parts
	p.Numbers = append(append(p.Numbers, blocks, y.each, y.parts), y.numbers()...)
	p.Flops = int64(y.count) * int64(y.size())
	p.Body = func(e *codegen.Emitter) error {
		w, units, err := y.writer(e)
		if err != nil {
			return err
		}
		blocks, each, parts := e.NextNumber(), e.NextNumber(), e.NextNumber()
		t := &tallyWriter{segmentWriter: w, reader: y.reader(e, 0, 1)}
		part, block := e.DivMod(e.Group(), blocks)
		u := e.Add(e.Mul(block, e.Index(rankLocal)), e.Invocation())
		active := e.And2(e.IsLess(u, units), e.IsLess(part, parts))
		sum := t.sum(e.Mul(e.Min(part, e.Sub(parts, e.Index(1))), each), each, u)
		e.IfThen(active, func() { e.Store(3, e.Add(e.Mul(part, units), u), e.Encode(y.toType, sum)) })
		return nil
	}
	return p
}

// tallyWriter writes the sums of parts.
type tallyWriter struct {
	*segmentWriter
	reader *placeReader
}

// sum adds the updates from first on that are of element u, and stages a workgroup of them at a time: where
// slices are scalars, their values, too.
func (w *tallyWriter) sum(first, each, u kernel.Value) kernel.Value {
	j := w.job
	slice, element := w.DivMod(u, w.elements)
	zero, own := zeroOf(w.Emitter, j.toType), w.Invocation()
	slots, values := w.Shared(scalar.U32, rankLocal), -1
	if j.elements == 1 {
		values = w.Shared(codegen.WideType(j.toType), rankLocal)
	}
	return w.Loop(w.Index(0), each, w.Index(rankLocal), []kernel.Value{zero}, func(at kernel.Value, sum []kernel.Value) []kernel.Value {
		begin := w.Add(first, at)
		i := w.Add(begin, own)
		there := w.IsLess(i, w.count)
		i = w.Select(there, i, w.Index(0))
		w.StoreShared(slots, own, w.Select(there, w.reader.place(i, w.Index(0)), w.Index(noSlice)))
		if j.elements == 1 {
			w.StoreShared(values, own, w.value(i))
		}
		w.Barrier()
		sum = w.Loop(w.Index(0), w.Index(rankLocal), w.Index(tallyUnroll), sum, func(k kernel.Value, sum []kernel.Value) []kernel.Value {
			x := sum[0]
			for i := range tallyUnroll {
				n := w.Add(k, w.Index(i))
				mine := w.IsEqual(w.LoadShared(slots, n), slice)
				if j.elements == 1 {
					x = w.plus(x, w.Select(mine, w.LoadShared(values, n), zero))
					continue
				}
				x = w.If(mine, func() []kernel.Value {
					return []kernel.Value{w.plus(x, w.value(w.Add(w.Mul(w.Add(begin, n), w.elements), element)))}
				}, func() []kernel.Value { return []kernel.Value{x} })[0]
			}
			return []kernel.Value{x}
		})
		w.Barrier()
		return sum
	})[0]
}

// value is an element of the updates, in the type that is summed.
func (w *tallyWriter) value(i kernel.Value) kernel.Value {
	return w.Cast(w.Decode(w.job.upType, w.Fetch(2, i, 1)[0]), w.job.upType, w.job.toType)
}

// sumProgram adds the sums of the parts to the tensor.
func (y *tally) sumProgram() *codegen.Program {
	p := y.program("sums of parts", y.size(), y.count, nil, append([]codegen.Buffer{with(y.sums, lowering.Read)}, y.tensor()...)...)
	p.Numbers = append(p.Numbers, y.parts)
	p.Bytes = int64(y.parts*y.size()*y.toElem().Size()) + 2*int64(y.size()*y.to.Elem.Size())
	p.Body = func(e *codegen.Emitter) error {
		w, units, err := y.writer(e)
		if err != nil {
			return err
		}
		parts := e.NextNumber()
		u := e.Add(e.Mul(e.Group(), e.Index(e.Local)), e.Invocation())
		e.IfThen(e.IsLess(u, units), func() {
			slice, element := e.DivMod(u, w.elements)
			w.element = element
			zero := zeroOf(e, y.toType)
			sum := e.Loop(e.Index(0), parts, e.Index(tallySummers), []kernel.Value{zero}, func(at kernel.Value, sum []kernel.Value) []kernel.Value {
				var xs [tallySummers]kernel.Value
				for k := range xs {
					part := e.Add(at, e.Index(k))
					there := e.IsLess(part, parts)
					x := e.Decode(y.toType, e.Fetch(0, e.Add(e.Mul(e.Select(there, part, e.Index(0)), units), u), 1)[0])
					xs[k] = e.Select(there, x, zero)
				}
				all := sum[0]
				for _, x := range xs {
					all = w.plus(all, x)
				}
				return []kernel.Value{all}
			})[0]
			(&levelWriter{segmentWriter: w, tensor: 1}).put(runState{slice: slice, sum: sum})
		})
		return nil
	}
	return p
}
