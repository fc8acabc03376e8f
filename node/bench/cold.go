package bench

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"time"

	"nxvk/gen/exec/exectest"
	"nxvk/node/bench/program"
	"nxvk/ops"
)

const (
	coldRounds = 5    // processes that Cold starts
	coldSize   = 2000 // instructions of the program
	coldRuns   = 100  // of each process
)

// noCaches switches the disk caches of Mesa's and of NVIDIA's drivers off.
var noCaches = []string{"MESA_SHADER_CACHE_DISABLE=true", "MESA_GLSL_CACHE_DISABLE=true", "__GL_SHADER_DISK_CACHE=0"}

// Cold measures the first and later results of a new program. Each round is a new process with
// the driver's caches off; args make this program call ColdRound.
func Cold(ctx context.Context, args []string) error { return runRounds(ctx, args) }

// runRounds runs this program with args, coldRounds times, one after another.
func runRounds(ctx context.Context, args []string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	for range coldRounds {
		c := exec.CommandContext(ctx, self, args...)
		c.Env = append(os.Environ(), noCaches...)
		c.Stdout, c.Stderr = os.Stdout, os.Stderr
		if err := c.Run(); err != nil {
			return err
		}
	}
	return nil
}

// smallOperands checks a program and uploads small numbers for its parameters.
func (h *harness) smallOperands(p *ops.Region) (outs []ops.Type, operands []ops.Operand, err error) {
	if outs, err = p.CheckProgram(); err != nil {
		return nil, nil, err
	}
	for _, r := range p.Params {
		operands = append(operands, ops.Operand{ID: h.Upload(r.Type, small(r.Type.Size()))})
	}
	return outs, operands, nil
}

// ColdRound is one process of Cold.
func ColdRound(device string, f Format) error {
	h, err := harnessOf(device, exectest.NewWarmUp)
	if err != nil {
		return err
	}
	defer h.close()
	p := program.Stack(coldSize)
	outs, operands, err := h.smallOperands(p)
	if err != nil {
		return err
	}
	var times []time.Duration
	for range coldRuns {
		start := time.Now()
		h.Define("stack", p)
		ids := h.Run("stack", outs, operands...)
		if _, err := h.Read(ids[0]); err != nil {
			return err
		}
		times = append(times, time.Since(start))
		h.Free(ids...)
	}
	if f == Benchstat {
		header(os.Stdout, kindOf(h.Device))
		line(os.Stdout, "Cold/first", 1, perOp(times[0]))
		line(os.Stdout, "Cold/second", 1, perOp(times[1]))
		line(os.Stdout, "Cold/slowest", 1, perOp(slices.Max(times[2:])))
		line(os.Stdout, "Cold/later", coldRuns-2, perOp(median(times[2:])))
		return nil
	}
	fmt.Printf("%s, %d instructions: first result after %v, second %v; the next %d: maximum %v, median %v\n",
		kindOf(h.Device), len(p.Body), round(times[0]), round(times[1]), coldRuns-2, round(slices.Max(times[2:])), round(median(times[2:])))
	return nil
}

func round(d time.Duration) time.Duration { return d.Round(100 * time.Microsecond) }

func median(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)/2]
}

// small returns n elements of f32 between -1 and 1.
func small(n int) []byte {
	data := make([]byte, 0, 4*n)
	for i := range n {
		data = append(data, program.Number(float64(i*37%101)/50-1).Lit.Data...)
	}
	return data
}
