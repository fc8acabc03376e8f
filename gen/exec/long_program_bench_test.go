package exec

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	"nxvk/gen/exec/exectest/harness"
	"nxvk/gen/wire"
	"nxvk/ops"
	"nxvk/vulkan"

	"github.com/rs/zerolog"
)

// longChain is n pointwise instructions, each of which needs the one before.
func longChain(n int) *ops.Region {
	t := f32(64)
	p := &ops.Region{Params: []ops.Result{res(1, t)}, Values: uses(ops.ID(n + 1))}
	list := []ops.Op{ops.Multiply, ops.Add, ops.Subtract}
	for i := range n {
		p.Body = append(p.Body, op(list[i%3], res(ops.ID(2+i), t), ref(ops.ID(1+i)), scalar(float32(i%7)*0.25+0.5)))
	}
	return p
}

// longSums is n/12 sums of pointwise instructions that are different each time, so that each is
// a fusion of its own, with kernels of its own.
func longSums(n int) *ops.Region {
	p := &ops.Region{}
	id := ops.ID(0)
	next := func() ops.ID { id++; return id }
	for i := range 16 {
		p.Params = append(p.Params, res(next(), f32(33+i, 5)))
	}
	list := []ops.Op{ops.Multiply, ops.Add, ops.Subtract}
	last := ops.ID(0)
	for i := range n / 12 {
		x, rows := ops.ID(1+i%16), 33+i%16
		for k, left := 0, i; k < 9; k++ {
			a := next()
			p.Body = append(p.Body, op(list[left%3], res(a, f32(rows, 5)), ref(x), scalar(float32(k)*0.5)))
			left /= 3
			x = a
		}
		s := next()
		sum := op(ops.Sum, res(s, f32(5)), ref(x))
		sum.Attrs = [][]int{{0}, {0}}
		q := next()
		order := ops.Instr{Op: ops.Sort, Outs: []ops.Result{res(q, f32(5))}, Ins: uses(s), Attrs: [][]int{{0}, {0}, {0}}}
		p.Body = append(p.Body, sum, order)
		if last == 0 {
			last = q
			continue
		}
		m := next()
		p.Body = append(p.Body, op(ops.Max, res(m, f32(5)), ref(last), ref(q)))
		last = m
	}
	p.Values = uses(last)
	return p
}

// longMixed is chains, sums and products, whose results are all wanted.
func longMixed(n int) *ops.Region {
	p := &ops.Region{Params: []ops.Result{res(1, f32(8, 8))}}
	id := ops.ID(1)
	next := func() ops.ID { id++; return id }
	x := ops.ID(1)
	for i := 0; len(p.Body) < n; i++ {
		t := f32(8, 8)
		for range i % 13 {
			y := next()
			p.Body = append(p.Body, op(ops.Multiply, res(y, t), ref(x), scalar(0.5+float32(i%5)/4)))
			x = y
		}
		d := next()
		p.Body = append(p.Body, ops.Instr{Op: ops.Dot, Outs: []ops.Result{res(d, t)}, Ins: uses(x, 1), Attrs: [][]int{{1}, nil, {0}, nil}})
		e, f, g := next(), next(), next()
		sum := op(ops.Sum, res(f, f32(8)), ref(e))
		sum.Attrs = [][]int{{1}, {0}}
		p.Body = append(p.Body, op(ops.Tanh, res(e, t), ref(d)), sum, op(ops.Add, res(g, t), ref(e), ref(f)))
		x = g
		if i%8 == 0 {
			p.Values = append(p.Values, uses(f)...)
		}
	}
	p.Values = append(p.Values, uses(x)...)
	return p
}

