package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"nxvk/gen/exec/target"
	"nxvk/node/bench/sweep"
	"nxvk/synth"
	"nxvk/vulkan"
)

// kernelCheck compiles kernels and measures the driver for each: the first result that needs a
// kernel waits for that long. They are all of products and convolutions, whose number is fixed,
// or those that the first results of cases need.
type kernelCheck struct {
	device, family string
	cases          string        // file of the cases; empty means the families
	show           int           // slowest kernels in the report
	limit          time.Duration // maximum for one kernel
	give           time.Duration // maximum, after which the check gives up
	jobs           int           // kernels compiled at a time
	alone          string        // numbers of kernels to compile, one at a time; empty means all
	out            io.Writer
}

// mostAlone is the number of slow kernels that are compiled again, one at a time.
const mostAlone = 40

// slowest is the number of kernels in the report, unless another one is given.
const slowest = 10

// uncached are variables that switch the disk caches of drivers off.
var uncached = map[string]string{
	"__GL_SHADER_DISK_CACHE":    "0",    // NVIDIA's
	"MESA_SHADER_CACHE_DISABLE": "true", // Mesa's
}

// compiled is a kernel and the outcome of compiling it.
type compiled struct {
	synth.Listed
	number int
	family string
	took   time.Duration
	err    error
}

var errGivenUp = errors.New("not compiled in time, given up")

func (c *kernelCheck) run(ctx context.Context) error {
	for k, v := range uncached {
		if err := os.Setenv(k, v); err != nil {
			return err
		}
	}
	dev, err := vulkan.Open(c.device, vulkan.Options{})
	if err != nil {
		return err
	}
	known, err := target.Probe(dev, nil)
	if err != nil {
		return errors.Join(err, dev.Close())
	}
	work, err := c.list(&known)
	if err == nil && c.alone != "" {
		return errors.Join(c.compileAlone(dev, work), dev.Close())
	}
	if err == nil {
		fmt.Fprintf(c.out, "%s, %s; driver caches off, %d kernels at a time\n", dev.Info().Name, dev.Info().DriverInfo, c.jobs)
		done := c.compile(ctx, dev, work)
		err = errors.Join(c.repeat(ctx, done), c.report(done, len(work)))
	}
	if slices.ContainsFunc(work, func(w *compiled) bool { return errors.Is(w.err, errGivenUp) }) {
		return err // a driver that still compiles a kernel crashes when its device is closed
	}
	return errors.Join(err, dev.Close())
}

// list lists the kernels of the cases, or of all families whose names contain c.family.
func (c *kernelCheck) list(t *synth.Target) ([]*compiled, error) {
	var work []*compiled
	known := map[string]bool{}
	add := func(family string, kernels []synth.Listed, err error) error {
		for _, k := range kernels {
			if !known[k.Name] {
				known[k.Name] = true
				work = append(work, &compiled{Listed: k, number: len(work), family: family})
			}
		}
		return err
	}
	if c.cases != "" {
		cases, err := sweepList(c.cases, sweep.Options{})
		for i := range cases {
			kernels, failed := sweep.Kernels(&cases[i], t)
			err = errors.Join(err, add(cases[i].Name, kernels, failed))
		}
		return work, err
	}
	for _, f := range synth.Families() {
		if !strings.Contains(f.Name, c.family) {
			continue
		}
		kernels, err := f.Kernels(t)
		if err = add(f.Name, kernels, err); err != nil {
			return nil, err
		}
	}
	if len(work) == 0 {
		return nil, fmt.Errorf("%w: --family %q: no family of kernels for this device has that in its name; leave --family out to see all", errUsage, c.family)
	}
	return work, nil
}

// compile compiles the kernels and returns those that it began. It stops at the first error.
func (c *kernelCheck) compile(ctx context.Context, dev *vulkan.Device, work []*compiled) []*compiled {
	next := make(chan *compiled)
	var begun []*compiled
	var wg sync.WaitGroup
	for range c.jobs {
		wg.Go(func() {
			for w := range next {
				if c.compileOne(dev, w); w.err != nil {
					return // the driver still uses a processor for a kernel that was given up
				}
			}
		})
	}
	ended := make(chan struct{})
	go func() { wg.Wait(); close(ended) }()
feed:
	for _, w := range work {
		select {
		case next <- w:
			begun = append(begun, w)
		case <-ended:
			break feed
		case <-ctx.Done():
			break feed
		}
	}
	close(next)
	<-ended
	return begun
}

