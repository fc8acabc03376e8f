package sorting_test

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"nxvk/ops"
	"nxvk/synth/lowering"
	"nxvk/synth/synthtest"
)

// unsorted is a tensor with ties, and with what has no ordinary order.
func unsorted(t ops.Type, seed uint64) synthtest.Tensor {
	x := synthtest.Random(t, seed)
	for i := range x.F {
		switch {
		case i%11 == 3:
			x.F[i] = math.NaN()
		case i%13 == 4:
			x.F[i] = math.Copysign(0, -1)
		case i%17 == 5 && t.DType != ops.F8E4M3:
			x.F[i] = math.Inf(1 - 2*(i%2))
		case i%3 == 0 && t.DType == ops.F32:
			x.F[i] = float64(float32(x.F[i] * 1.7e-3 * float64(i)))
		}
	}
	for i := range x.N {
		if i%3 == 0 {
			x.N[i] = synthtest.Wrap(t.DType, x.N[i]*int64(i)*0x1234567)
		}
	}
	return x
}

// order gives the positions of the elements of a line in order.
func order(x synthtest.Tensor, line []int, descending bool) []int {
	compare := func(a, b int) int {
		switch {
		case x.N != nil && x.Typ.DType == ops.U64:
			return cmp.Compare(uint64(x.N[a]), uint64(x.N[b]))
		case x.N != nil:
			return cmp.Compare(x.N[a], x.N[b])
		case x.F[a] != x.F[a] || x.F[b] != x.F[b]: // cmp has NaN first
			return -cmp.Compare(x.F[a], x.F[b])
		}
		return cmp.Compare(x.F[a], x.F[b])
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
func checkOrder(t *testing.T, target *lowering.Target, x synthtest.Tensor, axis, direction int) {
	t.Helper()
	s := x.Typ.Shape
	values := synthtest.Run(t, target, synthtest.Instr(ops.Sort, x.Typ, []int{axis}, []int{direction}, []int{0}), x)
	indexed := ops.Type{DType: ops.S32, Shape: s}
	indices := synthtest.Run(t, target, synthtest.Instr(ops.Argsort, indexed, []int{axis}, []int{direction}, []int{1}), x)
	want, wantIndex := synthtest.Tensor{Typ: x.Typ}, synthtest.Tensor{Typ: indexed, N: make([]int64, s.Size())}
	want.F, want.N = slices.Clone(x.F), slices.Clone(x.N)
	step, n := s.Strides()[axis], s[axis]
	for i := range s.Size() / n {
		var line []int
		for k := range n {
			line = append(line, i/step*step*n+i%step+k*step)
		}
		for k, o := range order(x, line, direction != 0) {
			wantIndex.N[line[k]] = int64(o)
			if x.N != nil {
				want.N[line[k]] = x.N[line[o]]
			} else {
				want.F[line[k]] = x.F[line[o]]
			}
		}
	}
	synthtest.Same(t, synthtest.Describe(ops.Argsort, x.Typ), indices, wantIndex)
	synthtest.Same(t, synthtest.Describe(ops.Sort, x.Typ), values, want)
}

// Every way to sort, both directions.
func TestSort(t *testing.T) {
	synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
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
	synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
		for _, d := range ops.DTypes() {
			if d.IsComplex() {
				continue
			}
			checkOrder(t, target, unsorted(synthtest.Type(d, 2, 50), 7), 1, 0)
			checkOrder(t, target, unsorted(synthtest.Type(d, 60, 3), 8), 0, 1)
			checkOrder(t, target, unsorted(synthtest.Type(d, 2100), 9), 0, 1)
		}
	})
}

// Long rows are many tiles, whose counts are summed in every way, on subgroups of
// every size; some rows lie apart.
func TestSortTiles(t *testing.T) {
	for _, tt := range []struct {
		subgroup int
		Type     ops.Type
		axis     int
	}{
		{8, synthtest.Type(ops.F32, 8300), 0}, {64, synthtest.Type(ops.S64, 2100), 0}, {32, synthtest.Type(ops.BF16, 4200), 0},
		{16, synthtest.Type(ops.U8, 2, 2100), 1}, {8, synthtest.Type(ops.F64, 2100, 2), 0},
	} {
		target := *synthtest.GPU
		target.SubgroupSize = tt.subgroup
		checkOrder(t, &target, unsorted(tt.Type, 5), tt.axis, tt.subgroup/16%2)
	}
}

// Rows of a few kilobytes are sorted by a workgroup, every type and direction.
func TestSortRows(t *testing.T) {
	for i, x := range []ops.Type{synthtest.Type(ops.F32, 2, 700), synthtest.Type(ops.S64, 600), synthtest.Type(ops.F64, 2, 520), synthtest.Type(ops.BF16, 3000), synthtest.Type(ops.U8, 513)} {
		checkOrder(t, synthtest.GPU, unsorted(x, uint64(i)), len(x.Shape)-1, i%2)
	}
}

// Without subgroups rows are sorted by invocations alone.
func TestSortWithoutSubgroups(t *testing.T) {
	target := *synthtest.GPU
	target.SubgroupOps = false
	checkOrder(t, &target, unsorted(synthtest.Type(ops.F32, 2500), 6), 0, 0)
}

func TestSortScalar(t *testing.T) {
	x := synthtest.Tensor{Typ: synthtest.Type(ops.F32), F: []float64{3}}
	synthtest.Same(t, "sort", synthtest.Run(t, synthtest.GPU, synthtest.Instr(ops.Sort, x.Typ, []int{0}, []int{0}, []int{0}), x), x)
}
