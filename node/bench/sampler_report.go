package bench

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// samplerReport prints what Sampler measures.
type samplerReport struct {
	calls  func(model string, times [][]time.Duration) // of calls of calledSteps
	chains func(model string, chains int, c sampleCounts)
	flush  func()
}

func newSamplerReport(out io.Writer, f Format, device string) samplerReport {
	if f == Benchstat {
		return samplerLines(out, device)
	}
	return samplerTable(out, device)
}

// samplerLines prints lines for benchstat.
func samplerLines(out io.Writer, device string) samplerReport {
	header(out, device)
	return samplerReport{
		calls: func(model string, times [][]time.Duration) {
			for i, steps := range calledSteps {
				for _, t := range times[i] {
					line(out, fmt.Sprintf("Leapfrog/%s/steps=%d", model, steps), 1, perOp(t))
				}
			}
		},
		chains: func(model string, chains int, c sampleCounts) {
			m := c.means(chains)
			line(out, fmt.Sprintf("Sampler/%s/chains=%d", model, chains), c.draws/chains,
				perOp(m.time), quantity{m.steps, "steps/draw"}, quantity{m.unused, "unused-steps/draw"},
				quantity{m.dispatches, "dispatches/op"}, quantity{m.depth, "depth/draw"})
		},
		flush: func() {},
	}
}

// samplerTable prints a table. Times are those of all chains together.
func samplerTable(out io.Writer, device string) samplerReport {
	fmt.Fprintln(out, "device:", device)
	w := tabwriter.NewWriter(out, 14, 0, 2, ' ', 0)
	titled := false
	return samplerReport{
		calls: func(model string, times [][]time.Duration) {
			fmt.Fprintf(w, "%s, a call", model)
			for i, steps := range calledSteps {
				fmt.Fprintf(w, "\t%d steps: %.1f µs", steps, median(times[i]).Seconds()*1e6)
			}
			fmt.Fprintln(w)
		},
		chains: func(model string, chains int, c sampleCounts) {
			if !titled {
				titled = true
				fmt.Fprintln(w, "\nchains\ttime\tms a draw of all\tdepth\tsteps a draw\tunused\tdispatches a draw\tµs a dispatch\tdivergent")
			}
			m := c.means(chains)
			unused, call := "0 (host)", ""
			if c.dispatches > 0 {
				unused = fmt.Sprintf("%.1f", m.unused)
				call = fmt.Sprintf("%.1f", c.time.Seconds()*1e6/float64(c.dispatches))
			}
			fmt.Fprintf(w, "%s, %d\t%.2f s\t%.3f\t%.2f\t%.1f\t%s\t%.2f\t%s\t%d\n", model, chains, c.time.Seconds(), m.time.Seconds()*1e3,
				m.depth, m.steps, unused, m.dispatches, call, c.divergent)
			w.Flush()
		},
		flush: func() { w.Flush() },
	}
}

// sampleMeans are the means of a run of chains.
type sampleMeans struct {
	time                 time.Duration // of a draw of all chains
	dispatches           float64       // of that
	steps, unused, depth float64       // of a draw of one chain
}

func (c *sampleCounts) means(chains int) sampleMeans {
	draws := float64(c.draws)
	m := sampleMeans{
		time:       time.Duration(float64(c.time) / (draws / float64(chains))),
		dispatches: float64(c.dispatches) / (draws / float64(chains)),
		steps:      float64(c.steps) / draws,
		depth:      float64(c.deeps) / draws,
	}
	if c.dispatches > 0 { // the host takes no step that it does not use
		m.unused = float64(c.leaps-c.steps) / draws
	}
	return m
}
