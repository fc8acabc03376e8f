package indexing_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"nxvk/ops"
	"nxvk/synth/indexing"
	"nxvk/synth/lowering"
	"nxvk/synth/synthtest"
)

func TestIndexed(t *testing.T) {
	s := ops.Shape{5, 6, 7}
	synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
		for _, d := range [][3]ops.DType{{ops.F32, ops.F32, ops.F32}, {ops.BF16, ops.BF16, ops.BF16}, {ops.S4, ops.S4, ops.S4},
			{ops.U64, ops.U64, ops.U64}, {ops.S32, ops.F32, ops.F32}, {ops.U8, ops.S8, ops.S16}, {ops.F32, ops.S32, ops.F16}} {
			for _, axes := range [][]int{{0}, {1}, {2}, {0, 1}, {2, 0}, {0, 1, 2}} {
				for _, count := range []int{1, 4, 23} {
					x := synthtest.Random(ops.Type{DType: d[0], Shape: s}, 31)
					idx := indices(ops.S64, 5, count, len(axes))
					up := ops.Type{DType: d[1], Shape: ops.Shape{count}}
					for i, n := range s {
						if !in(axes, i) {
							up.Shape = append(up.Shape, n)
						}
					}
					y := synthtest.Random(up, 32)
					for _, op := range []ops.Op{ops.IndexedAdd, ops.IndexedPut} {
						inst := synthtest.Instr(op, ops.Type{DType: d[2], Shape: s}, axes)
						synthtest.Same(t, synthtest.Describe(op, x.Typ, idx.Typ, up), synthtest.Run(t, target, inst, x, idx, y), indexedRef(inst, x, idx, y))
					}
				}
			}
		}
	})
}

// Whatever type the updates have, the tensor and they meet on the device in the type
// that Nx merges theirs to.
func TestIndexedTypes(t *testing.T) {
	synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
		for _, op := range []ops.Op{ops.IndexedAdd, ops.IndexedPut} {
			for _, a := range ops.DTypes() {
				for _, b := range ops.DTypes() {
					out := synthtest.Type(ops.Merge(a, b), 6, 2)
					if _, err := synthtest.Lower(t, target, synthtest.Instr(op, out, []int{0}), synthtest.Type(a, 6, 2), synthtest.Type(ops.S32, 3, 1), synthtest.Type(b, 3, 2)); err != nil {
						t.Errorf("%v of %v into %v: %v", op, b, a, err)
					}
				}
			}
		}
	})
}

// Where an operand is complex, real ones are numbers without an imaginary part.
func TestIndexedComplexAndReal(t *testing.T) {
	x := []complex128{1 + 2i, 3 - 1i, 0, -4i, 5, 2 + 2i}
	up := []complex128{10, -20 + 1i, 30}
	idx := synthtest.Tensor{Typ: synthtest.Type(ops.S32, 3, 1), N: []int64{4, 1, 4}}
	synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
		for _, d := range [][3]ops.DType{{ops.C64, ops.F32, ops.C64}, {ops.C128, ops.S16, ops.C128}, {ops.C64, ops.F64, ops.C128},
			{ops.BF16, ops.C64, ops.C64}, {ops.U64, ops.C128, ops.C128}, {ops.C64, ops.C128, ops.C128}} {
			a, b := synthtest.Numbers(synthtest.Type(d[0], 6), x...), synthtest.Numbers(synthtest.Type(d[1], 3), up...)
			for _, op := range []ops.Op{ops.IndexedAdd, ops.IndexedPut} {
				var want []complex128
				for i := range x {
					want = append(want, a.Number(i))
				}
				for i, at := range idx.N {
					if op == ops.IndexedPut {
						want[at] = 0
					}
					want[at] += b.Number(i)
				}
				out := synthtest.Type(d[2], 6)
				synthtest.Same(t, synthtest.Describe(op, a.Typ, idx.Typ, b.Typ), synthtest.Run(t, target, synthtest.Instr(op, out, []int{0}), a, idx, b), synthtest.Numbers(out, want...))
			}
		}
	})
}

// indexedRef takes the updates one by one.
func indexedRef(inst *ops.Instr, x, idx, y synthtest.Tensor) synthtest.Tensor {
	s, axes, out := x.Typ.Shape, inst.Attrs[0], inst.Outs[0].Type
	v := make([]float64, s.Size())
	for i := range v {
		v[i] = x.At(i)
	}
	synthtest.Each(y.Typ.Shape, func(i int, c []int) {
		at, rest := make([]int, len(s)), c[1:]
		for d := range at {
			if !in(axes, d) {
				at[d], rest = rest[0], rest[1:]
			}
		}
		for k, a := range axes {
			at[a] = int(idx.N[c[0]*len(axes)+k])
		}
		p := synthtest.Flat(s, at)
		if inst.Op == ops.IndexedPut {
			v[p] = 0
		}
		v[p] += y.At(i)
	})
	return synthtest.Collect(out, v)
}

