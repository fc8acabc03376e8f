package synth

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"nxvk/ops"
	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
	"nxvk/synth/spirv"
	"nxvk/synth/spirv/spirvtest"
)

// lower plans an instruction on values that are not there.
func lower(t *testing.T, target *Target, in *ops.Instr, types ...ops.Type) (*Plan, error) {
	t.Helper()
	for i := range types {
		in.Ins = append(in.Ins, ops.Operand{ID: ops.ID(i + 1)})
	}
	if err := in.Check(types); err != nil {
		t.Fatal(err)
	}
	return Lower(in, types, target)
}

// Tensors beyond 2^31 elements have 64-bit indices and a folded grid.
func TestHugeTensors(t *testing.T) {
	huge := typ(ops.F32, 1<<17, 1<<16)
	for _, c := range []struct {
		in    *ops.Instr
		types []ops.Type
	}{
		{instr(ops.Add, huge), []ops.Type{huge, typ(ops.F32, 1<<16)}},
		{instr(ops.Transpose, typ(ops.F32, 1<<16, 1<<17), []int{1, 0}), []ops.Type{huge}},
		{instr(ops.Sum, typ(ops.F32), []int{0, 1}, []int{0}), []ops.Type{huge}},
		{instr(ops.Sum, typ(ops.F32, 1<<16), []int{0}, []int{0}), []ops.Type{huge}},
		{instr(ops.ArgMax, typ(ops.S64), []int{-1}, []int{0}, []int{0}), []ops.Type{huge}},
	} {
		p, err := lower(t, gpu, c.in, c.types...)
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
		if _, err := lower(t, cpu, c.in, c.types...); !errors.Is(err, ErrUnsupported) {
			t.Errorf("%v in bindings of 128 MiB: got %v", c.in.Op, err)
		}
	}
}

// The same kernels with 64-bit indices compute the same.
func TestWideIndices(t *testing.T) {
	x := random(typ(ops.F32, 6, 40), 1)
	in := instr(ops.Subtract, x.typ)
	in.Ins = make([]ops.Operand, 2)
	space := x.typ.Shape
	j := &mapJob{key: "wide", dims: space, out: dense(space), to: result(ops.F32)}
	row := typ(ops.F32, 40)
	j.ins = []source{operand(in, []ops.Type{x.typ}, 0, space, ops.F32), operand(in, []ops.Type{x.typ, row}, 1, space, ops.F32)}
	j.body = func(e *emitter, xs []kernel.Value) (kernel.Value, error) { return e.Sub(xs[0], xs[1]), nil }
	p := j.programs(gpu)[0]
	p.index = scalar.U64
	plan, err := gpu.plan(nil, p)
	if err != nil {
		t.Fatal(err)
	}
	y := random(row, 2)
	got := fromBytes(x.typ, execute(t, plan, []int{x.typ.Bytes()}, [][]byte{x.bytes(), y.bytes()}, nil)[0])
	want := tensor{typ: x.typ}
	for i, v := range x.f {
		want.f = append(want.f, v-y.f[i%40])
	}
	same(t, "subtract", got, want)
}

// A grid that is too small in one dimension is folded, and the workgroups that
// are too many do no harm.
func TestFoldedGrid(t *testing.T) {
	small := *gpu
	small.MaxGroups = [3]uint32{3, 2, 1000}
	x := random(typ(ops.F32, 20000), 1)
	got := run(t, &small, instr(ops.Add, x.typ), x, x)
	for i, v := range got.f {
		if v != 2*x.f[i] {
			t.Fatalf("element %d: got %v, want %v", i, v, 2*x.f[i])
		}
	}
	rows := random(typ(ops.S32, 100, 300), 2)
	out := typ(ops.S32, 100)
	same(t, "sum", run(t, &small, instr(ops.Sum, out, []int{1}, []int{0}), rows),
		reduceRef(rows, out, []int{1}, 0, func(a, b float64) float64 { return a + b }))
	wide := random(typ(ops.F32, 270, 260), 3)
	same(t, "transpose", run(t, &small, instr(ops.Transpose, typ(ops.F32, 260, 270), []int{1, 0}), wide),
		moved(typ(ops.F32, 260, 270), wide, 0, func(c []int) int { return c[1]*260 + c[0] }))
}

// Numbers that do not fit the push constants are constants of the kernel.
func TestManyDimensions(t *testing.T) {
	a, b := ops.Shape{}, ops.Shape{}
	for i := range 14 {
		a, b = append(a, 1+i%2), append(b, 2-i%2)
	}
	out := ops.Shape(slices.Repeat([]int{2}, 14))
	x, y := random(ops.Type{DType: ops.S32, Shape: a}, 1), random(ops.Type{DType: ops.S32, Shape: b}, 2)
	got := run(t, gpu, instr(ops.Add, ops.Type{DType: ops.S32, Shape: out}), x, y)
	each(out, func(i int, c []int) {
		if want := x.n[flat(a, c)] + y.n[flat(b, c)]; got.n[i] != want {
			t.Fatalf("element %d: got %d, want %d", i, got.n[i], want)
		}
	})
}

