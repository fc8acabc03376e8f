package dot_test

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"nxvk/ops"
	"nxvk/synth"
	"nxvk/synth/dot"
	"nxvk/synth/lowering"
	"nxvk/synth/synthtest"
)

// bf16 reads an element of bf16.
func bf16(b []byte, i int) float64 {
	return float64(math.Float32frombits(uint32(binary.LittleEndian.Uint16(b[2*i:])) << 16))
}

// words draws numbers of a type; those of bf16 are f32 cut off.
func words(rnd *rand.Rand, d ops.DType, n int) (data []byte, xs []float64) {
	for range n {
		x := float32(rnd.NormFloat64() * math.Exp2(float64(rnd.IntN(40)-20)))
		if d == ops.BF16 {
			x = math.Float32frombits(math.Float32bits(x) &^ 0xffff)
			data = binary.LittleEndian.AppendUint16(data, uint16(math.Float32bits(x)>>16))
		} else {
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(x))
		}
		xs = append(xs, float64(x))
	}
	return data, xs
}

// TestParts: the parts of two operands, multiplied and added up along k, give the product of the operands.
// Each part of f32 is exact, however the operands lie.
func TestParts(t *testing.T) {
	rnd := rand.New(rand.NewPCG(21, 22))
	for _, size := range [][4]int{{2, 8, 12, 1}, {3, 5, 4, 1}, {1, 3, 7, 3}, {4, 16, 8, 2}} {
		m, n, k, batches := size[0], size[1], size[2], size[3]
		for along := range 4 { // k or the free dimension is contiguous, of both operands
			var data [2][]byte
			var xs [2][]float64
			var row, col, batch, aFree, aK [2]int
			for i, free := range []int{m, n} {
				d := []ops.DType{ops.F32, ops.BF16}[i]
				data[i], xs[i] = words(rnd, d, batches*free*k)
				if aFree[i], aK[i] = k, 1; along>>i&1 == 1 {
					aFree[i], aK[i] = 1, free
				}
				p, r, c, b, err := dot.PlanParts(d, free, k, batches, aFree[i], aK[i], synthtest.GPU)
				if err != nil {
					t.Fatal(err)
				}
				row[i], col[i], batch[i] = r, c, b
				memory := map[lowering.RefKind][][]byte{lowering.Operand: {append(data[i], 0, 0, 0, 0)}}
				synthtest.Interpret(t, p, memory, nil)
				data[i] = memory[lowering.Temp][0]
			}
			for z := range batches {
				for i := range m {
					for j := range n {
						want, got := 0.0, 0.0
						for c := range k {
							want += xs[0][z*m*k+i*aFree[0]+c*aK[0]] * xs[1][z*n*k+j*aFree[1]+c*aK[1]]
						}
						for c := range 3 * k {
							got += bf16(data[0], z*batch[0]+i*row[0]+c*col[0]) * bf16(data[1], z*batch[1]+j*row[1]+c*col[1])
						}
						if math.Abs(got-want) > 1e-9*max(1, math.Abs(want)) {
							t.Fatalf("%v, lying as %d: element %d, %d is %v, want %v", size, along, i, j, got, want)
						}
					}
				}
			}
		}
	}
}

