package synthtest

import (
	"math"
	"slices"
	"testing"
	"unsafe"

	"nxvk/ops"
	"nxvk/synth/codegen"
	"nxvk/synth/fusion"
)

// Number is element i as a complex number.
func (x Tensor) Number(i int) complex128 {
	if x.Typ.DType.IsComplex() {
		return complex(x.F[2*i], x.F[2*i+1])
	}
	return complex(x.At(i), 0)
}

// Numbers makes a tensor of a type of complex numbers, or of their real parts.
func Numbers(t ops.Type, zs ...complex128) Tensor {
	x := Tensor{Typ: t}
	for _, z := range zs {
		if t.DType.IsInteger() {
			x.N = append(x.N, int64(Re(z)))
			continue
		}
		x.F = append(x.F, Re(z))
		if t.DType.IsComplex() {
			x.F = append(x.F, imag(z))
		}
	}
	return x
}

// Re is the real part. The package has a function called real.
func Re(z complex128) float64 { return (*[2]float64)(unsafe.Pointer(&z))[0] }

// Moved is the tensor of the elements of x at the given indices; index -1 means the
// fallback.
func Moved(out ops.Type, x Tensor, other int64, index func(c []int) int) Tensor {
	y := Tensor{Typ: out}
	Each(out.Shape, func(_ int, c []int) {
		v := float64(other)
		if i := index(c); i >= 0 {
			v = x.At(i)
		}
		if out.DType.IsInteger() {
			y.N = append(y.N, int64(v))
		} else {
			y.F = append(y.F, v)
		}
	})
	return y
}

var MoveTypes = []ops.DType{ops.U8, ops.BF16, ops.F32, ops.F64}

func AsFloats(x Tensor) []float64 {
	var f []float64
	for i := range x.Typ.Size() {
		f = append(f, x.At(i))
	}
	return f
}

// Pairs are the shapes of pairs of operands: contiguous with and without a tail, scalars,
// rows, columns, strides that four does not divide, many dimensions.
var Pairs = [][2]ops.Shape{
	{{}, {}}, {{1}, {1}}, {{3}, {3}}, {{4}, {4}}, {{257}, {257}}, {{1024}, {}}, {{}, {7}},
	{{5, 8}, {8}}, {{5, 8}, {5, 1}}, {{5, 7}, {7}}, {{5, 7}, {5, 1}}, {{1, 8}, {5, 1}},
	{{2, 1, 8}, {3, 1}}, {{2, 3, 4, 8}, {2, 1, 4, 1}}, {{2, 1, 3, 1, 5}, {4, 1, 2, 1}},
	{{2, 1, 2, 1, 2, 1, 2}, {1, 2, 1, 2, 1, 2, 1}},
}

// ReduceRef folds along axes in float64.
func ReduceRef(x Tensor, out ops.Type, axes []int, init float64, f func(a, b float64) float64) Tensor {
	acc := make([]float64, out.Size())
	for i := range acc {
		acc[i] = init
	}
	drop := map[int]bool{}
	for _, a := range axes {
		drop[a] = true
	}
	Each(x.Typ.Shape, func(i int, c []int) {
		o := 0
		for d, n := range x.Typ.Shape {
			if !drop[d] {
				o = o*n + c[d]
			}
		}
		acc[o] = f(acc[o], x.At(i))
	})
	y := Tensor{Typ: out}
	for _, v := range acc {
		if out.DType.IsInteger() {
			y.N = append(y.N, Wrap(out.DType, int64(v)))
		} else {
			y.F = append(y.F, v)
		}
	}
	return y
}

func KeptShape(s ops.Shape, axes []int) ops.Shape {
	out := ops.Shape{}
	for i, d := range s {
		in := false
		for _, a := range axes {
			in = in || a == i
		}
		if !in {
			out = append(out, d)
		}
	}
	return out
}

var Reductions = []struct {
	Shape ops.Shape
	Axes  []int
}{
	{ops.Shape{}, []int{}}, {ops.Shape{5}, []int{}}, {ops.Shape{1}, []int{0}}, {ops.Shape{7}, []int{0}},
	{ops.Shape{64}, []int{0}}, {ops.Shape{1023}, []int{0}}, {ops.Shape{40001}, []int{0}}, {ops.Shape{3, 300}, []int{1}},
	{ops.Shape{3, 303}, []int{1}}, {ops.Shape{20, 9}, []int{1}}, {ops.Shape{300, 8}, []int{0}}, {ops.Shape{303, 7}, []int{0}},
	{ops.Shape{5, 2048}, []int{1}}, {ops.Shape{4, 3, 5, 8}, []int{0, 2}}, {ops.Shape{4, 6, 5, 7}, []int{1, 3}},
	{ops.Shape{4, 6, 5, 3}, []int{0, 2, 3}}, {ops.Shape{2, 3, 2, 3, 2, 3, 2}, []int{0, 2, 4, 6}},
	{ops.Shape{2, 1500, 4}, []int{1}}, {ops.Shape{2, 70, 3}, []int{0, 1, 2}},
}

// One is the fusion of a single instruction.
func One(in *ops.Instr) fusion.Fusion {
	u := fusion.Fusion{Body: []ops.Instr{*in}, Outs: in.Outs}
	for _, o := range in.Ins {
		if o.Lit != nil {
			u.Lits = append(u.Lits, o.Lit)
		} else if !slices.Contains(u.Ins, o.ID) {
			u.Ins = append(u.Ins, o.ID)
		}
	}
	return u
}

// Sample is an instruction on operands of one type, or nil where the operation
// has none.
func Sample(op ops.Op, d ops.DType) (*ops.Instr, []ops.Type) {
	info := op.Info()
	in := Instr(op, Type(d, 8))
	var types []ops.Type
	for i := range info.Arity {
		types = append(types, Type(d, 8))
		if op == ops.Clip && i > 0 {
			types[i].Shape = ops.Shape{}
		}
		in.Ins = append(in.Ins, ops.Operand{ID: ops.ID(i)})
	}
	switch {
	case info.Result == ops.BoolType:
		in.Outs[0].Type.DType = ops.U8
	case info.Result == ops.RealType:
		in.Outs[0].Type.DType = d.Real()
	case info.Result == ops.FloatType && d.IsInteger(), op == ops.AsType && d != ops.F32:
		in.Outs[0].Type.DType = ops.F32
	case op == ops.AsType:
		in.Outs[0].Type.DType = ops.S32
	}
	if info.Kind == ops.Reduce {
		in.Attrs = [][]int{{0}, {0}}
		in.Outs[0].Type.Shape = ops.Shape{}
	}
	if in.Check(types) != nil {
		return nil, nil
	}
	return in, types
}

// Collect makes a tensor of numbers; an infinity is the extreme of an integer
// type.
func Collect(t ops.Type, v []float64) Tensor {
	x := Tensor{Typ: t}
	for _, y := range v {
		if !t.DType.IsInteger() {
			x.F = append(x.F, y)
			continue
		}
		lowest, highest := codegen.IntegerLimits(t.DType)
		switch {
		case math.IsInf(y, -1):
			x.N = append(x.N, Wrap(t.DType, int64(lowest)))
		case math.IsInf(y, 1):
			x.N = append(x.N, Wrap(t.DType, int64(highest)))
		default:
			x.N = append(x.N, Wrap(t.DType, int64(y)))
		}
	}
	return x
}

func Inferred(t *testing.T, in *ops.Instr, types ...ops.Type) ops.Shape {
	t.Helper()
	shapes, err := in.Op.Info().Infer(in, types)
	if err != nil {
		t.Fatal(err)
	}
	return shapes[0]
}
