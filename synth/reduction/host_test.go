package reduction_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"nxvk/ops"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
	"nxvk/synth/reduction"
	"nxvk/synth/simt"
	"nxvk/synth/synthtest"
)

// floats draws elements whose sums depend on their order.
func floats(r *rand.Rand, d ops.DType, n int) (b []byte) {
	for range n {
		x := math.Ldexp(r.NormFloat64(), r.IntN(40)-20)
		if r.IntN(50) == 0 {
			x = []float64{0, math.Copysign(0, -1), math.Inf(1), 1e-310}[r.IntN(4)]
		}
		if r.IntN(20000) == 0 {
			x = []float64{math.Inf(-1), math.NaN()}[r.IntN(2)]
		}
		switch d {
		case ops.F64:
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
		case ops.F32:
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(x)))
		case ops.BF16:
			b = binary.LittleEndian.AppendUint16(b, uint16(math.Float32bits(float32(x))>>16))
		default:
			b = binary.LittleEndian.AppendUint16(b, kernel.PackHalf(float32(x)))
		}
	}
	return append(b, make([]byte, 8)...)
}

// The host adds up or multiplies rows and columns with the bits of their kernels, in one pass or several.
func TestSumsOnHost(t *testing.T) {
	r := rand.New(rand.NewPCG(14, 3))
	passes := 0
	for range 200 {
		op := []ops.Op{ops.Sum, ops.Product}[r.IntN(2)]
		d := []ops.DType{ops.F32, ops.F64, ops.BF16, ops.F16}[r.IntN(4)]
		rows, n := 1+int(r.Float64()*r.Float64()*300), 2+int(r.Float64()*r.Float64()*r.Float64()*30000)
		if rows*n > 1<<20 {
			rows = 1
		}
		axis, shape := 1, []int{rows, n}
		if r.IntN(2) == 0 && rows > 1 {
			axis, shape = 0, []int{n, rows}
		}
		in := synthtest.Instr(op, synthtest.Type(d, rows), []int{axis}, []int{0})
		in.Ins = []ops.Operand{{ID: 1}}
		p, err := reduction.Lower(in, []ops.Type{synthtest.Type(d, shape...)}, synthtest.CPU)
		if err != nil {
			t.Fatal(err)
		}
		memory := map[lowering.RefKind][][]byte{lowering.Operand: {floats(r, d, rows*n)}, lowering.Result: {floats(r, d, rows)}}
		for _, size := range p.Temps {
			memory[lowering.Temp] = append(memory[lowering.Temp], make([]byte, size+8))
		}
		passes = max(passes, len(p.Steps))
		for i, s := range p.Steps {
			if s.Kernel.Host.Routine == nil {
				t.Fatalf("%d rows of %d %v: step %d has no routine", rows, n, d, i)
			}
			in, out := memory[s.Args[0].Ref.Kind][s.Args[0].Ref.Index], memory[s.Args[1].Ref.Kind][s.Args[1].Ref.Index]
			want := bytes.Clone(out)
			simt.Compile(s.Kernel.IR, false).Run(nil, [][]byte{in, want}, s.Push, s.Grid)
			s.Kernel.Host.Routine(nil, [][]byte{in, out}, s.Push, s.Grid)
			if !bytes.Equal(out, want) {
				t.Fatalf("%d rows of %d %v, step %d: the host has other bits than the kernel", rows, n, d, i)
			}
		}
	}
	if passes < 2 {
		t.Errorf("no sum took more than %d passes", passes)
	}
}

// Other reductions have no routine, and neither do sums of other types.
func TestNoRoutine(t *testing.T) {
	for _, c := range []struct {
		op   ops.Op
		of   ops.DType
		axis int
	}{{ops.ReduceMax, ops.F32, 1}, {ops.Product, ops.S32, 0}, {ops.ReduceMax, ops.BF16, 1}, {ops.Sum, ops.S32, 1}} {
		in := synthtest.Instr(c.op, synthtest.Type(c.of, 50), []int{c.axis}, []int{0})
		in.Ins = []ops.Operand{{ID: 1}}
		p, err := reduction.Lower(in, []ops.Type{synthtest.Type(c.of, 50, 50)}, synthtest.CPU)
		if err != nil {
			t.Fatal(err)
		}
		if p.Steps[0].Kernel.Host.Routine != nil {
			t.Errorf("%v of %v along axis %d has a routine", c.op, c.of, c.axis)
		}
	}
}
