package elementwise_test

import (
	"errors"
	"math/big"
	"testing"

	"nxvk/ops"
	"nxvk/synth/lowering"
	"nxvk/synth/synthtest"
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
	synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
		for op, f := range mixedWants {
			for _, ds := range [][2]ops.DType{{ops.U64, ops.S64}, {ops.S64, ops.U64}, {ops.U64, ops.U64}, {ops.S64, ops.S64}} {
				x, y := synthtest.Tensor{Typ: synthtest.Type(ds[0], n, 1), N: words}, synthtest.Tensor{Typ: synthtest.Type(ds[1], n), N: words}
				want := synthtest.Tensor{Typ: synthtest.Type(ops.S64, n, n)}
				if op.Info().Compare {
					want.Typ.DType = ops.U8
				} else if ds[0] == ds[1] {
					want.Typ.DType = ds[0]
				}
				synthtest.Each(want.Typ.Shape, func(_ int, c []int) {
					a, b := words[c[0]], words[c[1]]
					want.N = append(want.N, f(number(ds[0], a).Cmp(number(ds[1], b)), a, b))
				})
				synthtest.Same(t, synthtest.Describe(op, x.Typ, y.Typ), synthtest.Run(t, target, synthtest.Instr(op, want.Typ), x, y), want)
			}
		}
	})
}

// TestWrappingResults holds which integer operations are the host's: those whose operands have numbers that the type of the
// result has not, where more than their low bits count.
func TestWrappingResults(t *testing.T) {
	synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
		for _, c := range []struct {
			op   ops.Op
			x, y ops.DType
			out  ops.DType
			host bool
		}{
			{ops.RightShift, ops.S2, ops.U32, ops.U32, true}, {ops.Max, ops.S8, ops.U16, ops.U16, true},
			{ops.Quotient, ops.U32, ops.S32, ops.S32, true}, {ops.Pow, ops.S64, ops.S32, ops.S16, true},
			{ops.RightShift, ops.U8, ops.U32, ops.U32, false}, {ops.Max, ops.S8, ops.S16, ops.S32, false},
			{ops.Quotient, ops.U32, ops.S32, ops.S64, false}, {ops.Add, ops.S2, ops.U32, ops.U32, false},
			{ops.BitwiseAnd, ops.S64, ops.S64, ops.U8, false}, {ops.Less, ops.S8, ops.U32, ops.U8, false},
		} {
			_, err := synthtest.Lower(t, target, synthtest.Instr(c.op, synthtest.Type(c.out, 8)), synthtest.Type(c.x, 8), synthtest.Type(c.y, 8))
			if host := errors.Is(err, lowering.ErrUnsupported); host != c.host || err != nil && !host {
				t.Errorf("%v of %v and %v to %v: %v", c.op, c.x, c.y, c.out, err)
			}
		}
	})
}

// wrapped is an integer modulo 2^64.
func wrapped(x *big.Int) int64 {
	return int64(new(big.Int).And(x, new(big.Int).SetUint64(1<<64-1)).Uint64())
}

// mixedArithmetic has the operations whose bits depend on which operand is a u64, on
// integers without end.
var mixedArithmetic = map[ops.Op]func(x, y *big.Int) *big.Int{
	ops.Quotient: func(x, y *big.Int) *big.Int {
		if y.Sign() == 0 {
			return big.NewInt(-1)
		}
		return new(big.Int).Quo(x, y)
	},
	ops.Remainder: func(x, y *big.Int) *big.Int {
		if y.Sign() == 0 {
			return x
		}
		return new(big.Int).Rem(x, y)
	},
	ops.RightShift: func(x, y *big.Int) *big.Int {
		if y.Sign() < 0 || y.BitLen() > 16 {
			y = big.NewInt(64)
		}
		return new(big.Int).Rsh(x, uint(y.Uint64()))
	},
	ops.Pow: func(x, y *big.Int) *big.Int {
		if y.Sign() >= 0 {
			return new(big.Int).Exp(x, y, new(big.Int).Lsh(big.NewInt(1), 64))
		}
		if x.CmpAbs(big.NewInt(1)) != 0 {
			return new(big.Int)
		}
		return new(big.Int).Exp(x, big.NewInt(2+int64(y.Bit(0))), nil) // 1 or -1
	},
}

// What divides, shifts or raises to a power takes operands for the numbers that
// they are, and wraps once.
func TestMixedArithmetic(t *testing.T) {
	words := []int64{0, 1, 2, 3, 5, 63, 64, 300, 1<<62 + 3, 1<<63 - 1, -1 << 63, -1<<63 + 1, -300, -64, -3, -2, -1}
	n := len(words)
	synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
		for op, f := range mixedArithmetic {
			for _, ds := range [][2]ops.DType{{ops.U64, ops.S64}, {ops.S64, ops.U64}, {ops.S64, ops.S64}} {
				x, y := synthtest.Tensor{Typ: synthtest.Type(ds[0], n, 1), N: words}, synthtest.Tensor{Typ: synthtest.Type(ds[1], n), N: words}
				want := synthtest.Tensor{Typ: synthtest.Type(ops.S64, n, n)}
				synthtest.Each(want.Typ.Shape, func(_ int, c []int) {
					want.N = append(want.N, wrapped(f(number(ds[0], words[c[0]]), number(ds[1], words[c[1]]))))
				})
				synthtest.Same(t, synthtest.Describe(op, x.Typ, y.Typ), synthtest.Run(t, target, synthtest.Instr(op, want.Typ), x, y), want)
			}
		}
	})
}

// The u64 may be any of the three, and the bounds in the wrong order.
func TestMixedClip(t *testing.T) {
	words := []int64{0, 1, 1<<63 - 1, -1 << 63, -2, -1}
	kinds := []ops.DType{ops.U64, ops.S64}
	synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
		for mask := range 8 {
			var d [3]ops.DType
			for i := range d {
				d[i] = kinds[mask>>i&1]
			}
			merged := ops.Merge(ops.Merge(d[0], d[1]), d[2])
			for _, lo := range words {
				for _, hi := range words {
					x := synthtest.Tensor{Typ: synthtest.Type(d[0], len(words)), N: words}
					want := synthtest.Tensor{Typ: synthtest.Type(merged, len(words))}
					for _, w := range words {
						a := number(d[0], w)
						if l := number(d[1], lo); a.Cmp(l) < 0 {
							a = l
						}
						if h := number(d[2], hi); a.Cmp(h) > 0 {
							a = h
						}
						want.N = append(want.N, wrapped(a))
					}
					got := synthtest.Run(t, target, synthtest.Instr(ops.Clip, want.Typ), x,
						synthtest.Tensor{Typ: synthtest.Type(d[1]), N: []int64{lo}}, synthtest.Tensor{Typ: synthtest.Type(d[2]), N: []int64{hi}})
					synthtest.Same(t, synthtest.Describe(ops.Clip, x.Typ, synthtest.Type(d[1]), synthtest.Type(d[2])), got, want)
				}
			}
		}
	})
}
