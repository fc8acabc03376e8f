package exec

import (
	"math"
	"slices"
	"strings"
	"testing"

	"nxvk/gen/wire"
	"nxvk/ops"
	"nxvk/synth/graph/notation"
)

// again computes the sine of its operand twice, the second time behind a barrier that also has the product of the
// first with an other operand.
const again = `(%1:f32[64,48], %2:f32[48,48]) {
  %3:f32[64,48] = sin %1
  %4:f32[64,48] = dot %3, %2 contract_left=[1] batch_left=[] contract_right=[0] batch_right=[]
  %5:f32[64,48], %6:f32[64,48] = optimization_barrier %1, %4
  %7:f32[64,48] = sin %5
  %8:f32[64,48] = multiply %6, %7
  give %8
}
`

// TestBarrier: what is computed of a result of a barrier is computed again and after the barrier, and nothing that
// comes before it is kept for that. The results have the memory of the operands.
func TestBarrier(t *testing.T) {
	region, err := notation.Parse(again)
	if err != nil {
		t.Fatal(err)
	}
	const rows, width = 64, 48
	rigs(t, func(r *rig) {
		q := r.session()
		r.Define(q, "again", region)
		var x, eye, want []float32
		for i := range rows * width {
			v := float32(i%97) / 16
			x = append(x, v)
			want = append(want, float32(math.Pow(math.Sin(float64(v)), 2)))
		}
		for i := range width * width {
			eye = append(eye, 0)
			if i%(width+1) == 0 {
				eye[i] = 1
			}
		}
		r.Tensor(q, 1, x...)
		r.Tensor(q, 2, eye...)
		r.Do(q, ops.Reshape, 3, f32(rows, width), nil, ref(1))
		r.Do(q, ops.Reshape, 4, f32(width, width), nil, ref(2))
		for range 3 {
			r.run(q, "again", []ops.Result{res(5, f32(rows, width))}, ref(3), ref(4))
			got, err := r.Read(q, 5, 0, 4*rows*width)
			if err != nil || len(got) != len(want) {
				t.Fatalf("%d numbers, %v", len(got), err)
			}
			for i := range got {
				if math.Abs(float64(got[i]-want[i])) > 1e-5 {
					t.Fatalf("element %d is %v, want %v", i, got[i], want[i])
				}
			}
			r.Built()
		}
		r.checkBarrierParts(t, q, 4*rows*width)
	})
}

// checkBarrierParts looks at the order of the parts, and at the memory of the barrier: that of the product, of so many bytes.
func (r *rig) checkBarrierParts(t *testing.T, q *Queue, bytes int64) {
	parts, err := r.explained(q, "again", Planned)
	if err != nil {
		t.Fatal(err)
	}
	var text []string
	for _, p := range parts {
		text = append(text, strings.Join(p.Instructions, "\n"))
		if strings.Contains(text[len(text)-1], "optimization_barrier") && p.Held != bytes {
			t.Errorf("the program holds %d bytes at the barrier, want %d", p.Held, bytes)
		}
	}
	has := func(what string) func(string) bool { return func(s string) bool { return strings.Contains(s, what) } }
	at := slices.IndexFunc(text, has("optimization_barrier"))
	if at < 1 || !slices.ContainsFunc(text[:at], has("sin ")) || !slices.ContainsFunc(text[at:], has("sin ")) {
		t.Errorf("a sine comes before the barrier and one behind it, got\n%s", strings.Join(text, "\n"))
	}
}

// TestOnlyPrograms: a barrier and an attention in the stream are errors.
func TestOnlyPrograms(t *testing.T) {
	rigs(t, func(r *rig) {
		q := r.session()
		r.Tensor(q, 1, 4)
		for i, op := range []ops.Op{ops.OptimizationBarrier, ops.Attention} {
			id := ops.ID(10 + i)
			r.Do(q, op, id, f32(1), nil, ref(1))
			r.WantKind(q, id, wire.BadArgument)
		}
	})
}
