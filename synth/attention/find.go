package attention

import (
	"maps"
	"slices"

	"nxvk/ops"
	"nxvk/synth/lowering"
	"nxvk/synth/strided"
)

// Find returns a region that computes the values of r, with attention in one instruction where
// that pays on the device and nothing else reads the values between its products. It looks into
// the bodies of loops and branches. The region is not changed.
func Find(r *ops.Region, t *lowering.Target) *ops.Region {
	if t == nil || t.CPU || !t.Allows(lowering.RuleAttention) {
		return r
	}
	return find(r, t, map[ops.ID]ops.Type{}, nil)
}

// find is Find, or FindStated where any are stated.
func find(r *ops.Region, t *lowering.Target, outer map[ops.ID]ops.Type, stated map[ops.ID]bool) *ops.Region {
	if !multiplies(r) {
		return r
	}
	f := newFinder(r, t, outer)
	f.stated = stated
	changed := false
	for i := range f.body {
		in := &f.body[i]
		if in.Op == ops.Dot {
			changed = (stated == nil || stated[in.Outs[0].ID]) && f.try(i) || changed
			continue
		}
		if in.Op.Info().Closed {
			continue
		}
		for k, inner := range in.Regions {
			if found := find(inner, t, f.types, stated); found != inner {
				in.Regions = slices.Clone(in.Regions)
				in.Regions[k], changed = found, true
			}
		}
	}
	if !changed {
		return r
	}
	return f.finish(r)
}

// multiplies reports whether a region has a product, in the bodies of loops and branches, too. A program may have thousands of
// regions without one, and a finder knows all values in scope.
func multiplies(r *ops.Region) bool {
	return slices.ContainsFunc(r.Body, func(in ops.Instr) bool {
		return in.Op == ops.Dot || !in.Op.Info().Closed && slices.ContainsFunc(in.Regions, multiplies)
	})
}

// finder finds attention in a region.
type finder struct {
	target *lowering.Target
	body   []ops.Instr
	types  map[ops.ID]ops.Type // of all values in scope
	made   map[ops.ID]int      // the instruction that makes a value
	uses   map[ops.ID]int      // how often it is read, in regions too
	gone   map[int]bool        // instructions that an attention has
	stated map[ops.ID]bool     // results of products that are attention, whatever that costs; nil looks at all products
}

func newFinder(r *ops.Region, t *lowering.Target, outer map[ops.ID]ops.Type) *finder {
	f := &finder{target: t, body: slices.Clone(r.Body), types: maps.Clone(outer), made: make(map[ops.ID]int), uses: make(map[ops.ID]int),
		gone: make(map[int]bool)}
	for _, p := range r.Params {
		f.types[p.ID] = p.Type
	}
	for i := range f.body {
		for _, o := range f.body[i].Outs {
			f.types[o.ID], f.made[o.ID] = o.Type, i
		}
	}
	f.count(r)
	return f
}

// count counts the uses of values in a region.
func (f *finder) count(r *ops.Region) {
	read := func(list []ops.Operand) {
		for _, o := range list {
			if o.Lit == nil {
				f.uses[o.ID]++
			}
		}
	}
	for i := range r.Body {
		in := &r.Body[i]
		read(in.Ins)
		if !in.Op.Info().Closed {
			for _, inner := range in.Regions {
				f.count(inner)
			}
		}
	}
	read(r.Values)
}

// try makes instruction i, a product, an attention if it is the second product of one.
func (f *finder) try(i int) bool {
	weights := f.body[i].Ins[0]
	if weights.Lit != nil || f.body[i].Ins[1].Lit != nil {
		return false
	}
	before := f.upstream(weights.ID)
	if !slices.ContainsFunc(before, func(k int) bool { return f.body[k].Op == ops.Exp }) {
		return false // most products have no softmax before them
	}
	for _, k := range before {
		if in := &f.body[k]; in.Op != ops.Dot || in.Outs[0].Type.Size() != f.types[weights.ID].Size() {
			continue
		}
		inner := f.dependents(before, k)
		if !f.closed(inner, i) {
			continue
		}
		for _, all := range []bool{true, false} {
			if composite, ok := f.composite(before, inner, k, i, all); ok {
				f.replace(i, inner, composite)
				return true
			}
		}
	}
	return false
}

// maxUpstream bounds the instructions between two products, so that a long program is searched in
// linear time.
const maxUpstream = 128

