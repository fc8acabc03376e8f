package bench

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"nxvk/gen/exec/exectest"
	"nxvk/node/bench/program"
	"nxvk/ops"
)

const (
	besideRuns  = 40                    // of the program whose kernels are compiled
	besideReads = 5                     // of the other session, for each of them
	besidePause = 10 * time.Millisecond // before each of them
)

// Beside measures the reads of a session while the kernels of another session are compiled. Each
// round is a new process with the driver's caches off; args make this program call BesideRound.
func Beside(ctx context.Context, args []string) error { return runRounds(ctx, args) }

// besideRow is a vector that a session adds to itself and reads.
type besideRow struct {
	name         string
	size         int
	alone, while []time.Duration
}

// BesideRound is one process of Beside.
func BesideRound(device string, f Format) error {
	h, err := harnessOf(device, exectest.NewWarmUp)
	if err != nil {
		return err
	}
	defer h.close()
	rows := []besideRow{{name: "16 elements", size: 16}, {name: "10000 elements", size: 10000}, {name: "1000000 elements", size: 1000000}}
	for i := range rows {
		if err := h.alone(&rows[i]); err != nil {
			return err
		}
	}
	if err := h.beside(rows); err != nil {
		return err
	}
	if f == Benchstat {
		header(os.Stdout, kindOf(h.Device))
	}
	for _, r := range rows {
		slices.Sort(r.while)
		n := len(r.while)
		if f == Benchstat {
			line(os.Stdout, "Beside/"+r.name+"/alone", len(r.alone), perOp(median(r.alone)))
			line(os.Stdout, "Beside/"+r.name+"/median", n, perOp(r.while[n/2]))
			line(os.Stdout, "Beside/"+r.name+"/p95", n, perOp(r.while[n*95/100]))
			line(os.Stdout, "Beside/"+r.name+"/slowest", n, perOp(r.while[n-1]))
			continue
		}
		fmt.Printf("%s, a sum of %s and its read: median %v alone; while others compile: median %v, 95th percentile %v, maximum %v\n",
			kindOf(h.Device), r.name, round(median(r.alone)), round(r.while[n/2]), round(r.while[n*95/100]), round(r.while[n-1]))
	}
	return nil
}

// alone measures a row while nothing else runs, and compiles its kernel.
func (h *harness) alone(r *besideRow) error {
	for range 20 * besideReads {
		d, err := h.readSum(r.size, time.Now())
		if err != nil {
			return err
		}
		r.alone = append(r.alone, d)
	}
	return h.Built()
}

// beside measures rows while another session runs a new program.
func (h *harness) beside(rows []besideRow) error {
	other := harnessFor(h.Beside())
	p := program.Stack(coldSize)
	outs, operands, err := other.smallOperands(p)
	if err != nil {
		return err
	}
	other.Define("stack", p)
	for range besideRuns {
		ids := other.Run("stack", outs, operands...)
		for k := range besideReads * len(rows) {
			r := &rows[k%len(rows)]
			due := time.Now().Add(besidePause)
			h.Until(due)
			d, err := h.readSum(r.size, due)
			if err != nil {
				return err
			}
			r.while = append(r.while, d)
		}
		if _, err := other.Read(ids[0]); err != nil {
			return err
		}
		other.Free(ids...)
	}
	return nil
}

// readSum adds a vector to itself, reads the result, and returns the time since due.
func (h *harness) readSum(n int, due time.Time) (time.Duration, error) {
	x := h.input(f32(n), 0)
	id := h.Do(ops.Add, f32(n), nil, x, x)
	_, err := h.Read(id)
	d := time.Since(due)
	h.Free(id)
	return d, err
}
