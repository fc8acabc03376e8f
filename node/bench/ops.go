package bench

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"nxvk/ops"
	"nxvk/synth"
	"nxvk/vulkan"
)

// OpsConfig says what Ops measures and how it prints that.
type OpsConfig struct {
	Device   string // by index, name or UUID; empty is the best one, host the host
	Elements int    // elements of the large arrays
	Only     string // measures only rows whose names contain this
	// DisablePasses names compiler passes and fusion rules, as synth.ParseRules reads them.
	DisablePasses string
	Format        Format
}

// row is one line of the table.
type row struct {
	name   string
	run    func(h *harness) error // one round, which reads nothing
	rounds int                    // rounds in one measurement
	bytes  float64                // memory traffic of a round
	flops  float64                // floating-point operations of a round
}

// Ops measures operations and programs on a device.
func Ops(ctx context.Context, cfg OpsConfig) error {
	off, err := synth.ParseRules(cfg.DisablePasses)
	if err != nil {
		return err
	}
	h, err := newHarness(cfg.Device, off)
	if err != nil {
		return err
	}
	defer h.close()
	report := newOpsReport(os.Stdout, cfg.Format, kindOf(h.Device))
	for _, r := range rows(cfg.Elements, h.cpu()) {
		if !strings.Contains(r.name, cfg.Only) {
			continue
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		times, err := h.measure(r)
		report(r, times, err)
	}
	return nil
}

// newOpsReport returns what prints a row: its median time, or all of its times for
// benchstat.
func newOpsReport(out io.Writer, f Format, device string) func(row, []time.Duration, error) {
	if f == Benchstat {
		header(out, device)
		return func(r row, times []time.Duration, err error) {
			if err != nil {
				fmt.Fprintf(os.Stderr, "%s: %v\n", r.name, err)
			}
			for _, t := range times {
				list := []quantity{perOp(t)}
				if r.bytes > 0 {
					list = append(list, quantity{r.bytes / t.Seconds(), "B/s"})
				}
				if r.flops > 0 {
					list = append(list, quantity{r.flops / t.Seconds() / 1e9, "GFLOP/s"})
				}
				line(out, "Ops/"+r.name, r.rounds, list...)
			}
		}
	}
	fmt.Fprintln(out, "device:", device)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "operation\ttime a round\tGB/s\tGFLOP/s")
	return func(r row, times []time.Duration, err error) {
		defer w.Flush()
		if err != nil {
			fmt.Fprintf(w, "%s\t%v\n", r.name, err)
			return
		}
		d := median(times)
		s := d.Seconds()
		fmt.Fprintf(w, "%s\t%v\t%s\t%s\n", r.name, d.Round(10*time.Nanosecond), rate(r.bytes, s), rate(r.flops, s))
	}
}

func rate(n, seconds float64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f", n/seconds/1e9)
}

// measure takes the time of a round several times, after a round that compiles and some
// that raise the clock of an idle device.
func (h *harness) measure(r row) (times []time.Duration, err error) {
	for range max(2, h.Exec.Services().Enough()) { // a program that is seen again is compiled
		if err := h.rounds(r, 1); err != nil {
			return nil, err
		}
	}
	if err := h.Built(); err != nil {
		return nil, err
	}
	if err := h.warm(r); err != nil {
		return nil, err
	}
	for range 7 {
		start := time.Now()
		if err := h.rounds(r, r.rounds); err != nil {
			return nil, err
		}
		times = append(times, time.Since(start)/time.Duration(r.rounds))
	}
	return times, nil
}

// warm raises the clock of an idle device, for which small work does not suffice.
func (h *harness) warm(r row) error {
	heavy := ops.Type{DType: ops.F32, Shape: ops.Shape{1 << 24}}
	if h.cpu() {
		heavy.Shape[0] = 1 << 12
	}
	work := row{run: apply(ops.Add, heavy, heavy, heavy)}
	for start := time.Now(); time.Since(start) < h.warmup(); {
		if err := h.rounds(work, 20); err != nil {
			return err
		}
	}
	return h.rounds(r, r.rounds)
}

// rounds runs a row n times and waits for the device.
func (h *harness) rounds(r row, n int) error {
	for range n {
		if err := r.run(h); err != nil {
			return err
		}
	}
	return h.Sync()
}

// rows returns the rows of the table; n is the size of the large arrays.
func rows(n int, cpu bool) []row {
	side := 1
	for side*side*4 <= n {
		side *= 2
	}
	flat, square := f32(n), f32(side, side)
	n4, s4 := 4*float64(n), 4*float64(side*side)
	const rounds = 20
	list := []row{
		{"add", apply(ops.Add, flat, flat, flat), rounds, 3 * n4, 0},
		{"exp", apply(ops.Exp, flat, flat), rounds, 2 * n4, 0},
		{"copy (negate)", apply(ops.Negate, flat, flat), rounds, 2 * n4, 0},
		{"sum of all", reduce(f32(), flat, 0), rounds, n4, 0},
		{"sum over axis 0", reduce(f32(side), square, 0), rounds, s4, 0},
		{"sum over axis 1", reduce(f32(side), square, 1), rounds, s4, 0},
		{"transpose", transpose(square), rounds, 2 * s4, 0},
	}
	sizes := []int{256, 512, 1024, 2048, 4096, 8192}
	if cpu {
		sizes = sizes[:3]
	}
	for _, m := range sizes {
		list = append(list, matmul(ops.F32, m))
	}
	list = append(list, freshMatmul(256))
	for _, m := range sizes {
		if m >= 1024 && m <= 4096 {
			list = append(list, matmul(ops.F64, m))
		}
	}
	batch := 64
	if cpu {
		batch = 2
	}
	list = append(list, conv(batch, 64, 56), convLast(batch, 64, 56))
	list = append(list, orderRows(n)...)
	list = append(list, linalgRows(cpu)...)
	list = append(list, programs(n)...)
	return append(list,
		row{"1,000 dependent adds of 1,024", chain(1000, f32(1024)), 1, 0, 0},
		row{"one add of 1,024 and its read", addAndRead(f32(1024)), 100, 0, 0})
}

// kindOf describes a device.
func kindOf(d *vulkan.Device) string {
	if d == nil {
		return "host"
	}
	i := d.Info()
	return fmt.Sprintf("%s (%v, %s %s)", i.Name, i.Kind, i.Driver, i.DriverInfo)
}
