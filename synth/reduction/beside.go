package reduction

import (
	"slices"

	"nxvk/ops"
	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
	"nxvk/synth/scalar"
	"nxvk/synth/strided"
)

// The schedule of a reduction follows from the shape, as a dense tensor would lie. A fusion may read a tensor that lies
// in another way, such as one that is transposed. The order stays, and the invocations are laid out anew, so that
// neighbours load neighbouring elements.
//
// Where the elements of neighbouring outputs lie together, and an output has a tree, the workgroup has several outputs
// beside one another. Its invocations are fewer than the parts of all of them, so each has several parts, one after the
// other. Totals of parts are in shared memory.

// beside is how a workgroup has several outputs beside one another: the zero beside has one after the other.
type beside struct {
	outputs int // of a workgroup, neighbours in memory
	turns   int // parts that an invocation has
}

// Outputs that lie side by side, in a workgroup: they fill a transaction of the memory, or more.
const (
	mostBeside  = 32
	leastBeside = 8
	busyGroups  = 128 // workgroups that a GPU wants, rather than more outputs in each
	fewGroups   = 64  // less do not read as fast as the device can
)

// besideOf is how a workgroup has the outputs of a tree, whose totals take so many bytes for each part.
func besideOf(t *lowering.Target, s *strided.Schedule, outputs, bytes int) (b beside, local int) {
	for n := mostBeside; n >= leastBeside; n /= 2 {
		local := min(strided.Threads(t, besideThreads), s.Parts*n)
		turns := s.Parts * n / local
		if turns > radix || s.Parts*n*bytes > t.SharedMemory || n > leastBeside && outputs < n*busyGroups {
			continue
		}
		return beside{n, turns}, local
	}
	return beside{}, s.Local
}

// besideThreads is the size of a workgroup that has outputs beside one another.
const besideThreads = 1024

// layOut has neighbouring invocations load what lies together, where the elements do not lie as the schedule expects. It
// reports whether they do.
func (j *Job) layOut(t *lowering.Target) bool {
	o := &j.Order
	switch {
	case t.CPU || len(j.Kept) == 0 || len(j.Reduced) == 0:
	case o.Tree && o.Parts > 1 && o.Chunks == 1 && j.all(func(s *Source) bool { return s.across(j) }):
		j.beside, o.Local = besideOf(t, o, strided.Product(j.Kept), j.bytes())
		return j.beside.outputs > 0
	case !o.Tree && o.Parts > 1 && j.all(func(s *Source) bool { return s.along() }):
		j.Group, o.Across = 1, false
		return true
	}
	return false
}

// Loads reports whether a reduction of a tensor that is transposed loads it as it lies in memory at full speed, so that
// nothing is gained where the transposition is carried out before.
func Loads(in, transposition *ops.Instr, operand ops.Type, t *lowering.Target) bool {
	view := strided.TransposeView(transposition, operand.Shape)
	r := strided.NewReduction(transposition.Outs[0].Type.Shape, in.Attrs[0])
	j := &Job{Layout: r, Folds: []Operator{{Op: in.Op, Compute: codegen.ComputeClass(in, []ops.Type{transposition.Outs[0].Type})}}, Order: strided.ScheduleOf(t, &r)}
	s := Source{Source: codegen.Source{Buffer: codegen.BufferOf(lowering.Ref{Kind: lowering.Operand}, operand.DType)}}
	for i, n := range transposition.Outs[0].Type.Shape {
		dims, at := &j.Kept, &s.KeptAt
		if slices.Contains(in.Attrs[0], i) {
			dims, at = &j.Reduced, &s.ReducedAt
		}
		*dims, at.Strides = append(*dims, n), append(at.Strides, view.Strides[i])
	}
	j.Ins = []Source{s}
	return j.layOut(t) && (j.beside.outputs == 0 || strided.Product(j.Kept) >= fewGroups*j.beside.outputs)
}

// bytes is what the totals of a part take in shared memory.
func (j *Job) bytes() (n int) {
	for i := range j.Folds {
		f := &j.Folds[i]
		for range f.Parts() {
			n += max(4, f.Compute.Wide().Size())
		}
	}
	return n
}

// all reports whether all tensors that are read have a property; there is one at least.
func (j *Job) all(is func(*Source) bool) bool {
	some := false
	for i := range j.Ins {
		if s := &j.Ins[i]; s.Kind == codegen.FromBuffer && !s.Still {
			if !is(s) {
				return false
			}
			some = true
		}
	}
	return some
}

// across reports whether the elements of neighbouring outputs lie together, and those of one output do not.
func (s *Source) across(j *Job) bool {
	last := len(j.Kept) - 1
	return s.KeptAt.Strides[last] == 1 && j.Kept[last] >= leastBeside && !s.along()
}

// along reports whether the elements of an output lie together.
func (s *Source) along() bool { return s.ReducedAt.Strides[len(s.ReducedAt.Strides)-1] == 1 }

// outputsBeside is the kernel in which a workgroup has several outputs beside one another.
func (w *Writer) outputsBeside() {
	b, parts := w.Job.beside, w.Job.Order.Parts
	slot, output := w.DivMod(w.Invocation(), w.Index(b.outputs))
	o := w.Add(w.Mul(w.Group(), w.Index(b.outputs)), output)
	valid := w.Compare(scalar.Lt, o, w.Units)
	o = w.Select(valid, o, w.Sub(w.Units, w.Index(1)))
	at := w.Locate(o)
	var t totals
	w.Loop(slot, w.Index(parts), w.Index(parts/b.turns), nil, func(part kernel.Value, _ []kernel.Value) []kernel.Value {
		w.Part = part
		acc := w.fold(at, part, w.Fours, w.Index(parts))
		acc = w.rest(acc, at, func() kernel.Value { return w.ownsRest(w.Index(0), w.length, part) })
		joined := w.Join(acc)
		if t.arrays == nil {
			t.types = w.typesOf(joined)
			t.arrays = w.arraysOf(joined, parts*b.outputs)
		}
		w.put(t.arrays, w.placeBeside(part, output), joined)
		return nil
	})
	sum := w.treeBeside(&t, slot, output)
	first := w.Compare(scalar.Eq, slot, w.Index(0))
	w.If(w.Prim(scalar.AndB, scalar.Bool, first, valid), func() []kernel.Value {
		w.store(o, w.Index(0), sum)
		return nil
	}, nil)
}

// totals are those of parts, in arrays of the workgroup.
type totals struct {
	types  []scalar.Type
	arrays []int
}

// placeBeside is where the total of a part of an output is.
func (w *Writer) placeBeside(part, output kernel.Value) kernel.Value {
	return w.Convert(w.Add(w.Mul(part, w.Index(w.Job.beside.outputs)), output), scalar.U32)
}

// treeBeside joins the parts of each output by halves, as Tree does. Slot 0 has the total.
func (w *Writer) treeBeside(t *totals, slot, output kernel.Value) (sum []kernel.Value) {
	place := w.placeBeside(slot, output)
	for left := w.Job.Order.Parts; left > 1; {
		w.Barrier()
		n := min(radix, left)
		left /= n
		sum = w.If(w.Compare(scalar.Lt, slot, w.Index(left)), func() []kernel.Value {
			joined := w.halves(t.types, t.arrays, place, left*w.Job.beside.outputs, n)
			if left > 1 {
				w.put(t.arrays, place, joined)
			}
			return joined
		}, w.Zero)
	}
	return sum
}
