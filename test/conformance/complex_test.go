package conformance

import (
	"fmt"
	"math"
	"math/cmplx"
	"testing"

	"nxvk/gen/exec/exectest"
	"nxvk/ops"
	"nxvk/test/draw"
)

var complexTypes = []ops.DType{ops.C64, ops.C128}

// flatten is a type as a row of real numbers: the parts of complex ones.
func flatten(t ops.Type) ops.Type {
	if !t.DType.IsComplex() {
		return ops.Type{DType: t.DType, Shape: ops.Shape{t.Size()}}
	}
	return ops.Type{DType: t.DType.Real(), Shape: ops.Shape{2 * t.Size()}}
}

// parts draws numbers whose parts are of moderate size, some of them on an axis.
func (s sampler) parts(t ops.Type) []byte {
	flat := flatten(t)
	v := make([]float64, flat.Size())
	for i := range v {
		v[i] = math.Copysign(math.Exp2(6*s.Float64()-4), s.Float64()-0.5)
		if s.IntN(12) == 0 {
			v[i] = 0
		}
	}
	return draw.Encode(v, flat)
}

// complexNumbers reads the elements of a complex type.
func complexNumbers(data []byte, t ops.Type) []complex128 {
	v := draw.Decode(data, flatten(t))
	z := make([]complex128, t.Size())
	for i := range z {
		z[i] = complex(v[2*i], v[2*i+1])
	}
	return z
}

// compareComplex returns the first element that is further from the oracle's
// than so many units in the last place of its magnitude.
func compareComplex(got, want []byte, t ops.Type, ulp float64) error {
	g, w := complexNumbers(got, t), complexNumbers(want, t)
	for i := range w {
		if !finite(g[i]) && !finite(w[i]) || g[i] == w[i] {
			continue // which part is infinite and which is no number is nobody's promise
		}
		_, exponent := math.Frexp(max(math.Abs(real(w[i])), math.Abs(imag(w[i]))))
		unit := math.Exp2(float64(exponent - digits[t.DType.Real()]))
		if d := cmplx.Abs(g[i]-w[i]) / unit; !(d <= ulp) {
			return fmt.Errorf("element %d is %v, want %v: %.3g ULP", i, g[i], w[i], d)
		}
	}
	return nil
}

func finite(z complex128) bool { return !cmplx.IsNaN(z) && !cmplx.IsInf(z) }

// complexError is what is permitted of an operation, on either side.
func complexError(op ops.Op) float64 {
	if op == ops.Pow {
		return 256
	}
	return 6
}

// Operations on complex numbers, with every code that the table has, on tensors
// of one shape and on ones that are stretched.
func TestComplex(t *testing.T) {
	modes(t, func(t *testing.T, d, host *exectest.Driver, gpu bool) {
		var n tally
		for op := range ops.Count {
			f := op.Info()
			if f.Kind != ops.Pointwise || f.Code.Complex == "" || op == ops.AsType {
				continue
			}
			for _, dt := range complexTypes {
				for i, row := range [][]ops.Shape{{{1031}, {1031}, {1031}}, {{2, 3, 1, 5}, {3, 4, 1}, {5}}} {
					c := instr{op: op}
					for k := range f.Arity {
						c.types = append(c.types, ops.Type{DType: dt, Shape: row[k]})
					}
					c.infer(t, complexResult(f, dt))
					if (gpu || dt == ops.C128 || i > 0) && !rarely(8, &c) {
						continue
					}
					s := newSampler(seed(op, dt, i))
					for k := range c.types {
						c.data = append(c.data, s.parts(c.types[k]))
					}
					n.complex(t, d, host, &c)
				}
			}
		}
		n.report(t)
	})
}

