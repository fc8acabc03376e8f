package bench

import (
	"errors"
	"fmt"
	"os"
	"time"

	"ergo.services/ergo/gen"
	"github.com/rs/zerolog"

	"nxvk/gen/exec"
	"nxvk/gen/store"
	"nxvk/gen/wire"
	"nxvk/ops"
	"nxvk/synth"
	"nxvk/vulkan"
)

// harness drives an executor as a device server does, on one goroutine.
type harness struct {
	dev    *vulkan.Device
	exec   *exec.Executor
	lane   *exec.Lane
	posted chan func()
	next   ops.ID
	inputs map[string]ops.ID
}

func newHarness(device string) (*harness, error) {
	h := &harness{posted: make(chan func(), 1<<16), inputs: make(map[string]ops.ID), next: 1}
	if device != "host" {
		d, err := vulkan.Open(device, vulkan.Options{})
		if err != nil {
			return nil, err
		}
		h.dev = d
	}
	target := synth.Target{}
	if h.dev != nil {
		var err error
		if target, err = exec.Probe(h.dev); err != nil {
			return nil, err
		}
	}
	h.exec = exec.New(exec.Config{
		Device: h.dev,
		Target: target,
		Post:   func(f func()) { h.posted <- f },
		Log:    zerolog.New(os.Stderr),
	})
	h.lane = h.exec.Lane(store.NewSession(gen.PID{Node: "bench"}))
	return h, nil
}

func (h *harness) close() {
	h.exec.End(h.lane.Session)
	if h.dev != nil {
		h.dev.Close()
	}
}

func (h *harness) name() string { return kindOf(h.dev) }

func (h *harness) cpu() bool { return h.dev == nil || h.dev.Info().Kind == vulkan.CPU }

// warmup is how long a row runs before it is measured.
func (h *harness) warmup() time.Duration {
	if h.cpu() {
		return 50 * time.Millisecond
	}
	return 400 * time.Millisecond
}

// op carries out one operation and returns the id of its result.
func (h *harness) op(op ops.Op, out ops.Type, attrs [][]int, ins ...ops.Operand) ops.ID {
	h.next++
	id := h.next
	in := wire.Instr{Name: op.String(), Instr: ops.Instr{
		Op: op, Outs: []ops.Result{{ID: id, Type: out}}, Ins: ins, Attrs: attrs}}
	h.exec.Stream(h.lane, []wire.Instr{in})
	h.drain()
	return id
}

func (h *harness) free(id ops.ID) {
	h.exec.Stream(h.lane, []wire.Instr{{Instr: ops.Instr{Op: ops.Free, Attrs: [][]int{{int(id)}}}}})
}

// input returns a value of the type, made once, with small numbers in it.
func (h *harness) input(t ops.Type) ops.Operand {
	id, ok := h.inputs[t.String()]
	if !ok {
		flat := h.op(ops.Iota, ops.Type{DType: ops.S32, Shape: ops.Shape{t.Size()}}, [][]int{{-1}})
		low := h.op(ops.BitwiseAnd, ops.Type{DType: ops.S32, Shape: ops.Shape{t.Size()}}, nil,
			ops.Operand{ID: flat}, ops.Operand{Lit: &ops.Literal{Type: ops.Type{DType: ops.S32}, Data: []byte{7, 0, 0, 0}}})
		cast := h.op(ops.AsType, ops.Type{DType: t.DType, Shape: ops.Shape{t.Size()}}, nil, ops.Operand{ID: low})
		id = h.op(ops.Reshape, t, nil, ops.Operand{ID: cast})
		h.free(flat)
		h.free(low)
		h.free(cast)
		h.inputs[t.String()] = id
	}
	return ops.Operand{ID: id}
}

// drain runs completions that have arrived.
func (h *harness) drain() {
	for {
		select {
		case f := <-h.posted:
			f()
		default:
			return
		}
	}
}

// wait runs completions until done is closed.
func (h *harness) wait(done <-chan error) error {
	for {
		select {
		case err := <-done:
			return err
		case f := <-h.posted:
			f()
		case <-time.After(time.Minute):
			return errors.New("no answer in a minute")
		}
	}
}

// sync waits until everything has been computed.
func (h *harness) sync() error {
	done := make(chan error, 1)
	h.exec.Sync(h.lane, func(err error) { done <- err })
	return h.wait(done)
}

// read waits for the elements of a value.
func (h *harness) read(id ops.ID) error {
	done := make(chan error, 1)
	h.exec.Read(h.lane, id, 0, 1<<62, func(d exec.Data, err error) {
		if d.Release != nil {
			d.Release()
		}
		done <- err
	})
	return h.wait(done)
}

// result checks a value and lets go of it.
func (h *harness) result(id ops.ID) error {
	done := make(chan error, 1)
	h.exec.Describe(h.lane, id, func(_ ops.Type, err error) { done <- err })
	err := h.wait(done)
	h.free(id)
	return err
}

// apply is a round of one pointwise operation.
func apply(op ops.Op, out ops.Type, ins ...ops.Type) func(*harness) error {
	return func(h *harness) error {
		operands := make([]ops.Operand, len(ins))
		for i, t := range ins {
			operands[i] = h.input(t)
		}
		return h.result(h.op(op, out, nil, operands...))
	}
}

func reduce(out, in ops.Type, axis int) func(*harness) error {
	return func(h *harness) error {
		return h.result(h.op(ops.Sum, out, [][]int{{axis}, {0}}, h.input(in)))
	}
}

func transpose(t ops.Type) func(*harness) error {
	return func(h *harness) error {
		return h.result(h.op(ops.Transpose, t, [][]int{{1, 0}}, h.input(t)))
	}
}

func matmul(d ops.DType, n int) row {
	t := ops.Type{DType: d, Shape: ops.Shape{n, n}}
	run := func(h *harness) error {
		x := h.input(t)
		return h.result(h.op(ops.Dot, t, [][]int{{1}, {}, {0}, {}}, x, x))
	}
	rounds := 20
	if n >= 2048 {
		rounds = 5
	}
	return row{fmt.Sprintf("dot %v %d×%d", d, n, n), run, rounds, 0, 2 * float64(n) * float64(n) * float64(n)}
}

// chain is a round of additions, each of the last one's result.
func chain(n int, t ops.Type) func(*harness) error {
	return func(h *harness) error {
		x := h.input(t)
		last := x
		for range n {
			id := h.op(ops.Add, t, nil, last, x)
			if last != x {
				h.free(last.ID)
			}
			last = ops.Operand{ID: id}
		}
		err := h.read(last.ID)
		h.free(last.ID)
		return err
	}
}

func addAndRead(t ops.Type) func(*harness) error {
	return func(h *harness) error {
		x := h.input(t)
		id := h.op(ops.Add, t, nil, x, x)
		err := h.read(id)
		h.free(id)
		return err
	}
}
