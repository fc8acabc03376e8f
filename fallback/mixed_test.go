package fallback

import (
	"math/big"
	"testing"

	"nxvk/fallback/dense"
	"nxvk/ops"
)

// exactly is what integers without end give, by operation.
var exactly = map[ops.Op]func(x, y *big.Int) *big.Int{
	ops.Equal:        func(x, y *big.Int) *big.Int { return truthInt(x.Cmp(y) == 0) },
	ops.NotEqual:     func(x, y *big.Int) *big.Int { return truthInt(x.Cmp(y) != 0) },
	ops.Less:         func(x, y *big.Int) *big.Int { return truthInt(x.Cmp(y) < 0) },
	ops.LessEqual:    func(x, y *big.Int) *big.Int { return truthInt(x.Cmp(y) <= 0) },
	ops.Greater:      func(x, y *big.Int) *big.Int { return truthInt(x.Cmp(y) > 0) },
	ops.GreaterEqual: func(x, y *big.Int) *big.Int { return truthInt(x.Cmp(y) >= 0) },
	ops.Add:          func(x, y *big.Int) *big.Int { return new(big.Int).Add(x, y) },
	ops.Subtract:     func(x, y *big.Int) *big.Int { return new(big.Int).Sub(x, y) },
	ops.Multiply:     func(x, y *big.Int) *big.Int { return new(big.Int).Mul(x, y) },
	ops.BitwiseAnd:   func(x, y *big.Int) *big.Int { return new(big.Int).And(x, y) },
	ops.Max: func(x, y *big.Int) *big.Int {
		if x.Cmp(y) < 0 {
			return y
		}
		return x
	},
	ops.Min: func(x, y *big.Int) *big.Int {
		if x.Cmp(y) > 0 {
			return y
		}
		return x
	},
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
		if !y.IsInt64() || y.Int64() > 64 || y.Sign() < 0 { // shifts everything out
			y = big.NewInt(64)
		}
		return new(big.Int).Rsh(x, uint(y.Int64()))
	},
}

func truthInt(b bool) *big.Int { return big.NewInt(map[bool]int64{true: 1}[b]) }

// TestMixedSigns: u64 and signed integers meet as the numbers that they are.
func TestMixedSigns(t *testing.T) {
	words := []uint64{0, 1, 2, 7, 63, 1<<31 - 1, 1 << 32, 1<<63 - 1, 1 << 63, 1<<63 + 5, 1<<64 - 2, 1<<64 - 1}
	n := len(words)
	for _, d := range []ops.DType{ops.S64, ops.S16} {
		for _, swap := range []bool{false, true} {
			x, y := dense.New(typ(ops.U64, n, 1)), dense.New(typ(d, n))
			dense.StoreUint[ops.U64](x.Data, 0, words)
			dense.StoreUint[d](y.Data, 0, words)
			if swap {
				x.Type.Shape, y.Type.Shape = ops.Shape{n}, ops.Shape{n, 1}
				x, y = y, x
			}
			for op, f := range exactly {
				out := typ(ops.S64, n, n)
				if op.Info().Compare {
					out.DType = ops.U8
				}
				got := run(t, op, nil, out, x, y)
				for i := range n * n {
					a, b := wholeAt(x, i/n), wholeAt(y, i%n)
					want := new(big.Int).And(f(a, b), new(big.Int).SetUint64(1<<64-1)).Uint64()
					if g := wholeAt(got, i); new(big.Int).And(g, new(big.Int).SetUint64(1<<64-1)).Uint64() != want {
						t.Errorf("%v of %v and %v: %v, %v: got %v, want %d", op, x.Type, y.Type, a, b, g, int64(want))
					}
				}
			}
		}
	}
}

// wholeAt is an element as the number that it is.
func wholeAt(v Value, i int) *big.Int {
	if v.Type.DType.Class() == ops.Unsigned {
		x := make([]uint64, 1)
		dense.LoadUint[v.Type.DType](x, v.Data, i, 1)
		return new(big.Int).SetUint64(x[0])
	}
	x := make([]int64, 1)
	dense.LoadInt[v.Type.DType](x, v.Data, i, 1)
	return big.NewInt(x[0])
}

func TestMixedPowAndClip(t *testing.T) {
	big := dense.New(typ(ops.U64, 2))
	dense.StoreUint[ops.U64](big.Data, 0, []uint64{1<<64 - 1, 3})
	want(t, run(t, ops.Pow, nil, typ(ops.S64, 2), big, vec(ops.S64, -1, 3)), 0, 27)
	want(t, run(t, ops.Pow, nil, typ(ops.S64, 2), vec(ops.S64, -1, -1), big), -1, -1)
	want(t, run(t, ops.Clip, nil, typ(ops.S64, 2), big, tensor(ops.S64, nil, -5), tensor(ops.S64, nil, 9)), 9, 3)
	want(t, run(t, ops.Clip, nil, typ(ops.S64, 2), vec(ops.S64, -7, 5), tensor(ops.U64, nil, 4), tensor(ops.S64, nil, 9)), 4, 5)
}
