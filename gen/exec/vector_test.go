package exec

import (
	"math/rand/v2"
	"testing"

	"nxvk/ops"
	"nxvk/test/fewtest"
)

// TestVectors: products of one vector, with as few and as many workgroups and invocations as there are, give what they give on the
// host: sums of small integers, which no order changes.
func TestVectors(t *testing.T) {
	draw := rand.New(rand.NewPCG(7, 11))
	type product struct {
		d    ops.DType
		k, m int
	}
	cases := []product{{ops.BF16, 4608, 1024}, {ops.BF16, 1024, 6144}, {ops.BF16, 5632, 2048}, {ops.F32, 4096, 384}, {ops.BF16, 640, 17408}}
	for range fewtest.Of(24, 6) {
		d := []ops.DType{ops.BF16, ops.F16, ops.F32}[draw.IntN(3)]
		k := 64 + draw.IntN(6000)
		cases = append(cases, product{d, k, 8 * (1 + draw.IntN(min(1000, 1<<20/k)))})
	}
	want := make([][]float32, len(cases))
	rigs(t, func(r *rig) {
		q := r.session()
		for i, c := range cases {
			typ := func(d ops.DType, shape ...int) ops.Type { return ops.Type{DType: d, Shape: shape} }
			small := func(id ops.ID, n int, shape ...int) { // integers of -n/2 to n/2
				r.Do(q, ops.Iota, id, typ(ops.S32, shape...), [][]int{{-1}})
				r.Do(q, ops.Remainder, id+1, typ(ops.S32, shape...), nil, ref(id), word(int32(n)))
				r.Do(q, ops.Subtract, id+2, typ(ops.S32, shape...), nil, ref(id+1), word(int32(n/2)))
				r.Do(q, ops.AsType, id+3, typ(c.d, shape...), nil, ref(id+2))
			}
			first := ops.ID(20*i + 1)
			small(first, 3, 1, c.k)
			r.Do(q, ops.Iota, first+8, typ(ops.S32, c.k, c.m), [][]int{{0}})
			small(first+4, 5, c.m)
			r.Do(q, ops.Remainder, first+9, typ(ops.S32, c.k, c.m), nil, ref(first+8), word(7))
			r.Do(q, ops.AsType, first+10, typ(c.d, c.k, c.m), nil, ref(first+9))
			r.Do(q, ops.Multiply, first+11, typ(c.d, c.k, c.m), nil, ref(first+10), ref(first+7))
			r.Do(q, ops.Dot, first+12, typ(c.d, 1, c.m), [][]int{{1}, {}, {0}, {}}, ref(first+3), ref(first+11))
			r.Do(q, ops.AsType, first+13, typ(ops.F32, 1, c.m), nil, ref(first+12))
			got, err := r.Read(q, first+13, 0, c.m)
			if err != nil {
				r.Fatal(err)
			}
			if want[i] == nil {
				want[i] = got
			}
			for at, x := range got {
				if x != want[i][at] {
					r.Fatalf("%v of %d by %d: result %d is %v, want %v", c.d, c.k, c.m, at, x, want[i][at])
				}
			}
		}
	})
}
