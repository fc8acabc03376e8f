package synth_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"nxvk/ops"
	"nxvk/synth"
	"nxvk/synth/codegen"
	"nxvk/synth/elementwise"
	"nxvk/synth/kernel"
	"nxvk/synth/kernel/kerneltest"
	"nxvk/synth/lowering"
	"nxvk/synth/scalar"
	"nxvk/synth/spirv"
	"nxvk/synth/spirv/spirvtest"
	"nxvk/synth/strided"
	"nxvk/synth/synthtest"
)

// Tensors beyond 2^31 elements have 64-bit indices and a folded grid.
func TestHugeTensors(t *testing.T) {
	huge := synthtest.Type(ops.F32, 1<<17, 1<<16)
	for _, c := range []struct {
		in    *ops.Instr
		types []ops.Type
	}{
		{synthtest.Instr(ops.Add, huge), []ops.Type{huge, synthtest.Type(ops.F32, 1<<16)}},
		{synthtest.Instr(ops.Transpose, synthtest.Type(ops.F32, 1<<16, 1<<17), []int{1, 0}), []ops.Type{huge}},
		{synthtest.Instr(ops.Sum, synthtest.Type(ops.F32), []int{0, 1}, []int{0}), []ops.Type{huge}},
		{synthtest.Instr(ops.Sum, synthtest.Type(ops.F32, 1<<16), []int{0}, []int{0}), []ops.Type{huge}},
		{synthtest.Instr(ops.ArgMax, synthtest.Type(ops.S64), []int{-1}, []int{0}, []int{0}), []ops.Type{huge}},
	} {
		p, err := synthtest.Lower(t, synthtest.GPU, c.in, c.types...)
		if err != nil {
			t.Errorf("%v: %v", c.in.Op, err)
			continue
		}
		for _, s := range p.Steps {
			spirvtest.Validate(t, s.Kernel.Code)
			if max(s.Grid[0], s.Grid[1], s.Grid[2]) > 65535 {
				t.Errorf("%v: grid %v", c.in.Op, s.Grid)
			}
		}
		if !slices.Contains(p.Steps[0].Kernel.IR.Types, scalar.U64) {
			t.Errorf("%v: indices have 32 bits", c.in.Op)
		}
		c.in.Ins = nil
		if _, err := synthtest.Lower(t, synthtest.CPU, c.in, c.types...); !errors.Is(err, lowering.ErrUnsupported) {
			t.Errorf("%v in bindings of 128 MiB: got %v", c.in.Op, err)
		}
	}
}

// The same kernels with 64-bit indices compute the same.
func TestWideIndices(t *testing.T) {
	x := synthtest.Random(synthtest.Type(ops.F32, 6, 40), 1)
	in := synthtest.Instr(ops.Subtract, x.Typ)
	in.Ins = make([]ops.Operand, 2)
	space := x.Typ.Shape
	j := &elementwise.Job{Key: "wide", Dims: space, Out: strided.Dense(space), Result: codegen.ResultBuffer(ops.F32)}
	row := synthtest.Type(ops.F32, 40)
	j.Sources = []codegen.Source{codegen.OperandSource(in, []ops.Type{x.Typ}, 0, space, ops.F32), codegen.OperandSource(in, []ops.Type{x.Typ, row}, 1, space, ops.F32)}
	j.Body = func(e *codegen.Emitter, xs []kernel.Value) (kernel.Value, error) { return e.Sub(xs[0], xs[1]), nil }
	p := j.Programs(synthtest.GPU)[0]
	p.Index = scalar.U64
	plan, err := codegen.NewPlan(synthtest.GPU, nil, p)
	if err != nil {
		t.Fatal(err)
	}
	y := synthtest.Random(row, 2)
	got := synthtest.FromBytes(x.Typ, synthtest.Execute(t, plan, []int{x.Typ.Bytes()}, [][]byte{x.Bytes(), y.Bytes()}, nil)[0])
	want := synthtest.Tensor{Typ: x.Typ}
	for i, v := range x.F {
		want.F = append(want.F, v-y.F[i%40])
	}
	synthtest.Same(t, "subtract", got, want)
}

