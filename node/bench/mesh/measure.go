package mesh

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"sync"
	"time"

	"nxvk/gen/exec/mesh/schedule"
	"nxvk/ops"
)

// Config has the settings of Measure.
type Config struct {
	Devices []string // by index, name or UUID, or host; the same one may be named more than once
	Least   int      // bytes of the smallest value
	Most    int      // bytes of the largest value
	Hidden  int      // the size of the layers of the network
	Batch   int      // its rows, of all devices together
	Time    time.Duration
	// CopyQueues are queues for copies, each by its family and number; nil are those of the device.
	CopyQueues [][2]int
	// Schedule has that of each all_reduce; nil is that of the node.
	Schedule *schedule.Options
	Rows     *regexp.Regexp // names of rows to measure; nil are all
	Bus      bool           // the buses of the devices alone, by the way that bytes take
	JSON     bool           // a line for each row instead of a table
}

// Row is a measurement.
type Row struct {
	What    string  `json:"what"`    // copy, copies both ways, all_reduce, in a row, step; of a bus down, up, both, relay
	Devices []int   `json:"devices"` // by their place in the configuration
	Bytes   int     `json:"bytes,omitempty"`
	Micros  float64 `json:"micros"`          // a round, the mean
	GBs     float64 `json:"gbs,omitempty"`   // what crosses the bus of a device in the busier direction
	Times   float64 `json:"times,omitempty"` // as fast as the first device alone
	Rounds  int     `json:"rounds"`
	Queue   string  `json:"queue,omitempty"`  // of a bus: what moves the bytes, copy or kernel
	Memory  string  `json:"memory,omitempty"` // of the host: imported or allocated
	Depth   int     `json:"depth,omitempty"`  // how many chunks the device has at a time
}

// report prints rows.
type report struct {
	out   io.Writer
	json  bool
	width int // of the first column
}

// Measure measures copies between the first two devices, all_reduce on the first two, three and so on, one that is waited for
// and one of a program that has many in a row, and a step of training of a network of two layers on one device and on several, with its gradients
// summed by all_reduce.
func Measure(ctx context.Context, out io.Writer, c Config) error {
	if len(c.Devices) < 2 {
		return fmt.Errorf("a mesh has two devices or more; there is %d: name one device more than once to try", len(c.Devices))
	}
	sides, err := Open(c.Devices, c.CopyQueues, c.Schedule)
	if err != nil {
		return err
	}
	defer sides.Close()
	r := &report{out: out, json: c.JSON, width: 16}
	if c.Bus {
		r.width = 34
	}
	r.head(sides)
	if c.Bus {
		return sides.bus(ctx, r, c)
	}
	for bytes := c.Least; bytes <= c.Most && c.wants("copy"); bytes *= 4 {
		if err := sides.copies(ctx, r, bytes, c.Time); err != nil {
			return err
		}
	}
	for n := 2; n <= len(sides) && c.wants("all_reduce"); n++ {
		for bytes := c.Least; bytes <= c.Most; bytes *= 4 {
			if err := sides[:n].reduce(ctx, r, bytes, c.Time); err != nil {
				return err
			}
		}
	}
	for n := 2; n <= len(sides) && c.wants("in a row"); n++ {
		for bytes := c.Least; bytes <= min(c.Most, mostInRow); bytes *= 4 {
			if err := sides[:n].inRow(ctx, r, bytes, c.Time); err != nil {
				return err
			}
		}
	}
	if !c.wants("step") {
		return nil
	}
	return sides.train(ctx, r, c)
}

// wants reports whether rows of a name are measured.
func (c *Config) wants(name string) bool { return c.Rows == nil || c.Rows.MatchString(name) }

func (r *report) head(sides Sides) {
	for i, s := range sides {
		if r.json {
			json.NewEncoder(r.out).Encode(map[string]any{"device": i, "name": s.Name})
			continue
		}
		fmt.Fprintf(r.out, "device %d: %s\n", i, s.Name)
	}
	if !r.json {
		fmt.Fprintf(r.out, "%-*s %-12s %12s %12s %9s %7s\n", r.width, "", "devices", "bytes", "time", "GB/s", "times")
	}
}

func (r *report) add(row Row) error {
	if r.json {
		return json.NewEncoder(r.out).Encode(row)
	}
	number := func(x float64, format string) string {
		if x == 0 {
			return ""
		}
		return fmt.Sprintf(format, x)
	}
	what := row.What
	if row.Depth > 0 {
		what = fmt.Sprintf("%s %s %s ×%d", what, row.Queue, row.Memory, row.Depth)
	}
	took := time.Duration(row.Micros * float64(time.Microsecond)).Round(time.Microsecond / 10)
	_, err := fmt.Fprintf(r.out, "%-*s %-12s %12s %12v %9s %7s\n", r.width, what, fmt.Sprint(row.Devices), number(float64(row.Bytes), "%.0f"), took,
		number(row.GBs, "%.2f"), number(row.Times, "%.2f"))
	return err
}