// BenchmarkLongProgram has a session define a long program and run it four times, while another
// session reads a small value again and again. It reports the longest time that one function kept
// the goroutine of the Executor, in each phase, and the longest time of a read.
func BenchmarkLongProgram(b *testing.B) {
	host := placeOf(b, nil)
	d, err := vulkan.Open("", vulkan.Options{Watchdog: -1})
	if err != nil && !errors.Is(err, vulkan.ErrNoVulkan) && !errors.Is(err, vulkan.ErrNoDevice) {
		b.Fatal(err)
	}
	places := map[string]Config{"host": host}
	if d != nil {
		defer d.Close()
		places["device"] = placeOf(b, d)
	}
	for _, place := range []string{"host", "device"} {
		cfg, ok := places[place]
		if !ok {
			continue
		}
		for kind, program := range map[string]func(int) *ops.Region{"chain": longChain, "sums": longSums, "mixed": longMixed} {
			for _, n := range []int{1000, 10_000, 50_000} {
				p := program(n)
				b.Run(fmt.Sprintf("%s/%s/%d", place, kind, n), func(b *testing.B) {
					for b.Loop() {
						benchLongProgram(b, cfg, p)
					}
				})
			}
		}
	}
}

// placeOf is how an Executor of a device is made.
func placeOf(b *testing.B, d *vulkan.Device) Config {
	cfg := Config{Device: d, HostLimit: -1, Log: zerolog.New(os.Stderr).Level(zerolog.ErrorLevel)}
	if d != nil {
		cfg.Target = harness.Target(b, d)
		cfg.Target.Archive = &drawer{byKey: map[string][]byte{}}
	}
	return cfg
}

// turnClock runs what comes to an Executor, and notes how long it takes.
type turnClock struct {
	*rig
	other   *Queue
	asked   time.Time // when the other session asked; zero where it has its answer
	read    time.Duration
	longest time.Duration
}

func (c *turnClock) turn(f func()) {
	at := time.Now()
	f()
	c.longest = max(c.longest, time.Since(at))
}

// Until runs functions until done, while the other session reads.
func (c *turnClock) Until(done func() bool) {
	for !done() || !c.asked.IsZero() {
		if c.asked.IsZero() {
			c.asked = time.Now()
			c.Posted <- func() {
				c.exec.Read(c.other, 1, 0, 2, func(Data, error) {
					c.read = max(c.read, time.Since(c.asked))
					c.asked = time.Time{}
				})
			}
		}
		c.turn(<-c.Posted)
	}
}

// phase reports the longest time since the last phase.
func (c *turnClock) phase(b *testing.B, name string) {
	b.ReportMetric(c.longest.Seconds()*1e3, name+"-ms")
	runtime.GC() // of what the phase has left, outside of the times
	c.longest = 0
}

func benchLongProgram(b *testing.B, cfg Config, p *ops.Region) {
	c := &turnClock{rig: &rig{Harness: harness.New[*Queue](nil, cfg.Device)}}
	cfg.Post = c.Post
	c.drive(New(cfg))
	c.exec.specializer.Enough = 2
	q := c.session()
	c.other = c.session()
	c.Tensor(c.other, 1, 5, 6)
	operands := make([]ops.Operand, len(p.Params))
	for i, param := range p.Params {
		x := make([]float32, param.Type.Size())
		for k := range x {
			x[k] = float32(k%5) / 8
		}
		operands[i] = ref(ops.ID(1 + i))
		c.Do(q, ops.Tensor, operands[i].ID, param.Type, nil, ops.Operand{Lit: &ops.Literal{Type: param.Type, Data: floats(x...)}})
	}
	c.turn(func() {
		c.exec.Stream(q, []wire.Instr{{Name: "program", Instr: ops.Instr{Op: ops.Program}, Defines: wire.Defines{Key: "p", Program: p}}})
	})
	c.Until(func() bool { return q.defining == nil })
	c.phase(b, "define")
	types, _ := p.CheckProgram()
	for k, name := range []string{"first", "compile", "fused", "again"} {
		outs := make([]ops.Result, len(types))
		for i, t := range types {
			outs[i] = ops.Result{ID: ops.ID(1_000_000*(1+k) + i), Type: t}
		}
		done := false
		c.turn(func() { c.run(q, "p", outs, operands...) })
		c.turn(func() { c.exec.Sync(q, func(error) { done = true }) })
		c.Until(func() bool { return done && c.exec.Building() == 0 })
		c.phase(b, name)
	}
	c.turn(func() { c.exec.End(q.Session) })
	c.Until(func() bool { return c.exec.Building() == 0 && c.asked.IsZero() })
	c.phase(b, "end")
	b.ReportMetric(c.read.Seconds()*1e3, "read-ms")
	c.exec.End(c.other.Session)
}