// A grid that is too small in one dimension is folded, and the workgroups that
// are too many do no harm.
func TestFoldedGrid(t *testing.T) {
	small := *synthtest.GPU
	small.MaxGroups = [3]uint32{3, 2, 1000}
	x := synthtest.Random(synthtest.Type(ops.F32, 20000), 1)
	got := synthtest.Run(t, &small, synthtest.Instr(ops.Add, x.Typ), x, x)
	for i, v := range got.F {
		if v != 2*x.F[i] {
			t.Fatalf("element %d: got %v, want %v", i, v, 2*x.F[i])
		}
	}
	rows := synthtest.Random(synthtest.Type(ops.S32, 100, 300), 2)
	out := synthtest.Type(ops.S32, 100)
	synthtest.Same(t, "sum", synthtest.Run(t, &small, synthtest.Instr(ops.Sum, out, []int{1}, []int{0}), rows),
		synthtest.ReduceRef(rows, out, []int{1}, 0, func(a, b float64) float64 { return a + b }))
	wide := synthtest.Random(synthtest.Type(ops.F32, 270, 260), 3)
	synthtest.Same(t, "transpose", synthtest.Run(t, &small, synthtest.Instr(ops.Transpose, synthtest.Type(ops.F32, 260, 270), []int{1, 0}), wide),
		synthtest.Moved(synthtest.Type(ops.F32, 260, 270), wide, 0, func(c []int) int { return c[1]*260 + c[0] }))
}

// Numbers that do not fit the push constants are constants of the kernel.
func TestManyDimensions(t *testing.T) {
	a, b := ops.Shape{}, ops.Shape{}
	for i := range 14 {
		a, b = append(a, 1+i%2), append(b, 2-i%2)
	}
	out := ops.Shape(slices.Repeat([]int{2}, 14))
	x, y := synthtest.Random(ops.Type{DType: ops.S32, Shape: a}, 1), synthtest.Random(ops.Type{DType: ops.S32, Shape: b}, 2)
	got := synthtest.Run(t, synthtest.GPU, synthtest.Instr(ops.Add, ops.Type{DType: ops.S32, Shape: out}), x, y)
	synthtest.Each(out, func(i int, c []int) {
		if want := x.N[synthtest.Flat(a, c)] + y.N[synthtest.Flat(b, c)]; got.N[i] != want {
			t.Fatalf("element %d: got %d, want %d", i, got.N[i], want)
		}
	})
}

// New shapes need no new kernels; new types do.
func TestKernelsAreShared(t *testing.T) {
	name := func(ts ...ops.Type) string {
		p, err := synthtest.Lower(t, synthtest.GPU, synthtest.Instr(ops.Add, ts[0]), ts...)
		if err != nil {
			t.Fatal(err)
		}
		return p.Steps[0].Kernel.Name
	}
	first := name(synthtest.Type(ops.F32, 1000), synthtest.Type(ops.F32, 1000))
	if got := name(synthtest.Type(ops.F32, 7, 77), synthtest.Type(ops.F32, 7, 77)); got != first {
		t.Errorf("another shape has kernel %s, want %s", got, first)
	}
	if got := name(synthtest.Type(ops.S32, 1000), synthtest.Type(ops.S32, 1000)); got == first {
		t.Errorf("another type has the same kernel")
	}
}

// Exactly the types and operations that a device lacks are unsupported.
func TestUnsupported(t *testing.T) {
	bare := &lowering.Target{}
	for _, d := range []ops.DType{ops.F64, ops.S64, ops.U8, ops.F16} {
		x := synthtest.Type(d, 4)
		if _, err := synthtest.Lower(t, bare, synthtest.Instr(ops.Add, x), x, x); !errors.Is(err, lowering.ErrUnsupported) {
			t.Errorf("add of %v: got %v", d, err)
		}
	}
	x := synthtest.Type(ops.F32, 4)
	if _, err := synthtest.Lower(t, bare, synthtest.Instr(ops.Add, x), x, x); err != nil {
		t.Errorf("add of f32: %v", err)
	}
	y := synthtest.Type(ops.F64, 4)
	if _, err := synthtest.Lower(t, bare, synthtest.Instr(ops.Transpose, synthtest.Type(ops.F64, 4), []int{0}), y); err != nil {
		t.Errorf("transpose of f64 by words: %v", err)
	}
}