// Tangents, inverse functions and the inverse root of 0 and of numbers with a part that
// is infinite or NaN have the parts that they have on the host.
func TestComplexBeyond(t *testing.T) {
	inf := math.Inf(1)
	parts := []float64{-inf, -3, math.Copysign(0, -1), 0, 0x1p-140, 0.5, inf, math.NaN()}
	var v []float64
	for i := range len(parts) * len(parts) {
		if z := complex(parts[i/len(parts)], parts[i%len(parts)]); !finite(z) || z == 0 {
			v = append(v, real(z), imag(z))
		}
	}
	modes(t, func(t *testing.T, d, host *exectest.Driver, gpu bool) {
		var n tally
		for _, op := range []ops.Op{ops.Tan, ops.Tanh, ops.Asin, ops.Acos, ops.Atan, ops.Asinh, ops.Acosh, ops.Atanh, ops.Rsqrt} {
			for _, dt := range complexTypes {
				c := instr{op: op, types: []ops.Type{{DType: dt, Shape: ops.Shape{len(v) / 2}}}}
				c.data = [][]byte{draw.Encode(v, flatten(c.types[0]))}
				c.infer(t, dt)
				n.complexSame(t, d, host, &c, tolerance{ulp: 2})
			}
		}
		n.allOnDevice(t)
	})
}

// complexResult is the type of an operation's result for complex operands.
func complexResult(f *ops.Info, d ops.DType) ops.DType {
	switch f.Result {
	case ops.BoolType:
		return ops.U8
	case ops.RealType:
		return d.Real()
	}
	return d
}

// complex compares an instruction whose result may be complex.
func (n *tally) complex(t *testing.T, d, host *exectest.Driver, c *instr) {
	t.Helper()
	got, want, ok := n.both(t, d, host, c)
	if !ok {
		return
	}
	err := error(nil)
	if c.out.DType.IsComplex() {
		err = compareComplex(got, want, c.out, complexError(c.op))
	} else {
		err = compare(got, want, c.out, tolerance{ulp: 2})
	}
	if err != nil {
		t.Errorf("%v: %v", c, err)
	}
}

// Between complex and real types, and of both in one operation.
func TestComplexConvert(t *testing.T) {
	modes(t, func(t *testing.T, d, host *exectest.Driver, gpu bool) {
		var n tally
		for _, from := range ops.DTypes() {
			for _, to := range ops.DTypes() {
				if !from.IsComplex() && !to.IsComplex() || from == to {
					continue
				}
				c := convertible(t, from.Real(), to)
				if from.IsComplex() {
					c.types[0] = ops.Type{DType: from, Shape: ops.Shape{c.types[0].Size() / 2}}
					c.data[0] = c.data[0][:c.types[0].Bytes()]
					c.infer(t, to)
				}
				of := 3
				if gpu {
					of = 8
				}
				if rarely(of, &c) {
					n.complexSame(t, d, host, &c, flushed(from.Real()))
				}
			}
		}
		n.report(t)
	})
}

// complexSame compares part by part.
func (n *tally) complexSame(t *testing.T, d, host *exectest.Driver, c *instr, tol tolerance) {
	t.Helper()
	if got, want, ok := n.both(t, d, host, c); ok {
		if err := compare(got, want, flatten(c.out), tol); err != nil {
			t.Errorf("%v: %v", c, err)
		}
	}
}

// Convolutions of every form, of whole numbers.
func TestComplexConv(t *testing.T) {
	modes(t, func(t *testing.T, d, host *exectest.Driver, gpu bool) {
		var n tally
		for i := range convolutions {
			for _, types := range [][3]ops.DType{{ops.C64, ops.C64, ops.C64}, {ops.C64, ops.F32, ops.C64}, {ops.C128, ops.C128, ops.C128}} {
				c := convolutions[i].instr(t, types)
				of := 3
				if types[0] != types[1] || types[0] == ops.C128 || gpu {
					of = 12
				}
				if c.types[0].Size() > 1<<14 || !rarely(of, &c) {
					continue // the host is slow
				}
				s := newSampler(uint64(i))
				for _, o := range c.types {
					c.data = append(c.data, s.natural(flatten(o), -2, 2))
				}
				n.complexSame(t, d, host, &c, tolerance{})
			}
		}
		n.report(t)
	})
}

