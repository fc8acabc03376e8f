package spmd

import (
	"slices"

	"nxvk/ops"
)

// movement is the rule of operations that move elements.
func movement(in *ops.Instr, t []ops.Type) *rule {
	s, out := t[0].Shape, in.Outs[0].Type.Shape
	switch in.Op {
	case ops.Bitcast:
		return &rule{operands: [][]int{but(len(s))}, results: [][]int{but(len(s))}}
	case ops.Reshape:
		return reshape(s, out)
	case ops.Squeeze:
		return reduced(s, in.Attrs[0], false)
	case ops.BroadcastTo:
		x := dims(nil, 0, len(s))
		for d, a := range in.Attrs[0] {
			if s[d] == out[a] {
				x[d] = a
			}
		}
		return &rule{operands: [][]int{x}, results: [][]int{but(len(out))}}
	case ops.Transpose:
		return &rule{operands: [][]int{but(len(s))}, results: [][]int{in.Attrs[0]}}
	case ops.Pad:
		var padded []int
		for d := range s {
			if slices.ContainsFunc(in.Attrs[0][3*d:3*d+3], func(n int) bool { return n != 0 }) {
				padded = append(padded, d)
			}
		}
		return along(in, len(s), padded...)
	case ops.Reverse:
		return along(in, len(s), in.Attrs[0]...)
	case ops.Slice:
		var cut []int
		for d, n := range in.Attrs[1] {
			if n != s[d] || in.Attrs[2][d] != 1 {
				cut = append(cut, d)
			}
		}
		return along(in, len(s), cut...)
	case ops.PutSlice:
		var cut []int
		for d, n := range t[1].Shape {
			if n != s[d] {
				cut = append(cut, d)
			}
		}
		r := along(in, len(s), cut...)
		r.operands = append(r.operands, r.operands[0])
		return r
	case ops.Concatenate:
		return joined(in, t, but(len(s), in.Attrs[0][0]))
	case ops.Stack:
		r := joined(in, t, but(len(s)))
		r.restore = false
		r.results = [][]int{slices.Insert(but(len(s)), in.Attrs[0][0], whole)}
		return r
	}
	return nil
}

// joined is the rule of operands that all have the same factors.
func joined(in *ops.Instr, t []ops.Type, list []int) *rule {
	r := along(in, len(list))
	r.operands, r.results = nil, [][]int{list}
	for range t {
		r.operands = append(r.operands, list)
	}
	return r
}

// reshape divides the first dimensions of groups that have as many elements before and after: a part of the one is then
// a part of the other.
func reshape(from, to ops.Shape) *rule {
	x, out := dims(nil, 0, len(from)), dims(nil, 0, len(to))
	for i, j, f := 0, 0, 0; i < len(from) && j < len(to); f++ {
		for i < len(from) && from[i] == 1 {
			i++
		}
		for j < len(to) && to[j] == 1 {
			j++
		}
		if i == len(from) || j == len(to) {
			break
		}
		x[i], out[j] = f, f
		a, b := from[i], to[j]
		for i, j = i+1, j+1; a != b; {
			if a < b {
				a *= from[i]
				i++
			} else {
				b *= to[j]
				j++
			}
		}
	}
	return &rule{operands: [][]int{x}, results: [][]int{out}}
}
