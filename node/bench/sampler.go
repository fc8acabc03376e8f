package bench

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"time"

	"nxvk/gen/nuts"
	"nxvk/gen/sample"
	"nxvk/gen/wire"
	"nxvk/node/bench/program"
	"nxvk/ops"
)

// sampled is a density for Sampler.
type sampled struct {
	name    string
	program *ops.Region
	dim     int
	data    func(h *harness) []ops.Operand
}

// densities are the two models of bench/sampler.exs of the Elixir package.
var densities = []sampled{
	{"schools", program.Schools(), 2 + program.SchoolCount, func(h *harness) []ops.Operand {
		return []ops.Operand{h.numbers(1, 28, 8, -3, 7, -1, 1, 18, 12), h.numbers(1, 15, 10, 16, 11, 9, 11, 10, 18)}
	}},
	{"regimes", program.InOrder(), program.Parameters, func(h *harness) []ops.Operand {
		return []ops.Operand{h.numbers(program.Observations, program.Returns()...)}
	}},
}

// numbers uploads a matrix.
func (h *harness) numbers(rows int, xs ...float64) ops.Operand {
	return ops.Operand{ID: h.Upload(f64(rows, len(xs)/rows), bytesOf(xs))}
}

// sampledDraws is the number of draws of a chain, after as many of warm-up; on processors there
// are fewer.
const (
	sampledDraws    = 1000
	sampledDrawsCPU = 200
)

// sampleCounts has the time and the counts of a run of chains.
type sampleCounts struct {
	time                     time.Duration
	draws, steps, divergent  int // steps: of trajectories
	leaps, dispatches, deeps int // leaps: steps that the device took; deeps: sum of depths
}

// Sampler measures calls for leapfrog steps, and runs of chains. For a draw it prints the time,
// the dispatches, the steps of the trajectory, and the steps that the device took ahead and the
// trajectory did not use. The host takes no steps ahead.
func Sampler(ctx context.Context, device string, f Format) error {
	h, err := newHarness(device, 0)
	if err != nil {
		return err
	}
	defer h.close()
	report := newSamplerReport(os.Stdout, f, kindOf(h.Device))
	defer report.flush()
	chains := []int{1, 4, 64, 1024}
	if h.cpu() {
		chains = chains[:2]
	}
	for _, m := range densities {
		if err := h.calls(report, m); err != nil {
			return err
		}
	}
	for _, m := range densities {
		for _, n := range chains {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			c, err := h.chains(m, n)
			if err != nil {
				return fmt.Errorf("%s: %w", m.name, err)
			}
			report.chains(m.name, n, c)
		}
	}
	return nil
}

// calls measures calls for steps of one chain.
func (h *harness) calls(report samplerReport, m sampled) error {
	request := &wire.Leapfrog{Density: h.density(m), N: 1, Step: 0.001}
	for i := range m.dim {
		request.Q = append(request.Q, 0.1)
		request.P = append(request.P, math.Sin(float64(i)))
		request.Metric = append(request.Metric, 1)
	}
	times := make([][]time.Duration, len(calledSteps))
	for i, k := range calledSteps {
		request.K = k
		var err error
		times[i], err = h.measure(row{rounds: 50, run: func(h *harness) error {
			rows, err := h.Leapfrog(request)
			if err == nil && rows.Release != nil {
				rows.Release()
			}
			return err
		}})
		if err != nil {
			return err
		}
	}
	report.calls(m.name, times)
	return nil
}

// calledSteps are the numbers of steps of measured calls.
var calledSteps = []int{1, 8, 32, 256}

// density defines the program of a model and puts its data on the device.
func (h *harness) density(m sampled) wire.Density {
	h.Define(m.name, m.program)
	return wire.Density{Program: m.name, Data: m.data(h), Type: ops.F64, Dim: m.dim}
}

// chains measures a run of chains.
func (h *harness) chains(m sampled, n int) (c sampleCounts, err error) {
	draws := sampledDraws
	if h.cpu() {
		draws = sampledDrawsCPU
	}
	s := &wire.Sample{Density: h.density(m), Chains: n, Chunk: 100, Warmup: true,
		Options: nuts.Options{Warmup: draws, Draws: draws, Seed: 1}}
	if h.Device == nil {
		return c, errors.New("the sampler on the host dispatches nothing: name a device with --device")
	}
	before, start := h.Exec.Counters(), time.Now()
	err = h.Sample(s, func(k sample.Chunk) {
		for _, d := range k.Draws {
			c.draws++
			c.steps += d.Steps
			c.deeps += d.Depth
			if d.Divergent {
				c.divergent++
			}
		}
	})
	c.time = time.Since(start)
	c.leaps = int(h.Exec.Counters().LeapfrogSteps - before.LeapfrogSteps)
	c.dispatches = int(h.Exec.Counters().Dispatches - before.Dispatches)
	return c, err
}

func bytesOf(xs []float64) (b []byte) {
	for _, x := range xs {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
	}
	return b
}
