package bench

import (
	"errors"
	"fmt"
	"time"

	"nxvk/gen/exec/exectest"
	"nxvk/gen/exec/target"
	"nxvk/ops"
	"nxvk/synth"
	"nxvk/vulkan"
)

func f32(shape ...int) ops.Type { return ops.Type{DType: ops.F32, Shape: shape} }
func f64(shape ...int) ops.Type { return ops.Type{DType: ops.F64, Shape: shape} }

// harness drives an executor and keeps its inputs.
type harness struct {
	*exectest.Driver
	inputs map[string]ops.ID
}

// newHarness opens a device, with some passes and fusion rules disabled.
func newHarness(device string, off synth.Rules) (*harness, error) {
	return harnessOf(device, func(d *vulkan.Device, t synth.Target, limit int) *exectest.Driver {
		t.Off = off
		return exectest.NewFor(d, t, limit)
	})
}

// harnessOf is newHarness with another driver.
func harnessOf(device string, driver func(*vulkan.Device, synth.Target, int) *exectest.Driver) (*harness, error) {
	return openHarness(device, vulkan.Options{}, driver)
}

// openHarness is harnessOf with options of the device.
func openHarness(device string, o vulkan.Options, driver func(*vulkan.Device, synth.Target, int) *exectest.Driver) (*harness, error) {
	if device == "host" {
		return harnessFor(driver(nil, synth.Target{}, 0)), nil
	}
	dev, err := vulkan.Open(device, o)
	if err != nil {
		return nil, err
	}
	target, err := target.Probe(dev, nil)
	if err != nil {
		return nil, errors.Join(err, dev.Close())
	}
	return harnessFor(driver(dev, target, 0)), nil
}

// patience is how long a measurement waits for an answer.
const patience = 2 * time.Minute

func harnessFor(d *exectest.Driver) *harness {
	d.Patience = patience
	return &harness{d, make(map[string]ops.ID)}
}

func (h *harness) close() {
	h.Close()
	if h.Device != nil {
		h.Device.Close()
	}
}

func (h *harness) cpu() bool { return h.Device == nil || h.Device.Info().Kind == vulkan.CPU }

// warmup is the time for which a device computes before a measurement.
func (h *harness) warmup() time.Duration {
	if h.cpu() {
		return 50 * time.Millisecond
	}
	return 400 * time.Millisecond
}

// input returns the nth value of the type, made once, with small numbers in it.
func (h *harness) input(t ops.Type, n int) ops.Operand {
	key := fmt.Sprint(t, n)
	id, ok := h.inputs[key]
	if !ok {
		flatShape := ops.Shape{t.Size()}
		s32 := ops.Type{DType: ops.S32, Shape: flatShape}
		seven := ops.Operand{Lit: &ops.Literal{Type: ops.Type{DType: ops.S32}, Data: []byte{7, 0, 0, 0}}}
		flat := h.Do(ops.Iota, s32, [][]int{{-1}})
		low := h.Do(ops.BitwiseAnd, s32, nil, ops.Operand{ID: flat}, seven)
		cast := h.Do(ops.AsType, ops.Type{DType: t.DType, Shape: flatShape}, nil, ops.Operand{ID: low})
		id = h.Do(ops.Reshape, t, nil, ops.Operand{ID: cast})
		h.Free(flat, low, cast)
		h.inputs[key] = id
	}
	return ops.Operand{ID: id}
}

// result checks a value for an error and frees it.
func (h *harness) result(id ops.ID) error {
	err := h.Err(id)
	h.Free(id)
	return err
}

// apply is a round of one pointwise operation.
func apply(op ops.Op, out ops.Type, ins ...ops.Type) func(*harness) error {
	return func(h *harness) error {
		operands := make([]ops.Operand, len(ins))
		for i, t := range ins {
			operands[i] = h.input(t, i)
		}
		return h.result(h.Do(op, out, nil, operands...))
	}
}