// rounds has all sides do something again and again for a time, side by side, and returns the mean time of a round.
func (all Sides) rounds(ctx context.Context, least time.Duration, f func(rank int, s *Side) error) (n int, micros float64, err error) {
	batch := func(n int) (time.Duration, error) {
		errs := make([]error, len(all))
		var wait sync.WaitGroup
		start := time.Now()
		for i, s := range all {
			wait.Go(func() {
				for k := 0; k < n && errs[i] == nil; k++ {
					errs[i] = f(i, s)
				}
			})
		}
		wait.Wait()
		return time.Since(start), errors.Join(append(errs, ctx.Err())...)
	}
	took, err := batch(2) // memory is taken, and kernels are compiled
	for n = 1; err == nil; n = max(2*n, min(100*n, int(float64(n)*1.1*least.Seconds()/max(took, 1).Seconds()))) {
		if took, err = batch(n); took >= least {
			break
		}
	}
	return n, float64(took.Nanoseconds()) / 1e3 / float64(n), err
}

func (all Sides) each(f func(rank int, s *Side) error) error {
	errs := make([]error, len(all))
	for i, s := range all {
		errs[i] = f(i, s)
	}
	return errors.Join(errs...)
}

// copies measures values that the first two sides import from each other.
func (all Sides) copies(ctx context.Context, r *report, bytes int, least time.Duration) error {
	two := all[:2]
	if err := two.each(func(_ int, s *Side) error { return s.Provide(bytes) }); err != nil {
		return err
	}
	for _, to := range []Sides{two[1:], two} {
		what, devices := "copy", []int{0, 1}
		if len(to) == 2 {
			what = "copy both ways"
		}
		n, micros, err := to.rounds(ctx, least, func(i int, s *Side) error { return s.Take(two[len(to)-1-i], bytes) })
		if err != nil {
			return err
		}
		if err := r.add(Row{What: what, Devices: devices, Bytes: bytes, Micros: micros, GBs: float64(bytes) / micros / 1e3, Rounds: n}); err != nil {
			return err
		}
	}
	return nil
}

const (
	rowLength = 64      // of a program whose time is that of its all_reduces
	mostInRow = 1 << 20 // bytes of their operands
)

// row is the program of all_reduces, each of half of what the one before gives.
func row(t ops.Type, ranks int) *ops.Region {
	g := &graph{}
	x := g.param(t)
	for range rowLength {
		x = g.add(ops.Multiply, t, nil, g.add(ops.AllReduce, t, [][]int{ops.AllAxes(ranks), {0}}, x), number(1/float32(ranks)))
	}
	g.region.Values = []ops.Operand{x}
	return &g.region
}

// inRow measures an all_reduce of f32 in the middle of a program, with a kernel that takes the result.
func (all Sides) inRow(ctx context.Context, r *report, bytes int, least time.Duration) error {
	n, t := len(all), matrix(1, bytes/4)
	key, program := fmt.Sprint("row ", n, " ", bytes), row(t, n)
	if err := all.each(func(i int, s *Side) error { return errors.Join(s.join(key, i, n), s.prepare(key, program)) }); err != nil {
		return err
	}
	counts := make([]uint64, n)
	rounds, micros, err := all.rounds(ctx, least, func(i int, s *Side) error {
		counts[i]++
		return s.run(key, program, []ops.Type{t}, counts[i])
	})
	if err != nil {
		return err
	}
	err = r.add(Row{What: "in a row", Devices: ops.AllAxes(n), Bytes: bytes, Micros: micros / rowLength, Rounds: rounds})
	return errors.Join(err, all.each(func(_ int, s *Side) error { return s.forget(program) }))
}

// reduce measures all_reduce of f32. Of n devices, each has to read 2(n - 1)/n times its operand of the others.
func (all Sides) reduce(ctx context.Context, r *report, bytes int, least time.Duration) error {
	n := len(all)
	id := fmt.Sprint("reduce ", n, " ", bytes)
	err := all.each(func(i int, s *Side) error { return errors.Join(s.join(id, i, n), s.Provide(bytes)) })
	if err != nil {
		return err
	}
	group := ops.AllAxes(n)
	rounds, micros, err := all.rounds(ctx, least, func(_ int, s *Side) error {
		return s.make(false, func(id ops.ID) {
			s.stream(ops.Instr{Op: ops.AllReduce, Ins: []ops.Operand{{ID: provided}}, Outs: []ops.Result{{ID: id, Type: floats(bytes)}},
				Attrs: [][]int{group, {0}}}, nil)
		})
	})
	if err != nil {
		return err
	}
	crosses := 2 * float64(n-1) / float64(n) * float64(bytes)
	return r.add(Row{What: "all_reduce", Devices: group, Bytes: bytes, Micros: micros, GBs: crosses / micros / 1e3, Rounds: rounds})
}
