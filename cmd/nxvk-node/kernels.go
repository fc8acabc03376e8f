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
	"nxvk/synth"
	"nxvk/vulkan"
)

// kernelCheck compiles all kernels that are known before there is work for them, and
// tells how long the driver takes for each: who asks for the first result of one waits
// so long.
type kernelCheck struct {
	device, family string
	limit          time.Duration // of one kernel
	give           time.Duration // after which it is given up
	jobs           int           // kernels that are compiled at a time
	alone          string        // numbers of those to compile, one at a time; all where empty
	out            io.Writer
}

// mostAlone is how many slow kernels are compiled again while nothing else is.
const mostAlone = 40

// slowest is how many kernels are listed.
const slowest = 10

// Drivers that keep what they have compiled on disk do not where these are set.
var uncached = map[string]string{
	"__GL_SHADER_DISK_CACHE":    "0",    // NVIDIA's
	"MESA_SHADER_CACHE_DISABLE": "true", // Mesa's
}

// compiled is what became of a kernel.
type compiled struct {
	synth.Listed
	number int
	family string
	took   time.Duration
	err    error
}

var errGivenUp = errors.New("given up")

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
	known, err := target.Probe(dev)
	if err != nil {
		return errors.Join(err, dev.Close())
	}
	work, err := c.list(&known)
	if err == nil && c.alone != "" {
		return errors.Join(c.compileAlone(dev, work), dev.Close())
	}
	if err == nil {
		fmt.Fprintf(c.out, "%s, %s: drivers' caches off, %d at a time\n", dev.Info().Name, dev.Info().DriverInfo, c.jobs)
		done := c.compile(ctx, dev, work)
		err = errors.Join(c.again(ctx, done), c.report(done, len(work)))
	}
	if slices.ContainsFunc(work, func(w *compiled) bool { return errors.Is(w.err, errGivenUp) }) {
		return err // a driver in the middle of a kernel does not survive the loss of its device
	}
	return errors.Join(err, dev.Close())
}

// list lists the kernels of all families, or of those whose names have family in
// them.
func (c *kernelCheck) list(t *synth.Target) ([]*compiled, error) {
	var work []*compiled
	known := map[string]bool{}
	for _, f := range synth.Families() {
		if !strings.Contains(f.Name, c.family) {
			continue
		}
		kernels, err := f.Kernels(t)
		if err != nil {
			return nil, err
		}
		for _, k := range kernels {
			if !known[k.Name] {
				known[k.Name] = true
				work = append(work, &compiled{Listed: k, number: len(work), family: f.Name})
			}
		}
	}
	if len(work) == 0 {
		return nil, fmt.Errorf("%w: no family of kernels that this device takes has %q in its name", errUsage, c.family)
	}
	return work, nil
}

// compile compiles the kernels, and gives those that were begun.
func (c *kernelCheck) compile(ctx context.Context, dev *vulkan.Device, work []*compiled) []*compiled {
	next := make(chan *compiled)
	var begun []*compiled
	var wg sync.WaitGroup
	for range c.jobs {
		wg.Go(func() {
			for w := range next {
				if c.one(dev, w); w.err != nil {
					return // what was given up still takes a processor
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

// one compiles a kernel and sets how long that took.
func (c *kernelCheck) one(dev *vulkan.Device, w *compiled) {
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

func bySlowness(a, b *compiled) int { return cmp.Compare(b.took, a.took) }

// again times kernels that were slow while others were compiled in a process of its own,
// where nothing is known of them and nothing else takes the processors.
func (c *kernelCheck) again(ctx context.Context, all []*compiled) error {
	slow := map[int]*compiled{}
	var numbers []string
	slices.SortFunc(all, bySlowness)
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
	cmd := exec.CommandContext(ctx, self, "doctor", "--kernels", "--device", c.device, "--family", c.family,
		"--alone", strings.Join(numbers, ","))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("time %d slow kernels again: %w", len(slow), err)
	}
	for line := range strings.Lines(string(out)) {
		var number, took int
		if n, _ := fmt.Sscan(line, &number, &took); n == 2 && slow[number] != nil {
			slow[number].took = time.Duration(took)
		}
	}
	return nil
}

// compileAlone is what again asks another process for: a line for each kernel.
func (c *kernelCheck) compileAlone(dev *vulkan.Device, work []*compiled) error {
	for _, s := range strings.Split(c.alone, ",") {
		i, err := strconv.Atoi(s)
		if err != nil || i < 0 || i >= len(work) {
			return fmt.Errorf("%w: --alone %q is no list of numbers of kernels", errUsage, c.alone)
		}
		if c.one(dev, work[i]); work[i].err != nil {
			return work[i].err
		}
		fmt.Fprintln(c.out, i, int64(work[i].took))
	}
	return nil
}

// report prints the slowest kernels, and fails where one is slower than the limit.
func (c *kernelCheck) report(all []*compiled, of int) error {
	slices.SortFunc(all, bySlowness)
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
	fmt.Fprintf(c.out, "%d of %d kernels, %v each in the mean, at most %d words of SPIR-V; the slowest, timed alone where above %v:\n",
		len(all), of, (total / time.Duration(max(1, len(all)))).Round(time.Microsecond), words, c.limit)
	for _, w := range all[:min(slowest, len(all))] {
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
		return fmt.Errorf("kernels that take the driver longer than %v: %d", c.limit, slow)
	case len(all) < of:
		return fmt.Errorf("kernels that were not compiled: %d", of-len(all))
	}
	return nil
}

// defaultJobs leaves processors to the driver, whose times are longer where all are
// busy.
func defaultJobs() int { return max(1, runtime.NumCPU()/2) }