// TestPartsOfNumbers: three parts are a number, also one that is large, and the parts of one that is not finite are
// itself and zeros.
func TestPartsOfNumbers(t *testing.T) {
	xs := []float32{0, float32(math.Copysign(0, -1)), 1, -math.Pi, math.MaxFloat32, -math.MaxFloat32, 0x1.fffffep-90, 0x1.010101p100,
		float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN()), math.Float32frombits(0x7f800001)}
	var data []byte
	for _, x := range xs {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(x))
	}
	p, _, col, _, err := dot.PlanParts(ops.F32, 1, len(xs), 1, len(xs), 1, synthtest.GPU)
	if err != nil {
		t.Fatal(err)
	}
	memory := map[lowering.RefKind][][]byte{lowering.Operand: {data}}
	synthtest.Interpret(t, p, memory, nil)
	for i, x := range xs {
		var parts [3]float64
		for s := range parts {
			parts[s] = bf16(memory[lowering.Temp][0], (s*len(xs)+i)*col)
		}
		sum := parts[0] + parts[1] + parts[2]
		if half := thrice(t, x); half[0] != half[1] && half[0]-half[0] == 0 || half[1] != half[2] || half[1]-half[1] != 0 {
			t.Errorf("the copies of %v, cut off, are %v", x, half)
		}
		whole := !math.IsInf(float64(x), 0) && x == x
		if sum != float64(x) && (x == x || sum == sum) || !whole && (parts[1] != 0 || parts[2] != 0) {
			t.Errorf("the parts of %v are %v", x, parts)
		}
	}
}

// thrice gives the copies of a number of bf16.
func thrice(t *testing.T, x float32) (copies [3]float64) {
	t.Helper()
	p, _, col, _, err := dot.PlanParts(ops.BF16, 1, 1, 1, 1, 1, synthtest.GPU)
	if err != nil {
		t.Fatal(err)
	}
	memory := map[lowering.RefKind][][]byte{lowering.Operand: {binary.LittleEndian.AppendUint32(nil, math.Float32bits(x)>>16)}}
	synthtest.Interpret(t, p, memory, nil)
	for i := range copies {
		copies[i] = bf16(memory[lowering.Temp][0], i*col)
	}
	return copies
}

// TestSplit: a large product of f32 and bf16 is one on matrix hardware, and a small one, or one on a device
// without such hardware, is not.
func TestSplit(t *testing.T) {
	hardware := *synthtest.GPU
	hardware.Matrices = []synth.Matrix{{Type: ops.BF16, M: 16, N: 16, K: 16}}
	for _, c := range []struct {
		types   [2]ops.DType
		m, n, k int
		target  *lowering.Target
		parts   int
	}{
		{[2]ops.DType{ops.F32, ops.BF16}, 1024, 768, 512, &hardware, 2},
		{[2]ops.DType{ops.BF16, ops.F32}, 1024, 768, 512, &hardware, 2},
		{[2]ops.DType{ops.BF16, ops.F32}, 1024, 769, 511, &hardware, 2},
		{[2]ops.DType{ops.F32, ops.BF16}, 512, 64, 512, &hardware, 0},
		{[2]ops.DType{ops.F32, ops.F32}, 1024, 768, 512, &hardware, 0},
		{[2]ops.DType{ops.F32, ops.F16}, 1024, 768, 512, &hardware, 0},
		{[2]ops.DType{ops.F32, ops.BF16}, 1024, 768, 512, synthtest.GPU, 0},
	} {
		in := &ops.Instr{Op: ops.Dot, Attrs: [][]int{{1}, {}, {0}, {}}, Ins: []ops.Operand{{ID: 1}, {ID: 2}},
			Outs: []ops.Result{{Type: synthtest.Type(ops.F32, c.m, c.n)}}}
		types := []ops.Type{synthtest.Type(c.types[0], c.m, c.k), synthtest.Type(c.types[1], c.k, c.n)}
		p, err := synth.Lower(in, types, c.target)
		if err != nil {
			t.Fatal(err)
		}
		parts := 0
		for i := range p.Steps {
			if s := &p.Steps[i]; s.Kernel.IR != nil && len(s.Args) == 2 && s.Bytes == int64(types[s.Args[0].Ref.Index].Bytes()+6*types[s.Args[0].Ref.Index].Size()) &&
				s.Args[0].Ref.Kind == lowering.Operand {
				parts++
			}
		}
		if parts != c.parts {
			t.Errorf("%v %dx%dx%d: %d operands are split, want %d", c.types, c.m, c.n, c.k, parts, c.parts)
		}
	}
}