// A processor walks a long list of updates in several dispatches. A list of more elements
// than a kernel can index is left to the host.
func TestScatterIsBounded(t *testing.T) {
	count := indexing.ScatterLength + 5
	idx := indices(ops.S32, 3, count, 1)
	y := synthtest.Random(synthtest.Type(ops.S32, count), 33)
	x := synthtest.Random(synthtest.Type(ops.S32, 3), 34)
	inst := synthtest.Instr(ops.IndexedAdd, x.Typ, []int{0})
	synthtest.Same(t, "indexed_add", synthtest.Run(t, synthtest.CPU, inst, x, idx, y), indexedRef(inst, x, idx, y))
	for _, c := range []struct {
		count, width int
		fits         bool
	}{{1 << 24, 1, true}, {1 << 21, 1 << 10, false}} {
		x := synthtest.Type(ops.F32, 1<<16, c.width)
		_, err := synthtest.Lower(t, synthtest.GPU, synthtest.Instr(ops.IndexedAdd, x, []int{0}), x,
			synthtest.Type(ops.S32, c.count, 1), synthtest.Type(ops.F32, c.count, c.width))
		if c.fits && err != nil || !c.fits && !errors.Is(err, lowering.ErrUnsupported) {
			t.Errorf("%d updates of %d elements: got %v", c.count, c.width, err)
		}
	}
}

// Updates are ranked, or if there are many tallied or sorted: segments of all lengths, within chunks, on
// their borders and across many of them, sum to what the updates give one by one.
func TestSegments(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 1))
	small := *synthtest.GPU
	small.SubgroupOps = false // sorts without subgroups
	for range 40 {
		target := synthtest.GPU
		if r.IntN(4) == 0 {
			target = &small
		}
		types := [][3]ops.DType{{ops.S32, ops.S32, ops.S32}, {ops.F32, ops.F32, ops.F32}, {ops.U8, ops.S8, ops.S16}, {ops.S64, ops.S32, ops.S64}, {ops.F32, ops.BF16, ops.F32}}
		d := types[r.IntN(len(types))]
		slices, width, count := 1+r.IntN(400), 1+r.IntN(5), 1+r.IntN(1<<(3+r.IntN(8)))
		if r.IntN(4) == 0 {
			width, count = 1+r.IntN(2), 4097+r.IntN(300)
			if r.IntN(2) == 0 {
				slices = 16500 + r.IntN(4000) // too many for a tally
			}
		}
		if r.IntN(3) == 0 {
			slices = 1 + r.IntN(4)
		}
		x := whole(r, ops.Type{DType: d[0], Shape: ops.Shape{slices, width}})
		idx := synthtest.Tensor{Typ: synthtest.Type(ops.S32, count, 1)}
		at, skew := 0, r.IntN(3)
		for range count {
			switch {
			case skew == 0:
				at = r.IntN(slices)
			case skew == 1 && r.IntN(70) == 0: // long runs of one slice
				at = r.IntN(slices)
			case skew == 2 && r.IntN(10) == 0: // most to one slice
				at = r.IntN(slices)
			case skew == 2:
				at = slices / 2
			}
			idx.N = append(idx.N, int64(at))
		}
		y := whole(r, ops.Type{DType: d[1], Shape: ops.Shape{count, width}})
		for _, op := range []ops.Op{ops.IndexedAdd, ops.IndexedPut} {
			inst := synthtest.Instr(op, ops.Type{DType: d[2], Shape: x.Typ.Shape}, []int{0})
			what := fmt.Sprintf("%s, %d slices, skew %d", synthtest.Describe(op, x.Typ, idx.Typ, y.Typ), slices, skew)
			synthtest.Same(t, what, synthtest.Run(t, target, inst, x, idx, y), indexedRef(inst, x, idx, y))
		}
	}
}

// Few updates take the copy of the tensor, which an update in place leaves out, and two kernels more, or
// one; and no temporary of the tensor's size.
func TestFewUpdates(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 2))
	for range 100 {
		d := []ops.DType{ops.F32, ops.F64, ops.BF16, ops.U8, ops.S64}[r.IntN(5)]
		x := synthtest.Type(d, 50000+r.IntN(1<<16), 1+r.IntN(1<<r.IntN(10)))
		count := 1 + r.IntN(4096)
		for op, most := range map[ops.Op]int{ops.IndexedAdd: 3, ops.IndexedPut: 2} {
			p, err := synthtest.Lower(t, synthtest.GPU, synthtest.Instr(op, x, []int{0}), x, synthtest.Type(ops.S32, count, 1), synthtest.Type(d, count, x.Shape[1]))
			if err != nil {
				t.Fatal(err)
			}
			temps := int64(0)
			for _, n := range p.Temps {
				temps += n
			}
			if len(p.Steps) > most || temps > 8*4096 || len(p.InPlace) != 1 || p.InPlace[0].Copies != 1 {
				t.Errorf("%v of %d into %v takes %d kernels and %d bytes of temporaries, in place: %+v", op, count, x, len(p.Steps), temps, p.InPlace)
			}
		}
	}
}

// whole draws small whole numbers, whose sums are exact in any order.
func whole(r *rand.Rand, typ ops.Type) synthtest.Tensor {
	x := synthtest.Tensor{Typ: typ}
	for range typ.Size() {
		if n := int64(r.IntN(5)); typ.DType.IsInteger() {
			x.N = append(x.N, n)
		} else {
			x.F = append(x.F, float64(n-2))
		}
	}
	return x
}
