package exec

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"nxvk/ops"
)

// Streams of many kinds of instructions give the same bits and errors as one
// instruction after the other, when seen first and when seen again.
func TestLazySame(t *testing.T) {
	lazily(t, func(r *rig) {
		plain := newRig(r.T, r.Dev)
		*plain.exec.core.target = *r.exec.core.target
		plain.exec.core.cfg.OneByOne = true
		for seed := range uint64(12) {
			a, b := r.session(), plain.session()
			for range 3 {
				sameStream(r, plain, a, b, seed)
				r.Built()
			}
			r.exec.End(a.Session)
			plain.exec.End(b.Session)
		}
	})
}

// sameStream sends one random stream to both, and compares what they say.
func sameStream(r, plain *rig, a, b *Queue, seed uint64) {
	r.Helper()
	rng := rand.New(rand.NewPCG(seed, 5))
	m, col, row := f32(24, 40), f32(24, 1), f32(40)
	do := func(op ops.Op, id ops.ID, t ops.Type, attrs [][]int, ins ...ops.Operand) {
		r.Do(a, op, id, t, attrs, slices.Clone(ins)...)
		plain.Do(b, op, id, t, attrs, slices.Clone(ins)...)
	}
	do(ops.Iota, 1, m, [][]int{{-1}})
	do(ops.Multiply, 2, m, nil, ref(1), scalar(0.01))
	do(ops.Iota, 3, row, [][]int{{-1}})
	live := []ops.ID{1, 2}
	pick := func() ops.Operand { return ref(live[rng.IntN(len(live))]) }
	check := func(id ops.ID) {
		got, err := r.Read(a, id, 0, math.MaxInt)
		want, wrong := plain.Read(b, id, 0, math.MaxInt)
		if (err == nil) != (wrong == nil) || err != nil && err.Error() != wrong.Error() {
			r.Fatalf("stream %d, value %d: error %v, one by one it is %v", seed, id, err, wrong)
		}
		if !slices.Equal(floats(got...), floats(want...)) {
			r.Fatalf("stream %d, value %d differs from one by one", seed, id)
		}
	}
	for id := ops.ID(10); id < 90; id += 3 {
		switch rng.IntN(10) {
		case 0, 1:
			do(ops.Add, id, m, nil, pick(), pick())
		case 2:
			do([]ops.Op{ops.Sin, ops.Tanh, ops.Negate, ops.Abs}[rng.IntN(4)], id, m, nil, pick())
		case 3:
			do(ops.Multiply, id, m, nil, pick(), scalar(float32(rng.IntN(3))))
		case 4:
			do(ops.Sum, id+1, col, [][]int{{1}, {1}}, pick())
			do(ops.Subtract, id, m, nil, pick(), ref(id+1))
		case 5:
			do(ops.Reshape, id+1, f32(40, 24), nil, pick())
			do(ops.Transpose, id, m, [][]int{{1, 0}}, ref(id+1))
		case 6:
			do(ops.Slice, id+1, f32(1, 40), [][]int{{rng.IntN(24), 0}, {1, 40}, {1, 1}}, pick())
			do(ops.Max, id, m, nil, pick(), ref(id+1))
		case 7:
			do(ops.Add, id, m, nil, pick(), ref(3))
		case 8:
			do(ops.Add, id, f32(24, 39), nil, pick(), pick())
		case 9:
			do(ops.Dot, id+1, f32(24, 24), [][]int{{1}, {}, {1}, {}}, pick(), pick())
			do(ops.Dot, id, m, [][]int{{1}, {}, {0}, {}}, ref(id+1), pick())
		}
		live = append(live, id)
		if i := rng.IntN(len(live)); len(live) > 6 {
			do(ops.Free, 0, ops.Type{}, [][]int{{int(live[i])}})
			live = slices.Delete(live, i, i+1)
		}
		if rng.IntN(12) == 0 {
			check(live[len(live)-1])
		}
	}
	for id := ops.ID(1); id < 90; id++ {
		check(id)
	}
	var all []int
	for id := range 90 {
		all = append(all, id)
	}
	do(ops.Free, 0, ops.Type{}, [][]int{all})
}