// Devices without narrow buffers read them by words; they cannot write them.
func TestNarrowByWords(t *testing.T) {
	words := *synthtest.GPU
	words.Storage8, words.Storage16 = false, false
	for _, d := range []ops.DType{ops.U8, ops.S8, ops.S16, ops.F16, ops.S4} {
		for _, s := range []ops.Shape{{67}, {5, 7}, {6, 8}} {
			x, out := synthtest.Random(ops.Type{DType: d, Shape: s}, 4), ops.Type{DType: ops.F32, Shape: s}
			want := synthtest.Tensor{Typ: out, F: synthtest.AsFloats(x)}
			synthtest.Same(t, synthtest.Describe(ops.AsType, x.Typ), synthtest.Run(t, &words, synthtest.Instr(ops.AsType, out), x), want)
			sum := ops.Type{DType: ops.F32, Shape: s[1:]}
			synthtest.Same(t, synthtest.Describe(ops.Sum, x.Typ), synthtest.Run(t, &words, synthtest.Instr(ops.Sum, sum, []int{0}, []int{0}), x),
				synthtest.ReduceRef(x, sum, []int{0}, 0, func(a, b float64) float64 { return a + b }))
		}
		if _, err := synthtest.Lower(t, &words, synthtest.Instr(ops.AsType, synthtest.Type(d, 4)), synthtest.Type(ops.F32, 4)); !errors.Is(err, lowering.ErrUnsupported) {
			t.Errorf("store of %v: got %v", d, err)
		}
	}
}

// Kernels are the same bytes whenever they are made.
func TestDeterministic(t *testing.T) {
	x := synthtest.Type(ops.F32, 3, 5, 8)
	in := synthtest.Instr(ops.Pow, x)
	in.Ins = make([]ops.Operand, 2)
	var first *lowering.Kernel
	for range 5 {
		codegen.CompiledKernels.ByKey, codegen.CompiledKernels.Order = map[string]*lowering.Kernel{}, nil
		p, err := synth.Lower(in, []ops.Type{x, x}, synthtest.CPU)
		if err != nil {
			t.Fatal(err)
		}
		k := p.Steps[0].Kernel
		if first == nil {
			first = k
		}
		if k.Name != first.Name {
			t.Errorf("name %s, want %s", k.Name, first.Name)
		}
	}
	again, err := kerneltest.Parse(first.IR.String())
	if err != nil || codegen.HashName(spirv.Compile(again, codegen.SPIRVOptions(synthtest.CPU))) != first.Name {
		t.Errorf("the kernel read from its text is another: %v", err)
	}
}

// Lower may be called from many goroutines; all get one kernel.
func TestConcurrentLower(t *testing.T) {
	x := synthtest.Type(ops.F32, 1000)
	in := synthtest.Instr(ops.Sinh, x)
	in.Ins = make([]ops.Operand, 1)
	var found [8]*lowering.Kernel
	var wg sync.WaitGroup
	for i := range found {
		wg.Go(func() {
			if p, err := synth.Lower(in, []ops.Type{x}, synthtest.GPU); err == nil {
				found[i] = p.Steps[0].Kernel
			}
		})
	}
	wg.Wait()
	if found[0] == nil || len(slices.Compact(found[:])) != 1 {
		t.Errorf("kernels %v", found)
	}
}

func TestCacheIsBounded(t *testing.T) {
	c := codegen.Cache{ByKey: map[string]*lowering.Kernel{}}
	for i := range codegen.CacheSize + 10 {
		c.Put(fmt.Sprint(i), &lowering.Kernel{})
	}
	if len(c.ByKey) != codegen.CacheSize || len(c.Order) != codegen.CacheSize {
		t.Errorf("%d kernels are kept, want %d", len(c.ByKey), codegen.CacheSize)
	}
	if _, ok := c.Get("9"); ok {
		t.Error("the oldest is still there")
	}
}

func BenchmarkLower(b *testing.B) {
	x := synthtest.Type(ops.F32, 300, 301)
	in := synthtest.Instr(ops.Add, x)
	in.Ins = make([]ops.Operand, 2)
	for b.Loop() {
		if _, err := synth.Lower(in, []ops.Type{x, synthtest.Type(ops.F32, 301)}, synthtest.GPU); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCompile is Lower without the cache.
func BenchmarkCompile(b *testing.B) {
	x := synthtest.Type(ops.F32, 300, 300)
	in := synthtest.Instr(ops.Erf, x)
	in.Ins = make([]ops.Operand, 1)
	for b.Loop() {
		codegen.CompiledKernels.ByKey, codegen.CompiledKernels.Order = map[string]*lowering.Kernel{}, nil
		if _, err := synth.Lower(in, []ops.Type{x}, synthtest.GPU); err != nil {
			b.Fatal(err)
		}
	}
}
