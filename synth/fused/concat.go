package fused

import (
	"slices"

	"nxvk/ops"
	"nxvk/synth/fusion"
	"nxvk/synth/lowering"
)

// vectorBytes is the alignment of the largest vector that a kernel stores.
const vectorBytes = 16

// Apart returns the fusion without its concatenations, and the place of each of
// its results in a result of the whole fusion.
func Apart(u *fusion.Fusion) (inner *fusion.Fusion, places []lowering.Arg) {
	inner = &fusion.Fusion{Body: u.Body, Ins: u.Ins, Lits: u.Lits}
	types := make(map[ops.ID]ops.Type)
	cats := make(map[ops.ID]*ops.Instr)
	for i := range u.Body {
		in := &u.Body[i]
		for _, o := range in.Outs {
			types[o.ID] = o.Type
		}
		if slices.Contains(u.Whole, in.Outs[0].ID) {
			cats[in.Outs[0].ID] = in
			inner.Body = slices.DeleteFunc(slices.Clone(inner.Body), func(x ops.Instr) bool { return x.Outs[0].ID == in.Outs[0].ID })
		}
	}
	for i, o := range u.Outs {
		cat := cats[o.ID]
		if cat == nil {
			inner.Outs = append(inner.Outs, o)
			places = append(places, lowering.Arg{Ref: lowering.Ref{Kind: lowering.Result, Index: i}})
			continue
		}
		at := 0
		for _, p := range cat.Ins {
			t := types[p.ID]
			inner.Outs = append(inner.Outs, ops.Result{ID: p.ID, Type: t})
			places = append(places, lowering.Arg{Ref: lowering.Ref{Kind: lowering.Result, Index: i}, Offset: at, Bytes: t.Bytes()})
			inner.Loose = inner.Loose || at%vectorBytes != 0
			at += t.Bytes()
		}
	}
	return inner, places
}

// LowerConcatenated plans a fusion that ends in concatenations.
func LowerConcatenated(u *fusion.Fusion, types func(ops.ID) ops.Type, t *lowering.Target) (*lowering.Plan, error) {
	inner, places := Apart(u)
	p, err := Lower(inner, types, t)
	if err != nil {
		return nil, err
	}
	for i := range p.Steps {
		s := &p.Steps[i]
		s.Args = slices.Clone(s.Args)
		for k, a := range s.Args {
			if a.Ref.Kind == lowering.Result {
				to := places[a.Ref.Index]
				to.Access = a.Access
				s.Args[k] = to
			}
		}
	}
	return p, nil
}
