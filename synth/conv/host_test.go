package conv_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"nxvk/ops"
	"nxvk/synth/conv"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
	"nxvk/synth/simt"
	"nxvk/synth/synthtest"
	"nxvk/test/fewtest"
)

// drawnConv is a convolution of few or many filters a group, with results of rows of any length.
func drawnConv(r *rand.Rand) (*ops.Instr, []ops.Type) {
	d := []ops.DType{ops.F32, ops.F32, ops.F64, ops.F16, ops.BF16, ops.S32}[r.IntN(6)]
	axes, groups, filters, channels := 1+r.IntN(3), 1+r.IntN(3), 1+r.IntN(9), 1+r.IntN(4)
	batch := 1 + r.IntN(3)
	in, kernel := ops.Shape{batch, groups * channels}, ops.Shape{groups * filters, channels}
	out := ops.Shape{batch, groups * filters}
	var strides, pads, gaps, steps []int
	for range axes {
		n, taps, low, high := 1+r.IntN(60>>(2*axes-2)+8), 1+r.IntN(4), r.IntN(4), r.IntN(4)
		stride, gap, step := 1+r.IntN(3)*r.IntN(2), 1+r.IntN(3)*r.IntN(2), 1+r.IntN(2)
		low += max(0, (taps-1)*step+1-(n-1)*gap-1-low-high)
		in, kernel = append(in, n), append(kernel, taps)
		out = append(out, ((n-1)*gap+1+low+high-(taps-1)*step-1)/stride+1)
		strides, pads, gaps, steps = append(strides, stride), append(pads, low, high), append(gaps, gap), append(steps, step)
	}
	order, kernelOrder := ops.AllAxes(axes+2), ops.AllAxes(axes+2)
	if r.IntN(3) == 0 {
		order[1] = axes + 1
		for i := range axes {
			order[i+2] = i + 1
		}
		in, out = lain(in, order), lain(out, order)
	}
	return &ops.Instr{Op: ops.Conv, Attrs: [][]int{strides, pads, gaps, steps, {groups}, {1}, order, kernelOrder, order}, Ins: make([]ops.Operand, 2),
		Outs: []ops.Result{{Type: ops.Type{DType: d, Shape: out}}}}, []ops.Type{{DType: d, Shape: in}, {DType: d, Shape: kernel}}
}

// hard draws elements of all magnitudes; some are zeros of either sign and, with extremes, infinities.
func hard(r *rand.Rand, t ops.Type, extremes bool) (b []byte) {
	for range t.Size() {
		x := math.Ldexp(r.NormFloat64(), r.IntN(20)-10)
		switch r.IntN(40) {
		case 0:
			x = math.Copysign(0, r.NormFloat64())
		case 1:
			if extremes {
				x = math.Inf(1)
			}
		}
		switch t.DType {
		case ops.F64:
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
		case ops.F32:
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(x)))
		case ops.BF16:
			b = binary.LittleEndian.AppendUint16(b, uint16(math.Float32bits(float32(x))>>16))
		case ops.F16:
			b = binary.LittleEndian.AppendUint16(b, kernel.PackHalf(float32(x)))
		default:
			b = binary.LittleEndian.AppendUint32(b, r.Uint32())
		}
	}
	return b
}

// buffers is memory of a plan on the host, which ends at a whole word of 8 bytes.
type buffers map[lowering.RefKind][][]byte

func (m buffers) of(s *lowering.Step) (list [][]byte) {
	for _, a := range s.Args {
		list = append(list, m[a.Ref.Kind][a.Ref.Index][a.Offset:])
	}
	return list
}

// The host carries out all steps of a convolution on a processor by routines, with the bits of the kernels.
func TestRoutines(t *testing.T) {
	target := *synthtest.CPU
	target.Rounds = lowering.Twice
	patches, sums, moves := 0, 0, 0
	for seed := range uint64(fewtest.Of(400, 150)) {
		r := rand.New(rand.NewPCG(seed, 14))
		in, types := drawnConv(r)
		name := fmt.Sprint("seed ", seed, ": ", types, in.Attrs)
		p, err := conv.Lower(in, types, &target, nil)
		if err != nil {
			t.Fatal(name, err)
		}
		m := buffers{lowering.Operand: {hard(r, types[0], r.IntN(9) == 0), hard(r, types[1], r.IntN(9) == 0)},
			lowering.Result: {make([]byte, in.Outs[0].Type.Bytes())}}
		for _, n := range p.Temps {
			m[lowering.Temp] = append(m[lowering.Temp], make([]byte, n))
		}
		for _, list := range m {
			for i := range list {
				list[i] = append(list[i], make([]byte, 16-len(list[i])%8)...)
			}
		}
		var want []byte // of a step by its kernel; nil after a step without a routine
		for i := range p.Steps {
			s := &p.Steps[i]
			list, routine := m.of(s), target.Routine(s)
			to := list[len(list)-1]
			switch {
			case s.Covered && want != nil:
				want = kernelResult(s, m, want)
			case routine != nil:
				want = kernelResult(s, m, to)
				routine.Run(nil, list)
				switch {
				case len(list) == 3:
					sums++
				case s.Args[0].Ref.Kind == lowering.Operand:
					patches++
				default:
					moves++
				}
			case len(list) == 3 && s.Kernel.IR != nil && !longRows(in), s.Does != nil, s.Covered, target.HasRoutine(s):
				want = nil
				target.OnHost(s.Kernel)(nil, list, s.Push, s.Grid)
			default:
				t.Fatalf("%s: step %d has no routine", name, i)
			}
			if last := i+1 == len(p.Steps) || !p.Steps[i+1].Covered; last && want != nil && !bytes.Equal(to, want) {
				t.Fatalf("%s: step %d gives other bits", name, i)
			}
		}
	}
	if min(patches, sums, moves) < 20 {
		t.Errorf("%d patches, %d sums and %d moves", patches, sums, moves)
	}
}

// kernelResult is what the kernel of a step makes of its last buffer, which has some bytes before.
func kernelResult(s *lowering.Step, m buffers, before []byte) []byte {
	list := m.of(s)
	to := bytes.Clone(before)
	list[len(list)-1] = to
	simt.Compile(s.Kernel.IR, false).Run(nil, list, s.Push, s.Grid)
	return to
}

// longRows reports whether a convolution has results enough along its last axis for the host to sum them side by side.
func longRows(in *ops.Instr) bool {
	order, out := in.Attrs[ops.ConvOutputPermutation], in.Outs[0].Type.Shape
	return out[order[len(order)-1]] >= 8
}
