package spmd

import (
	"cmp"
	"slices"

	"nxvk/ops"
	"nxvk/ops/shard"
)

// The order of a divided program decides what goes on while ranks reduce. A program that is written result by result
// updates a parameter right behind the reduction of its gradient, and would wait there before the rest of the
// gradients is computed. So every reduction begins as soon as its operand is there, and what needs it comes after all
// that later reductions of the same level need. The level of an instruction is how many reductions lie one behind the
// other before it. An instruction that no reduction needs comes last, any other right before what needs it first. An all_gather
// of what the program computes counts as a reduction here.
//
// All ranks have the same order, since it depends on the program alone.

// isReduction reports whether an instruction combines what ranks have.
func isReduction(in *ops.Instr) bool { return in.Op == ops.AllReduce || in.Op == ops.ReduceScatter }

// beginnings says of each instruction of a program whether it begins a level, and whether it only moves parameters.
type beginnings struct{ first, moved []bool }

// leads finds the instructions that begin a level: reductions, and gathers of what is computed or little. Large parts of parameters
// are gathered where they are needed, so that not all of them are there at once.
func leads(r *ops.Region) *beginnings {
	b := &beginnings{make([]bool, len(r.Body)), make([]bool, len(r.Body))}
	given := make(map[ops.ID]bool)
	for _, p := range r.Params {
		given[p.ID] = true
	}
	for i := range r.Body {
		in := &r.Body[i]
		moved := in.Op.Info().Kind == ops.Movement || in.Op == ops.AsType || in.Op == ops.AllGather
		eachUse(in, func(id ops.ID) { moved = moved && given[id] })
		for _, o := range in.Outs {
			given[o.ID] = moved
		}
		b.moved[i] = moved
		b.first[i] = isReduction(in) || in.Op == ops.AllGather && (!moved || in.Outs[0].Type.Bytes() <= shard.HostBytes)
	}
	return b
}

// overlap orders the body of a program.
func (e *emitter) overlap(r *ops.Region) {
	if !slices.ContainsFunc(r.Body, func(in ops.Instr) bool { return isReduction(&in) }) {
		return
	}
	begin := leads(r)
	levels, late := levelsOf(r, begin.first)
	order := make([]int, len(r.Body))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return levels[a] - levels[b] })
	e.body = nil
	w := &writer{emitter: e, parts: make(map[ops.ID][]ops.Instr), late: late, rest: newBuckets()}
	for _, i := range order {
		if late[i] {
			w.rest.expect(r.Body[i])
		}
	}
	for at := 0; at < len(order); {
		end := at
		for end < len(order) && levels[order[end]] == levels[order[at]] {
			end++
		}
		w.level(r.Body, early(r, begin, order[at:end]))
		at = end
	}
	for _, o := range r.Values {
		if o.Lit == nil {
			w.part(o.ID)
		}
	}
	r.Body = e.body
}

// levelsOf finds the level at which each instruction is carried out, and the instructions among the first that no other of them needs.
func levelsOf(r *ops.Region, first []bool) (levels []int, late map[int]bool) {
	levels, late = make([]int, len(r.Body)), make(map[int]bool)
	made, last := make(map[ops.ID]int), 0
	for i := range r.Body {
		in := &r.Body[i]
		eachUse(in, func(id ops.ID) { levels[i] = max(levels[i], made[id]) })
		out := levels[i]
		if first[i] {
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
		at := last + 1
		for _, o := range in.Outs {
			if n, ok := needed[o.ID]; ok {
				at = min(at, n)
			}
		}
		if late[i] = first[i] && at > last; !first[i] {
			levels[i] = at
		}
		eachUse(in, func(id ops.ID) {
			if n, ok := needed[id]; !ok || levels[i] < n {
				needed[id] = levels[i]
			}
		})
	}
	return levels, late
}

// gathered finds the gathers of little parameters that are in a level, such as of indices, and what moves the parameters for them alone.
// They can begin at once, and so are there before anything needs them.
func gathered(r *ops.Region, b *beginnings, order []int) map[int]bool {
	list, needed := make(map[int]bool), make(map[ops.ID]bool)
	for _, i := range slices.Backward(order) { // readers before what they read
		in := &r.Body[i]
		takes := in.Op == ops.AllGather && b.first[i] && b.moved[i]
		for _, o := range in.Outs {
			takes = takes || needed[o.ID]
		}
		if takes {
			list[i] = true
			eachUse(in, func(id ops.ID) { needed[id] = true })
		}
	}
	return list
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

// early is the instructions of a level with its reductions and gathers of parameters, and what is computed for these alone, right behind what they read: the
// gradient of a parameter may be written far behind the values that it is made of.
func early(r *ops.Region, b *beginnings, order []int) []int {
	places, made := make(map[int]int), make(map[ops.ID]int) // in the level, of instructions and of what they make
	movable := make([]bool, len(order))
	for at, i := range order {
		places[i], movable[at] = at, true
		for _, o := range r.Body[i].Outs {
			made[o.ID] = at
		}
	}
	stays := func(id ops.ID) {
		if at, ok := made[id]; ok && !isReduction(&r.Body[order[at]]) {
			movable[at] = false
		}
	}
	for _, o := range r.Values {
		stays(o.ID)
	}
	for i := len(r.Body) - 1; i >= 0; i-- { // readers before what they read
		if at, ok := places[i]; !ok || !movable[at] {
			eachUse(&r.Body[i], stays)
		}
	}
	behind := make([]int, len(order)) // the place that an instruction comes behind
	given := gathered(r, b, order)
	for at, i := range order {
		if behind[at] = at; movable[at] || given[i] {
			behind[at] = -1
			eachUse(&r.Body[i], func(id ops.ID) {
				if p, ok := made[id]; ok {
					behind[at] = max(behind[at], behind[p])
				}
			})
		}
	}
	list := ops.AllAxes(len(order))
	slices.SortStableFunc(list, func(a, b int) int { return cmp.Or(cmp.Compare(behind[a], behind[b]), cmp.Compare(a, b)) })
	for k, at := range list {
		list[k] = order[at]
	}
	return list
}
