package gemm

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"nxvk/ops"
)

// hardware are devices with the shapes that their drivers list for f16.
var hardware = map[string]*Target{
	"16x16x16 of 32": {Subgroup: 32, SharedMemory: 49152, MaxInvocations: 1024, Matrices: []Matrix{{ops.F16, 16, 8, 16, false}, {ops.F16, 16, 16, 16, false}}},
	"16x16x16 of 64": {Subgroup: 64, SharedMemory: 65536, MaxInvocations: 1024, Matrices: []Matrix{{ops.F16, 16, 16, 16, false}}},
	"8x16x16 of 16":  {Subgroup: 16, SharedMemory: 65536, MaxInvocations: 1024, Matrices: []Matrix{{ops.F16, 8, 16, 16, false}}},
	"8x8x8 of 8":     {Subgroup: 8, SharedMemory: 32768, MaxInvocations: 1024, Matrices: []Matrix{{ops.F16, 8, 8, 8, true}}},
}

// Rows that are no whole vectors are copied into some that are where the products are long enough to pay for that, in a
// batch too, and one copy serves a batch that shares its operand.
func TestAlign(t *testing.T) {
	target := *hardware["16x16x16 of 32"]
	target.Addresses, target.SharedMemory = true, 101376
	for _, c := range []struct {
		m, n, k, batch int
		across, shared bool // A is contiguous along its rows; all products of the batch have the same B
		a, b           bool
	}{
		{1023, 1023, 1023, 1, false, false, true, true},
		{743, 1641, 873, 1, false, false, true, true},
		{1307, 499, 8192, 1, true, false, true, true},
		{369, 437, 70, 96, false, false, false, false},
		{1024, 1024, 1023, 1, false, false, true, false},
		{1024, 1023, 1024, 1, false, false, false, true},
		{1024, 1024, 1024, 1, false, false, false, false},
		{255, 255, 255, 1, false, false, false, false}, // a dispatch takes as long as the product
		{511, 511, 511, 1, false, false, false, false},
		{17, 4095, 4095, 1, false, false, false, false}, // bound by memory
		{64, 2047, 256, 64, false, false, false, false}, // 67 MB of B, read once
		{64, 2047, 256, 64, false, true, false, true},
	} {
		p := Problem{Type: ops.F32, Operands: ops.F16, M: c.m, N: c.n, K: c.k, Batch: c.batch}
		p.A, p.B = Strides{Row: c.k, Col: 1, Batch: c.m * c.k}, Strides{Row: c.n, Col: 1, Batch: c.k * c.n}
		if c.across {
			p.A = Strides{Row: 1, Col: c.m, Batch: c.m * c.k}
		}
		if c.shared {
			p.B.Batch = 0
		}
		if a, b := p.Align(&target); a != c.a || b != c.b {
			t.Errorf("%+v: copies of %v, %v, want %v, %v", c, a, b, c.a, c.b)
		}
	}
}

// Products of 33 to 256 rows with a large matrix wait for that to be read. They have a workgroup for most
// multiprocessors at least, whose loads are on their way together.
func TestFewRowsShareK(t *testing.T) {
	target := *hardware["16x16x16 of 32"]
	target.Addresses = true
	target.MaxGroups = [3]uint32{1<<31 - 1, 1<<16 - 1, 1<<16 - 1}
	r := rand.New(rand.NewPCG(33, 256))
	for range 200 {
		m, n, k := 33+r.IntN(224), 16*(64+r.IntN(960)), 16*(64+r.IntN(960))
		p := Problem{Type: ops.F32, Operands: ops.F16, M: m, N: n, K: k, Batch: 1, A: Strides{Row: k, Col: 1}, B: Strides{Row: n, Col: 1}}
		plan, err := New(p, &target)
		if err != nil {
			t.Fatalf("%dx%dx%d: %v", m, n, k, err)
		}
		groups := 0
		for _, s := range plan.Steps {
			groups = max(groups, int(s.Grid[0]*s.Grid[1]*s.Grid[2]))
		}
		if most := ceil(m, 64) * ceil(n, 64) * (k / leastShare); groups < min(Multiprocessors*3/4, most) {
			t.Errorf("%dx%dx%d: %d workgroups", m, n, k, groups)
		}
	}
}

