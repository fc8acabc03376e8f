package kernels

import (
	"flag"
	"testing"
	"time"

	"nxvk/fallback"
	"nxvk/ops"
)

var benchSize = flag.Int("elements", 1<<22, "elements of the tensors of benchmarks, a square")

// BenchmarkMemory times what memory bounds, in bytes read and written.
func BenchmarkMemory(b *testing.B) {
	r := open(b)
	n := *benchSize
	side := 1
	for side*side < n {
		side *= 2
	}
	n = side * side
	square := func(d ops.DType) ops.Type { return ops.Type{DType: d, Shape: ops.Shape{side, side}} }
	f32 := square(ops.F32)
	line := ops.Type{DType: ops.F32, Shape: ops.Shape{side}}
	for _, c := range []struct {
		name  string
		in    *ops.Instr
		args  []ops.Type
		bytes int
	}{
		{"add", one(ops.Add, f32), []ops.Type{f32, f32}, 12 * n},
		{"add row", one(ops.Add, f32), []ops.Type{f32, line}, 8 * n},
		{"exp", one(ops.Exp, f32), []ops.Type{f32}, 8 * n},
		{"sum", one(ops.Sum, ops.Type{DType: ops.F32, Shape: ops.Shape{}}, []int{0, 1}, []int{0}), []ops.Type{f32}, 4 * n},
		{"sum of rows", one(ops.Sum, line, []int{1}, []int{0}), []ops.Type{f32}, 4 * n},
		{"sum of columns", one(ops.Sum, line, []int{0}, []int{0}), []ops.Type{f32}, 4 * n},
		{"argmax", one(ops.ArgMax, ops.Type{DType: ops.S32, Shape: ops.Shape{}}, []int{-1}, []int{0}, []int{0}), []ops.Type{f32}, 4 * n},
		{"transpose", one(ops.Transpose, f32, []int{1, 0}), []ops.Type{f32}, 8 * n},
		{"reverse", one(ops.Reverse, f32, []int{1}), []ops.Type{f32}, 8 * n},
		{"as bf16", one(ops.AsType, square(ops.BF16)), []ops.Type{f32}, 6 * n},
	} {
		b.Run(c.name, func(b *testing.B) { r.time(b, c.in, c.args, c.bytes) })
	}
}

// time measures batches of twenty executions, recorded at once.
func (r *Runner) time(b *testing.B, in *ops.Instr, types []ops.Type, bytes int) {
	const batch = 20
	var args []fallback.Value
	for i, t := range types {
		args = append(args, fallback.Value{Type: t})
		in.Ins = append(in.Ins[:i:i], ops.Operand{ID: ops.ID(i + 1)})
	}
	l, err := r.Load(in, args)
	if err != nil {
		b.Fatal(err)
	}
	defer l.Free()
	once := func() time.Duration {
		s := r.Device.Stream()
		start := time.Now()
		for range batch {
			if err := r.Record(s, l); err != nil {
				b.Fatal(err)
			}
		}
		if err := r.Finish(s); err != nil {
			b.Fatal(err)
		}
		return time.Since(start) / batch
	}
	once()
	best := time.Hour
	for b.Loop() {
		best = min(best, once())
	}
	b.ReportMetric(float64(bytes)/best.Seconds()/1e9, "GB/s")
	b.ReportMetric(float64(best.Microseconds()), "µs/run")
}
