package fallback

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"nxvk/fallback/dense"
	"nxvk/ops"
)

// bench times an instruction on values that are already there.
func bench(b *testing.B, op ops.Op, attrs [][]int, out ops.Type, args ...Value) {
	b.Helper()
	in := ops.Instr{Op: op, Attrs: attrs, Outs: []ops.Result{{Type: out}}}
	outs := []Value{dense.New(out)}
	bytes := len(outs[0].Data)
	for _, a := range args {
		bytes += len(a.Data)
	}
	b.SetBytes(int64(bytes))
	b.ReportAllocs()
	for b.Loop() {
		if err := Run(&in, args, outs); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSmall(b *testing.B) {
	four := vec(ops.F32, 1, 2, 3, 4)
	scalar := tensor(ops.F32, nil, 1)
	b.Run("add-scalars", func(b *testing.B) { bench(b, ops.Add, nil, typ(ops.F32), scalar, scalar) })
	b.Run("add-4", func(b *testing.B) { bench(b, ops.Add, nil, four.Type, four, four) })
	b.Run("add-4-scalar", func(b *testing.B) { bench(b, ops.Add, nil, four.Type, four, scalar) })
	b.Run("add-4-s32", func(b *testing.B) { bench(b, ops.Add, nil, four.Type, four, tensor(ops.S32, nil, 1)) })
	b.Run("exp-4", func(b *testing.B) { bench(b, ops.Exp, nil, four.Type, four) })
	b.Run("select-4", func(b *testing.B) { bench(b, ops.Select, nil, four.Type, tensor(ops.U8, nil, 1), four, four) })
	b.Run("reshape-4", func(b *testing.B) { bench(b, ops.Reshape, nil, typ(ops.F32, 2, 2), four) })
	b.Run("sum-4", func(b *testing.B) { bench(b, ops.Sum, [][]int{{0}, {0}}, typ(ops.F32), four) })
	m := tensor(ops.F32, ops.Shape{2, 2}, 1, 2, 3, 4)
	b.Run("transpose-2x2", func(b *testing.B) { bench(b, ops.Transpose, [][]int{{1, 0}}, m.Type, m) })
	b.Run("dot-2x2", func(b *testing.B) { bench(b, ops.Dot, [][]int{{1}, {}, {0}, {}}, m.Type, m, m) })
}

func BenchmarkLarge(b *testing.B) {
	const n = 1 << 20
	x, m := dense.New(typ(ops.F32, n)), dense.New(typ(ops.F32, 1024, 1024))
	scalar := tensor(ops.F32, nil, 1)
	b.Run("add", func(b *testing.B) { bench(b, ops.Add, nil, x.Type, x, x) })
	b.Run("add-scalar", func(b *testing.B) { bench(b, ops.Add, nil, x.Type, x, scalar) })
	b.Run("exp", func(b *testing.B) { bench(b, ops.Exp, nil, x.Type, x) })
	b.Run("as_type", func(b *testing.B) { bench(b, ops.AsType, nil, typ(ops.BF16, n), x) })
	b.Run("sum", func(b *testing.B) { bench(b, ops.Sum, [][]int{{0}, {0}}, typ(ops.F32), x) })
	b.Run("sum-rows", func(b *testing.B) { bench(b, ops.Sum, [][]int{{1}, {0}}, typ(ops.F32, 1024), m) })
	b.Run("sum-columns", func(b *testing.B) { bench(b, ops.Sum, [][]int{{0}, {0}}, typ(ops.F32, 1024), m) })
	b.Run("transpose", func(b *testing.B) { bench(b, ops.Transpose, [][]int{{1, 0}}, m.Type, m) })
}

func BenchmarkDot(b *testing.B) {
	for _, n := range []int{32, 256, 512} {
		for _, d := range []ops.DType{ops.F32, ops.F64, ops.S32} {
			m := random(rand.New(rand.NewPCG(1, 1)), typ(d, n, n))
			b.Run(fmt.Sprintf("%v-%d", d, n), func(b *testing.B) {
				bench(b, ops.Dot, [][]int{{1}, {}, {0}, {}}, m.Type, m, m)
				b.ReportMetric(2*float64(n*n*n)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
			})
		}
	}
}

func BenchmarkStructured(b *testing.B) {
	r := rand.New(rand.NewPCG(2, 2))
	image := random(r, typ(ops.F32, 1, 16, 112, 112))
	pool := [][]int{{1, 1, 2, 2}, {0, 0, 0, 0, 0, 0, 0, 0}, {1, 1, 2, 2}, {1, 1, 1, 1}}
	b.Run("window_max", func(b *testing.B) { bench(b, ops.WindowMax, pool, typ(ops.F32, 1, 16, 56, 56), image) })
	kernel, one, axes := random(r, typ(ops.F32, 32, 16, 3, 3)), []int{1}, []int{0, 1, 2, 3}
	attrs := [][]int{{1, 1}, {1, 1, 1, 1}, {1, 1}, {1, 1}, one, one, axes, axes, axes}
	b.Run("conv", func(b *testing.B) {
		bench(b, ops.Conv, attrs, typ(ops.F32, 1, 32, 112, 112), image, kernel)
		b.ReportMetric(2*32*16*9*112*112*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
	})
	v := random(r, typ(ops.F32, 1<<17))
	b.Run("sort", func(b *testing.B) { bench(b, ops.Sort, [][]int{{0}, {0}, {0}}, v.Type, v) })
	b.Run("argsort", func(b *testing.B) { bench(b, ops.Argsort, [][]int{{0}, {0}, {0}}, typ(ops.S32, 1<<17), v) })
	b.Run("fft", func(b *testing.B) { bench(b, ops.FFT, [][]int{{1 << 17}, {0}, {0}}, typ(ops.C64, 1<<17), v) })
	table, idx := random(r, typ(ops.F32, 10000, 64)), run(b, ops.Iota, [][]int{{-1}}, typ(ops.S32, 4096, 1))
	b.Run("gather", func(b *testing.B) { bench(b, ops.Gather, [][]int{{0}}, typ(ops.F32, 4096, 64), table, idx) })
	up := random(r, typ(ops.F32, 4096, 64))
	b.Run("indexed_add", func(b *testing.B) { bench(b, ops.IndexedAdd, [][]int{{0}}, table.Type, table, idx, up) })
}

// Rows of few elements.
func BenchmarkRows(b *testing.B) {
	r := rand.New(rand.NewPCG(3, 3))
	for _, c := range []struct{ rows, n, k int }{{129, 1, 1}, {129, 3, 1}, {8, 64, 64}, {1, 512, 5}, {1, 50000, 50}} {
		x := random(r, typ(ops.F32, c.rows, c.n))
		name := fmt.Sprintf("%dx%d", c.rows, c.n)
		b.Run(fmt.Sprint("top_k-", name, "-", c.k), func(b *testing.B) {
			in := ops.Instr{Op: ops.TopK, Attrs: [][]int{{c.k}}, Outs: []ops.Result{{Type: typ(ops.F32, c.rows, c.k)}, {Type: typ(ops.S32, c.rows, c.k)}}}
			outs := []Value{dense.New(in.Outs[0].Type), dense.New(in.Outs[1].Type)}
			b.ReportAllocs()
			for b.Loop() {
				if err := Run(&in, []Value{x}, outs); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("sort-"+name, func(b *testing.B) { bench(b, ops.Sort, [][]int{{1}, {0}, {0}}, x.Type, x) })
		b.Run("cumulative_sum-"+name, func(b *testing.B) { bench(b, ops.CumulativeSum, [][]int{{1}, {0}}, x.Type, x) })
	}
}

// Operations that only copy, with the sizes of elixir/nx_vulkan_go/bench/host.exs,
// so that the times can be compared.
func BenchmarkCopies(b *testing.B) {
	r := rand.New(rand.NewPCG(4, 4))
	m, rows := random(r, typ(ops.F32, 1000, 1000)), run(b, ops.Iota, [][]int{{-1}}, typ(ops.S32, 1000))
	b.Run("concatenate", func(b *testing.B) { bench(b, ops.Concatenate, [][]int{{1}}, typ(ops.F32, 1000, 2000), m, m) })
	b.Run("take", func(b *testing.B) { bench(b, ops.Take, [][]int{{0}}, m.Type, m, rows) })
}

// A transform of one line, which one goroutine computes.
func BenchmarkFFT(b *testing.B) {
	x := random(rand.New(rand.NewPCG(3, 3)), typ(ops.C64, 2048))
	bench(b, ops.FFT, [][]int{{2048}, {0}, {0}}, x.Type, x)
}

// BenchmarkRegion computes a chain of 20 instructions by an Evaluator, and by a Run for each.
func BenchmarkRegion(b *testing.B) {
	for _, n := range []int{1, 16, 256} {
		typ := ops.Type{DType: ops.F64, Shape: ops.Shape{n}}
		r := &ops.Region{Params: []ops.Result{{ID: 1, Type: typ}}, Values: []ops.Operand{{ID: 21}}}
		for i := range 20 {
			in := ops.Instr{Op: []ops.Op{ops.Multiply, ops.Add, ops.Subtract}[i%3], Outs: []ops.Result{{ID: ops.ID(i + 2), Type: typ}},
				Ins: []ops.Operand{{ID: ops.ID(i + 1)}, {ID: 1}}}
			r.Body = append(r.Body, in)
		}
		b.Run(fmt.Sprint("evaluator-", n), func(b *testing.B) {
			e := NewEvaluator(r)
			x := dense.New(typ)
			for b.Loop() {
				if _, err := e.Eval(x); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprint("run-", n), func(b *testing.B) {
			values := make([]Value, 22)
			for i := range values {
				values[i] = dense.New(typ)
			}
			for b.Loop() {
				for i := range r.Body {
					in := &r.Body[i]
					if err := Run(in, []Value{values[in.Ins[0].ID], values[1]}, values[in.Outs[0].ID:][:1]); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