// Products of any size and layout choose kernels that are listed, whatever shapes a device has.
func TestMatrixServesAll(t *testing.T) {
	for name, target := range hardware {
		target.Addresses, target.MaxGroups = true, [3]uint32{65535, 65535, 65535}
		listed := map[string]bool{}
		for _, s := range MatrixKernels(ops.F32, target) {
			listed[fmt.Sprint(s.Kernel)] = true
		}
		if len(listed) == 0 {
			t.Errorf("%s: no kernels", name)
			continue
		}
		for _, s := range (&Problem{Type: ops.F32, Operands: ops.F16}).slimKernels(target) { // of few k
			listed[fmt.Sprint(s.Kernel)] = true
		}
		r := rand.New(rand.NewPCG(1, 15))
		for range 2000 {
			size := func() int { return matrixLeast + r.IntN(1<<(2+r.IntN(10))) }
			p := Problem{Type: ops.F32, Operands: ops.F16, M: size(), N: size(), K: 1 + r.IntN(1<<r.IntN(14)), Batch: 1 + r.IntN(3)}
			if r.IntN(4) == 0 {
				p.M, p.N, p.K = fewVectors+r.IntN(6), 2048+r.IntN(4096), 2048+r.IntN(4096)
			}
			lay := func(rows, cols int) Strides {
				gap := r.IntN(2) * r.IntN(9)
				if r.IntN(2) == 0 {
					return Strides{Row: 1, Col: rows + gap, Batch: cols * (rows + gap)}
				}
				return Strides{Row: cols + gap, Col: 1, Batch: rows * (cols + gap)}
			}
			p.A, p.B = lay(p.M, p.K), lay(p.K, p.N)
			plan, err := New(p, target)
			if err != nil {
				t.Fatal(err)
			}
			if k := plan.Steps[0].Kernel; !listed[fmt.Sprint(k)] {
				t.Errorf("%s: %v takes a kernel that is not listed: %v", name, p, k)
			}
			if again, _ := New(p, target); fmt.Sprint(again) != fmt.Sprint(plan) {
				t.Errorf("%s: %v has two plans", name, p)
			}
		}
	}
}

// Some vectors and a large matrix of 16 bits are a product on matrix hardware, however they lie and
// on whichever side the matrix is; fewer vectors, a smaller matrix and bytes are not.
func TestMatrixFewVectors(t *testing.T) {
	target := Target{Subgroup: 32, SharedMemory: 49152, MaxInvocations: 1024, Addresses: true,
		MaxGroups: [3]uint32{65535, 65535, 65535}, Matrices: []Matrix{{ops.BF16, 16, 16, 16, false}, {ops.S8, 16, 16, 32, false}}}
	r := rand.New(rand.NewPCG(2, 15))
	for range 500 {
		p := Problem{Type: ops.F32, Operands: ops.BF16, M: 1 + r.IntN(maxVectors), N: 256 << r.IntN(8), K: 256 << r.IntN(8), Batch: 1}
		want := p.M >= fewVectors && min(p.N, p.K) >= largeSide
		p.A, p.B = Strides{Row: p.K, Col: 1}, Strides{Row: p.N, Col: 1}
		if r.IntN(2) == 0 {
			p.B = Strides{Row: 1, Col: p.K}
		}
		if r.IntN(2) == 0 {
			p = p.Transposed()
		}
		_, hardware := p.choose(&target).(*matrixMethod)
		if hardware != want || p.Vectors(ops.BF16, &target) == want {
			t.Errorf("%v: matrix hardware %v, want %v", p, hardware, want)
		}
		p.Type, p.Operands = ops.S32, ops.S8
		if _, ok := p.choose(&target).(vectors); !ok {
			t.Errorf("%v of bytes are no product with few vectors", p)
		}
	}
}

// Products of few rows or columns with a matrix whose rows are whole vectors have subgroups that share out k; others have
// tiles.
func TestMatrixFewRows(t *testing.T) {
	target := *hardware["16x16x16 of 32"]
	target.Addresses, target.MaxGroups = true, [3]uint32{65535, 65535, 65535}
	for _, c := range []struct {
		m, n, k int
		sliced  bool
	}{
		{9, 1024, 1024, true}, {16, 3072, 1024, true}, {32, 4096, 4096, true}, {16, 14336, 4096, true}, {1024, 16, 2048, true},
		{16, 3071, 1024, false}, {16, 3072, 1023, false}, {128, 4096, 4096, false}, {512, 512, 512, false},
	} {
		p := Problem{Type: ops.F32, Operands: ops.F16, M: c.m, N: c.n, K: c.k, Batch: 1, A: Strides{Row: c.k, Col: 1}, B: Strides{Row: c.n, Col: 1}}
		if m, _ := p.bestMatrix(&target); m.sliced() != c.sliced {
			t.Errorf("%d×%d×%d: %v", c.m, c.n, c.k, m.MatrixTile)
		}
	}
}

// A device without a shape for a type, one that reaches buffers by bindings, and a processor leave
// products to the other kernels.
func TestMatrixAbsent(t *testing.T) {
	shapes := []Matrix{{ops.F16, 16, 16, 16, false}}
	full := Target{Subgroup: 32, SharedMemory: 49152, MaxInvocations: 1024, Addresses: true, Matrices: shapes}
	if _, ok := full.Matrix(ops.F16, 64, 64); !ok {
		t.Error("the device has f16")
	}
	bound, processor, small := full, full, full
	bound.Addresses, processor.CPU, small.SharedMemory = false, true, 1024
	for name, target := range map[string]*Target{"bindings": &bound, "a processor": &processor, "little shared memory": &small} {
		if _, ok := target.Matrix(ops.F16, 64, 64); ok {
			t.Errorf("%s: matrices of f16", name)
		}
	}
	if _, ok := full.Matrix(ops.BF16, 64, 64); ok {
		t.Error("matrices of bf16, which the device does not list")
	}
	if _, ok := full.Matrix(ops.F16, maxVectors, 64); ok {
		t.Error("products of few rows are bound by memory")
	}
}