// upstream lists the instructions that a value is computed by, back to products and to whatever one
// kernel cannot compute an element at a time. It lists none where they are more than maxUpstream.
func (f *finder) upstream(id ops.ID) []int {
	seen := map[int]bool{}
	var visit func(id ops.ID)
	visit = func(id ops.ID) {
		i, ok := f.made[id]
		if !ok || seen[i] || len(seen) > maxUpstream || !joins(&f.body[i]) {
			return
		}
		seen[i] = true
		if f.body[i].Op == ops.Dot {
			return
		}
		for _, o := range f.body[i].Ins {
			if o.Lit == nil {
				visit(o.ID)
			}
		}
	}
	visit(id)
	if len(seen) > maxUpstream {
		return nil
	}
	return slices.Sorted(maps.Keys(seen))
}

// joins reports whether an attention may have an instruction.
func joins(in *ops.Instr) bool {
	if len(in.Outs) != 1 || len(in.Regions) > 0 {
		return false
	}
	for _, o := range in.Ins {
		if o.Lit != nil && len(o.Lit.Type.Shape) > 0 {
			return false
		}
	}
	switch in.Op {
	case ops.Dot, ops.Sum, ops.ReduceMax, ops.Constant, ops.Iota:
		return true
	}
	return in.Op.Info().Kind == ops.Pointwise || looks(in)
}

// looks reports whether an instruction is a view of its operand.
func looks(in *ops.Instr) bool {
	switch in.Op {
	case ops.Reshape, ops.Squeeze, ops.BroadcastTo, ops.Transpose:
		return in.Ins[0].Lit == nil
	case ops.Slice:
		return len(in.Ins) == 1 && in.Ins[0].Lit == nil
	}
	return false
}

// dependents lists instruction k and those of a list that depend on it.
func (f *finder) dependents(list []int, k int) map[int]bool {
	depends := map[int]bool{k: true}
	for _, i := range list {
		for _, o := range f.body[i].Ins {
			if j, ok := f.made[o.ID]; ok && o.Lit == nil && depends[j] {
				depends[i] = true
			}
		}
	}
	return depends
}

// closed reports whether nothing but the instructions themselves, and instruction last, reads what
// they make.
func (f *finder) closed(inner map[int]bool, last int) bool {
	reads := map[ops.ID]int{}
	for i := range inner {
		for _, o := range f.body[i].Ins {
			if o.Lit == nil {
				reads[o.ID]++
			}
		}
	}
	reads[f.body[last].Ins[0].ID]++
	if o := f.body[last].Ins[1]; o.Lit == nil {
		if j, ok := f.made[o.ID]; ok && inner[j] {
			return false
		}
	}
	for i := range inner {
		if id := f.body[i].Outs[0].ID; reads[id] != f.uses[id] {
			return false
		}
	}
	return true
}

// composite makes the instruction of an attention, of products first and last, with the values
// between. With all it computes masks and biases itself, as far as it can; else it reads them.
func (f *finder) composite(before []int, inner map[int]bool, first, last int, all bool) (*ops.Instr, bool) {
	has := map[int]bool{last: true}
	for i := range inner {
		has[i] = true
	}
	for _, i := range before {
		if in := &f.body[i]; in.Op != ops.Dot && in.Op != ops.Sum && in.Op != ops.ReduceMax && (all || looks(in)) && in.Op != ops.Constant {
			has[i] = true
		}
	}
	for _, o := range []ops.Operand{f.body[first].Ins[0], f.body[first].Ins[1], f.body[last].Ins[1]} {
		f.addViews(o, has)
	}
	in := f.instr(has, true, last)
	types := make([]ops.Type, len(in.Ins))
	for i := range types {
		types[i] = in.Regions[0].Params[i].Type
	}
	if in.Check(types) != nil {
		return nil, false
	}
	j, err := newJob(in, f.target)
	if err != nil || f.stated == nil && !j.pays() {
		return nil, false
	}
	_, err = f.target.WithBindings(func(t *lowering.Target) (*lowering.Plan, error) { return Lower(in, types, t) },
		append(types, in.Outs[0].Type)...)
	return in, err == nil
}

// addViews adds the views that an operand of a product is read through, as far as strides express
// them together.
func (f *finder) addViews(o ops.Operand, has map[int]bool) {
	var chain []int
	for o.Lit == nil {
		i, ok := f.made[o.ID]
		if !ok || !looks(&f.body[i]) {
			break
		}
		chain = append(chain, i)
		o = f.body[i].Ins[0]
	}
	for ; len(chain) > 0; chain = chain[:len(chain)-1] {
		if f.composes(chain) {
			for _, i := range chain {
				has[i] = true
			}
			return
		}
	}
}

