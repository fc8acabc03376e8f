package elementwise

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"nxvk/fallback/dense"
	"nxvk/fallback/densetest"
	"nxvk/ops"
)

// BenchmarkTyped compares the typed loops with the functions of a class.
func BenchmarkTyped(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, op := range []ops.Op{ops.Add, ops.Divide, ops.Quotient, ops.Max, ops.Less, ops.Negate, ops.Sqrt} {
		for _, d := range []ops.DType{ops.F32, ops.F64, ops.S32, ops.S64} {
			for _, n := range []int{4, 4096} {
				t := ops.Type{DType: d, Shape: ops.Shape{n}}
				out := dense.New(t)
				if op.Info().Result == ops.BoolType {
					out = dense.New(ops.Type{DType: ops.U8, Shape: t.Shape})
				}
				args := []dense.Value{densetest.Random(r, t), densetest.Random(r, t)}[:op.Info().Arity]
				in := &dense.Call{Instr: &ops.Instr{Op: op, Outs: []ops.Result{{Type: out.Type}}}}
				typed := func() bool { return runBinary(in, args, &out) || runUnary(in, args, &out) }
				if !typed() {
					continue
				}
				b.Run(fmt.Sprintf("%v/%v/%d/typed", op, d, n), func(b *testing.B) {
					for b.Loop() {
						typed()
					}
				})
				b.Run(fmt.Sprintf("%v/%v/%d/class", op, d, n), func(b *testing.B) {
					for b.Loop() {
						byElement(b, in.Instr, args, &out)
					}
				})
			}
		}
	}
}

// BenchmarkSlices compares the functions of floats over a slice with calls for each number.
func BenchmarkSlices(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	x, src := make([]float64, dense.Chunk), make([]float64, dense.Chunk)
	for i := range src {
		src[i] = 2*r.Float64() - 1
	}
	for op, f := range FloatScalars {
		if f.each == nil || f.one == nil {
			continue
		}
		b.Run(ops.Op(op).String()+"/slice", func(b *testing.B) {
			for b.Loop() {
				copy(x, src)
				f.each(x)
			}
		})
		b.Run(ops.Op(op).String()+"/calls", func(b *testing.B) {
			for b.Loop() {
				copy(x, src)
				for i, v := range x {
					x[i] = f.one(v)
				}
			}
		})
	}
}
