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
// the elements that one of them reads and makes.
const (
	maxAbreast     = 4
	abreastWithin  = 8
	abreastResults = 1 << 15
)

// abreast has small independent fusions carried out by one kernel, in the order of the list.
func (f *partitioner) abreast(list []fusion.Fusion) []fusion.Fusion {
	if f.t.CPU || !f.t.Allows(lowering.RuleHorizontal) {
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
		if gone[i] || !f.joinsAbreast(&list[i]) {
			continue
		}
		parts := []fusion.Fusion{list[i]}
		for j := i + 1; j < min(len(list), i+abreastWithin) && len(parts) < maxAbreast; j++ {
			if gone[j] || !f.joinsAbreast(&list[j]) || slices.ContainsFunc(list[j].Ins, func(id ops.ID) bool {
				at, made := place[id]
				return made && at >= i
			}) {
				continue
			}
			if u, ok := f.sideBySide(append(slices.Clone(parts), list[j])); ok {
				parts, list[i], gone[j] = u.Abreast, u, true
			}
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

// joinsAbreast reports whether a fusion is one of a product of a vector, whose kernel may have others beside it.
func (f *partitioner) joinsAbreast(u *fusion.Fusion) bool {
	last := u.StagesOrSelf()[max(1, len(u.Stages))-1]
	in := last.Contraction()
	return len(u.Whole) == 0 && in != nil && last.LastUpdate() == nil && f.ofVector(f.nodes[f.made[in.Outs[0].ID]].cluster) &&
		in.Outs[0].Type.Size() <= abreastResults
}

// sideBySide is the fusion of independent ones, if one kernel has room for them.
func (f *partitioner) sideBySide(parts []fusion.Fusion) (u fusion.Fusion, ok bool) {
	u.Abreast = parts
	u.GatherAbreast()
	if parts[0].Why != nil {
		u.Why = &fusion.Why{Rules: lowering.RuleHorizontal}
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
