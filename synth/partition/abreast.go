package partition

import (
	"slices"

	"nxvk/ops"
	"nxvk/synth/fusion"
	"nxvk/synth/lowering"
)

// Small kernels that do not depend on one another take a dispatch each, and few workgroups: a device is not busy with
// one of them, and begins the next one some time later. One kernel whose workgroups carry out those of all of them
// takes one dispatch. The products of a vector by which a layer begins are such kernels, and so is what is computed
// from each of them before an attention.

// Bounds of fusions that are carried out side by side: their number, how far apart they are in the order of fusions, and
// the results of a product.
const (
	maxAbreast     = 4
	abreastWithin  = 8
	abreastResults = 1 << 15

	hostElements = 512 // that the host computes beside a GPU, unless the user says otherwise
)

// abreastKind tells the fusions that are carried out side by side with their like.
type abreastKind uint8

const (
	noAbreast abreastKind = iota
	abreastProduct
	abreastSmall
)

// abreast has small independent fusions carried out by one kernel, in the order of the list.
func (f *partitioner) abreast(list []fusion.Fusion) []fusion.Fusion {
	if f.t.CPU || !f.t.Allows(lowering.RuleAbreast) {
		return list
	}
	place := map[ops.ID]int{} // where a value is made
	for i := range list {
		for _, o := range list[i].Outs {
			place[o.ID] = i
		}
	}
	gone := map[int]bool{}
	for i := range list {
		kind := f.abreastKind(&list[i])
		if gone[i] || kind == noAbreast {
			continue
		}
		parts, at := []fusion.Fusion{list[i]}, []int{i}
		for j := i + 1; j < min(len(list), i+abreastWithin) && len(parts) < maxAbreast; j++ {
			if !gone[j] && f.abreastKind(&list[j]) == kind && !f.needsFrom(&list[j], i, place) && !updatesRead(&list[j], list[i:j]) {
				parts, at = append(parts, list[j]), append(at, j)
			}
		}
		u, taken := f.together(parts)
		for _, k := range taken {
			gone[at[k]] = true
		}
		if len(taken) > 0 {
			list[i] = u
		}
	}
	left := list[:0]
	for i := range list {
		if !gone[i] {
			left = append(left, list[i])
		}
	}
	return left
}

// together is a fusion of the first of some, and of as many of the others as one kernel has room for: their numbers are
// taken.
func (f *partitioner) together(parts []fusion.Fusion) (u fusion.Fusion, taken []int) {
	if len(parts) == 1 {
		return u, nil
	}
	u, all := f.sideBySide(parts)
	have := parts[:1:1]
	for k := 1; k < len(parts); k++ {
		if all {
			taken = append(taken, k)
		} else if v, ok := f.sideBySide(append(slices.Clone(have), parts[k])); ok {
			u, have, taken = v, v.Abreast, append(taken, k)
		}
	}
	return u, taken
}

// needsFrom reports whether a fusion reads what number i of the list makes, or one behind it.
func (f *partitioner) needsFrom(u *fusion.Fusion, i int, place map[ops.ID]int) bool {
	return slices.ContainsFunc(u.Ins, func(id ops.ID) bool {
		at, made := place[id]
		return made && at >= i
	})
}

// updatesRead reports whether a fusion updates a tensor that others read, which come before it: if it came before them, it
// could not do so in place.
func updatesRead(u *fusion.Fusion, others []fusion.Fusion) bool {
	in := u.LastUpdate()
	return in != nil && slices.ContainsFunc(others, func(o fusion.Fusion) bool {
		return slices.Contains(o.Ins, in.Ins[fusion.UpdateOf].ID)
	})
}

// abreastKind is the kind of a fusion that others may be beside: one of a product of a vector, or a small one, which may
// update a tensor.
func (f *partitioner) abreastKind(u *fusion.Fusion) abreastKind {
	if len(u.Whole) > 0 {
		return noAbreast
	}
	last := u.StagesOrSelf()[max(1, len(u.Stages))-1]
	if in := last.Contraction(); in != nil {
		if f.ofVector(f.nodes[f.made[in.Outs[0].ID]].cluster) && in.Outs[0].Type.Size() <= abreastResults {
			return abreastProduct
		}
		return noAbreast
	}
	if f.mayBeOnHost(u) {
		return noAbreast
	}
	computes := false // it is more than a view
	for i := range u.Body {
		in := &u.Body[i]
		if fusion.Updates(in) && i == len(u.Body)-1 && i > 0 && in.Ins[fusion.UpdateOf].Lit == nil {
			return abreastSmall
		}
		n := &f.nodes[f.made[in.Outs[0].ID]]
		computes = computes || n.pattern == patternElementwise || n.pattern == patternReduction
		if n.pattern == patternOpaque || n.pattern == patternContraction || fusion.Updates(in) || in.Outs[0].Type.Size() > maxChained ||
			n.pattern == patternReduction && f.typeOf(in.Ins[0]).Size() > maxChained {
			return noAbreast
		}
	}
	if !computes {
		return noAbreast
	}
	return abreastSmall
}

// mayBeOnHost reports whether a fusion has so few elements that the host computes it where it has the operands, as those
// of a counter.
func (f *partitioner) mayBeOnHost(u *fusion.Fusion) bool {
	return !slices.ContainsFunc(u.Ins, func(id ops.ID) bool { return f.types[id].Size() > hostElements }) &&
		!slices.ContainsFunc(u.Outs, func(o ops.Result) bool { return o.Type.Size() > hostElements })
}

// sideBySide is the fusion of independent ones, if one kernel has room for them.
func (f *partitioner) sideBySide(parts []fusion.Fusion) (u fusion.Fusion, ok bool) {
	u.Abreast = parts
	u.GatherAbreast()
	if parts[0].Why != nil {
		u.Why = &fusion.Why{Rules: lowering.RuleAbreast}
		for i := range parts {
			u.Why.Rules |= parts[i].Why.Rules
			for _, e := range parts[i].Why.Ends {
				if !slices.ContainsFunc(u.Why.Ends, func(o fusion.End) bool { return o.Reader == e.Reader }) {
					u.Why.Ends = append(u.Why.Ends, e)
				}
			}
		}
	}
	return u, f.caps.Abreast(&u, func(id ops.ID) ops.Type { return f.types[id] }, f.t)
}
