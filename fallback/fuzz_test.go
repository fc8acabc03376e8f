package fallback

import (
	"math/rand/v2"
	"testing"

	"nxvk/fallback/dense"
	"nxvk/ops"
)

// FuzzRun makes instructions out of bytes: whatever the table accepts, Run
// computes or refuses with an error, for every type.
func FuzzRun(f *testing.F) {
	r := rand.New(rand.NewPCG(31, 32))
	for range 200 {
		b := make([]byte, 60)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		d := drawer(b)
		d.run(t)
	})
}

// drawer draws small numbers from bytes; from the end of them, zeros.
type drawer []byte

func (d *drawer) below(n int) int {
	if len(*d) == 0 {
		return 0
	}
	x := (*d)[0]
	*d = (*d)[1:]
	return int(x) % n
}

func (d *drawer) shape() ops.Shape {
	s := make(ops.Shape, d.below(4))
	for i := range s {
		s[i] = 1 + d.below(4)
	}
	return s
}

func (d *drawer) attrs(schema []ops.Attr, rank int) [][]int {
	out := make([][]int, len(schema))
	for i, a := range schema {
		n := 1
		switch a.Kind {
		case ops.Ints:
			n = min(rank, d.below(rank+4))
		case ops.Pads:
			n = 3 * rank
		case ops.Pairs:
			n = 2 * d.below(rank+1)
		}
		for range n {
			x := d.below(5) - 1
			if a.Kind == ops.Enum {
				x = d.below(len(a.Names))
			}
			out[i] = append(out[i], x)
		}
	}
	return out
}

func (d *drawer) run(t *testing.T) {
	op := ops.Op(d.below(int(ops.Count)))
	f := op.Info()
	if f.Kind == ops.Control || f.Kind == ops.Composite {
		return
	}
	types := ops.DTypes()
	arity, shape, dtype := f.Arity, d.shape(), types[d.below(len(types))]
	if arity == ops.Variadic {
		arity = 1 + d.below(3)
	}
	in := ops.Instr{Op: op, Attrs: d.attrs(f.Attrs, len(shape))}
	args, operands := make([]Value, arity), make([]ops.Type, arity)
	for i := range args {
		if d.below(4) == 0 {
			shape = d.shape()
		}
		if d.below(4) == 0 {
			dtype = types[d.below(len(types))]
		}
		args[i] = dense.New(ops.Type{DType: dtype, Shape: shape})
		if d.below(3) != 0 { // zeros are indices inside of everything
			for j := range args[i].Data {
				args[i].Data[j] = byte(d.below(256))
			}
		}
		operands[i] = args[i].Type
		in.Ins = append(in.Ins, ops.Operand{Lit: &ops.Literal{Type: args[i].Type, Data: args[i].Data}})
	}
	stated := []ops.DType{ops.U8, ops.S32, ops.F32, ops.C64, dtype, dtype.Real()}[d.below(6)]
	if f.Kind == ops.Fold {
		in.Regions = []*ops.Region{minus(stated)}
	}
	in.Outs = make([]ops.Result, f.Results)
	for i := range in.Outs {
		in.Outs[i].Type = ops.Type{DType: stated, Shape: d.shape()}
	}
	if in.Check(operands) != nil {
		shapes, err := f.Infer(&in, operands)
		if err != nil {
			return
		}
		for i, s := range shapes {
			in.Outs[i].Type.Shape = s
		}
		if in.Check(operands) != nil {
			return
		}
	}
	outs := make([]Value, len(in.Outs))
	for i := range outs {
		outs[i] = dense.New(in.Outs[i].Type)
	}
	if err := Run(&in, args, outs); err == nil {
		ran[op]++
	}
}

// ran counts the instructions that were computed.
var ran [ops.Count]int

// rare are the operations whose operands and attributes chance seldom finds.
var rare = map[ops.Op]bool{ops.Conv: true, ops.FFT2: true, ops.IFFT2: true, ops.Gather: true, ops.IndexedAdd: true, ops.IndexedPut: true}

// TestRandomInstructions draws enough of them that each other operation is
// computed.
func TestRandomInstructions(t *testing.T) {
	r := rand.New(rand.NewPCG(33, 34))
	b := make([]byte, 300)
	for range 50000 {
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		d := drawer(b)
		d.run(t)
	}
	for op := ops.Op(0); op < ops.Count; op++ {
		if Supports(op) && ran[op] == 0 && !rare[op] && op.Info().Kind != ops.Composite {
			t.Errorf("%v never ran", op)
		}
	}
}
