package indexing

import (
	"fmt"

	"nxvk/ops"
	"nxvk/synth/codegen"
	"nxvk/synth/elementwise"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
	"nxvk/synth/scalar"
	"nxvk/synth/strided"
)

// latest carries out indexed_put with many updates on GPUs, without a sort: updates raise a word of
// their slice to their number, so that the word has the last of them. Then that one is written.
type latest struct {
	*scatterJob
	places
	last codegen.Buffer // of each slice, the number of its last update, from 1 on, or 0
}

// mostWords bounds the words of slices for few updates: where there are many more slices than
// updates, a sort of these takes less time and memory.
const mostWords = 1 << 23

// marks reports whether slices have words.
func (j *scatterJob) marks() bool { return j.numSlices() <= max(mostWords, 16*j.count) }

// numSlices is how many slices the tensor has.
func (j *scatterJob) numSlices() int { return strided.Product(j.axes) }

// latestPrograms plan the updates of a tensor that has been copied. last has a word for each slice.
func (j *scatterJob) latestPrograms(in *ops.Instr, types []ops.Type, t *lowering.Target, last codegen.Buffer) []*codegen.Program {
	sizes, _ := apart(types[0].Shape, in.Attrs[0])
	l := &latest{j, placesOf(in, types, ops.Shape(sizes).Strides()), last}
	none := &elementwise.Job{Key: "no updates yet", Dims: []int{j.numSlices()}, Out: strided.Dense(ops.Shape{j.numSlices()}), Result: last,
		Body: func(e *codegen.Emitter, _ []kernel.Value) (kernel.Value, error) { return e.Int(scalar.U32, 0), nil }}
	programs := append(none.Programs(t), l.raise())
	if j.numSlices() < j.count {
		return append(programs, l.takeBySlice())
	}
	return append(programs, l.takeByUpdate())
}

// latestSteps is how many units an invocation has, so that several loads are under way.
const latestSteps = 4

// program is a kernel of so many units, which calls f with each of them.
func (l *latest) program(what string, units int, f func(w *latestWriter, u kernel.Value), buffers ...codegen.Buffer) *codegen.Program {
	p := &codegen.Program{Index: scalar.U32, Local: codegen.GPULocal, Numbers: append([]int{units, l.elements}, l.numbers()...),
		Groups: (units + latestSteps*codegen.GPULocal - 1) / (latestSteps * codegen.GPULocal),
		Key: fmt.Sprintf("scatter latest %s raw=%v %v to %v indices=%d axes=%d slice=%d",
			what, l.raw, l.upType, l.toType, len(l.limits), len(l.axes), len(l.slice))}
	for i, d := range l.axes {
		p.Numbers = append(p.Numbers, d, l.axesAt.Strides[i])
	}
	for i, d := range l.slice {
		p.Numbers = append(p.Numbers, d, l.sliceAt.Strides[i])
	}
	for _, b := range buffers {
		if b.Ref == l.to.Ref {
			b.Bytes = int64(l.size() * b.Elem.Size())
		}
		p.Bytes += min(b.Bytes, int64(units*b.Elem.Size()))
		p.Buffers = append(p.Buffers, b)
	}
	p.Body = func(e *codegen.Emitter) error {
		w := &latestWriter{Emitter: e, job: l}
		w.units = e.NextNumber()
		w.elements = e.NextNumber()
		w.reader = l.reader(e, 0, 1)
		w.axes, w.axesStrides = pairs(e, len(l.axes))
		w.slice, w.sliceStrides = pairs(e, len(l.slice))
		e.ForUnits(w.units, latestSteps, func(u kernel.Value) { f(w, u) })
		return nil
	}
	return p
}

// raise has each update leave its number in the word of its slice, if it is the largest. The device takes the changes of
// one word one after the other. So where slices are few, the last updates come first, and those that come later find a larger
// number and change nothing.
func (l *latest) raise() *codegen.Program {
	what, few := "raise", l.numSlices()*fewSlices <= l.count
	if few {
		what = "raise few"
	}
	return l.program(what, l.count, func(w *latestWriter, u kernel.Value) {
		if !few {
			w.MaxBuffer(2, w.reader.place(u, w.Index(0)), w.Add(u, w.Index(1)))
			return
		}
		number := w.Sub(w.units, u)
		place := w.reader.place(w.Sub(number, w.Index(1)), w.Index(0))
		w.IfThen(w.IsLess(w.LoadAtomic(2, place), number), func() { w.MaxBuffer(2, place, number) })
	}, l.indices, codegen.CheckBuffer(0), with(l.last, lowering.Read|lowering.Write))
}

// fewSlices is how many updates there are for each slice, at least, where slices are few.
const fewSlices = 16

// takeBySlice has each slice take its last update.
func (l *latest) takeBySlice() *codegen.Program {
	return l.program("by slice", l.size(), func(w *latestWriter, u kernel.Value) {
		slice, element := w.DivMod(u, w.elements)
		number := w.Load(0, slice, 1)[0]
		w.IfThen(w.IsLess(w.Index(0), number), func() { w.put(1, w.Sub(number, w.Index(1)), slice, element) })
	}, with(l.last, lowering.Read), with(l.updates, lowering.Read), with(l.to, lowering.Write))
}

// takeByUpdate writes each update that is the last of its slice.
func (l *latest) takeByUpdate() *codegen.Program {
	return l.program("by update", l.count*l.elements, func(w *latestWriter, u kernel.Value) {
		update, element := w.DivMod(u, w.elements)
		slice := w.reader.place(update, w.Index(0))
		w.IfThen(w.IsEqual(w.Load(2, slice, 1)[0], w.Add(update, w.Index(1))), func() { w.put(3, update, slice, element) })
	}, l.indices, codegen.CheckBuffer(0), with(l.last, lowering.Read), with(l.updates, lowering.Read), with(l.to, lowering.Write))
}

// latestWriter writes a kernel of latest.
type latestWriter struct {
	*codegen.Emitter
	job                                    *latest
	reader                                 *placeReader
	units, elements                        kernel.Value
	axes, axesStrides, slice, sliceStrides []kernel.Value
}

// put writes an element of an update. Buffer from has the updates, the next one is the tensor.
func (w *latestWriter) put(from int, update, slice, element kernel.Value) {
	j := w.job
	x := w.Fetch(from, w.Add(w.Mul(update, w.elements), element), 1)[0]
	if !j.raw {
		x = w.Encode(j.toType, w.Cast(w.Decode(j.upType, x), j.upType, j.toType))
	}
	w.Store(from+1, w.Add(w.Offsets(slice, w.axes, w.axesStrides), w.Offsets(element, w.slice, w.sliceStrides)), x)
}
