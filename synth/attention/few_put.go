package attention

import (
	"fmt"
	"slices"

	"nxvk/ops"
	"nxvk/synth/attention/tile"
	"nxvk/synth/codegen"
	"nxvk/synth/fused"
	"nxvk/synth/fusion"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
	"nxvk/synth/scalar"
)

// In a step of a generation each head has a query, a key and a value that are new, and the latter go into caches that the
// attention reads. What computes them is a row for each head, and so little work that the kernel of the attention does it
// first: each workgroup for its own head, while its first keys are on their way (see codegen.ChainRows). The workgroup that
// has the place of the new key writes it there, and uses what it has computed.

// put is the put_slice of one key, or of its value, for each query.
type put struct {
	slice, at int // operands: what is new, and where it goes
	start     ops.DType
	limit     int // the last place
	size      int // elements of a row
	buffer    int // what is new; where it goes is behind it
}

// Stage plans the kernel of an attention that earlier stages of a fusion make operands for, and whose keys and values may be
// the results of puts. types are those of the operands of the attention, and then of the puts.
func Stage(in *ops.Instr, puts []*ops.Instr, types []ops.Type, t *lowering.Target) (s fused.AttentionStage, ok bool) {
	j, err := newJob(in, t)
	if err != nil || j.few == nil {
		return s, false
	}
	f := j.few
	first := len(in.Ins)
	for i, p := range puts {
		u := f.putOf(in, p, first, types)
		if u == nil {
			return s, false
		}
		f.results[i], first = u, first+len(p.Ins)
	}
	if s.First, err = f.program(); err != nil || f.parts > 1 && !f.joinable() {
		return s, false
	}
	if f.parts > 1 {
		s.Join, s.Temps = f.columnJoining(), f.temps()
	}
	s.Rows = map[int]int{}
	if f.queries == 1 && f.query.InOrder(f.depth) {
		s.Rows[queryBuffer] = f.depth
	}
	for _, u := range f.results {
		if u != nil {
			s.Rows[u.buffer] = u.size
		}
	}
	return s, true
}

// putOf makes a put_slice that of the keys or the values; its first operand has number n. It is nil where it puts anything
// but one row for each query.
func (f *fewJob) putOf(in, p *ops.Instr, n int, types []ops.Type) *put {
	tensor, slice := types[n+fusion.UpdateOf], types[n+fusion.UpdateBy]
	u, o := &put{slice: n + fusion.UpdateBy, size: f.depth}, &f.key
	made := func(o *operand) bool {
		i := o.Buffer.Ref.Index
		return i < len(in.Ins) && in.Ins[i].Lit == nil && in.Ins[i].ID == p.Outs[0].ID
	}
	switch {
	case made(&f.key) && !made(&f.value) && f.newKey == nil:
		f.newKey = u
	case made(&f.value) && !made(&f.key) && f.newValue == nil:
		f.newValue, o, u.size = u, &f.value, f.width
	default:
		return nil
	}
	axis := onlyAxis(tensor.Shape, slice.Shape)
	if axis < 0 || len(p.Attrs[0]) > 0 || slices.ContainsFunc([]int{fusion.UpdateOf, fusion.UpdateBy, fusion.UpdateAt + axis}, func(k int) bool { return p.Ins[k].Lit != nil }) {
		return nil
	}
	u.at, u.limit = n+fusion.UpdateAt+axis, tensor.Shape[axis]-1
	u.start = types[u.at].DType
	strides := tensor.Shape.Strides()
	if f.queries != 1 || made(&f.query) || !u.start.IsInteger() || slice.DType != o.DType || o.Offset != 0 ||
		!slices.Equal(o.Dims[rows], []int{tensor.Shape[axis]}) || !slices.Equal(o.Strides[rows], []int{strides[axis]}) {
		return nil
	}
	one := tile.Operand{Dims: o.Dims, Strides: [groups][]int{columns: o.Strides[columns]}}
	within := slice.Shape.Strides()
	for _, s := range o.Strides[batch] { // those of the same axes in the slice
		stride := 0
		for a := range strides {
			if strides[a] == s && tensor.Shape[a] > 1 {
				stride = within[a]
			}
		}
		one.Strides[batch] = append(one.Strides[batch], stride)
	}
	if !one.InOrder(u.size) || slice.Shape.Size() != f.batches*u.size {
		return nil
	}
	return u
}