// New shapes need no new kernels; new types do.
func TestKernelsAreShared(t *testing.T) {
	name := func(ts ...ops.Type) string {
		p, err := lower(t, gpu, instr(ops.Add, ts[0]), ts...)
		if err != nil {
			t.Fatal(err)
		}
		return p.Steps[0].Kernel.Name
	}
	first := name(typ(ops.F32, 1000), typ(ops.F32, 1000))
	if got := name(typ(ops.F32, 7, 77), typ(ops.F32, 7, 77)); got != first {
		t.Errorf("another shape has kernel %s, want %s", got, first)
	}
	if got := name(typ(ops.S32, 1000), typ(ops.S32, 1000)); got == first {
		t.Errorf("another type has the same kernel")
	}
}

// What a device lacks is unsupported, and nothing else is.
func TestUnsupported(t *testing.T) {
	bare := &Target{}
	for _, d := range []ops.DType{ops.F64, ops.S64, ops.U8, ops.F16} {
		x := typ(d, 4)
		if _, err := lower(t, bare, instr(ops.Add, x), x, x); !errors.Is(err, ErrUnsupported) {
			t.Errorf("add of %v: got %v", d, err)
		}
	}
	x := typ(ops.F32, 4)
	if _, err := lower(t, bare, instr(ops.Add, x), x, x); err != nil {
		t.Errorf("add of f32: %v", err)
	}
	y := typ(ops.F64, 4)
	if _, err := lower(t, bare, instr(ops.Transpose, typ(ops.F64, 4), []int{0}), y); err != nil {
		t.Errorf("transpose of f64 by words: %v", err)
	}
}

// Devices without narrow buffers read them by words; they cannot write them.
func TestNarrowByWords(t *testing.T) {
	words := *gpu
	words.Storage8, words.Storage16 = false, false
	for _, d := range []ops.DType{ops.U8, ops.S8, ops.S16, ops.F16, ops.S4} {
		for _, s := range []ops.Shape{{67}, {5, 7}, {6, 8}} {
			x, out := random(ops.Type{DType: d, Shape: s}, 4), ops.Type{DType: ops.F32, Shape: s}
			want := tensor{typ: out, f: asFloats(x)}
			same(t, describe(ops.AsType, x.typ), run(t, &words, instr(ops.AsType, out), x), want)
			sum := ops.Type{DType: ops.F32, Shape: s[1:]}
			same(t, describe(ops.Sum, x.typ), run(t, &words, instr(ops.Sum, sum, []int{0}, []int{0}), x),
				reduceRef(x, sum, []int{0}, 0, func(a, b float64) float64 { return a + b }))
		}
		if _, err := lower(t, &words, instr(ops.AsType, typ(d, 4)), typ(ops.F32, 4)); !errors.Is(err, ErrUnsupported) {
			t.Errorf("store of %v: got %v", d, err)
		}
	}
}

// Kernels are the same bytes whenever they are made.
func TestDeterministic(t *testing.T) {
	x := typ(ops.F32, 3, 5, 8)
	in := instr(ops.Pow, x)
	in.Ins = make([]ops.Operand, 2)
	var first *Kernel
	for range 5 {
		kernels.byKey, kernels.order = map[string]*Kernel{}, nil
		p, err := Lower(in, []ops.Type{x, x}, cpu)
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
	again, err := kernel.Parse(first.IR.String())
	if err != nil || contentName(spirv.Compile(again, cpu.options())) != first.Name {
		t.Errorf("the kernel read from its text is another: %v", err)
	}
}

// Lower may be called from many goroutines; all get one kernel.
func TestConcurrentLower(t *testing.T) {
	x := typ(ops.F32, 1000)
	in := instr(ops.Sinh, x)
	in.Ins = make([]ops.Operand, 1)
	var found [8]*Kernel
	var wg sync.WaitGroup
	for i := range found {
		wg.Go(func() {
			if p, err := Lower(in, []ops.Type{x}, gpu); err == nil {
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
	c := cache{byKey: map[string]*Kernel{}}
	for i := range cacheSize + 10 {
		c.put(fmt.Sprint(i), &Kernel{})
	}
	if len(c.byKey) != cacheSize || len(c.order) != cacheSize {
		t.Errorf("%d kernels are kept, want %d", len(c.byKey), cacheSize)
	}
	if _, ok := c.get("9"); ok {
		t.Error("the oldest is still there")
	}
}

func BenchmarkLower(b *testing.B) {
	x := typ(ops.F32, 300, 301)
	in := instr(ops.Add, x)
	in.Ins = make([]ops.Operand, 2)
	for b.Loop() {
		if _, err := Lower(in, []ops.Type{x, typ(ops.F32, 301)}, gpu); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCompile is Lower without the cache.
func BenchmarkCompile(b *testing.B) {
	x := typ(ops.F32, 300, 300)
	in := instr(ops.Erf, x)
	in.Ins = make([]ops.Operand, 1)
	for b.Loop() {
		kernels.byKey, kernels.order = map[string]*Kernel{}, nil
		if _, err := Lower(in, []ops.Type{x}, gpu); err != nil {
			b.Fatal(err)
		}
	}
}
