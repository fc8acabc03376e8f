package synth

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"nxvk/ops"
)

// unsorted is a tensor with ties, and with what has no ordinary order.
func unsorted(t ops.Type, seed uint64) tensor {
	x := random(t, seed)
	for i := range x.f {
		switch {
		case i%11 == 3:
			x.f[i] = math.NaN()
		case i%13 == 4:
			x.f[i] = math.Copysign(0, -1)
		case i%17 == 5 && t.DType != ops.F8E4M3:
			x.f[i] = math.Inf(1 - 2*(i%2))
		case i%3 == 0 && t.DType == ops.F32:
			x.f[i] = float64(float32(x.f[i] * 1.7e-3 * float64(i)))
		}
	}
	for i := range x.n {
		if i%3 == 0 {
			x.n[i] = wrap(t.DType, x.n[i]*int64(i)*0x1234567)
		}
	}
	return x
}

// order gives the positions of the elements of a line in order.
func (x tensor) order(line []int, descending bool) []int {
	compare := func(a, b int) int {
		switch {
		case x.n != nil && x.typ.DType == ops.U64:
			return cmp.Compare(uint64(x.n[a]), uint64(x.n[b]))
		case x.n != nil:
			return cmp.Compare(x.n[a], x.n[b])
		case x.f[a] != x.f[a] || x.f[b] != x.f[b]: // cmp has NaN first
			return -cmp.Compare(x.f[a], x.f[b])
		}
		return cmp.Compare(x.f[a], x.f[b])
	}
	order := ops.AllAxes(len(line))
	slices.SortStableFunc(order, func(i, j int) int {
		if descending {
			i, j = j, i
		}
		return compare(line[i], line[j])
	})
	return order
}

// checkOrder compares a sort and an argsort with the order of every line.
func checkOrder(t *testing.T, target *Target, x tensor, axis, direction int) {
	t.Helper()
	s := x.typ.Shape
	values := run(t, target, instr(ops.Sort, x.typ, []int{axis}, []int{direction}, []int{0}), x)
	indexed := ops.Type{DType: ops.S32, Shape: s}
	indices := run(t, target, instr(ops.Argsort, indexed, []int{axis}, []int{direction}, []int{1}), x)
	want, wantIndex := tensor{typ: x.typ}, tensor{typ: indexed, n: make([]int64, s.Size())}
	want.f, want.n = slices.Clone(x.f), slices.Clone(x.n)
	step, n := s.Strides()[axis], s[axis]
	for i := range s.Size() / n {
		var line []int
		for k := range n {
			line = append(line, i/step*step*n+i%step+k*step)
		}
		for k, o := range x.order(line, direction != 0) {
			wantIndex.n[line[k]] = int64(o)
			if x.n != nil {
				want.n[line[k]] = x.n[line[o]]
			} else {
				want.f[line[k]] = x.f[line[o]]
			}
		}
	}
	same(t, describe(ops.Argsort, x.typ), indices, wantIndex)
	same(t, describe(ops.Sort, x.typ), values, want)
}

// Every way to sort, both directions.
func TestSort(t *testing.T) {
	forTargets(t, func(t *testing.T, target *Target) {
		for i, s := range []ops.Shape{{1}, {7}, {4, 64}, {3, 5, 6}, {65}, {2, 100}, {90, 3}, {2, 2100}, {1400, 2, 3}} {
			for axis := range s {
				x := unsorted(ops.Type{DType: ops.F32, Shape: s}, uint64(i))
				checkOrder(t, target, x, axis, (i+axis)%2)
			}
		}
	})
}

// Every type has its key.
func TestSortTypes(t *testing.T) {
	forTargets(t, func(t *testing.T, target *Target) {
		for _, d := range ops.DTypes() {
			if d.IsComplex() {
				continue
			}
			checkOrder(t, target, unsorted(typ(d, 2, 50), 7), 1, 0)
			checkOrder(t, target, unsorted(typ(d, 60, 3), 8), 0, 1)
			checkOrder(t, target, unsorted(typ(d, 2100), 9), 0, 1)
		}
	})
}

// Long rows are many tiles, whose counts are summed in every way, on subgroups of
// every size; some rows lie apart.
func TestSortTiles(t *testing.T) {
	for _, tt := range []struct {
		lanes int
		typ   ops.Type
		axis  int
	}{
		{8, typ(ops.F32, 8300), 0}, {64, typ(ops.S64, 2100), 0}, {32, typ(ops.BF16, 4200), 0},
		{16, typ(ops.U8, 2, 2100), 1}, {8, typ(ops.F64, 2100, 2), 0},
	} {
		target := *gpu
		target.SubgroupSize = tt.lanes
		checkOrder(t, &target, unsorted(tt.typ, 5), tt.axis, tt.lanes/16%2)
	}
}

// Rows of a few kilobytes are sorted by a workgroup, every type and direction.
func TestSortRows(t *testing.T) {
	for i, x := range []ops.Type{typ(ops.F32, 2, 700), typ(ops.S64, 600), typ(ops.F64, 2, 520), typ(ops.BF16, 3000), typ(ops.U8, 513)} {
		checkOrder(t, gpu, unsorted(x, uint64(i)), len(x.Shape)-1, i%2)
	}
}

// Without subgroups rows are sorted by invocations alone.
func TestSortWithoutLanes(t *testing.T) {
	target := *gpu
	target.Lanes = false
	checkOrder(t, &target, unsorted(typ(ops.F32, 2500), 6), 0, 0)
}

func TestSortScalar(t *testing.T) {
	x := tensor{typ: typ(ops.F32), f: []float64{3}}
	same(t, "sort", run(t, gpu, instr(ops.Sort, x.typ, []int{0}, []int{0}, []int{0}), x), x)
}

// The greatest elements come with their indices.
func TestTopK(t *testing.T) {
	forTargets(t, func(t *testing.T, target *Target) {
		for _, n := range []int{5, 80, 2200, 8200} {
			x, k := unsorted(typ(ops.F32, 3, n), 1), min(n, 9)
			out := ops.Type{DType: ops.F32, Shape: ops.Shape{3, k}}
			indexed := ops.Type{DType: ops.S64, Shape: out.Shape}
			in := instr(ops.TopK, out, []int{k})
			in.Outs = append(in.Outs, ops.Result{ID: 100, Type: indexed})
			p, err := lower(t, target, in, x.typ)
			if err != nil {
				t.Fatal(err)
			}
			results := execute(t, p, []int{out.Bytes(), indexed.Bytes()}, [][]byte{x.bytes()}, nil)
			values, indices := tensor{typ: out}, tensor{typ: indexed}
			for r := range 3 {
				line := ops.AllAxes(n)
				for i := range line {
					line[i] += r * n
				}
				for _, o := range x.order(line, true)[:k] {
					values.f, indices.n = append(values.f, x.f[line[o]]), append(indices.n, int64(o))
				}
			}
			same(t, "values", fromBytes(out, results[0]), values)
			same(t, "indices", fromBytes(indexed, results[1]), indices)
		}
	})
}