// compileOne compiles a kernel and measures that.
func (c *kernelCheck) compileOne(dev *vulkan.Device, w *compiled) {
	done := make(chan error, 1)
	start := time.Now()
	go func() {
		_, err := target.Compile(dev, w.Kernel)
		done <- err
	}()
	select {
	case w.err = <-done:
	case <-time.After(c.give):
		w.err = errGivenUp
	}
	w.took = time.Since(start)
}

func compareTimes(a, b *compiled) int { return cmp.Compare(b.took, a.took) }

// repeat measures slow kernels again, one at a time, in a process that has compiled nothing.
func (c *kernelCheck) repeat(ctx context.Context, all []*compiled) error {
	slow := map[int]*compiled{}
	var numbers []string
	slices.SortFunc(all, compareTimes)
	for _, w := range all {
		if c.jobs > 1 && w.err == nil && w.took > c.limit && len(slow) < mostAlone {
			slow[w.number] = w
			numbers = append(numbers, strconv.Itoa(w.number))
		}
	}
	if len(slow) == 0 {
		return nil
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, self, "doctor", "--kernels", "--device", c.device, "--family", c.family, "--cases", c.cases,
		"--alone", strings.Join(numbers, ","))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("measure %d slow kernels again: %w", len(slow), err)
	}
	for line := range strings.Lines(string(out)) {
		var number, took int
		if n, _ := fmt.Sscan(line, &number, &took); n == 2 && slow[number] != nil {
			slow[number].took = time.Duration(took)
		}
	}
	return nil
}

// compileAlone is the other process of repeat. It prints a line for each kernel.
func (c *kernelCheck) compileAlone(dev *vulkan.Device, work []*compiled) error {
	for _, s := range strings.Split(c.alone, ",") {
		i, err := strconv.Atoi(s)
		if err != nil || i < 0 || i >= len(work) {
			return fmt.Errorf("%w: --alone %q: write numbers of kernels, separated by commas", errUsage, c.alone)
		}
		if c.compileOne(dev, work[i]); work[i].err != nil {
			return work[i].err
		}
		fmt.Fprintln(c.out, i, int64(work[i].took))
	}
	return nil
}

// report prints the slowest kernels. It fails if one is slower than the limit.
func (c *kernelCheck) report(all []*compiled, of int) error {
	slices.SortFunc(all, compareTimes)
	words, slow, failed, total := 0, 0, error(nil), time.Duration(0)
	for _, w := range all {
		words, total = max(words, len(w.Code)), total+w.took
		if w.took > c.limit {
			slow++
		}
		if w.err != nil && !errors.Is(w.err, errGivenUp) {
			failed = errors.Join(failed, w.err)
		}
	}
	fmt.Fprintf(c.out, "%d of %d kernels compiled, mean %v, at most %d words of SPIR-V; the slowest (above %v: measured alone):\n",
		len(all), of, (total / time.Duration(max(1, len(all)))).Round(time.Microsecond), words, c.limit)
	for _, w := range all[:min(c.show, len(all))] {
		note := ""
		if w.err != nil {
			note = "  " + w.err.Error()
		}
		fmt.Fprintf(c.out, "%10v  %6d words  %s: %s%s\n", w.took.Round(100*time.Microsecond), len(w.Code), w.family, w.For, note)
	}
	switch {
	case failed != nil:
		return failed
	case slow > 0:
		return fmt.Errorf("the driver takes longer than %v for %d kernels: try a newer driver, or report them with this output", c.limit, slow)
	case len(all) < of:
		return fmt.Errorf("%d kernels were not compiled, because one before was given up or the check was interrupted", of-len(all))
	}
	return nil
}

// defaultJobs leaves half of the processors to the driver, which takes longer when all are
// busy.
func defaultJobs() int { return max(1, runtime.NumCPU()/2) }
