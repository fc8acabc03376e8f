package spmd

import (
	"fmt"

	"nxvk/ops"
)

// Reductions of a level are joined into buckets, as in PyTorch's DistributedDataParallel (Li et al. 2020): each of them would
// cost as much as a few hundred kilobytes.
//
// Two ranks do not have an all_reduce combine: each gathers the operands of both, and combines them where it reads them, in the order of
// the group. As many bytes move, and all of it by queues that only copy. Kernels of an all_reduce would take turns with those of the
// program: on two H200s, each of its steps then takes up to two milliseconds.

const (
	// bucketBytes is from how much on a bucket is reduced while others are still computed.
	bucketBytes = 32 << 20
	// joinedBytes is how much a reduction has at most to be joined to others: they are copied for that.
	joinedBytes = 16 << 20
	// littleBytes is how much the host passes on, and combines: two ranks reduce so much by an all_reduce.
	littleBytes = 64 << 10
)

// writer writes the instructions in their order.
type writer struct {
	*emitter
	parts map[ops.ID][]ops.Instr // of buckets and gathered operands, that are yet to be taken: whoever takes one waits for these
}

// write writes an instruction behind the parts that it needs.
func (w *writer) write(in ops.Instr) {
	eachUse(&in, w.part)
	w.body = append(w.body, in)
}

// part takes a part of a bucket, unless it is there.
func (w *writer) part(id ops.ID) {
	if p, ok := w.parts[id]; ok {
		delete(w.parts, id)
		w.body = append(w.body, p...)
	}
}

// bucket is reductions that are joined.
type bucket struct {
	members []ops.Instr
	bytes   int
}

// level writes the instructions of a level, whose reductions nothing in it needs.
func (w *writer) level(body []ops.Instr, order []int) {
	left := make(map[string]int) // reductions of a kind that may be joined
	for _, i := range order {
		if key := kindOf(&body[i]); key != "" {
			left[key]++
		}
	}
	open := make(map[string]*bucket)
	for _, i := range order {
		in := body[i]
		key := kindOf(&in)
		switch {
		case key == "" && combinesWhereRead(&in):
			w.reduce([]ops.Instr{in})
			continue
		case key == "":
			w.write(in)
			continue
		}
		b := open[key]
		if b == nil {
			b = &bucket{}
			open[key] = b
		}
		b.members = append(b.members, in)
		b.bytes += in.Outs[0].Type.Bytes()
		if left[key]--; left[key] == 0 || b.bytes >= bucketBytes {
			w.reduce(b.members)
			delete(open, key)
		}
	}
}

// kindOf is what reductions that are joined have in common; empty where one stays alone.
func kindOf(in *ops.Instr) string {
	if in.Op != ops.AllReduce || in.Outs[0].Type.Bytes() > joinedBytes || in.Ins[0].Lit != nil {
		return ""
	}
	return fmt.Sprint(in.Attrs, in.Outs[0].Type.DType)
}

// reduce writes reductions as one.
func (w *writer) reduce(list []ops.Instr) {
	if len(list) == 1 && !combinesWhereRead(&list[0]) {
		w.write(list[0])
		return
	}
	var flat []ops.Operand
	all := ops.Type{DType: list[0].Outs[0].Type.DType, Shape: ops.Shape{0}}
	for _, in := range list {
		eachUse(&in, w.part)
		n := in.Outs[0].Type.Size()
		flat = append(flat, w.add(ops.Reshape, ops.Type{DType: all.DType, Shape: ops.Shape{n}}, nil, in.Ins[0]))
		all.Shape[0] += n
	}
	joined := flat[0]
	if len(flat) > 1 {
		joined = w.add(ops.Concatenate, all, [][]int{{0}}, flat...)
	}
	sum := ops.Instr{Op: ops.AllReduce, Ins: []ops.Operand{joined}, Outs: []ops.Result{{Type: all}}, Attrs: list[0].Attrs}
	if combinesWhereRead(&sum) {
		w.gatherBoth(list, &sum)
		return
	}
	o := w.add(ops.AllReduce, all, sum.Attrs, joined)
	at := 0
	for _, in := range list {
		n := in.Outs[0].Type.Size()
		p := w.later(in.Outs[0].ID, ops.Slice, ops.Type{DType: all.DType, Shape: ops.Shape{n}}, [][]int{{at}, {n}, {1}}, o)
		w.lastly(in.Outs[0], p)
		at += n
	}
}

// combinesWhereRead reports whether the two ranks of an all_reduce gather its operands.
func combinesWhereRead(in *ops.Instr) bool {
	return in.Op == ops.AllReduce && len(in.Attrs[0]) == 2 && in.Outs[0].Type.Bytes() > littleBytes
}

// gatherBoth gathers the operands of both ranks, of which whoever needs a reduction combines its part.
func (w *writer) gatherBoth(list []ops.Instr, sum *ops.Instr) {
	all := sum.Outs[0].Type
	both := w.add(ops.AllGather, ops.Type{DType: all.DType, Shape: ops.Shape{2, all.Shape[0]}}, sum.Attrs[:1], sum.Ins[0])
	at := 0
	for _, in := range list {
		id, n := in.Outs[0].ID, in.Outs[0].Type.Size()
		row := ops.Type{DType: all.DType, Shape: ops.Shape{1, n}}
		first := w.later(id, ops.Slice, row, [][]int{{0, at}, {1, n}, {1, 1}}, both)
		second := w.later(id, ops.Slice, row, [][]int{{1, at}, {1, n}, {1, 1}}, both)
		w.lastly(in.Outs[0], w.later(id, sum.Combiner(), row, nil, first, second))
		at += n
	}
}

// later adds an instruction to the part that id is.
func (w *writer) later(id ops.ID, op ops.Op, t ops.Type, attrs [][]int, ins ...ops.Operand) ops.Operand {
	*w.last++
	w.parts[id] = append(w.parts[id], ops.Instr{Op: op, Ins: ins, Attrs: attrs, Outs: []ops.Result{{ID: *w.last, Type: t}}})
	return ops.Operand{ID: *w.last}
}

// lastly gives a part its shape.
func (w *writer) lastly(out ops.Result, o ops.Operand) {
	w.parts[out.ID] = append(w.parts[out.ID], ops.Instr{Op: ops.Reshape, Ins: []ops.Operand{o}, Outs: []ops.Result{out}})
}
