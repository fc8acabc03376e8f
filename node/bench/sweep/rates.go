package sweep

import (
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

// heating is for how long a device computes before a measurement: an idle one has a low clock.
const heating = 300 * time.Millisecond

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

// heat raises the clock of a device that has been idle.
func (m *machine) heat() error {
	if m.cpu() {
		return nil
	}
	w, err := prepare(m.warm, copying(1<<24))
	if err != nil {
		return err
	}
	defer w.free()
	for start := time.Now(); time.Since(start) < heating; {
		if err := w.repeat(20); err != nil {
			return err
		}
	}
	return nil
}

// calibrate measures the rate of copies.
func (m *machine) calibrate() error {
	if err := m.heat(); err != nil {
		return err
	}
	n := copyElements
	if m.cpu() {
		n = copyElementsCPU
	}
	c := copying(n)
	took, err := m.reference(c)
	m.copies = c.Bytes / took.Seconds()
	return err
}

func (m *machine) reference(c *Case) (time.Duration, error) {
	w, err := prepare(m.warm, c)
	if err != nil {
		return 1, err
	}
	defer w.free()
	return w.median(m.filling())
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
	rate, known := m.rates[d]
	if !known {
		n := productSide
		if m.cpu() {
			n = productSideCPU
		}
		p := product(d, n)
		if took, err := m.reference(p); err == nil {
			rate = p.Ops / took.Seconds()
		}
		m.rates[d] = rate
	}
	return rate
}
