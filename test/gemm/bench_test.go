package gemm

import (
	"fmt"
	"testing"
	"time"

	"nxvk/ops"
	"nxvk/synth/gemm"
	"nxvk/vulkan"
)

// BenchmarkProduct times what New chooses, submission included.
func BenchmarkProduct(b *testing.B) {
	for _, c := range []struct {
		d       ops.DType
		m, n, k int
	}{{ops.F32, 256, 256, 256}, {ops.F32, 512, 512, 512}, {ops.F32, 1024, 1024, 1024}, {ops.F64, 512, 512, 512},
		{ops.F32, 255, 257, 129}, {ops.F32, 128, 10, 784}, {ops.F32, 1024, 32, 256}, {ops.F32, 1, 1, 1 << 20}} {
		b.Run(c.d.String()+"/"+fmt.Sprintf("%dx%dx%d", c.m, c.n, c.k), func(b *testing.B) {
			r := openQuiet(b)
			p := newProduct(c.d, c.m, c.n, c.k, 1, rowMajor, rowMajor)
			plan, err := gemm.New(p.Problem, &r.Target)
			if err != nil {
				b.Fatal(err)
			}
			o := p.upload(b, r)
			if err := r.Reserve(o, plan); err != nil {
				b.Fatal(err)
			}
			once := func() {
				s := r.Device.Stream()
				if err := r.Record(s, plan, o); err != nil {
					b.Fatal(err)
				}
				if err := r.Finish(s); err != nil {
					b.Fatal(err)
				}
			}
			once()
			start := time.Now()
			for b.Loop() {
				once()
			}
			per := time.Since(start).Seconds() / float64(b.N)
			b.ReportMetric(2*float64(c.m)*float64(c.n)*float64(c.k)/per/1e9, "GFLOP/s")
		})
	}
}

func openQuiet(b *testing.B) *Runner {
	d, err := vulkan.Open("", vulkan.Options{})
	if err != nil {
		b.Skipf("no device: %v", err)
	}
	b.Cleanup(func() { d.Close() })
	return New(d)
}
