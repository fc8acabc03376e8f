package fallback

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"nxvk/ops"
)

// byElement computes by the functions of one element.
func byElement(t *testing.T, in *ops.Instr, args []Value, out *Value) {
	t.Helper()
	var err error
	switch classOf(&call{Instr: in}, args) {
	case ops.Float:
		err = elements(&call{Instr: in}, &floatScalars, args, out)
	case ops.Signed:
		err = elements(&call{Instr: in}, &intScalars, args, out)
	default:
		err = elements(&call{Instr: in}, &uintScalars, args, out)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// The loops of two operands give what the functions of one element give, of dense
// operands and of a number for all.
func TestBinaryLoops(t *testing.T) {
	values := append(lines(400, 9), 0, math.Copysign(0, -1), inf, -inf, 0, 1, -1, 3, 31, 32, 63, 64, -5)
	others := slices.Clone(values)
	slices.Reverse(others)
	for op := ops.Op(0); op < ops.Count; op++ {
		for _, d := range []ops.DType{ops.F32, ops.F64, ops.S32, ops.S64, ops.U8} {
			if op.Info().Arity != 2 {
				continue
			}
			result := typ(d, len(values))
			if op.Info().Result == ops.BoolType {
				result.DType = ops.U8
			}
			x, in := vec(d, values...), &ops.Instr{Op: op, Outs: []ops.Result{{Type: result}}}
			for _, y := range []Value{vec(d, others...), tensor(d, nil, 3), tensor(d, nil, -1)} {
				got, slow, args := newValue(result), newValue(result), []Value{x, y}
				if !fast(&call{Instr: in}, args, &got) {
					continue
				}
				byElement(t, in, args, &slow)
				if !bytes.Equal(got.Data, slow.Data) {
					t.Errorf("%v of %v: got %v, want %v", op, d, numbers(got), numbers(slow))
				}
			}
		}
	}
}
