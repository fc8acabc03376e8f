package sweep

import (
	"fmt"
	"io"
	"time"

	"nxvk/ops"
)

// The references of shares: a copy of many elements, and square products.
const (
	copyElements    = 1 << 27
	copyElementsCPU = 1 << 22
	productSide     = 4096
	productSideCPU  = 256
)

// copying is a case that copies elements.
func copying(n int) *Case {
	b := &builder{}
	b.finish(b.do(ops.Negate, ops.F32, nil, b.param(Uniform, typed(ops.F32, n))))
	return &b.c
}

// product is a case that multiplies square matrices.
func product(d ops.DType, n int) *Case {
	b := &builder{}
	x, y := b.param(Uniform, typed(d, n, n)), b.param(Uniform, typed(d, n, n))
	out := d
	if d.IsInteger() {
		out = ops.S32
	}
	b.finish(b.do(ops.Dot, out, [][]int{{1}, {}, {0}, {}}, x, y))
	return &b.c
}

// heating is for how long a device computes to raise its clock, which is low after a pause.
const heating = 400 * time.Millisecond

// heat raises the clock of a device: it computes until that is about as fast as it ever was.
func (m *machine) heat() error {
	const repeats, tolerance = 20, 1.05
	if m.cpu() {
		return nil
	}
	b := &builder{}
	t := typed(ops.F32, 1<<22)
	b.pointwise(ops.Pow, t, t)
	return with(m.warm, &b.c, func(w *work) error {
		known := m.hot > 0
		for start := time.Now(); time.Since(start) < heating; {
			took, err := w.sample(repeats)
			if err != nil {
				return err
			}
			if m.hot == 0 || took < m.hot {
				m.hot = took
			}
			if known && took.Seconds() <= tolerance*m.hot.Seconds() {
				break
			}
		}
		return nil
	})
}

// calibrate measures the rate of copies, and prints it with the device.
func (m *machine) calibrate(out io.Writer) error {
	n := copyElements
	if m.cpu() {
		n = copyElementsCPU
	}
	c := copying(n)
	took, err := m.medianOf(c)
	if err != nil {
		return err
	}
	m.copies = c.Bytes / took.Seconds()
	fmt.Fprintf(out, "device: %v; copies %.1f GB/s\n", m, m.copies/1e9)
	return nil
}

// reference is the rate of products of a type, and how long the first took. Cases that come
// later do not compile its kernel any more.
type reference struct {
	side  int
	rate  float64 // operations a second
	first time.Duration
}

// rate is the rate of products in the type of a case, measured once; 0 if it has none.
func (m *machine) rate(c *Case) float64 {
	if c.Ops == 0 || len(c.Params) == 0 {
		return 0
	}
	t, err := c.Params[0].of()
	if err != nil {
		return 0
	}
	d := t.DType.Real()
	r, known := m.products[d]
	if !known {
		if r.side = productSide; m.cpu() {
			r.side = productSideCPU
		}
		p := product(d, r.side)
		first, err := m.firstOf(p)
		if err == nil {
			var took time.Duration
			took, err = m.medianOf(p)
			r.first, r.rate = first, p.Ops/took.Seconds()
		}
		if err != nil {
			r.rate = 0
		}
		m.products[d] = r
	}
	return r.rate
}

// printProducts prints the rates of products that shares refer to.
func (m *machine) printProducts(out io.Writer) {
	for _, d := range ops.DTypes() {
		if r := m.products[d]; r.rate > 0 {
			fmt.Fprintf(out, "products of %v, %d×%d, on %v: %.1f GFLOP/s, first result after %v\n", d, r.side, r.side, m, r.rate/1e9,
				r.first.Round(100*time.Microsecond))
		}
	}
}
