package main

import (
	"fmt"
	"strings"

	"nxvk/gen/exec/target"
	"nxvk/ops"
	device "nxvk/test/gemm"
)

// runConvolutions times convolutions of square images and filters, and their gradients by the
// filters: each is written BATCHxCHANNELSxSIDExFILTERSxTAPSxSTRIDE, with padding of half the taps.
func runConvolutions(r *device.Runner, o *options) error {
	t, err := target.Probe(r.Device, nil)
	if err != nil {
		return err
	}
	types, err := o.elements([]ops.DType{ops.F32})
	if err != nil {
		return err
	}
	for _, d := range types {
		for _, size := range strings.Split(o.convolutions, ",") {
			var n, c, side, f, taps, stride int
			if _, err := fmt.Sscanf(size, "%dx%dx%dx%dx%dx%d", &n, &c, &side, &f, &taps, &stride); err != nil {
				return fmt.Errorf("size %q is not BATCHxCHANNELSxSIDExFILTERSxTAPSxSTRIDE", size)
			}
			out := (side+taps/2*2-taps)/stride + 1
			pad := taps / 2
			type form struct {
				name               string
				input, kernel, out ops.Shape
				perm               [3][]int
				steps              int
			}
			first, last := []int{0, 1, 2, 3}, []int{0, 3, 1, 2}
			swapped := []int{1, 0, 2, 3}
			for _, x := range []form{
				{"nchw", ops.Shape{n, c, side, side}, ops.Shape{f, c, taps, taps}, ops.Shape{n, f, out, out}, [3][]int{first, first, first}, 1},
				{"nhwc", ops.Shape{n, side, side, c}, ops.Shape{taps, taps, c, f}, ops.Shape{n, out, out, f}, [3][]int{last, {3, 2, 0, 1}, last}, 1},
				{"filters", ops.Shape{n, c, side, side}, ops.Shape{n, f, out, out}, ops.Shape{f, c, taps, taps}, [3][]int{swapped, swapped, swapped}, stride},
			} {
				if x.name == "filters" && stride > 1 {
					continue
				}
				in := &ops.Instr{Op: ops.Conv, Ins: []ops.Operand{{}, {}},
					Attrs: [][]int{{stride, stride}, {pad, pad, pad, pad}, {1, 1}, {x.steps, x.steps}, {1}, {1}, x.perm[0], x.perm[1], x.perm[2]},
					Outs:  []ops.Result{{Type: ops.Type{DType: d, Shape: x.out}}}}
				types := []ops.Type{{DType: d, Shape: x.input}, {DType: d, Shape: x.kernel}}
				if err := in.Check(types); err != nil {
					return err
				}
				y := outcome{}
				if _, err := y.measureInstr(r, o, &t, in, types, [2][]byte{values(d, types[0].Size(), 1), values(d, types[1].Size(), 2)}); err != nil {
					return fmt.Errorf("%s %s: %w", size, x.name, err)
				}
				flops := 2 * float64(n) * float64(f) * float64(out*out) * float64(c*taps*taps)
				fmt.Printf("%v %-22s %-8s first %8.1f ms %10.1f µs %8.2f TFLOP/s  %v %v\n", d, size, x.name, y.first*1e3, y.each*1e6, flops/y.each/1e12,
					y.parts, y.spec)
			}
		}
	}
	return nil
}
