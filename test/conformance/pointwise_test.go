package conformance

import (
	"flag"
	"hash/fnv"
	"testing"

	"nxvk/gen/exec/exectest"
	"nxvk/ops"
)

// shapes are the classes of operand shapes: the operands of an operation take
// the first ones of a row.
var shapes = [][]ops.Shape{
	{{}, {}, {}},
	{{1}, {1}, {1}},
	{{255}, {255}, {255}},
	{{1031}, {1031}, {1031}},
	{{257}, {}, {}},
	{{}, {257}, {}},
	{{3, 1, 5}, {4, 1}, {}},
	{{2, 3, 4, 5}, {3, 1, 5}, {1}},
	{{2, 1, 3, 1, 2, 3}, {2, 1, 2, 2, 1}, {3}},
	{{256}, {256}, {256}},
}

// resultType is the type of an operation's result for operands of a type; ok
// is false where the rule or the classes of the code allow none.
func resultType(f *ops.Info, d ops.DType) (ops.DType, bool) {
	switch f.Result {
	case ops.BoolType:
		return ops.U8, true
	case ops.FloatType:
		return d, d.IsFloat()
	case ops.IndexType:
		return d, d.IsInteger()
	}
	return d, f.Code.For(d.Class()) != "" && !d.IsComplex()
}

// full runs every operation in every type on every class of shapes; without
// it each type is tried and the main ones in the shapes that take other
// kernels. A software device takes 50 ms to compile one.
var full = flag.Bool("full", false, "every type and shape")

// classes are the shapes in which an operation is tried for a type.
func classes(op ops.Op, d ops.DType, gpu bool) [][]ops.Shape {
	if op == ops.Clip { // takes scalars
		return shapes[4:5]
	}
	main := d == ops.F32 || d == ops.S32
	switch {
	case *full:
		return shapes
	case main && !gpu && op.Info().Arity > 1:
		return [][]ops.Shape{shapes[3], shapes[4], shapes[7]}
	case main, d == ops.F64 && !gpu:
		return shapes[3:4]
	case gpu, int(d)%6 != int(op)%6: // the other types take turns
		return nil
	}
	return shapes[2:3]
}

func TestPointwise(t *testing.T) {
	modes(t, func(t *testing.T, d, host *exectest.Driver, gpu bool) {
		onDevice := 0
		for op := range ops.Count {
			if f := op.Info(); f.Kind == ops.Pointwise && f.Code != (ops.Code{}) {
				onDevice += pointwise(t, d, host, op, gpu)
			}
		}
		t.Logf("%d cases ran on the device", onDevice)
		if onDevice == 0 && *only != "" {
			t.Skipf("no case that the device computes matches %q", *only)
		}
		if onDevice == 0 {
			t.Error("nothing ran on the device")
		}
		if early != nil && early.Exec.Counters().Interpreted < uint64(onDevice)/2 {
			t.Errorf("the host carried out %d of %d in the device's stead", early.Exec.Counters().Interpreted, onDevice)
		}
	})
}

func pointwise(t *testing.T, d, host *exectest.Driver, op ops.Op, gpu bool) (onDevice int) {
	f := op.Info()
	for _, dt := range ops.DTypes() {
		out, ok := resultType(f, dt)
		if !ok || dt.IsComplex() {
			continue
		}
		for i, row := range classes(op, dt, gpu) {
			types, data := operands(f, dt, row, seed(op, dt, i))
			result := ops.Type{DType: out, Shape: broadcast(t, types)}
			if check(t, d, host, op, result, nil, types, data, tolerances(f, dt)) {
				onDevice++
			}
		}
	}
	return onDevice
}

func seed(op ops.Op, d ops.DType, i int) uint64 {
	h := fnv.New64a()
	h.Write([]byte(op.String() + d.String()))
	return h.Sum64() + uint64(i)
}

// operands draws those of an operation.
func operands(f *ops.Info, d ops.DType, row []ops.Shape, seed uint64) (types []ops.Type, data [][]byte) {
	s := newSampler(seed)
	for i := range f.Arity {
		typ := ops.Type{DType: d, Shape: row[i]}
		types = append(types, typ)
		data = append(data, s.operand(typ, f.Domain, i, i == f.Arity-1))
	}
	return types, data
}

func broadcast(t *testing.T, types []ops.Type) ops.Shape {
	t.Helper()
	s := types[0].Shape
	for _, o := range types[1:] {
		var err error
		if s, err = ops.Broadcast(s, o.Shape); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// tolerances are the table's. The host rounds f64 functions of Go, themselves
// within a unit, and so allows one more; a narrow type keeps the error of f32
// far below its own unit, but for the rounding.
func tolerances(f *ops.Info, d ops.DType) tolerance {
	tol := tolerance{ulp: float64(f.ULP), flush: !target.Subnormals && d.Wide() == ops.F32}
	switch {
	case f.ULP == 0:
	case d == ops.F64:
		tol.ulp++
	case d != ops.F32:
		tol.ulp = 1
	}
	return tol
}
