package graph

import (
	"slices"

	"nxvk/ops"
)

// Sink returns a region in which concatenations come after the elementwise
// operations that are their only readers. The operations then compute the parts
// instead of the whole, and may be fused with the producers of the parts. The
// values are the same, bit for bit. The region that is given stays as it is.
func Sink(r *ops.Region) *ops.Region {
	s := &sinker{last: r.LastID()}
	return s.region(r)
}

// maxParts bounds the parts of a concatenation that sinks: every operation that
// it passes is there once for each.
const maxParts = 4

type sinker struct{ last ops.ID } // the highest id that is taken

// region sinks the concatenations of a region. Those in the regions of its
// instructions stay where they are.
func (s *sinker) region(r *ops.Region) *ops.Region {
	b := &sinking{sinker: s, uses: usesIn(r), made: make(map[ops.ID]int), types: make(map[ops.ID]ops.Type)}
	for _, p := range r.Params {
		b.types[p.ID] = p.Type
	}
	moved := false
	for i := range r.Body {
		if parts, ok := b.parts(&r.Body[i]); ok {
			for _, in := range parts {
				b.add(in)
			}
			moved = true
			continue
		}
		b.add(r.Body[i])
	}
	if !moved {
		return r
	}
	b.body = slices.DeleteFunc(b.body, func(in ops.Instr) bool { return in.Op == ops.Concatenate && b.uses[in.Outs[0].ID] == 0 })
	return &ops.Region{Params: r.Params, Body: b.body, Values: r.Values}
}

// usesIn counts who reads each value, also in the regions of instructions.
func usesIn(r *ops.Region) map[ops.ID]int {
	uses := make(map[ops.ID]int)
	var count func(r *ops.Region)
	read := func(list []ops.Operand) {
		for _, o := range list {
			if o.Lit == nil {
				uses[o.ID]++
			}
		}
	}
	count = func(r *ops.Region) {
		for i := range r.Body {
			read(r.Body[i].Ins)
			for _, inner := range r.Body[i].Regions {
				count(inner)
			}
		}
		read(r.Values)
	}
	count(r)
	return uses
}

// sinking is a body while its concatenations sink.
type sinking struct {
	*sinker
	body  []ops.Instr
	uses  map[ops.ID]int
	made  map[ops.ID]int // the instruction of body that makes a value
	types map[ops.ID]ops.Type
}

func (b *sinking) add(in ops.Instr) {
	for _, o := range in.Outs {
		b.made[o.ID], b.types[o.ID] = len(b.body), o.Type
	}
	b.body = append(b.body, in)
}

// parts gives what an instruction on a concatenation becomes: itself for every
// part, and a concatenation of that.
func (b *sinking) parts(in *ops.Instr) (list []ops.Instr, ok bool) {
	k, cat := b.operand(in)
	if cat == nil {
		return nil, false
	}
	out := in.Outs[0]
	axis := cat.Attrs[0][0]
	whole := ops.Instr{Op: ops.Concatenate, Outs: in.Outs, Attrs: cat.Attrs}
	if in.Op == ops.Reshape {
		if axis, ok = reshaped(cat, b.types, out.Type.Shape); !ok {
			return nil, false
		}
		whole.Attrs = [][]int{{axis}}
	}
	for _, p := range cat.Ins {
		of := b.types[p.ID].Shape
		shape := slices.Clone(out.Type.Shape)
		shape[axis] = of.Size() / (out.Type.Shape.Size() / shape[axis])
		b.last++
		part := ops.Instr{Op: in.Op, Ins: slices.Clone(in.Ins), Attrs: in.Attrs,
			Outs: []ops.Result{{ID: b.last, Type: ops.Type{DType: out.Type.DType, Shape: shape}}}}
		part.Ins[k] = p
		list = append(list, part)
		whole.Ins = append(whole.Ins, ops.Operand{ID: b.last})
		b.uses[b.last] = 1
	}
	b.uses[cat.Outs[0].ID] = 0
	return append(list, whole), true
}

// operand finds the operand of an instruction on elements that is a concatenation
// nobody else reads, of values that operations on elements make. The other
// operands of the instruction are the same for all elements.
func (b *sinking) operand(in *ops.Instr) (k int, cat *ops.Instr) {
	reshape := in.Op == ops.Reshape
	if in.Op.Info().Kind != ops.Pointwise && !reshape && in.Op != ops.Bitcast || len(in.Outs) != 1 {
		return 0, nil
	}
	for i, o := range in.Ins {
		switch {
		case o.Lit != nil && len(o.Lit.Type.Shape) == 0:
		case o.Lit == nil && b.types[o.ID].Size() == 1 && len(b.types[o.ID].Shape) == 0:
		case o.Lit == nil && cat == nil && b.sinks(o.ID):
			k, cat = i, &b.body[b.made[o.ID]]
		default:
			return 0, nil
		}
	}
	if cat != nil && !reshape && !cat.Outs[0].Type.Shape.Equal(in.Outs[0].Type.Shape) {
		return 0, nil
	}
	return k, cat
}

// sinks reports whether a value is a concatenation that may sink.
func (b *sinking) sinks(id ops.ID) bool {
	i, ok := b.made[id]
	if !ok || b.body[i].Op != ops.Concatenate || b.uses[id] != 1 {
		return false
	}
	cat := &b.body[i]
	if len(cat.Ins) > maxParts || ops.Shape(cat.Outs[0].Type.Shape[:cat.Attrs[0][0]]).Size() != 1 {
		return false
	}
	return !slices.ContainsFunc(cat.Ins, func(o ops.Operand) bool {
		j, ok := b.made[o.ID]
		if o.Lit != nil || !ok || b.types[o.ID].DType != cat.Outs[0].Type.DType {
			return true
		}
		op := b.body[j].Op
		return op.Info().Kind != ops.Pointwise && op != ops.Reshape && op != ops.Bitcast
	})
}

// reshaped is the axis along which the parts of a concatenation lie in another
// shape, whose rows they must fill.
func reshaped(cat *ops.Instr, types map[ops.ID]ops.Type, s ops.Shape) (axis int, ok bool) {
	for axis < len(s) && s[axis] == 1 {
		axis++
	}
	if axis == len(s) {
		return 0, false
	}
	row := s.Size() / s[axis]
	return axis, !slices.ContainsFunc(cat.Ins, func(o ops.Operand) bool { return types[o.ID].Size()%row != 0 })
}
