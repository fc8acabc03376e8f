package server

import (
	"nxvk/gen/etf"
	"nxvk/synth/spmd"
)

// sharesTerm is #{values => [{{Type, Shape}, Sharding}], notes => [{Op, Text, Bytes}]}: the values of a program, whole,
// how they are divided, and what that takes.
func sharesTerm(s *spmd.Result) etf.Term {
	values, notes := etf.List{}, etf.List{}
	for i, t := range s.Types {
		dims := etf.List{}
		for _, axes := range s.Values[i] {
			list := etf.List{}
			for _, a := range axes {
				list = append(list, int64(a))
			}
			dims = append(dims, list)
		}
		values = append(values, etf.Tuple{typeTerm(t), dims})
	}
	for _, n := range s.Notes {
		notes = append(notes, etf.Tuple{etf.Atom(n.Op.String()), []byte(n.What), int64(n.Bytes)})
	}
	return etf.Map{{Key: etf.Atom("values"), Value: values}, {Key: etf.Atom("notes"), Value: notes}}
}
