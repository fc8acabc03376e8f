package bench

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"text/tabwriter"
	"time"

	"nxvk/gen/nuts"
	"nxvk/gen/sample"
	"nxvk/gen/wire"
	"nxvk/ops"
)

// sampled is a density that Sampler draws from.
type sampled struct {
	name    string
	program *ops.Region
	dim     int
	data    func(h *harness) []ops.Operand
}

// densities are the two models of bench/sampler.exs of the Elixir package.
var densities = []sampled{
	{"schools", schools(), 2 + schoolCount, func(h *harness) []ops.Operand {
		return []ops.Operand{h.numbers(1, 28, 8, -3, 7, -1, 1, 18, 12), h.numbers(1, 15, 10, 16, 11, 9, 11, 10, 18)}
	}},
	{"regimes", inOrder(), parameters, func(h *harness) []ops.Operand {
		return []ops.Operand{h.numbers(observations, returns()...)}
	}},
}

// numbers is a matrix of so many rows on the device.
func (h *harness) numbers(rows int, xs ...float64) ops.Operand {
	return ops.Operand{ID: h.Upload(f64(rows, len(xs)/rows), bytesOf(xs))}
}

// returns are observations of three regimes, in turn, from two Weyl sequences.
func returns() (xs []float64) {
	regime := [][2]float64{{-2, 0.7}, {0, 0.4}, {1.5, 0.9}}
	for i := 1; i <= observations; i++ {
		_, u := math.Modf(float64(i) * 0.6180339887498949)
		_, v := math.Modf(float64(i) * 0.7548776662466927)
		r := regime[i%len(regime)]
		xs = append(xs, r[0]+r[1]*math.Sqrt(-2*math.Log(u))*math.Cos(2*math.Pi*v))
	}
	return xs
}

// sampledDraws is how many draws of a chain Sampler counts, after as many of warm-up; on
// processors fewer.
const (
	sampledDraws    = 1000
	sampledDrawsCPU = 200
)

// sampleCounts is what a run of chains took.
type sampleCounts struct {
	time                     time.Duration
	draws, steps, divergent  int // steps: of trajectories
	leaps, dispatches, deeps int // leaps: steps that the device took; deeps: sum of depths
}

// Sampler measures calls for leapfrog steps and runs of chains on a device, and prints
// what a draw takes: dispatches, steps of its trajectory, and steps that the device took
// ahead in vain. The host takes no step ahead.
func Sampler(ctx context.Context, device string) error {
	h, err := newHarness(device, 0)
	if err != nil {
		return err
	}
	defer h.close()
	fmt.Println("device:", kindOf(h.Device))
	chains := []int{1, 4, 64, 1024}
	if h.cpu() {
		chains = chains[:2]
	}
	w := tabwriter.NewWriter(os.Stdout, 14, 0, 2, ' ', 0)
	defer w.Flush()
	for _, m := range densities {
		if err := h.calls(w, m); err != nil {
			return err
		}
	}
	fmt.Fprintln(w, "\nchains\ttime\tms a draw of all\tdepth\tsteps a draw\tin vain\tdispatches a draw\tµs a dispatch\tdivergent")
	for _, m := range densities {
		for _, n := range chains {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			c, err := h.chains(m, n)
			if err != nil {
				return fmt.Errorf("%s: %w", m.name, err)
			}
			c.print(w, m.name, n)
			w.Flush()
		}
	}
	return nil
}

// calls prints the median times of calls for steps of one chain.
func (h *harness) calls(w *tabwriter.Writer, m sampled) error {
	request := &wire.Leapfrog{Density: h.density(m), N: 1, Step: 0.001}
	for i := range m.dim {
		request.Q = append(request.Q, 0.1)
		request.P = append(request.P, math.Sin(float64(i)))
		request.Metric = append(request.Metric, 1)
	}
	fmt.Fprintf(w, "%s, a call", m.name)
	for _, k := range []int{1, 8, 32, 256} {
		request.K = k
		t, err := h.measure(row{rounds: 50, run: func(h *harness) error {
			rows, err := h.Leapfrog(request)
			if err == nil && rows.Release != nil {
				rows.Release()
			}
			return err
		}})
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "\t%d steps: %.1f µs", k, t.Seconds()*1e6)
	}
	fmt.Fprintln(w)
	return nil
}

// density defines the program of a model and puts its data on the device.
func (h *harness) density(m sampled) wire.Density {
	h.Define(m.name, m.program)
	return wire.Density{Program: m.name, Data: m.data(h), Type: ops.F64, Dim: m.dim}
}

// chains runs chains and counts.
func (h *harness) chains(m sampled, n int) (c sampleCounts, err error) {
	draws := sampledDraws
	if h.cpu() {
		draws = sampledDrawsCPU
	}
	s := &wire.Sample{Density: h.density(m), Chains: n, Chunk: 100, Warmup: true,
		Options: nuts.Options{Warmup: draws, Draws: draws, Seed: 1}}
	if h.Device == nil {
		return c, errors.New("the host dispatches nothing; name a device")
	}
	before, start := h.Exec.Counters, time.Now()
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
	c.leaps = int(h.Exec.Counters.Leaps - before.Leaps)
	c.dispatches = int(h.Exec.Counters.Dispatches - before.Dispatches)
	return c, err
}

// print prints a line of the table. Times are those of all chains together.
func (c *sampleCounts) print(w *tabwriter.Writer, name string, chains int) {
	draws := float64(c.draws)
	each := c.time.Seconds() / (draws / float64(chains))
	vain, call := "0 (host)", ""
	if c.dispatches > 0 {
		vain = fmt.Sprintf("%.1f", float64(c.leaps-c.steps)/draws)
		call = fmt.Sprintf("%.1f", c.time.Seconds()*1e6/float64(c.dispatches))
	}
	fmt.Fprintf(w, "%s, %d\t%.2f s\t%.3f\t%.2f\t%.1f\t%s\t%.2f\t%s\t%d\n", name, chains, c.time.Seconds(), each*1e3,
		float64(c.deeps)/draws, float64(c.steps)/draws, vain, float64(c.dispatches)/(draws/float64(chains)), call, c.divergent)
}

func bytesOf(xs []float64) (b []byte) {
	for _, x := range xs {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
	}
	return b
}