// composes reports whether strides express a chain of views, the last of which comes first.
func (f *finder) composes(chain []int) bool {
	v := strided.Dense(f.body[chain[0]].Outs[0].Type.Shape)
	dims := []int(slices.Clone(f.body[chain[0]].Outs[0].Type.Shape))
	for k := 0; k < len(chain); {
		in := &f.body[chain[k]]
		w, ok := strided.ViewOf(in, f.types[in.Ins[0].ID].Shape)
		if !ok {
			return false
		}
		next, err := strided.Compose(dims, v, in.Outs[0].Type.Shape, w)
		if split, again := err.(*strided.SplitError); again {
			outer := dims[split.Dim] / split.Inner
			dims = slices.Replace(dims, split.Dim, split.Dim+1, outer, split.Inner)
			v, k = strided.Dense(dims), 0
			continue
		}
		if err != nil {
			return false
		}
		v, k = next, k+1
	}
	return true
}

// instr makes an instruction of others, with ids of its own, that gives the results of the last ones. Scalars become
// operands, but for a numerator 1 that stays: see quotient.
func (f *finder) instr(has map[int]bool, one bool, last ...int) *ops.Instr {
	r := &ops.Region{}
	in := &ops.Instr{Op: ops.Attention, Attrs: [][]int{nil}, Regions: []*ops.Region{r}}
	names := map[ops.ID]ops.ID{}
	next := ops.ID(0)
	param := func(o ops.Operand, typ ops.Type) ops.Operand {
		next++
		in.Ins = append(in.Ins, o)
		r.Params = append(r.Params, ops.Result{ID: next, Type: typ})
		return ops.Operand{ID: next}
	}
	list := slices.Sorted(maps.Keys(has))
	needed := f.needed(list, last...)
	list = slices.DeleteFunc(list, func(i int) bool { return !needed[i] })
	for _, i := range list {
		inner := f.body[i]
		inner.Ins = slices.Clone(inner.Ins)
		for k, o := range inner.Ins {
			switch {
			case o.Lit != nil && one && inner.Op == ops.Divide && k == 0 && isOne(o.Lit):
			case o.Lit != nil:
				inner.Ins[k] = param(o, o.Lit.Type)
			case names[o.ID] == 0:
				inner.Ins[k] = param(o, f.types[o.ID])
				names[o.ID] = inner.Ins[k].ID
			default:
				inner.Ins[k] = ops.Operand{ID: names[o.ID]}
			}
		}
		next++
		names[inner.Outs[0].ID] = next
		inner.Outs = []ops.Result{{ID: next, Type: inner.Outs[0].Type}}
		r.Body = append(r.Body, inner)
	}
	for _, i := range last {
		in.Outs = append(in.Outs, f.body[i].Outs[0])
		r.Values = append(r.Values, ops.Operand{ID: names[f.body[i].Outs[0].ID]})
	}
	return in
}

// needed reports which instructions of a list the last ones depend on.
func (f *finder) needed(list []int, last ...int) map[int]bool {
	need := map[int]bool{}
	for _, i := range last {
		need[i] = true
	}
	for _, i := range slices.Backward(list) {
		if !need[i] {
			continue
		}
		for _, o := range f.body[i].Ins {
			if j, ok := f.made[o.ID]; ok && o.Lit == nil {
				need[j] = true
			}
		}
	}
	return need
}

// replace puts an attention in the place of its last product.
func (f *finder) replace(last int, inner map[int]bool, in *ops.Instr) {
	for i := range inner {
		f.gone[i] = true
	}
	f.body[last] = *in
}

// finish is the region without the instructions that attentions have, and without those that only
// they have read.
func (f *finder) finish(r *ops.Region) *ops.Region {
	left := &ops.Region{Params: r.Params, Values: r.Values}
	for i, in := range f.body {
		if !f.gone[i] {
			left.Body = append(left.Body, in)
		}
	}
	f.uses = make(map[ops.ID]int)
	f.count(left)
	out := &ops.Region{Params: r.Params, Values: r.Values}
	for _, in := range slices.Backward(left.Body) {
		if joins(&in) && in.Op != ops.Dot && f.uses[in.Outs[0].ID] == 0 {
			for _, o := range in.Ins {
				f.uses[o.ID]--
			}
			continue
		}
		out.Body = append(out.Body, in)
	}
	slices.Reverse(out.Body)
	return out
}