func reduce(out, in ops.Type, axis int) func(*harness) error {
	return func(h *harness) error {
		return h.result(h.Do(ops.Sum, out, [][]int{{axis}, {0}}, h.input(in, 0)))
	}
}

func transpose(t ops.Type) func(*harness) error {
	return func(h *harness) error {
		return h.result(h.Do(ops.Transpose, t, [][]int{{1, 0}}, h.input(t, 0)))
	}
}

func matmul(d ops.DType, n int) row {
	t := ops.Type{DType: d, Shape: ops.Shape{n, n}}
	run := func(h *harness) error {
		return h.result(h.Do(ops.Dot, t, [][]int{{1}, {}, {0}, {}}, h.input(t, 0), h.input(t, 1)))
	}
	rounds := 100
	if n >= 2048 {
		rounds = 10
	}
	return row{fmt.Sprintf("dot %v %d×%d", d, n, n), run, rounds, 0, 2 * float64(n) * float64(n) * float64(n)}
}

// conv is a round of a convolution that keeps its shape, of 3×3 filters on a
// square input.
func conv(batch, channels, side int) row {
	image := ops.Type{DType: ops.F32, Shape: ops.Shape{batch, channels, side, side}}
	filters := ops.Type{DType: ops.F32, Shape: ops.Shape{channels, channels, 3, 3}}
	plain := []int{0, 1, 2, 3}
	return convolution(fmt.Sprintf("conv %d×%d×%d×%d, 3×3", batch, channels, side, side),
		image, filters, [3][]int{plain, plain, plain})
}

// convLast is conv with channels last.
func convLast(batch, channels, side int) row {
	image := ops.Type{DType: ops.F32, Shape: ops.Shape{batch, side, side, channels}}
	filters := ops.Type{DType: ops.F32, Shape: ops.Shape{3, 3, channels, channels}}
	last := []int{0, 3, 1, 2}
	return convolution(fmt.Sprintf("conv %d×%d×%d×%d, 3×3", batch, side, side, channels),
		image, filters, [3][]int{last, {3, 2, 0, 1}, last})
}

func convolution(name string, image, filters ops.Type, orders [3][]int) row {
	run := func(h *harness) error {
		return h.result(h.Do(ops.Conv, image, [][]int{{1, 1}, {1, 1, 1, 1}, {1, 1}, {1, 1}, {1}, {1},
			orders[0], orders[1], orders[2]}, h.input(image, 0), h.input(filters, 1)))
	}
	channels := filters.Shape[orders[1][0]]
	return row{name, run, 20, 0, 2 * 9 * float64(image.Size()) * float64(channels)}
}

// chain is a round of n dependent additions.
func chain(n int, t ops.Type) func(*harness) error {
	return func(h *harness) error {
		x := h.input(t, 0)
		last := x
		for range n {
			id := h.Do(ops.Add, t, nil, last, x)
			if last != x {
				h.Free(last.ID)
			}
			last = ops.Operand{ID: id}
		}
		_, err := h.Read(last.ID)
		h.Free(last.ID)
		return err
	}
}

func addAndRead(t ops.Type) func(*harness) error {
	var x ops.Operand
	return func(h *harness) error {
		if x.ID == 0 {
			x = h.input(t, 0)
		}
		id := h.Do(ops.Add, t, nil, x, x)
		_, err := h.Read(id)
		h.Free(id)
		return err
	}
}

// freshMatmul is a round of a matrix product with the upload of its operands and the read of
// its result.
func freshMatmul(n int) row {
	t := f32(n, n)
	data := make([]byte, t.Bytes())
	run := func(h *harness) error {
		a, b := h.Upload(t, data), h.Upload(t, data)
		id := h.Do(ops.Dot, t, [][]int{{1}, {}, {0}, {}}, ops.Operand{ID: a}, ops.Operand{ID: b})
		_, err := h.Read(id)
		h.Free(a, b, id)
		return err
	}
	return row{fmt.Sprintf("dot f32 %d×%d, uploads and read included", n, n), run, 20, 0, 2 * float64(n) * float64(n) * float64(n)}
}
