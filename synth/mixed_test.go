package synth

import (
	"errors"
	"math/big"
	"testing"

	"nxvk/ops"
)

// mixedWants are the operations on integers without end, by how they compare.
var mixedWants = map[ops.Op]func(c int, x, y int64) int64{
	ops.Equal:        func(c int, _, _ int64) int64 { return truth(c == 0) },
	ops.NotEqual:     func(c int, _, _ int64) int64 { return truth(c != 0) },
	ops.Less:         func(c int, _, _ int64) int64 { return truth(c < 0) },
	ops.LessEqual:    func(c int, _, _ int64) int64 { return truth(c <= 0) },
	ops.Greater:      func(c int, _, _ int64) int64 { return truth(c > 0) },
	ops.GreaterEqual: func(c int, _, _ int64) int64 { return truth(c >= 0) },
	ops.Max:          func(c int, x, y int64) int64 { return map[bool]int64{true: y, false: x}[c < 0] },
	ops.Min:          func(c int, x, y int64) int64 { return map[bool]int64{true: y, false: x}[c > 0] },
}

func truth(b bool) int64 { return map[bool]int64{true: 1}[b] }

// number is a word as the integer that it is.
func number(d ops.DType, word int64) *big.Int {
	if d == ops.U64 {
		return new(big.Int).SetUint64(uint64(word))
	}
	return big.NewInt(word)
}

// A u64 of 2^63 or more is larger than every signed integer, wherever it stands.
func TestMixedSigns(t *testing.T) {
	words := []int64{0, 1, 5, 1<<62 + 3, -1 << 63, -1<<63 + 1, -2, -1}
	n := len(words)
	forTargets(t, func(t *testing.T, target *Target) {
		for op, f := range mixedWants {
			for _, ds := range [][2]ops.DType{{ops.U64, ops.S64}, {ops.S64, ops.U64}, {ops.U64, ops.U64}, {ops.S64, ops.S64}} {
				x, y := tensor{typ: typ(ds[0], n, 1), n: words}, tensor{typ: typ(ds[1], n), n: words}
				want := tensor{typ: typ(ops.S64, n, n)}
				if op.Info().Compare {
					want.typ.DType = ops.U8
				} else if ds[0] == ds[1] {
					want.typ.DType = ds[0]
				}
				each(want.typ.Shape, func(_ int, c []int) {
					a, b := words[c[0]], words[c[1]]
					want.n = append(want.n, f(number(ds[0], a).Cmp(number(ds[1], b)), a, b))
				})
				same(t, describe(op, x.typ, y.typ), run(t, target, instr(op, want.typ), x, y), want)
			}
		}
	})
}

// What would take division or shifts is the host's.
func TestMixedOfTheHost(t *testing.T) {
	for _, op := range []ops.Op{ops.Quotient, ops.Remainder, ops.Pow, ops.RightShift} {
		in := instr(op, typ(ops.S64, 3))
		in.Ins = []ops.Operand{{ID: 1}, {ID: 2}}
		if _, err := Lower(in, []ops.Type{typ(ops.U64, 3), typ(ops.S64, 3)}, gpu); !errors.Is(err, ErrUnsupported) {
			t.Errorf("%v: got %v", op, err)
		}
		if _, err := Lower(in, []ops.Type{typ(ops.S64, 3), typ(ops.S64, 3)}, gpu); err != nil {
			t.Errorf("%v of one type: got %v", op, err)
		}
	}
}
