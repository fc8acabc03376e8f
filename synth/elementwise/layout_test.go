package elementwise_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"nxvk/ops"
	"nxvk/synth/codegen"
	"nxvk/synth/elementwise"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
	"nxvk/synth/scalar"
	"nxvk/synth/strided"
	"nxvk/synth/synthtest"
)

// viewed is a view at random over a space, in a buffer of so many elements.
type viewed struct {
	strided.View
	length int
}

// drawView draws where a source lies: dense with a gap between rows or without, transposed,
// stretched, backward, from an odd offset on.
func drawView(r *rand.Rand, dims []int, dense bool) viewed {
	var v viewed
	v.Strides = make([]int, len(dims))
	order := make([]int, len(dims))
	for i := range order {
		order[i] = i
	}
	if !dense && r.IntN(5) == 0 {
		order = r.Perm(len(dims))
	}
	stride := 1
	if !dense && r.IntN(6) == 0 {
		stride = 2
	}
	for k := len(dims) - 1; k >= 0; k-- {
		i := order[k]
		v.Strides[i] = stride
		stride *= dims[i]
		if !dense && r.IntN(4) == 0 {
			stride += r.IntN(9)
		}
	}
	if dense && r.IntN(3) > 0 {
		return viewed{v.View, stride}
	}
	if v.Offset = r.IntN(20); r.IntN(2) == 0 {
		v.Offset &^= 15
	}
	for i := range dims {
		switch {
		case dense:
		case r.IntN(5) == 0:
			v.Strides[i] = 0
		case r.IntN(8) == 0:
			v.Offset += v.Strides[i] * (dims[i] - 1)
			v.Strides[i] = -v.Strides[i]
		}
	}
	v.length = v.Extent(dims)
	return v
}

// drawOut draws where results lie: dense, or rows with gaps between them.
func drawOut(r *rand.Rand, dims []int) viewed {
	if r.IntN(2) == 0 {
		return drawView(r, dims, true)
	}
	v := viewed{View: strided.View{Strides: make([]int, len(dims))}}
	stride := 1 + r.IntN(8)/7
	for i := len(dims) - 1; i >= 0; i-- {
		v.Strides[i] = stride
		stride = stride*dims[i] + r.IntN(3)*r.IntN(12)
	}
	v.Offset = r.IntN(3) * r.IntN(9)
	v.length = v.Extent(dims)
	return v
}

// element is where a view has a point.
func element(v *strided.View, c []int) int {
	at := v.Offset
	for i, s := range v.Strides {
		at += c[i] * s
	}
	return at
}

// Every layout and access moves what the views say, of every size of element, and
// leaves the rest of the memory alone. Indices are summed as well, of 32 and of 64 bits, and a
// source that others shift.
func TestLayouts(t *testing.T) {
	narrow := *synthtest.GPU
	narrow.Storage8, narrow.Storage16 = false, false
	targets := map[string]*lowering.Target{"gpu": synthtest.GPU, "cpu": synthtest.CPU, "narrow": &narrow}
	for name, target := range targets {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(14, 7))
			for range 500 {
				sumOfViews(t, target, r)
			}
		})
	}
}

var summed = []ops.DType{ops.U8, ops.U8, ops.S8, ops.U16, ops.S16, ops.U32, ops.S64}

// sumOfViews adds up random views of small numbers.
func sumOfViews(t *testing.T, target *lowering.Target, r *rand.Rand) {
	t.Helper()
	dims := make([]int, 1+r.IntN(3))
	for i := range dims {
		if dims[i] = 1 + r.IntN(12); i == len(dims)-1 {
			dims[i] = 1 + r.IntN([]int{6, 40, 200}[r.IntN(3)])
		}
	}
	at := drawOut(r, dims)
	out := summed[r.IntN(len(summed))]
	if !target.Storage8 {
		out = ops.U32
	}
	j := &elementwise.Job{Dims: dims, Out: at.View, Result: codegen.ResultBuffer(out)}
	var operands [][]byte
	var ds []ops.DType
	var values []func(c []int) int64
	add := func(d ops.DType, v viewed, shifts []codegen.Shift, value func(x synthtest.Tensor, c []int) int64) {
		x := synthtest.Tensor{Typ: synthtest.Type(d, v.length)}
		for range v.length {
			x.N = append(x.N, int64(r.IntN(9)))
		}
		operands, ds = append(operands, padded(x.Bytes())), append(ds, d)
		values = append(values, func(c []int) int64 { return value(x, c) })
		j.Sources = append(j.Sources, codegen.Source{View: v.View, Shifts: shifts,
			Buffer: codegen.BufferOf(lowering.Ref{Kind: lowering.Operand, Index: len(operands) - 1}, d)})
	}
	for range 1 + r.IntN(3) {
		v := drawView(r, dims, r.IntN(2) == 0)
		add(summed[r.IntN(len(summed))], v, nil, func(x synthtest.Tensor, c []int) int64 { return x.N[element(&v.View, c)] })
	}
	if r.IntN(3) == 0 { // of which each element is shifted by one of the first source
		v, stride := drawView(r, dims, r.IntN(2) == 0), 1+r.IntN(20)
		v.length += 5 * stride
		first := values[0]
		add(summed[r.IntN(len(summed))], v, []codegen.Shift{{From: 0, Limit: 5, Stride: stride}}, func(x synthtest.Tensor, c []int) int64 {
			return x.N[element(&v.View, c)+int(min(first(c), 5))*stride]
		})
	}
	if r.IntN(3) == 0 {
		s := codegen.IndexSource(make([]int, len(dims)))
		if r.IntN(3) > 0 { // else the index is the same everywhere, as where a slice of it has one element
			s.Strides[r.IntN(len(dims))] = 1
		}
		v := s.View
		j.Sources, ds = append(j.Sources, s), append(ds, ops.U32)
		values = append(values, func(c []int) int64 { return int64(element(&v, c)) })
	}
	j.Key = fmt.Sprintf("sum of %v to %v", ds, out)
	sources := len(ds)
	j.Bodies = func(e *codegen.Emitter, xs []kernel.Value) ([]kernel.Value, error) {
		sum := e.Convert(xs[0], codegen.WideType(ops.U32))
		for _, x := range xs[1:sources] {
			sum = e.Add(sum, e.Convert(x, codegen.WideType(ops.U32)))
		}
		return e.EncodeInteger(out, sum), nil
	}
	name := fmt.Sprintf("%v of %v at %+v from %+v", ds, dims, at.View, j.Sources)
	want := synthtest.FromBytes(synthtest.Type(out, at.length), memory(at.length*out.Size()))
	synthtest.Each(dims, func(_ int, c []int) {
		sum := int64(0)
		for _, f := range values {
			sum += f(c)
		}
		want.N[element(&at.View, c)] = synthtest.Wrap(out, sum)
	})
	programs := j.Programs(target)
	if r.IntN(4) == 0 { // as for more than 2^31 elements
		for _, p := range programs {
			p.Index = scalar.U64
		}
	}
	plan, err := codegen.NewPlan(target, nil, programs...)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	got := synthtest.Execute(t, plan, []int{at.length * out.Size()}, operands, nil)[0]
	synthtest.Same(t, name, synthtest.FromBytes(want.Typ, got), want)
}

// memory is what memory has that nobody has written, see synthtest.Execute.
func memory(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = 0xa5
	}
	return b
}

func padded(b []byte) []byte { return append(b, 0, 0, 0)[:(len(b)+3)/4*4] }
