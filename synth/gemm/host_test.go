package gemm

import (
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"nxvk/ops"
)

// The host gives the sums of a plan in the order of k, whatever the shapes and strides.
func TestHost(t *testing.T) {
	for _, batch := range []int{1, 3} {
		for _, s := range [][3]int{{1, 1, 1}, {5, 3, 9}, {8, 8, 7}, {16, 70, 33}, {70, 9, 12}, {33, 130, 64}, {1, 1, 9000}, {3, 1100, 300}, {70, 520, 130}, {129, 1, 40}, {6, 7, 40}, {2, 700, 1500}, {301, 3, 1100}, {1, 75, 90}} {
			m, n, k := s[0], s[1], s[2]
			plain := rowMajor(ops.F32, m, n, k, batch)
			transposed := plain
			transposed.A = Strides{Row: 1, Col: m, Batch: m * k}
			transposed.B = Strides{Row: 1, Col: k, Batch: k * n}
			for name, p := range map[string]Problem{"plain": plain, "transposed": transposed} {
				t.Run(fmt.Sprintf("%s %d×%d×%d batch %d", name, m, n, k, batch), func(t *testing.T) { checkHost(t, p) })
			}
		}
	}
}

func checkHost(t *testing.T, p Problem) {
	plan, err := New(p, cpu)
	if err != nil {
		t.Fatal(err)
	}
	value := func(i int) float32 { return float32(i*7919%1000)/300 - 1.5 }
	fill := func(n int) (b []byte) {
		for i := range n {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(value(i)))
		}
		return b
	}
	memory := map[Buffer][]byte{A: fill(p.M * p.K * p.Batch), B: fill(p.K * p.N * p.Batch),
		C: fill(p.M * p.N * p.Batch), Partial: make([]byte, plan.Partial)}
	for i := range plan.Steps {
		s := &plan.Steps[i]
		s.Kernel.OnHost()(nil, [][]byte{memory[s.In[0]], memory[s.In[1]], memory[s.Out]}, s.Push, s.Grid)
	}
	shares := max(1, int(plan.Partial)/(4*p.M*p.N*p.Batch))
	chunk := ceil(p.K, shares)
	for at := range p.M * p.N * p.Batch {
		col, row, batch := at%p.N, at/p.N%p.M, at/p.N/p.M
		var want float32
		for first := 0; first < p.K; first += chunk {
			var sum float32
			for k := first; k < min(first+chunk, p.K); k++ {
				a, b := value(batch*p.A.Batch+row*p.A.Row+k*p.A.Col), value(batch*p.B.Batch+k*p.B.Row+col*p.B.Col)
				sum += float32(a * b)
			}
			if want += sum; first == 0 {
				want = sum
			}
		}
		if got := math.Float32frombits(binary.LittleEndian.Uint32(memory[C][4*at:])); got != want {
			t.Fatalf("element %d is %v, want %v", at, got, want)
		}
	}
}
