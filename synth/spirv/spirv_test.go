package spirv

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"nxvk/synth/kernel"
	"nxvk/synth/kernel/kerneltest"
	"nxvk/synth/scalar"
	"nxvk/synth/spirv/spirvtest"
)

var everything = Options{Preserve32: true, Preserve64: true, RoundEven32: true, RoundEven64: true,
	Denorm32: true, Denorm64: true}

// both compiles a kernel for both ways of reaching memory and validates it.
func both(t *testing.T, k *kernel.Kernel) {
	t.Helper()
	if err := kernel.Verify(k); err != nil {
		t.Fatalf("%v\n%s", err, k)
	}
	for _, addresses := range []bool{false, true} {
		for _, o := range []Options{{}, everything} {
			o.Addresses = addresses
			code := Compile(k, o)
			spirvtest.Validate(t, code)
			if !slices.Equal(code, Compile(k, o)) {
				t.Errorf("%s: two compilations differ", k.Name)
			}
		}
	}
}

func TestTestdata(t *testing.T) {
	files, _ := filepath.Glob("../kernel/kerneltest/testdata/*.txt")
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		k, err := kerneltest.Parse(string(text))
		if err != nil {
			t.Fatal(err)
		}
		both(t, k)
	}
}

// Every primitive operation on every type that it takes.
func TestPrims(t *testing.T) {
	types := []scalar.Type{scalar.I32, scalar.U32, scalar.I64, scalar.U64, scalar.F32, scalar.F64}
	elems := []kernel.Elem{kernel.I32, kernel.U32, kernel.I64, kernel.U64, kernel.F32, kernel.F64}
	binary := []scalar.Op{scalar.Add, scalar.Sub, scalar.Mul, scalar.Div}
	for i, typ := range types {
		b := kernel.NewBuilder("prims", [3]uint32{8, 1, 1})
		buf := b.Buffer(elems[i], true, true)
		id := b.Builtin(kernel.GroupX)
		x := b.Load(buf, id, 1)[0]
		ops := binary
		if kernel.IsFloat(typ) {
			for _, op := range []scalar.Op{scalar.Neg, scalar.Sqrt, scalar.Floor, scalar.Ceil, scalar.Trunc, scalar.RoundEven} {
				x = b.Prim(op, typ, x)
			}
			x = b.Prim(scalar.Fma, typ, x, x, x)
			if typ == scalar.F32 {
				x = b.Prim(scalar.InverseSqrt, typ, b.Prim(scalar.Exp2, typ, x))
			}
		} else {
			ops = append(slices.Clone(binary), scalar.Rem, scalar.And, scalar.Or, scalar.Xor)
			x = b.Prim(scalar.Not, typ, b.Prim(scalar.Neg, typ, x))
			x = b.Shr(b.Shl(x, 3), 2)
		}
		for _, op := range ops {
			x = b.Prim(op, typ, x, x)
		}
		for _, op := range []scalar.Op{scalar.Eq, scalar.Ne, scalar.Lt, scalar.Le} {
			x = b.Select(b.Compare(op, x, x), x, x)
		}
		for _, to := range types {
			x = b.Convert(b.Convert(x, to), typ)
		}
		x = b.Convert(b.Prim(scalar.NotB, scalar.Bool, b.Convert(x, scalar.Bool)), typ)
		b.Store(buf, id, x)
		both(t, b.Kernel())
	}
}

// Halves of words, tables, narrow memory in groups, parameters of every type.
func TestMemory(t *testing.T) {
	b := kernel.NewBuilder("memory", [3]uint32{8, 1, 1})
	id := b.Builtin(kernel.LocalX)
	p := b.Param(scalar.U32)
	q := b.Param(scalar.F64)
	f := &scalar.Func{Params: []scalar.Type{scalar.U32}, Nodes: []scalar.Node{
		{Op: scalar.Param, Type: scalar.U32},
		{Op: scalar.Lookup, Type: scalar.F64, Args: []int32{0}, Table: []uint64{0, 1 << 62}},
		{Op: scalar.Lo, Type: scalar.U32, Args: []int32{1}},
		{Op: scalar.Hi, Type: scalar.U32, Args: []int32{1}},
		{Op: scalar.MulHi, Type: scalar.U32, Args: []int32{2, 3}},
		{Op: scalar.Pack, Type: scalar.F64, Args: []int32{4, 2}},
	}}
	x := b.Add(b.Inline(f, []kernel.Value{p}), q)
	out := b.Buffer(kernel.F64, false, true)
	b.Store(out, id, x)
	word := b.Convert(x, scalar.U32)
	for _, e := range []kernel.Elem{kernel.U8, kernel.I8, kernel.U16, kernel.I16, kernel.F32} {
		buf := b.Buffer(e, true, true)
		for _, n := range []int{1, 2, 4} {
			vs := b.Load(buf, id, n)
			vs[0] = b.Convert(b.Prim(scalar.BitCount, scalar.U32, word), e.Type())
			b.Store(buf, id, vs...)
		}
	}
	msb := b.Prim(scalar.FindMSB, scalar.I32, word)
	shared := b.Shared(scalar.I32, 8)
	b.StoreShared(shared, id, msb)
	b.Barrier()
	b.Store(b.Buffer(kernel.I32, false, true), id, b.LoadShared(shared, id))
	both(t, b.Kernel())
}

func BenchmarkCompile50(b *testing.B) {
	kb := kernel.NewBuilder("bench", [3]uint32{256, 1, 1})
	buf := kb.Buffer(kernel.F32, true, true)
	id := kb.Builtin(kernel.GroupX)
	vs := kb.Load(buf, id, 4)
	for range 50 {
		for j := range vs {
			vs[j] = kb.Prim(scalar.Fma, scalar.F32, vs[j], vs[j], vs[j])
		}
	}
	kb.Store(buf, id, vs...)
	k := kb.Kernel()
	for b.Loop() {
		Compile(k, Options{Addresses: true})
	}
}
