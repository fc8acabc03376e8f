package synth

import (
	"errors"
	"testing"

	"nxvk/ops"
)

func TestIndexed(t *testing.T) {
	s := ops.Shape{5, 6, 7}
	forTargets(t, func(t *testing.T, target *Target) {
		for _, d := range [][3]ops.DType{{ops.F32, ops.F32, ops.F32}, {ops.BF16, ops.BF16, ops.BF16}, {ops.S4, ops.S4, ops.S4},
			{ops.U64, ops.U64, ops.U64}, {ops.S32, ops.F32, ops.F32}, {ops.U8, ops.S8, ops.S16}, {ops.F32, ops.S32, ops.F16}} {
			for _, axes := range [][]int{{0}, {1}, {2}, {0, 1}, {2, 0}, {0, 1, 2}} {
				for _, count := range []int{1, 4, 23} {
					x := random(ops.Type{DType: d[0], Shape: s}, 31)
					idx := indices(ops.S64, 5, count, len(axes))
					up := ops.Type{DType: d[1], Shape: ops.Shape{count}}
					for i, n := range s {
						if !in(axes, i) {
							up.Shape = append(up.Shape, n)
						}
					}
					y := random(up, 32)
					for _, op := range []ops.Op{ops.IndexedAdd, ops.IndexedPut} {
						inst := instr(op, ops.Type{DType: d[2], Shape: s}, axes)
						same(t, describe(op, x.typ, idx.typ, up), run(t, target, inst, x, idx, y), indexedRef(inst, x, idx, y))
					}
				}
			}
		}
	})
}

// indexedRef takes the updates one by one.
func indexedRef(inst *ops.Instr, x, idx, y tensor) tensor {
	s, axes, out := x.typ.Shape, inst.Attrs[0], inst.Outs[0].Type
	v := make([]float64, s.Size())
	for i := range v {
		v[i] = x.at(i)
	}
	each(y.typ.Shape, func(i int, c []int) {
		at, rest := make([]int, len(s)), c[1:]
		for d := range at {
			if !in(axes, d) {
				at[d], rest = rest[0], rest[1:]
			}
		}
		for k, a := range axes {
			at[a] = int(idx.n[c[0]*len(axes)+k])
		}
		p := flat(s, at)
		if inst.Op == ops.IndexedPut {
			v[p] = 0
		}
		v[p] += y.at(i)
	})
	return collect(out, v)
}

// A long list of updates is walked in several dispatches, and one that is too
// long for a device is left to the host.
func TestScatterIsBounded(t *testing.T) {
	count := scatterLength + 5
	idx := indices(ops.S32, 3, count, 1)
	y := random(typ(ops.S32, count), 33)
	x := random(typ(ops.S32, 3), 34)
	inst := instr(ops.IndexedAdd, x.typ, []int{0})
	same(t, "indexed_add", run(t, cpu, inst, x, idx, y), indexedRef(inst, x, idx, y))
	long := typ(ops.F32, 1<<24)
	_, err := lower(t, gpu, instr(ops.IndexedAdd, typ(ops.F32, 1<<20), []int{0}), typ(ops.F32, 1<<20),
		typ(ops.S32, 1<<24, 1), long)
	if !errors.Is(err, ErrUnsupported) {
		t.Errorf("2^24 updates of 2^20 slices: got %v", err)
	}
}
