package spmd

import (
	"fmt"

	"nxvk/ops"
	"nxvk/ops/shard"
)

// Reductions are joined into buckets, as in PyTorch's DistributedDataParallel (Li et al. 2020): each of them would
// cost as much as a few hundred kilobytes. Those that no other reduction needs, such as of gradients, are joined across levels. Those of a
// level that others need, such as of the sums of a batch norm, are joined to each other alone: what follows waits for them.
//
// Two ranks do not have an all_reduce combine what is not little: each gathers the operands of both, and combines them where it reads
// them, in the order of the group. As many bytes move, and all of it by queues that only copy. Kernels of an all_reduce would take turns with those of the
// program: on two H200s, each of its steps then takes up to two milliseconds.

const (
	// bucketBytes is from how much on a bucket is reduced while others are still computed, but for the last ones: each of those
	// has about half of what is left, down to lastBytes, since nothing is computed any more while the last one is reduced.
	bucketBytes = 32 << 20
	lastBytes   = 4 << 20
	// joinedBytes is how much a reduction has at most to be joined to others: they are copied for that.
	joinedBytes = 16 << 20
)

// writer writes the instructions in their order.
type writer struct {
	*emitter
	parts map[ops.ID][]ops.Instr // of buckets and gathered operands, that are yet to be taken: whoever takes one waits for these
	late  map[int]bool           // reductions that no other one needs, by their place in the body
	rest  buckets                // of these
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

func (b *bucket) add(in ops.Instr) {
	b.members = append(b.members, in)
	b.bytes += in.Outs[0].Type.Bytes()
}

// buckets join reductions of a kind.
type buckets struct{ left, open map[string]*bucket }

func newBuckets() buckets { return buckets{make(map[string]*bucket), make(map[string]*bucket)} }

// expect notes a reduction that is to come, unless it stays alone.
func (bs *buckets) expect(in ops.Instr) {
	key := kindOf(&in)
	if key == "" {
		return
	}
	if bs.left[key] == nil {
		bs.left[key] = &bucket{}
	}
	bs.left[key].add(in)
}

// add adds a reduction, and returns those that are to be written as one, if any.
func (bs *buckets) add(in ops.Instr) []ops.Instr {
	key := kindOf(&in)
	if key == "" {
		return []ops.Instr{in}
	}
	b, l := bs.open[key], bs.left[key]
	if b == nil {
		b = &bucket{}
		bs.open[key] = b
	}
	b.add(in)
	l.members = l.members[1:]
	l.bytes -= in.Outs[0].Type.Bytes()
	if len(l.members) > 0 && b.bytes < min(bucketBytes, max(lastBytes, l.bytes)) {
		return nil
	}
	delete(bs.open, key)
	return b.members
}

// level writes the instructions of a level, whose reductions nothing in it needs.
func (w *writer) level(body []ops.Instr, order []int) {
	now := newBuckets()
	for _, i := range order {
		if !w.late[i] {
			now.expect(body[i])
		}
	}
	for _, i := range order {
		in := body[i]
		set := &now
		if w.late[i] {
			set = &w.rest
		}
		if in.Op != ops.AllReduce {
			w.write(in)
		} else if list := set.add(in); len(list) > 0 {
			w.reduce(list)
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
	bytes := 0
	for i := range list {
		bytes += list[i].Outs[0].Type.Bytes()
	}
	both := len(list[0].Attrs[0]) == 2 && bytes > shard.HostBytes
	if len(list) == 1 && !both {
		w.write(list[0])
		return
	}
	flat, all := w.joined(list)
	op, attrs := ops.AllReduce, list[0].Attrs
	if both {
		op, attrs = ops.AllGather, attrs[:1]
		all.Shape = ops.Shape{2, all.Shape[0]}
	}
	whole, at := w.add(op, all, attrs, flat), 0
	for i := range list {
		out := list[i].Outs[0]
		n := out.Type.Size()
		var sum ops.Operand
		if both {
			row := ops.Type{DType: all.DType, Shape: ops.Shape{1, n}}
			first := w.later(out.ID, ops.Slice, row, [][]int{{0, at}, {1, n}, {1, 1}}, whole)
			second := w.later(out.ID, ops.Slice, row, [][]int{{1, at}, {1, n}, {1, 1}}, whole)
			sum = w.later(out.ID, list[i].Combiner(), row, nil, first, second)
		} else {
			sum = w.later(out.ID, ops.Slice, ops.Type{DType: all.DType, Shape: ops.Shape{n}}, [][]int{{at}, {n}, {1}}, whole)
		}
		w.parts[out.ID] = append(w.parts[out.ID], ops.Instr{Op: ops.Reshape, Ins: []ops.Operand{sum}, Outs: list[i].Outs})
		at += n
	}
}

// joined writes the operands of reductions as one of one dimension.
func (w *writer) joined(list []ops.Instr) (ops.Operand, ops.Type) {
	all := ops.Type{DType: list[0].Outs[0].Type.DType, Shape: ops.Shape{0}}
	var flat []ops.Operand
	for i := range list {
		eachUse(&list[i], w.part)
		t := ops.Type{DType: all.DType, Shape: ops.Shape{list[i].Outs[0].Type.Size()}}
		flat = append(flat, w.add(ops.Reshape, t, nil, list[i].Ins[0]))
		all.Shape[0] += t.Size()
	}
	if len(flat) == 1 {
		return flat[0], all
	}
	return w.add(ops.Concatenate, all, [][]int{{0}}, flat...), all
}

// later adds an instruction to the part that id is.
func (w *writer) later(id ops.ID, op ops.Op, t ops.Type, attrs [][]int, ins ...ops.Operand) ops.Operand {
	*w.last++
	w.parts[id] = append(w.parts[id], ops.Instr{Op: op, Ins: ins, Attrs: attrs, Outs: []ops.Result{{ID: *w.last, Type: t}}})
	return ops.Operand{ID: *w.last}
}