// Movement, indexing and reductions of whole numbers, which nothing rounds.
func TestComplexExact(t *testing.T) {
	modes(t, func(t *testing.T, d, host *exectest.Driver, gpu bool) {
		var n tally
		for _, dt := range complexTypes {
			typ := func(dims ...int) ops.Type { return ops.Type{DType: dt, Shape: dims} }
			for _, c := range []instr{
				{op: ops.Transpose, attrs: [][]int{{1, 0}}, types: []ops.Type{typ(70, 33)}},
				{op: ops.Slice, attrs: [][]int{{3, 1}, {9, 30}, {2, 1}}, types: []ops.Type{typ(70, 33)}},
				{op: ops.Reverse, attrs: [][]int{{1}}, types: []ops.Type{typ(9, 33)}},
				{op: ops.Concatenate, attrs: [][]int{{0}}, types: []ops.Type{typ(9, 33), typ(5, 33)}},
				{op: ops.Sum, attrs: [][]int{{0, 1}, {0}}, types: []ops.Type{typ(70, 133)}},
				{op: ops.Sum, attrs: [][]int{{1}, {0}}, types: []ops.Type{typ(7, 1333)}},
				{op: ops.Sum, attrs: [][]int{{0}, {1}}, types: []ops.Type{typ(70, 32)}},
				{op: ops.Product, attrs: [][]int{{1}, {0}}, types: []ops.Type{typ(30, 5)}},
				{op: ops.CumulativeSum, attrs: [][]int{{1}, {0}}, types: []ops.Type{typ(7, 133)}},
				{op: ops.CumulativeSum, attrs: [][]int{{0}, {1}}, types: []ops.Type{typ(133, 6)}},
				{op: ops.WindowSum, attrs: [][]int{{3, 2}, {1, 0, 0, 2}, {1, 2}, {1, 1}}, types: []ops.Type{typ(20, 70)}},
				{op: ops.WindowProduct, attrs: [][]int{{2, 2}, {1, 0, 0, 2}, {1, 2}, {1, 3}}, types: []ops.Type{typ(20, 70)}},
				{op: ops.CumulativeProduct, attrs: [][]int{{1}, {0}}, types: []ops.Type{typ(70, 9)}},
				{op: ops.CumulativeProduct, attrs: [][]int{{0}, {1}}, types: []ops.Type{typ(11, 5, 7)}},
			} {
				c.infer(t, dt)
				s := newSampler(seed(c.op, dt, len(c.types[0].Shape)))
				for _, o := range c.types {
					c.data = append(c.data, s.natural(flatten(o), -2, 2))
				}
				if !gpu || rarely(2, &c) {
					n.complexSame(t, d, host, &c, tolerance{})
				}
			}
		}
		n.allOnDevice(t)
	})
}

// Slices written over and added to tensors, some of them twice, where the updates or
// the tensor may be real.
func TestComplexIndexed(t *testing.T) {
	modes(t, func(t *testing.T, d, host *exectest.Driver, gpu bool) {
		var n tally
		for _, types := range [][3]ops.DType{{ops.C64, ops.C64, ops.C64}, {ops.C128, ops.C128, ops.C128},
			{ops.C64, ops.F32, ops.C64}, {ops.S32, ops.C64, ops.C64}, {ops.C64, ops.F64, ops.C128}, {ops.C128, ops.BF16, ops.C128}} {
			for _, op := range []ops.Op{ops.IndexedAdd, ops.IndexedPut} {
				c := update{shape(90, 17), []int{0}, 40}.instr(op, types, ops.S32)
				c.infer(t, types[2])
				s := newSampler(uint64(op))
				c.data = [][]byte{s.natural(flatten(c.types[0]), -9, 9), s.natural(c.types[1], 0, 89), s.natural(flatten(c.types[2]), -9, 9)}
				n.complexSame(t, d, host, &c, tolerance{})
			}
		}
		n.allOnDevice(t)
	})
}

// Contractions of whole numbers, of every form.
func TestComplexDot(t *testing.T) {
	modes(t, func(t *testing.T, d, host *exectest.Driver, gpu bool) {
		var n tally
		for i := range dots {
			for _, types := range [][3]ops.DType{{ops.C64, ops.C64, ops.C64}, {ops.C128, ops.C128, ops.C128},
				{ops.C64, ops.F32, ops.C64}, {ops.S32, ops.C64, ops.C64}} {
				c := contraction(t, i, types)
				of := 2
				if types[0] != types[1] || gpu {
					of = 8
				}
				if !rarely(of, &c) {
					continue
				}
				s := newSampler(uint64(i))
				for _, o := range c.types {
					c.data = append(c.data, s.natural(flatten(o), -2, 2))
				}
				n.complexSame(t, d, host, &c, tolerance{})
			}
		}
		n.report(t)
	})
}
