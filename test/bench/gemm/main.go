// Command gemm times matrix products on a Vulkan device and checks each result
// against the plain kernel, bit for bit where the order of the sums is the
// same. By default it times what synth/gemm chooses; -tiles times every tile,
// which is how the choice is made.
//
//	gemm -type f32 -sizes 1024,4096,64x4096x4096
//	gemm -tiles -shares 1,4 -sizes 256,512
//	gemm -layouts nn,nt,tn,tt -sizes 4096
//	gemm -drawn 200 -seed 1
//	gemm -matrix -tiles -type bf16,s8 -sizes 1024,4095
//	gemm -matrix -tiles -cold -type bf16 -sizes 16x4096x1024
//
// -drawn draws products as Nx has them: odd, prime, of vocabularies, skinny, batched and
// transposed, of six types or of those of -type. It compares each with its neighbour of whole tiles, lists
// those that lose most first, and checks some elements on the host. The drivers' own caches are
// off, so that the time of a first result has in it what compiling takes.
package main

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"nxvk/ops"
	"nxvk/synth/gemm"
	device "nxvk/test/gemm"
	"nxvk/vulkan"
)

type options struct {
	sizes, layouts, shares, types string
	only                          string
	tiles, cpu, matrix, lowered   bool
	cold                          bool
	device, cache, convolutions   string
	budget                        time.Duration
	drawn                         int
	seed                          uint64
	total                         time.Duration
	flops                         float64
}

func main() {
	var o options
	flag.StringVar(&o.sizes, "sizes", "256,512,1024,2048,4096", "sizes: N, or MxNxK, or MxNxKxBATCH")
	flag.StringVar(&o.layouts, "layouts", "nn", "layouts of both operands: n row-major, t column-major")
	flag.StringVar(&o.shares, "shares", "1", "with -tiles: among how many workgroups k is shared out")
	flag.StringVar(&o.types, "type", "", "element types (default: f32, or with -drawn six)")
	flag.BoolVar(&o.tiles, "tiles", false, "time every tile")
	flag.BoolVar(&o.cpu, "processor", false, "use the kernels for processors")
	flag.BoolVar(&o.matrix, "matrix", false, "use matrix hardware: bf16, f16, s8 or u8")
	flag.StringVar(&o.only, "only", "", "with -matrix: only tiles whose names have this text")
	flag.BoolVar(&o.cold, "cold", false, "with -matrix: each product of a chain has operands of its own, which no cache has")
	flag.BoolVar(&o.lowered, "lowered", false, "time products as Nx has them, with their conversions and copies")
	flag.StringVar(&o.convolutions, "convolutions", "", "time convolutions: BATCHxCHANNELSxSIDExFILTERSxTAPSxSTRIDE")
	flag.StringVar(&o.device, "device", "", "index, name or UUID")
	flag.StringVar(&o.cache, "cache", "", "folder of the pipeline cache")
	flag.DurationVar(&o.budget, "time", 60*time.Millisecond, "of one measurement; the best of five counts")
	flag.IntVar(&o.drawn, "drawn", 0, "draw so many products")
	flag.Uint64Var(&o.seed, "seed", 1, "with -drawn: of the generator")
	flag.Float64Var(&o.flops, "flops", 0x1p40, "with -drawn: of a product at most")
	flag.DurationVar(&o.total, "total", 2*time.Minute, "with -drawn: draw no more after that")
	flag.Parse()
	if err := run(&o); err != nil {
		fmt.Fprintln(os.Stderr, "gemm:", err)
		os.Exit(1)
	}
}

func run(o *options) error {
	if o.drawn > 0 {
		os.Setenv("__GL_SHADER_DISK_CACHE", "0")
		os.Setenv("MESA_SHADER_CACHE_DISABLE", "true")
	}
	d, err := vulkan.Open(o.device, vulkan.Options{CacheDir: o.cache})
	if err != nil {
		return err
	}
	defer d.Close()
	r := device.New(d)
	r.Target.CPU = r.Target.CPU || o.cpu
	switch {
	case o.drawn > 0:
		return runDrawn(r, o)
	case o.convolutions != "":
		o.lowered = true
		return runConvolutions(r, o)
	case o.lowered:
		return runLowered(r, o)
	case o.matrix:
		return runMatrix(r, o)
	}
	fmt.Printf("%s, %s\n%-5s %-18s %-3s %-26s %10s %10s %9s  %s\n", d.Info().Name, d.Info().DriverInfo,
		"type", "shape", "", "kernel", "µs", "GFLOP/s", "ready ms", "check")
	return o.products(func(typ ops.DType, size, layout string) (int, error) {
		p, err := problem(typ, size, layout)
		if err != nil {
			return 0, err
		}
		return measure(r, o, p, layout)
	})
}

// elements are the types that are asked for, or else others.
func (o *options) elements(others []ops.DType) (list []ops.DType, err error) {
	if o.types == "" {
		return others, nil
	}
	for _, name := range strings.Split(o.types, ",") {
		typ, err := ops.ParseDType(name)
		if err != nil {
			return nil, err
		}
		list = append(list, typ)
	}
	return list, nil
}

// products measures the products of the given types, sizes and layouts. f returns how
// many results are wrong.
func (o *options) products(f func(typ ops.DType, size, layout string) (wrong int, err error)) error {
	wrong := 0
	types, err := o.elements([]ops.DType{ops.F32})
	if err != nil {
		return err
	}
	for _, typ := range types {
		for _, size := range strings.Split(o.sizes, ",") {
			for _, layout := range strings.Split(o.layouts, ",") {
				n, err := f(typ, size, layout)
				if err != nil {
					return fmt.Errorf("%v %s %s: %w", typ, size, layout, err)
				}
				wrong += n
			}
		}
	}
	if wrong > 0 {
		return fmt.Errorf("%d wrong results", wrong)
	}
	return nil
}

// problem reads a size and a layout.
func problem(d ops.DType, size, layout string) (gemm.Problem, error) {
	var n []int
	for _, f := range strings.Split(size, "x") {
		v, err := strconv.Atoi(f)
		if err != nil || v < 1 {
			return gemm.Problem{}, fmt.Errorf("size %q is not N or MxNxK", size)
		}
		n = append(n, v)
	}
	if len(n) == 1 {
		n = []int{n[0], n[0], n[0]}
	}
	if len(n) == 3 {
		n = append(n, 1)
	}
	if len(n) != 4 || len(layout) != 2 {
		return gemm.Problem{}, fmt.Errorf("size %q or layout %q is not understood", size, layout)
	}
	p := gemm.Problem{Type: d, M: n[0], N: n[1], K: n[2], Batch: n[3]}
	p.A, p.B = strides(p.M, p.K, layout[0]), strides(p.K, p.N, layout[1])
	return p, nil
}

func strides(rows, cols int, layout byte) gemm.Strides {
	if layout == 't' {
		return gemm.Strides{Row: 1, Col: rows, Batch: rows * cols}
	}
	return gemm.Strides{Row: cols, Col: 1, Batch: rows * cols}
}
