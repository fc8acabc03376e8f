package bench

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"time"

	"nxvk/gen/exec/exectest"
	"nxvk/ops"
)

const (
	coldRounds = 5    // processes that Cold starts
	coldSize   = 2000 // instructions of the program
	coldRuns   = 100  // of each process
)

// noCaches has drivers keep nothing of what they compile: Mesa's and NVIDIA's.
var noCaches = []string{"MESA_SHADER_CACHE_DISABLE=true", "MESA_GLSL_CACHE_DISABLE=true", "__GL_SHADER_DISK_CACHE=0"}

// Cold measures how long a program that nobody has seen takes to give its first result,
// and its later ones, in processes that have compiled nothing, with drivers that have
// kept nothing. args are those that have this program call ColdRound.
func Cold(ctx context.Context, args []string) error { return afresh(ctx, args) }

// afresh runs this program with args in some processes, one after the other.
func afresh(ctx context.Context, args []string) error {
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

// smallOperands uploads small numbers for the parameters of a program, whose types of
// results it checks.
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
func ColdRound(device string) error {
	h, err := harnessOf(device, exectest.NewPrompt)
	if err != nil {
		return err
	}
	defer h.close()
	p := stack(coldSize)
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
	fmt.Printf("%s, %d instructions: first result after %v, second %v, the slowest of the next %d %v, their median %v\n",
		kindOf(h.Device), len(p.Body), round(times[0]), round(times[1]), coldRuns-2, round(slices.Max(times[2:])), round(median(times[2:])))
	return nil
}

func round(d time.Duration) time.Duration { return d.Round(100 * time.Microsecond) }

func median(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)/2]
}

// small are n elements of f32 between -1 and 1.
func small(n int) []byte {
	data := make([]byte, 0, 4*n)
	for i := range n {
		data = append(data, newGraph(ops.F32).number(float64(i*37%101)/50-1).Lit.Data...)
	}
	return data
}
