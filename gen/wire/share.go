package wire

import (
	"nxvk/gen/etf"
	"nxvk/ops/shard"
)

// decodeShare reads {Shape, Rank, [Sharding]}, or {Shape, Rank, [Sharding], whole}, one rank's share of a program on a mesh.
func decodeShare(t etf.Term) (*shard.Share, error) {
	const form = "a share is {Shape, Rank, Shardings}: the shape of the mesh, a rank, and for each parameter a list of the axes of each dimension; a fourth element, whole, has every rank get all of the values"
	tuple, ok := t.(etf.Tuple)
	if !ok || len(tuple) != 3 && (len(tuple) != 4 || tuple[3] != etf.Term(etf.Atom("whole"))) {
		return nil, bad(form)
	}
	p := &shard.Share{Whole: len(tuple) == 4}
	shape, isShape := tuple[0].(etf.Tuple)
	list, isList := tuple[2].(etf.List)
	rank, err := integer(tuple[1])
	if !isShape || !isList || err != nil {
		return nil, bad(form)
	}
	p.Rank = rank
	if p.Shape, err = integers(etf.List(shape)); err != nil {
		return nil, bad(form)
	}
	for _, e := range list {
		dims, ok := e.(etf.List)
		if !ok {
			return nil, bad(form)
		}
		s := shard.Whole(len(dims))
		for d, axes := range dims {
			if s[d], err = integers(axes); err != nil {
				return nil, bad(form)
			}
		}
		p.Params = append(p.Params, s)
	}
	return p, nil
}

// integers reads a list of integers.
func integers(t etf.Term) ([]int, error) {
	list, ok := t.(etf.List)
	if !ok {
		return nil, bad("not a list of integers")
	}
	out := make([]int, len(list))
	for i, e := range list {
		var err error
		if out[i], err = integer(e); err != nil {
			return nil, err
		}
	}
	return out, nil
}
