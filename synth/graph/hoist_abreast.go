package graph

import (
	"slices"

	"nxvk/ops"
)

// abreast are products of one value of a round by matrices from before the loop.
type abreast struct {
	products []*ops.Instr
	matrices []ops.Operand
	result   ops.Operand // of the one product; no ID until that is made
}

// groups finds the products that are one by matrices side by side, by what they multiply.
func (l *counted) groups() map[ops.ID]*abreast {
	groups := make(map[ops.ID]*abreast)
	for i := range l.round.Body {
		dot := &l.round.Body[i]
		if dot.Op != ops.Dot || !l.fits(dot) {
			continue
		}
		w, _ := l.matrix(dot)
		g := groups[dot.Ins[0].ID]
		if g == nil {
			g = &abreast{}
			groups[dot.Ins[0].ID] = g
		}
		if len(g.products) > 0 && !l.alike(g.products[0], dot) {
			continue
		}
		g.products, g.matrices = append(g.products, dot), append(g.matrices, w)
	}
	return groups
}

// fits reports whether a product multiplies few rows by a matrix from before the loop.
func (l *counted) fits(dot *ops.Instr) bool {
	w, ok := l.matrix(dot)
	if !ok || len(dot.Attrs[2]) != 1 {
		return false
	}
	if _, same := l.outer(dot.Ins[0]); same {
		return false
	}
	if _, _, slice := l.rows(dot.Ins[0]); slice != nil {
		return false
	}
	shape := l.typeOf(w).Shape
	return len(shape) == 2 && l.typeOf(dot.Ins[0]).Size() <= mostRows*shape[dot.Attrs[2][0]]
}

// alike reports whether two products of one value contract the same axes of matrices of one type.
func (l *counted) alike(a, b *ops.Instr) bool {
	return slices.Equal(a.Attrs[0], b.Attrs[0]) && slices.Equal(a.Attrs[2], b.Attrs[2]) &&
		l.typeOf(a.Ins[1]).DType == l.typeOf(b.Ins[1]).DType && a.Outs[0].Type.DType == b.Outs[0].Type.DType
}

// side makes a product a slice of the one that it is part of.
func (l *counted) side(dot *ops.Instr, groups map[ops.ID]*abreast) bool {
	if dot.Ins[0].Lit != nil {
		return false
	}
	g := groups[dot.Ins[0].ID]
	if g == nil || len(g.products) < leastAbreast {
		return false
	}
	number := slices.Index(g.products, dot)
	if number < 0 || g.result.ID == 0 && !l.join(g) {
		return false
	}
	result := dot.Outs[0].Type
	last := len(result.Shape) - 1
	starts, ones := make([]int, last+1), make([]int, last+1)
	for i := range ones {
		ones[i] = 1
	}
	for _, p := range g.products[:number] {
		starts[last] += p.Outs[0].Type.Shape[last]
	}
	l.body = append(l.body, ops.Instr{Op: ops.Slice, Ins: []ops.Operand{g.result}, Outs: dot.Outs, Attrs: [][]int{starts, slices.Clone(result.Shape), ones}})
	return true
}

// join puts the matrices of a group side by side before the loop, and one product by them into the round.
func (l *counted) join(g *abreast) bool {
	first := g.products[0]
	matrix, result := l.typeOf(g.matrices[0]), first.Outs[0].Type
	axis, last := 1-first.Attrs[2][0], len(result.Shape)-1
	matrix.Shape, result.Shape = slices.Clone(matrix.Shape), slices.Clone(result.Shape)
	for _, w := range g.matrices[1:] {
		matrix.Shape[axis] += l.typeOf(w).Shape[axis]
	}
	result.Shape[last] = matrix.Shape[axis]
	if l.abreast += matrix.Bytes(); l.abreast > mostAbreast {
		g.products = nil
		return false
	}
	w := l.add(ops.Concatenate, matrix, [][]int{{axis}}, g.matrices...)
	g.result = l.inRound(ops.Dot, result, first.Attrs, first.Ins[0], w)
	return true
}