// onlyAxis is the axis along which a slice is 1, where it has all other elements of a tensor; -1 where there is no such axis.
func onlyAxis(tensor, slice ops.Shape) int {
	axis := -1
	for a, d := range tensor {
		if d == slice[a] {
			continue
		}
		if axis >= 0 || slice[a] != 1 {
			return -1
		}
		axis = a
	}
	return axis
}

// addPuts has a program put what is new: its keys, or its values, are another result, which it writes to, and it reads what
// goes there and where.
func (f *fewJob) addPuts(p *codegen.Program) {
	for i, u := range f.results {
		if u == nil {
			continue
		}
		o, buffer := &f.key, keyBuffer
		if u == f.newValue {
			o, buffer = &f.value, valueBuffer
		}
		b := &p.Buffers[buffer]
		b.Ref, b.Access = lowering.Ref{Kind: lowering.Result, Index: 1 + i}, lowering.Read|lowering.Write
		u.buffer = len(p.Buffers)
		n := f.batches * u.size
		p.AddBuffer(codegen.BufferOf(lowering.Ref{Kind: lowering.Operand, Index: u.slice}, o.DType), n, n)
		p.AddBuffer(codegen.BufferOf(lowering.Ref{Kind: lowering.Operand, Index: u.at}, u.start), 1, 1)
		p.Numbers = append(p.Numbers, u.limit)
		p.Key += fmt.Sprintf(" put %d at %v", buffer, u.start)
	}
}

// The numbers of buffers.
const (
	queryBuffer = iota
	keyBuffer
	valueBuffer
)

// fresh is what a put has for a query.
type fresh struct {
	*put
	key  kernel.Value // its place among the keys of the workgroup; none of these where another workgroup has it
	at   kernel.Value // its place among all
	base kernel.Value // its first element among what is new
}

// findNew finds what the puts have for a query.
func (w *fewWriter) findNew(number kernel.Value) {
	for _, u := range w.few.results {
		if u == nil {
			continue
		}
		start := w.DecodeStored(u.start, w.Fetch(u.buffer+1, w.Index(0), 1))[0]
		at := w.Clamp(start, w.NextNumber())
		one := &fresh{u, w.Sub(at, w.from), at, w.Mul(number, w.Index(u.size))}
		if u == w.few.newKey {
			w.newKey = one
		} else {
			w.newValue = one
		}
	}
}

// element is element i of what is new, as memory has it.
func (w *fewWriter) element(n *fresh, i kernel.Value) []kernel.Value {
	return w.Fetch(n.buffer, w.Add(n.base, i), 1)
}

// vector are the n elements of what is new from element at on, as f32, and zeros behind the last.
func (w *fewWriter) vector(n *fresh, d ops.DType, at kernel.Value, count int) (list []kernel.Value) {
	size := w.Index(n.size)
	for j := range count {
		i := w.Add(at, w.Index(j))
		x := w.Decode(d, w.element(n, w.Min(i, w.Sub(size, w.Index(1))))[0])
		list = append(list, w.Select(w.IsLess(i, size), x, w.Float(scalar.F32, 0)))
	}
	return list
}

// multiplyNew multiplies the new key, as those in memory are multiplied.
func (w *fewWriter) multiplyNew() {
	f := w.few
	load := func(at kernel.Value) (vectors [][]kernel.Value) {
		for d := range f.deep {
			vectors = append(vectors, w.vector(w.newKey, f.key.DType, w.Add(at, w.Index(d*fewTeam*f.keyVector)), f.keyVector))
		}
		return vectors
	}
	w.IfThen(w.And2(w.IsLess(w.newKey.key, w.count), w.IsLess(w.Invocation(), w.Index(fewTeam))), func() {
		w.keep(w.newKey.key, w.through([]kernel.Value{w.Float(scalar.F32, 0)}, w.Index(0), load)[0])
	})
}

// putNew writes what is new to its place.
func (w *fewWriter) putNew(n *fresh, m *tile.Matrices) {
	if n == nil {
		return
	}
	row := w.Add(m.Base, w.PlaceIn(m, rows, n.at))
	w.IfThen(w.IsLess(n.key, w.count), func() {
		w.For(w.Invocation(), w.Index(n.size), w.Index(w.few.threads), func(i kernel.Value) {
			w.Put(m.Buffer, w.Add(row, w.PlaceIn(m, columns, i)), w.element(n, i)...)
		})
	})
}
