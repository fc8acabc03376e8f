package fusion

import (
	"slices"

	"nxvk/ops"
)

// StagesOrSelf are the stages of a fusion, or itself.
func (u *Fusion) StagesOrSelf() []Fusion {
	if len(u.Stages) > 0 {
		return slices.Clone(u.Stages)
	}
	return []Fusion{*u}
}

// GatherStages makes the body and the operands of a fusion of those of its stages.
func (u *Fusion) GatherStages() { u.gather(u.Stages) }

// GatherAbreast makes the body, the operands and the results of a fusion of those that are abreast in it. Some of them
// may compute the same values.
func (u *Fusion) GatherAbreast() {
	u.gather(u.Abreast)
	for i := range u.Abreast {
		u.Outs = append(u.Outs, u.Abreast[i].Outs...)
	}
}

func (u *Fusion) gather(parts []Fusion) {
	made, held := map[ops.ID]bool{}, map[ops.ID]bool{}
	for _, s := range parts {
		for _, in := range s.Body {
			if !made[in.Outs[0].ID] {
				u.Body = append(u.Body, in)
			}
			made[in.Outs[0].ID] = true
		}
		for _, id := range s.Ins {
			if !held[id] && !slices.Contains(u.Ins, id) {
				u.Ins = append(u.Ins, id)
			}
		}
		for _, l := range s.Lits {
			if !slices.Contains(u.Lits, l) {
				u.Lits = append(u.Lits, l)
			}
		}
		for _, o := range s.Outs {
			held[o.ID] = true
		}
	}
}
