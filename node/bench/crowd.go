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

// CrowdConfig says what [Crowd] measures.
type CrowdConfig struct {
	Device string
	Hogs   int // sessions that compute without pause
	Size   int // of the matrices that these multiply
	Queues int // of the device; 0 is one
	Piece  time.Duration
	Time   time.Duration // of each part
}

// crowdBatch is how many products, each of the last one's result, a session asks for
// before it reads a number.
const crowdBatch = 8

// Crowd measures what a session that adds 2^20 numbers and reads one waits beside others
// that multiply matrices without pause, how much of the device each of these has, and
// what they lose by it.
func Crowd(ctx context.Context, c CrowdConfig) error {
	dev, err := vulkan.Open(c.Device, vulkan.Options{Queues: c.Queues, Piece: c.Piece})
	if err != nil {
		return err
	}
	defer dev.Close()
	target, err := target.Probe(dev)
	if err != nil {
		return err
	}
	h := &harness{exectest.NewFor(dev, target, -1), make(map[string]ops.ID)}
	defer h.Close()
	info := dev.Info()
	fmt.Printf("%s: %d queues, %d hogs of %d×%d, pieces of %v\n", info.Name, info.Queues, c.Hogs, c.Size, c.Size, c.Piece)
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
	fmt.Printf("hogs without it: %s; after it: %s\n", rates(before), rates(after))
	fmt.Printf("hogs beside it:  %s\n", rates(during))
	base := (total(before) + total(after)) / 2
	if base > 0 {
		fmt.Printf("lost: %.1f %%\n", 100*(1-total(during)/base))
	}
	report("an add and a read beside them", waits)
	st := dev.Stats()
	fmt.Printf("submits %d, waited %v each, ran %v each\n", st.Submits, st.Waited/time.Duration(max(1, st.Ended)), st.Ran/time.Duration(max(1, st.Ended)))
	crowd.stop = true
	return crowd.err
}

// crowdAlone measures the session by itself.
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

// readOne adds a vector to itself and reads an element, and tells how long after due
// that is there.
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
	fmt.Printf("%s: median %v, 95 of 100 within %v, 99 within %v, the slowest %v (of %d)\n", what,
		waits[n/2].Round(time.Microsecond), waits[n*95/100].Round(time.Microsecond), waits[n*99/100].Round(time.Microsecond),
		waits[n-1].Round(time.Microsecond), n)
}

// crowd is sessions that compute without pause.
type crowd struct {
	h    *harness
	hogs []*hog
	stop bool
	err  error
}

// hog multiplies matrices.
type hog struct {
	*harness
	typ  ops.Type
	ends []time.Time // of batches
}

// add begins a session that computes.
func (c *crowd) add(size int) error {
	g := &hog{harness: &harness{c.h.Beside(), make(map[string]ops.ID)}, typ: f32(size, size)}
	g.input(g.typ, 0)
	if err := g.Sync(); err != nil {
		return err
	}
	c.hogs = append(c.hogs, g)
	c.next(g)
	return nil
}

// next asks for a batch of products, and for the one after it when that is there.
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

// run lets the sessions compute for a time while another does something now and then,
// and tells how many products each has done in a second.
func (c *crowd) run(ctx context.Context, d time.Duration, other func() error) []float64 {
	c.h.Until(time.Now().Add(d / 4)) // the start is somebody else's
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

// rates are products a second, of each and in all, and how unequal they are.
func rates(list []float64) string {
	var each []string
	for _, x := range list {
		each = append(each, fmt.Sprintf("%.2f", x))
	}
	if len(list) == 0 {
		return "none"
	}
	return fmt.Sprintf("%.2f products a second (%s), the most %.2f times the least", total(list),
		strings.Join(each, " "), slices.Max(list)/slices.Min(list))
}
