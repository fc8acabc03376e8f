package exec

import (
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"nxvk/ops"
	"nxvk/vulkan"
)

// The first product has its result while the kernel for it is still being compiled, by the starter of that, and a product after that
// is by the kernel itself: the same bits.
func TestFirstProduct(t *testing.T) {
	var starters, kernels atomic.Int64
	compiled := make(chan struct{})
	f := vulkan.Fault{Refuse: func(name string) bool {
		switch {
		case strings.Contains(name, "gemm_starter"):
			starters.Add(1)
		case strings.Contains(name, "gemm_single"):
			<-compiled
			kernels.Add(1)
		}
		return false
	}}
	r := newRig(t, device(t, vulkan.Options{Fault: f}))
	r.exec.core.target.CPU = false // a GPU's kernels
	const m, k, n = 100, 130, 90
	q := r.session()
	drawn := func(id ops.ID, rows, cols int) {
		v := make([]float32, rows*cols)
		for i := range v {
			v[i] = float32(math.Sin(float64(i * int(id))))
		}
		r.Do(q, ops.Tensor, id, f32(rows, cols), nil, ops.Operand{Lit: &ops.Literal{Type: f32(rows, cols), Data: floats(v...)}})
	}
	drawn(1, m, k)
	drawn(2, k, n)
	product := func(id ops.ID) []float32 {
		r.Do(q, ops.Dot, id, f32(m, n), [][]int{{1}, {}, {0}, {}}, ref(1), ref(2))
		got, err := r.Read(q, id, 0, m*n)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	first := product(3)
	if starters.Load() == 0 || kernels.Load() != 0 {
		t.Errorf("before the first result %d starters and %d kernels are made", starters.Load(), kernels.Load())
	}
	close(compiled)
	r.Built()
	if second := product(4); kernels.Load() == 0 || !slices.Equal(first, second) {
		t.Errorf("%d kernels are made; other bits: %v", kernels.Load(), !slices.Equal(first, second))
	}
	want := 0.0
	for i := range k {
		want += math.Sin(float64(i)) * math.Sin(float64(i*n*2))
	}
	if math.Abs(want-float64(first[0])) > 1e-3 {
		t.Errorf("the first result is %v, want %v", first[0], want)
	}
}
