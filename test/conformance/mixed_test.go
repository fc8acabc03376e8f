package conformance

import (
	"testing"

	"nxvk/gen/exec/exectest"
	"nxvk/ops"
)

// mixtures are types of two operands; the result is of their merged type, or
// of the third where that is not Invalid.
var mixtures = [][3]ops.DType{
	{ops.S32, ops.F32}, {ops.F32, ops.S32}, {ops.U8, ops.S8}, {ops.S8, ops.U16}, {ops.U32, ops.S32}, {ops.S64, ops.U64},
	{ops.U64, ops.S8}, {ops.BF16, ops.F16}, {ops.F16, ops.F32}, {ops.F32, ops.F64}, {ops.S64, ops.F32}, {ops.U8, ops.BF16},
	{ops.F8, ops.F32}, {ops.F8E4M3, ops.F16}, {ops.S4, ops.U2}, {ops.U4, ops.S64}, {ops.F64, ops.U64},
	{ops.S32, ops.S32, ops.F32}, {ops.U8, ops.U8, ops.U32}, {ops.F16, ops.F16, ops.F32}, {ops.S32, ops.S32, ops.S64},
	{ops.F32, ops.F32, ops.BF16},
}

// Operands of different types meet in the type of computation, as tensors and
// as scalars that travel in the instruction.
func TestMixedTypes(t *testing.T) {
	modes(t, func(t *testing.T, d, host *exectest.Driver, gpu bool) {
		var n tally
		for op := range ops.Count {
			f := op.Info()
			if f.Kind != ops.Pointwise || f.Arity != 2 {
				continue
			}
			for _, m := range mixtures {
				out := m[2]
				if out == ops.Invalid {
					out = ops.Merge(m[0], m[1])
				}
				if class := out.Class(); f.Result == ops.FloatType && class != ops.Float || f.Code.For(class) == "" {
					continue
				}
				if f.Result == ops.BoolType {
					out = ops.U8
				}
				mixed(t, &n, d, host, op, [2]ops.DType{m[0], m[1]}, out, gpu)
			}
		}
		n.report(t)
	})
}

func mixed(t *testing.T, n *tally, d, host *exectest.Driver, op ops.Op, in [2]ops.DType, out ops.DType, gpu bool) {
	t.Helper()
	f := op.Info()
	c := instr{op: op, types: []ops.Type{{DType: in[0], Shape: ops.Shape{31, 9}}, {DType: in[1], Shape: ops.Shape{9}}}}
	c.infer(t, out)
	of := 24
	if gpu {
		of = 48
	}
	if !rarely(of, &c) {
		return
	}
	s := newSampler(seed(op, in[0], int(in[1])))
	c.data = [][]byte{s.representable(c.types[0], f.Domain, false), s.representable(c.types[1], f.Domain, true)}
	tol := tolerances(f, out)
	n.near(t, d, host, &c, tol)
	for which := range 2 {
		got, err := withLiteral(d, &c, which)
		want, hostErr := withLiteral(host, &c, which)
		if err != nil || hostErr != nil {
			t.Errorf("%v with operand %d a literal: device says %v, host says %v", &c, which, err, hostErr)
			return
		}
		typ := ops.Type{DType: out, Shape: c.types[1-which].Shape}
		if err := compare(got, want, typ, tol); err != nil {
			t.Errorf("%v with operand %d a literal: %v", &c, which, err)
		}
	}
}

// representable draws numbers that every type of computation holds, and where the
// device has f64, in which it computes with integers and floats, any integers but
// for the first, which is taken as a literal too.
func (s sampler) representable(typ ops.Type, d ops.Domain, last bool) []byte {
	if typ.DType.IsFloat() {
		if d == ops.Real {
			d = ops.NonZero
		}
		return s.draw(typ, d, last)
	}
	low, high := 0, 1<<min(typ.DType.Bits()-1, 7)-1
	switch {
	case d == ops.Small:
		high = min(high, 3)
	case last && d == ops.NonZero:
		low = 1
	case typ.DType.Class() == ops.Signed:
		low = -high
	}
	data := s.natural(typ, low, high)
	if target.Float64 && d != ops.Small && d != ops.ShiftBy {
		copy(data[typ.DType.Size():], s.draw(typ, d, last))
	}
	return data
}

// withLiteral computes an operation whose operand i is the scalar that the
// operand's first element is.
func withLiteral(d *exectest.Driver, c *instr, i int) ([]byte, error) {
	scalar := ops.Type{DType: c.types[i].DType}
	lit := ops.Operand{Lit: &ops.Literal{Type: scalar, Data: c.data[i][:scalar.Bytes()]}}
	id := d.Upload(c.types[1-i], c.data[1-i])
	ins := []ops.Operand{lit, {ID: id}}
	if i == 1 {
		ins[0], ins[1] = ins[1], ins[0]
	}
	out := d.Do(c.op, ops.Type{DType: c.out.DType, Shape: c.types[1-i].Shape}, nil, ins...)
	defer d.Free(id, out)
	return d.Read(out)
}

// Where u64 meets signed integers, numbers of 2^63 and more stay larger than all of
// those, on the device and on the host.
func TestMixedSigns(t *testing.T) {
	modes(t, func(t *testing.T, d, host *exectest.Driver, gpu bool) {
		var n tally
		for op := range ops.Count {
			if f := op.Info(); f.Kind != ops.Pointwise || f.Arity != 2 || f.Code.Sint == "" || f.Result == ops.FloatType {
				continue
			}
			for _, in := range [][2]ops.DType{{ops.U64, ops.S64}, {ops.S64, ops.U64}, {ops.S16, ops.U64}} {
				c := instr{op: op, types: []ops.Type{{DType: in[0], Shape: ops.Shape{31, 1}}, {DType: in[1], Shape: ops.Shape{29}}}}
				out := ops.S64
				if op.Info().Result == ops.BoolType {
					out = ops.U8
				}
				c.infer(t, out)
				if !rarely(4, &c) {
					continue
				}
				s := newSampler(seed(op, in[0], 3))
				c.data = [][]byte{s.bits(c.types[0]), s.bits(c.types[1])}
				n.same(t, d, host, &c)
			}
		}
		n.report(t)
	})
}

// The bounds of clip may be u64 where what they hold is signed, and the other way round.
func TestMixedClip(t *testing.T) {
	modes(t, func(t *testing.T, d, host *exectest.Driver, gpu bool) {
		var n tally
		for _, in := range [][3]ops.DType{
			{ops.U64, ops.S64, ops.S64}, {ops.S64, ops.U64, ops.S32}, {ops.S16, ops.S8, ops.U64}, {ops.U64, ops.S16, ops.U64},
		} {
			c := instr{op: ops.Clip, types: []ops.Type{{DType: in[0], Shape: ops.Shape{257}}, {DType: in[1]}, {DType: in[2]}}}
			c.infer(t, ops.S64)
			s := newSampler(seed(c.op, in[0], int(in[1])))
			c.data = [][]byte{s.bits(c.types[0]), s.bits(c.types[1]), s.bits(c.types[2])}
			n.same(t, d, host, &c)
		}
		n.report(t)
	})
}
