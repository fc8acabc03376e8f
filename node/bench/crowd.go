package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"nxvk/gen/exec/exectest"
	"nxvk/gen/exec/target"
	"nxvk/ops"
	"nxvk/vulkan"
)

// CrowdConfig has the settings of Crowd.
type CrowdConfig struct {
	Device string
	Hogs   int // sessions that compute without pause
	Size   int // of the matrices that these multiply
	Queues int // of the device; 0 is one
	Piece  time.Duration
	Time   time.Duration // of each part
}

// crowdBatch is the number of dependent products that a session requests before it reads a
// number.
const crowdBatch = 8

// Crowd measures a session that adds 2^20 numbers and reads one of them, beside others that
// multiply matrices without pause. It reports how long the session waits, which share of
// the device the others have, and how much they lose.
func Crowd(ctx context.Context, c CrowdConfig) error {
	dev, err := vulkan.Open(c.Device, vulkan.Options{Queues: c.Queues, Piece: c.Piece})
	if err != nil {
		return err
	}
	defer dev.Close()
	target, err := target.Probe(dev, nil)
	if err != nil {
		return err
	}
	h := harnessFor(exectest.NewFor(dev, target, -1))
	defer h.Close()
	info := dev.Info()
	fmt.Printf("%s: %d queues, %d busy sessions with %d×%d matrices, pieces of %v\n", info.Name, info.Queues, c.Hogs, c.Size, c.Size, c.Piece)
	if err := crowdAlone(h); err != nil {
		return err
	}
	crowd := &crowd{h: h}
	for range c.Hogs {
		if err := crowd.add(c.Size); err != nil {
			return err
		}
	}
	before := crowd.run(ctx, c.Time, nil)
	var waits []time.Duration
	during := crowd.run(ctx, c.Time, func() error {
		d, err := h.readOne(1<<20, time.Now())
		waits = append(waits, d)
		return err
	})
	after := crowd.run(ctx, c.Time, nil)
	fmt.Printf("busy sessions before: %s; after: %s\n", rates(before), rates(after))
	fmt.Printf("busy sessions beside it: %s\n", rates(during))
	base := (total(before) + total(after)) / 2
	if base > 0 {
		fmt.Printf("they lose %.1f %%\n", 100*(1-total(during)/base))
	}
	report("an add and a read beside them", waits)
	st := dev.Stats()
	fmt.Printf("%d batches, mean wait %v, mean run time %v\n", st.Submits, st.Waited/time.Duration(max(1, st.Ended)), st.Ran/time.Duration(max(1, st.Ended)))
	crowd.stop = true
	return crowd.err
}

// crowdAlone measures the session while nothing else runs.
func crowdAlone(h *harness) error {
	var waits []time.Duration
	for i := range 700 {
		d, err := h.readOne(1<<20, time.Now())
		if err != nil {
			return err
		}
		if i >= 500 {
			waits = append(waits, d)
		}
	}
	report("an add and a read alone", waits)
	t := f32(1024)
	for range 3 {
		start := time.Now()
		if err := chain(1000, t)(h); err != nil {
			return err
		}
		waits = append(waits[:0], time.Since(start))
	}
	fmt.Printf("1,000 dependent adds of 1024: %v each\n", waits[0]/1000)
	return nil
}

// readOne adds a vector to itself, reads an element, and returns the time since due.
func (h *harness) readOne(n int, due time.Time) (time.Duration, error) {
	x := h.input(f32(n), 0)
	id := h.Do(ops.Add, f32(n), nil, x, x)
	err := h.ReadSome(id, 0, 1)
	d := time.Since(due)
	h.Free(id)
	return d, err
}

func report(what string, waits []time.Duration) {
	if len(waits) == 0 {
		return
	}
	slices.Sort(waits)
	n := len(waits)
	fmt.Printf("%s: median %v, 95th percentile %v, 99th %v, maximum %v (of %d)\n", what,
		waits[n/2].Round(time.Microsecond), waits[n*95/100].Round(time.Microsecond), waits[n*99/100].Round(time.Microsecond),
		waits[n-1].Round(time.Microsecond), n)
}

// crowd is the sessions that compute without pause.
type crowd struct {
	h    *harness
	hogs []*hog
	stop bool
	err  error
}

// hog is a session that multiplies matrices.
type hog struct {
	*harness
	typ  ops.Type
	ends []time.Time // of batches
}

// add starts a session that computes.
func (c *crowd) add(size int) error {
	g := &hog{harness: harnessFor(c.h.Beside()), typ: f32(size, size)}
	g.input(g.typ, 0)
	if err := g.Sync(); err != nil {
		return err
	}
	c.hogs = append(c.hogs, g)
	c.next(g)
	return nil
}

// next requests a batch of products, and the next batch when it has completed.
func (c *crowd) next(g *hog) {
	if c.stop {
		return
	}
	x := g.input(g.typ, 0)
	last := x
	for range crowdBatch {
		id := g.Do(ops.Dot, g.typ, [][]int{{1}, {}, {0}, {}}, last, x)
		if last != x {
			g.Free(last.ID)
		}
		last = ops.Operand{ID: id}
	}
	g.Later(last.ID, 0, 1, func(err error) {
		c.err = errors.Join(c.err, err)
		g.ends = append(g.ends, time.Now())
		g.Post(func() {
			g.Free(last.ID)
			c.next(g)
		})
	})
}

// run lets the sessions compute for d while other is called now and then. It returns the
// products per second of each.
func (c *crowd) run(ctx context.Context, d time.Duration, other func() error) []float64 {
	c.h.Until(time.Now().Add(d / 4)) // the start does not count
	for _, g := range c.hogs {
		g.ends = g.ends[:0]
	}
	for end := time.Now().Add(d); time.Now().Before(end) && ctx.Err() == nil && c.err == nil; {
		if other == nil {
			c.h.Until(end)
			continue
		}
		c.err = other()
		c.h.Until(time.Now().Add(time.Duration(rand.IntN(int(10 * time.Millisecond)))))
	}
	rates := make([]float64, len(c.hogs))
	for i, g := range c.hogs {
		if n := len(g.ends); n > 1 {
			rates[i] = float64(n-1) * crowdBatch / g.ends[n-1].Sub(g.ends[0]).Seconds()
		}
	}
	return rates
}

func total(list []float64) (sum float64) {
	for _, x := range list {
		sum += x
	}
	return sum
}

// rates prints the products per second, in all and of each, and their ratio.
func rates(list []float64) string {
	var each []string
	for _, x := range list {
		each = append(each, fmt.Sprintf("%.2f", x))
	}
	if len(list) == 0 {
		return "none"
	}
	return fmt.Sprintf("%.2f products a second (%s), ratio of the extremes %.2f", total(list),
		strings.Join(each, " "), slices.Max(list)/slices.Min(list))
}
