package scan_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"nxvk/ops"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
	"nxvk/synth/scan"
	"nxvk/synth/simt"
	"nxvk/synth/synthtest"
)

// floats draws elements whose running sums depend on their order, and some that are no numbers.
func floats(r *rand.Rand, d ops.DType, n int) (b []byte) {
	for range n {
		x := math.Ldexp(r.NormFloat64(), r.IntN(20)-10)
		switch r.IntN(3000) {
		case 0:
			x = math.Inf(-1)
		case 1:
			x = math.NaN()
		case 2, 3, 4, 5, 6, 7:
			x = math.Copysign(0, -1)
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

// The host scans lines with the bits of their kernels, either way, in one pass or several.
func TestScansOnHost(t *testing.T) {
	r := rand.New(rand.NewPCG(14, 11))
	passes := 0
	for range 150 {
		op := []ops.Op{ops.CumulativeSum, ops.CumulativeProduct, ops.CumulativeMin, ops.CumulativeMax}[r.IntN(4)]
		d := []ops.DType{ops.F32, ops.F64, ops.BF16, ops.F16}[r.IntN(4)]
		shape := []int{1 + int(r.Float64()*r.Float64()*r.Float64()*200), 1 + int(r.Float64()*r.Float64()*9000)}
		if r.IntN(3) == 0 {
			shape = append([]int{1 + r.IntN(3)}, shape...)
		}
		typ := synthtest.Type(d, shape...)
		in := synthtest.Instr(op, typ, []int{len(shape) - 1}, []int{r.IntN(2)})
		in.Ins = []ops.Operand{{ID: 1}}
		p, err := scan.Lower(in, []ops.Type{typ}, synthtest.CPU)
		if err != nil {
			t.Fatal(err)
		}
		passes = max(passes, len(p.Steps))
		operand := floats(r, d, typ.Size())
		var results [2][]byte
		for i := range results {
			memory := map[lowering.RefKind][][]byte{lowering.Operand: {operand}, lowering.Result: {make([]byte, typ.Bytes()+8)}}
			for _, size := range p.Temps {
				memory[lowering.Temp] = append(memory[lowering.Temp], make([]byte, size+8))
			}
			for k, s := range p.Steps {
				var buffers [][]byte
				for _, a := range s.Args {
					buffers = append(buffers, memory[a.Ref.Kind][a.Ref.Index])
				}
				switch {
				case i == 0:
					simt.Compile(s.Kernel.IR, false).Run(nil, buffers, s.Push, s.Grid)
				case s.Kernel.Host.Routine == nil:
					t.Fatalf("%v of %v: step %d has no routine", op, typ, k)
				default:
					s.Kernel.Host.Routine(nil, buffers, s.Push, s.Grid)
				}
			}
			results[i] = memory[lowering.Result][0]
		}
		if !bytes.Equal(results[0], results[1]) {
			t.Fatalf("%v of %v: the host has other bits than the kernels", op, typ)
		}
	}
	if passes < 3 {
		t.Errorf("no scan takes more than %d passes", passes)
	}
}
