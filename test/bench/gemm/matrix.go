package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"nxvk/ops"
	"nxvk/synth/gemm"
	device "nxvk/test/gemm"
)

// runMatrix times products on matrix hardware: what New chooses, and with -tiles every tile.
func runMatrix(r *device.Runner, o *options) error {
	r.Target = device.MatrixTarget(r.Device.Info())
	fmt.Printf("%s, %s, %v\n", r.Device.Info().Name, r.Device.Info().DriverInfo, r.Target.Matrices)
	return o.products(func(typ ops.DType, size, layout string) (int, error) {
		p, err := problem(typ.Wide(), size, layout)
		if err != nil {
			return 0, err
		}
		p.Operands = typ
		return measureMatrix(r, o, p, size+" "+layout)
	})
}

// With -cold, products have so many sets of operands that caches do not have them: cachedBytes, but maxSets at most.
const (
	cachedBytes = 256 << 20
	maxSets     = 200
)

// measureMatrix times the plans of a product and returns how many are wrong.
func measureMatrix(r *device.Runner, o *options, p gemm.Problem, name string) (wrong int, err error) {
	shape, ok := r.Target.MatrixProduct(p.Operands, p.M, p.N, p.K, p.Batch)
	if !ok {
		return 0, fmt.Errorf("the device has no matrices of %v", p.Operands)
	}
	x := device.Random(p, 1)
	sets, err := uploadSets(r, o, x, p.Batch*(p.M*p.K+p.K*p.N)*p.Operands.Size())
	defer freeSets(sets)
	if err != nil {
		return 0, err
	}
	plan, err := gemm.New(p, &r.Target)
	if err != nil {
		return 0, err
	}
	list := []candidate{{name: fmt.Sprint("chosen ", plan.Steps[0].Kernel.Spec[4:10], " /", len(plan.Steps)), plan: plan}}
	for _, c := range gemm.MatrixTiles(shape, true) {
		for _, shares := range []int{1, 4} {
			if !o.tiles || !strings.Contains(c.String(), o.only) || shares > 1 && (p.M*p.N > 1<<20 || p.K < 1024) {
				continue
			}
			if list, err = tileOf(list, r, p, c, shares, gemm.Rest{}); err != nil {
				return 0, err
			}
		}
		for _, rest := range gemm.RestOf(p, c, &r.Target) {
			if !o.tiles || !strings.Contains(c.String(), o.only) {
				continue
			}
			if list, err = tileOf(list, r, p, c, 1, rest); err != nil {
				return 0, err
			}
		}
	}
	for _, c := range list {
		start := time.Now()
		got, err := result(r, c.plan, sets[0])
		if err != nil {
			return wrong, fmt.Errorf("%s: %w", c.name, err)
		}
		ready, verdict := time.Since(start), "right"
		if err := x.Check(got, 200); err != nil {
			verdict = "WRONG " + err.Error()
			wrong++
		}
		per, err := timeProduct(r, o, c.plan, sets...)
		if err != nil {
			return wrong, fmt.Errorf("%s: %w", c.name, err)
		}
		flops := 2 * float64(p.M) * float64(p.N) * float64(p.K) * float64(p.Batch)
		fmt.Printf("%-5v %-22s %-32s %10.2f µs %8.1f TFLOP/s %6.0f ms  %s\n", p.Operands, name, c.name, per*1e6, flops/per/1e12,
			ready.Seconds()*1e3, verdict)
	}
	return wrong, nil
}

// uploadSets uploads the operands of a product, of so many bytes: once, or with -cold as often as caches have no room for.
// There is one result, so that each product waits for the one before.
func uploadSets(r *device.Runner, o *options, x *device.NarrowProduct, bytes int) (sets []*device.Operands, err error) {
	n := 1
	if o.cold {
		n = min(maxSets, 1+cachedBytes/bytes)
	}
	for range n {
		b, err := x.Upload(r)
		if err != nil {
			return sets, err
		}
		if len(sets) > 0 {
			b.C.Free()
			b.C = sets[0].C
		}
		sets = append(sets, b)
	}
	return sets, nil
}

func freeSets(sets []*device.Operands) {
	for i, b := range sets {
		if i > 0 {
			b.C = nil
		}
		b.Free()
	}
}

// tileOf appends the plan with a tile, if the product takes it.
func tileOf(list []candidate, r *device.Runner, p gemm.Problem, c gemm.MatrixTile, shares int, rest gemm.Rest) ([]candidate, error) {
	plan, err := gemm.WithMatrixTile(p, c, shares, rest, &r.Target)
	if errors.Is(err, gemm.ErrTooLarge) {
		return list, nil
	}
	name := fmt.Sprintf("%v /%d", c, shares)
	if rest.Tiles > 0 {
		name = fmt.Sprintf("%v, last %d /%d", c, rest.Tiles, rest.Shares)
	}
	return append(list, candidate{name: name, plan: plan}), err
}
