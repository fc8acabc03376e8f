package fallback

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"nxvk/fallback/movement"
	"nxvk/ops"
)

// TestOutOfBounds: an error names the index, the axis and the shape.
func TestOutOfBounds(t *testing.T) {
	m := tensor(ops.F32, ops.Shape{2, 3}, 1, 2, 3, 4, 5, 6)
	pos := tensor(ops.S32, ops.Shape{1, 2}, 1, 3)
	for _, c := range []struct {
		op    ops.Op
		attrs [][]int
		out   ops.Type
		args  []Value
		want  string
	}{
		{ops.Gather, [][]int{{0, 1}}, typ(ops.F32, 1), []Value{m, pos}, "index 3 is out of bounds for axis 1 in shape {2, 3}"},
		{ops.Take, [][]int{{0}}, typ(ops.F32, 1, 3), []Value{m, vec(ops.S32, -1)}, "index -1 is out of bounds for axis 0"},
		{ops.TakeAlongAxis, [][]int{{0}}, typ(ops.F32, 1, 3), []Value{m, tensor(ops.U8, ops.Shape{1, 3}, 0, 2, 0)}, "index 2 is"},
		{ops.IndexedAdd, [][]int{{0, 1}}, m.Type, []Value{m, pos, vec(ops.F32, 1)}, "index 3 is"},
		{ops.IndexedPut, [][]int{{0, 1}}, m.Type, []Value{m, pos, vec(ops.F32, 1)}, "index 3 is"},
	} {
		_, err := tryRun(c.op, c.attrs, c.out, c.args...)
		if !errors.Is(err, movement.ErrIndex) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: got %v, want %q", c.op, err, c.want)
		}
		in := &ops.Instr{Op: c.op, Attrs: c.attrs}
		if again := movement.CheckIndices(in, c.args[0].Type.Shape, c.args[1]); again == nil || again.Error() != err.Error() {
			t.Errorf("%v: the check says %v, want %v", c.op, again, err)
		}
	}
}

// TestIndexedLastWins: of several updates of one slice the last stays, and
// sums take all.
func TestIndexedLastWins(t *testing.T) {
	zero, idx, up := vec(ops.S32, 0, 0, 0), tensor(ops.S64, ops.Shape{3, 1}, 1, 1, 2), vec(ops.S32, 5, 6, 7)
	want(t, run(t, ops.IndexedPut, [][]int{{0}}, zero.Type, zero, idx, up), 0, 6, 7)
	want(t, run(t, ops.IndexedAdd, [][]int{{0}}, zero.Type, zero, idx, up), 0, 11, 7)
}

// TestTakeAgainstIndices also shows that take is gather along one axis.
func TestTakeAgainstIndices(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 16))
	for range 100 {
		shape := ops.Shape{1 + r.IntN(4), 1 + r.IntN(4), 1 + r.IntN(4)}
		axis, n := r.IntN(3), 1+r.IntN(5)
		x := random(r, ops.Type{DType: ops.S16, Shape: shape})
		at := make([]float64, n)
		for i := range at {
			at[i] = float64(r.IntN(shape[axis]))
		}
		out := append(ops.Shape{}, shape...)
		out[axis] = n
		got := run(t, ops.Take, [][]int{{axis}}, ops.Type{DType: ops.S16, Shape: out}, x, vec(ops.S32, at...))
		xs, st := numbers(x), shape.Strides()
		for i, v := range numbers(got) {
			pos := unravel(i, out)
			pos[axis] = int(at[pos[axis]])
			if w := xs[pos[0]*st[0]+pos[1]*st[1]+pos[2]*st[2]]; v != w {
				t.Fatalf("take of %v along %d: element %d is %v, want %v", shape, axis, i, v, w)
			}
		}
	}
}

// TestSortPermutes: argsort, taken along the axis, is sort; both directions
// are ordered and keep equal elements in order.
func TestSortPermutes(t *testing.T) {
	r := rand.New(rand.NewPCG(17, 18))
	for _, d := range []ops.DType{ops.F32, ops.F64, ops.BF16, ops.S8, ops.U64, ops.S2} {
		for direction := range 2 {
			x := random(r, typ(d, 5, 40, 3))
			attrs := [][]int{{1}, {direction}, {1}}
			order := run(t, ops.Argsort, attrs, typ(ops.S32, 5, 40, 3), x)
			taken := run(t, ops.TakeAlongAxis, [][]int{{1}}, x.Type, x, order)
			want(t, run(t, ops.Sort, attrs, x.Type, x), numbers(taken)...)
			xs, idx := numbers(taken), numbers(order)
			for i := range xs {
				if i/3%40 == 0 {
					continue
				}
				a, b := xs[i-3], xs[i]
				if (direction == 0 && a > b) || (direction == 1 && a < b) || (a == b && idx[i-3] > idx[i]) {
					t.Fatalf("%v: %v comes before %v", d, a, b)
				}
			}
		}
	}
}

// TestOrderOfScalars: a scalar is in order already.
func TestOrderOfScalars(t *testing.T) {
	x, axis := tensor(ops.F32, nil, 5), [][]int{{0}, {0}, {0}}
	want(t, run(t, ops.Sort, axis, typ(ops.F32), x), 5)
	want(t, run(t, ops.Argsort, axis, typ(ops.S32), x), 0)
	want(t, run(t, ops.CumulativeSum, [][]int{{0}, {1}}, typ(ops.F32), x), 5)
}

// TestScanEndsInReduction: the last element of a running reduction is the
// reduction, the first of a reversed one too.
func TestScanEndsInReduction(t *testing.T) {
	r := rand.New(rand.NewPCG(19, 20))
	for scan, reduction := range map[ops.Op]ops.Op{ops.CumulativeSum: ops.Sum, ops.CumulativeProduct: ops.Product,
		ops.CumulativeMax: ops.ReduceMax, ops.CumulativeMin: ops.ReduceMin} {
		x := random(r, typ(ops.S64, 4, 9))
		end := run(t, reduction, [][]int{{1}, {1}}, typ(ops.S64, 4, 1), x)
		forth := run(t, scan, [][]int{{1}, {0}}, x.Type, x)
		back := run(t, scan, [][]int{{1}, {1}}, x.Type, x)
		column := func(v Value, i int) Value {
			return run(t, ops.Slice, [][]int{{0, i}, {4, 1}, {1, 1}}, typ(ops.S64, 4, 1), v)
		}
		want(t, column(forth, 8), numbers(end)...)
		want(t, column(back, 0), numbers(end)...)
	}
}
