package graph

import (
	"encoding/binary"

	"nxvk/ops"
)

// Split returns a region in which a product of f32 and bf16 is the sum of two products of bf16, which matrix
// hardware carries out: a number of f32 is taken as the sum of its first 8 bits and of the other ones, rounded
// to 8 bits (Henry, Tang and Heinecke 2019). Nx begins gradients in f32, so these are the backward
// products of a model of bf16. pays says for which products that is sooner.
//
// The two parts differ from a number by at most 2⁻¹⁶ of its magnitude, to either side: a result is within
// the bound of products (decision 10 of ARCHITECTURE) and 2⁻¹⁶ of the sum of their magnitudes. An infinite element
// of the operand of bf16 gives NaN, also where the product is infinite. What makes the parts is elementwise, and
// so is fused with what makes the operand; all products of an operand share it. The region that is given stays as it is.
func Split(r *ops.Region, pays func(in *ops.Instr, types []ops.Type) bool) *ops.Region {
	s := &splitter{rewriter: newRewriter(r), pays: pays}
	s.rewrite = s.product
	return s.region(r)
}

type splitter struct {
	*rewriter
	pays func(in *ops.Instr, types []ops.Type) bool
}

// product rewrites a product of f32 and bf16.
func (s *splitter) product(in *ops.Instr) bool {
	if in.Op != ops.Dot || in.Ins[0].Lit != nil || in.Ins[1].Lit != nil || in.Outs[0].Type.DType != ops.F32 {
		return false
	}
	types := []ops.Type{s.typeOf(in.Ins[0]), s.typeOf(in.Ins[1])}
	wide := 0
	if types[1].DType == ops.F32 {
		wide = 1
	}
	if types[wide].DType != ops.F32 || types[1-wide].DType != ops.BF16 || !s.pays(in, types) {
		return false
	}
	if x, ok := s.widened(in.Ins[wide]); ok {
		s.body = append(s.body, s.with(in, wide, x))
		return true
	}
	first, others := s.parts(in.Ins[wide])
	small := s.with(in, wide, others)
	s.last++
	small.Outs = []ops.Result{{ID: s.last, Type: in.Outs[0].Type}}
	s.body = append(s.body, small)
	large := s.with(in, wide, first)
	s.last++
	large.Outs = []ops.Result{{ID: s.last, Type: in.Outs[0].Type}}
	s.body = append(s.body, large,
		ops.Instr{Op: ops.Add, Ins: []ops.Operand{{ID: large.Outs[0].ID}, {ID: small.Outs[0].ID}}, Outs: in.Outs})
	return true
}

// widened is the value of bf16 that a value of f32 is a conversion of.
func (s *splitter) widened(o ops.Operand) (ops.Operand, bool) {
	in := s.made[o.ID]
	if in == nil || in.Op != ops.AsType || in.Ins[0].Lit != nil || s.typeOf(in.Ins[0]).DType != ops.BF16 {
		return ops.Operand{}, false
	}
	return in.Ins[0], true
}

// with is a product with another operand i.
func (s *splitter) with(in *ops.Instr, i int, o ops.Operand) ops.Instr {
	out := *in
	out.Ins = []ops.Operand{in.Ins[0], in.Ins[1]}
	out.Ins[i] = o
	return out
}

// parts are the first 8 bits of the numbers of a value, as conversion to bf16 leaves them, and the others,
// rounded: half of the last bit is added to their magnitude before conversion. The others of infinity are 0.
func (s *splitter) parts(o ops.Operand) (first, others ops.Operand) {
	shape := s.typeOf(o).Shape
	typed := func(d ops.DType) ops.Type { return ops.Type{DType: d, Shape: shape} }
	first = s.add(ops.AsType, typed(ops.BF16), nil, o)
	others = s.add(ops.Subtract, typed(ops.F32), nil, o, s.add(ops.AsType, typed(ops.F32), nil, first))
	others = s.add(ops.Bitcast, typed(ops.U32), nil, others)
	others = s.add(ops.Add, typed(ops.U32), nil, others, word(ops.U32, 1<<15))
	others = s.add(ops.Bitcast, typed(ops.F32), nil, others)
	finite := s.add(ops.Less, typed(ops.U8), nil, s.add(ops.Abs, typed(ops.F32), nil, o), word(ops.F32, infinite))
	others = s.add(ops.Select, typed(ops.F32), nil, finite, others, word(ops.F32, 0))
	return first, s.add(ops.AsType, typed(ops.BF16), nil, others)
}

// infinite has the bits of an infinite number of f32.
const infinite = 0x7f800000

// word is a literal of 32 bits.
func word(d ops.DType, bits uint32) ops.Operand {
	return ops.Operand{Lit: &ops.Literal{Type: ops.Type{DType: d}, Data: binary.LittleEndian.AppendUint32(nil, bits)}}
}
