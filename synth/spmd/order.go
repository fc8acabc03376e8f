package spmd

import (
	"fmt"
	"slices"

	"nxvk/ops"
)

// The order of a divided program decides what goes on while ranks reduce. A program that is written result by result
// updates a parameter right behind the reduction of its gradient, and would wait there before the rest of the
// gradients is computed. So every reduction begins as soon as its operand is there, and what needs it comes after all
// that later reductions of the same level need. The level of an instruction is how many reductions lie one behind the
// other before it. An instruction that no reduction needs comes last, any other right before what needs it first.
//
// Then small reductions of a level are joined into buckets, as in PyTorch's DistributedDataParallel (Li et al. 2020):
// each of them would cost as much as a few hundred kilobytes. All ranks have the same order, since
// it depends on the program alone.

const (
	// bucketBytes is from how much on a bucket is reduced while others are still computed.
	bucketBytes = 4 << 20
	// smallBytes is how much a reduction has at most to be joined to others.
	smallBytes = 1 << 20
)

// isReduction reports whether an instruction begins a level: other collectives stay where they are needed, so that not
// all parts of others are there at once.
func isReduction(in *ops.Instr) bool { return in.Op == ops.AllReduce || in.Op == ops.ReduceScatter }

// overlap orders the body of a program.
func (e *emitter) overlap(r *ops.Region) {
	if !slices.ContainsFunc(r.Body, func(in ops.Instr) bool { return isReduction(&in) }) {
		return
	}
	levels := levelsOf(r)
	order := make([]int, len(r.Body))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return levels[a] - levels[b] })
	e.body = nil
	w := &writer{emitter: e, parts: make(map[ops.ID][2]ops.Instr)}
	for at := 0; at < len(order); {
		end := at
		for end < len(order) && levels[order[end]] == levels[order[at]] {
			end++
		}
		w.level(r.Body, order[at:end])
		at = end
	}
	for _, o := range r.Values {
		if o.Lit == nil {
			w.part(o.ID)
		}
	}
	r.Body = e.body
}

// writer writes the instructions in their order.
type writer struct {
	*emitter
	parts map[ops.ID][2]ops.Instr // of buckets, that are yet to be taken: whoever takes one waits for its bucket
}

// write writes an instruction behind the parts of buckets that it needs.
func (w *writer) write(in ops.Instr) {
	eachUse(&in, w.part)
	w.body = append(w.body, in)
}

// part takes a part of a bucket, unless it is there.
func (w *writer) part(id ops.ID) {
	if p, ok := w.parts[id]; ok {
		delete(w.parts, id)
		w.body = append(w.body, p[0], p[1])
	}
}

// levelsOf finds the level at which each instruction is carried out.
func levelsOf(r *ops.Region) []int {
	levels, made := make([]int, len(r.Body)), make(map[ops.ID]int)
	last := 0
	for i := range r.Body {
		in := &r.Body[i]
		eachUse(in, func(id ops.ID) { levels[i] = max(levels[i], made[id]) })
		out := levels[i]
		if isReduction(in) {
			out++
		}
		for _, o := range in.Outs {
			made[o.ID] = out
		}
		last = max(last, out)
	}
	needed := make(map[ops.ID]int) // at which level first
	for i := len(r.Body) - 1; i >= 0; i-- {
		in := &r.Body[i]
		if !isReduction(in) {
			at := last + 1
			for _, o := range in.Outs {
				if n, ok := needed[o.ID]; ok {
					at = min(at, n)
				}
			}
			levels[i] = at
		}
		eachUse(in, func(id ops.ID) {
			if n, ok := needed[id]; !ok || levels[i] < n {
				needed[id] = levels[i]
			}
		})
	}
	return levels
}

// eachUse calls f with the ids that an instruction reads, and the regions in it.
func eachUse(in *ops.Instr, f func(ops.ID)) {
	use := func(o ops.Operand) {
		if o.Lit == nil {
			f(o.ID)
		}
	}
	for _, o := range in.Ins {
		use(o)
	}
	for _, r := range in.Regions {
		for i := range r.Body {
			eachUse(&r.Body[i], f)
		}
		for _, o := range r.Values {
			use(o)
		}
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
		if key == "" {
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
	if in.Op != ops.AllReduce || in.Outs[0].Type.Bytes() > smallBytes || in.Ins[0].Lit != nil {
		return ""
	}
	return fmt.Sprint(in.Attrs, in.Outs[0].Type.DType)
}

// reduce writes reductions as one.
func (w *writer) reduce(list []ops.Instr) {
	if len(list) == 1 {
		w.write(list[0])
		return
	}
	all := ops.Type{DType: list[0].Outs[0].Type.DType, Shape: ops.Shape{0}}
	var flat []ops.Operand
	for _, in := range list {
		eachUse(&in, w.part)
		n := in.Outs[0].Type.Size()
		flat = append(flat, w.add(ops.Reshape, ops.Type{DType: all.DType, Shape: ops.Shape{n}}, nil, in.Ins[0]))
		all.Shape[0] += n
	}
	sum := w.add(ops.AllReduce, all, list[0].Attrs, w.add(ops.Concatenate, all, [][]int{{0}}, flat...))
	at := 0
	for _, in := range list {
		*w.last++
		part := ops.Result{ID: *w.last, Type: ops.Type{DType: all.DType, Shape: ops.Shape{in.Outs[0].Type.Size()}}}
		w.parts[in.Outs[0].ID] = [2]ops.Instr{
			{Op: ops.Slice, Ins: []ops.Operand{sum}, Attrs: [][]int{{at}, {part.Type.Size()}, {1}}, Outs: []ops.Result{part}},
			{Op: ops.Reshape, Ins: []ops.Operand{{ID: part.ID}}, Outs: in.Outs},
		}
		at += part.Type.Size()
	}
}
