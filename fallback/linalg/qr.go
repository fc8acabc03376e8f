package linalg

import (
	"math"

	"nxvk/fallback/dense"
	"nxvk/fallback/sched"
)

// reflector is I - tau v v^H on rows from at on; the first component of v is 1.
// A tau of 0 is the identity.
type reflector[C field] struct {
	at  int
	v   []C
	tau float64
}

// reflect returns the reflector that clears a column beneath the diagonal of a matrix with n
// columns, and the diagonal element that results. That is positive for a real column, and has
// the opposite phase of the old one for a complex column.
func reflect[C field](a []C, n, i int) (h reflector[C], diagonal C) {
	m := len(a) / n
	above, beneath := 0.0, 0.0
	for k := range m {
		if x := square(a[k*n+i]); k < i {
			above += x
		} else if k > i {
			beneath += x
		}
	}
	x := a[i*n+i]
	h, size := reflector[C]{at: i}, math.Sqrt(square(x)+beneath)
	first, diagonal := householder(x, size, beneath)
	negligible := 16 * epsilon * epsilon * (above + size*size)
	if _, complexField := any(x).(complex128); size == 0 || !complexField && beneath <= negligible {
		return h, x
	}
	h.v = make([]C, m-i)
	h.v[0] = 1
	norm := 1.0
	for k := 1; k < len(h.v); k++ {
		h.v[k] = a[(i+k)*n+i] / first
		norm += square(h.v[k])
	}
	h.tau = 2 / norm
	return h, diagonal
}

// householder returns the first component of the vector of a reflector, computed without
// cancellation, and the first element of the reflected column.
func householder[C field](x C, size, beneath float64) (first, diagonal C) {
	r, ok := any(x).(float64)
	switch {
	case ok && r <= 0:
		return number[C](r - size), number[C](size)
	case ok:
		return number[C](-beneath / (r + size)), number[C](size)
	}
	phase := C(1)
	if x != 0 {
		phase = x / number[C](magnitude(x))
	}
	return x + phase*number[C](size), -phase * number[C](size)
}

// apply multiplies columns from first on of a matrix with n columns from the left.
func (h *reflector[C]) apply(w *sched.Worker, a []C, n, first int, work []C) {
	if h.tau == 0 {
		return
	}
	dense.Parallel(w, n-first, 4*len(h.v), func(lo, hi int) {
		sums, at := work[lo:hi], h.at*n+first+lo
		clear(sums)
		for k, v := range h.v {
			axpy(conj(v), a[at+k*n:][:hi-lo], sums)
		}
		for k, v := range h.v {
			axpy(number[C](-h.tau)*v, sums, a[at+k*n:][:hi-lo])
		}
	})
}

// applyRight multiplies rows from first on of a matrix with n columns from the right. The
// reflector spans the last columns.
func (h *reflector[C]) applyRight(w *sched.Worker, a []C, n, first int) {
	if h.tau == 0 {
		return
	}
	from, bar := n-len(h.v), make([]C, len(h.v))
	for i, v := range h.v {
		bar[i] = conj(v)
	}
	dense.Parallel(w, len(a)/n-first, 4*len(h.v), func(lo, hi int) {
		for i := first + lo; i < first+hi; i++ {
			row := a[i*n+from : i*n+n]
			axpy(number[C](-h.tau)*dotu(h.v, row), bar, row)
		}
	})
}

// triangulate turns a matrix into its r and returns the reflectors, first to
// last, whose product is q.
func triangulate[C field](w *sched.Worker, a []C, m, n int) []reflector[C] {
	var hs []reflector[C]
	p := dense.Pacer{Worker: w}
	work := make([]C, n)
	for i := range min(m-1, n) {
		p.Step((m - i) * (n - i) * 2)
		h, diagonal := reflect(a, n, i)
		h.apply(w, a, n, i+1, work)
		a[i*n+i] = diagonal
		for k := i + 1; k < m; k++ {
			a[k*n+i] = 0
		}
		hs = append(hs, h)
	}
	return hs
}

// orthonormal writes the first k columns of the product of reflectors.
func orthonormal[C field](w *sched.Worker, q []C, k int, hs []reflector[C]) {
	clear(q)
	for i := range min(k, len(q)/k) {
		q[i*k+i] = 1
	}
	work, p := make([]C, k), dense.Pacer{Worker: w}
	for i := len(hs) - 1; i >= 0; i-- {
		p.Step(len(hs[i].v) * k * 2)
		hs[i].apply(w, q, k, min(hs[i].at, k), work)
	}
}

func qrIn[C field](p *problem[C]) error {
	a, back, ok := scaleToOne(p.args[0])
	if !ok {
		p.fillNaN()
		return nil
	}
	q, r := p.outs[0], p.outs[1]
	hs := triangulate(p.in.Worker, a, p.m, p.n)
	orthonormal(p.in.Worker, q, len(q)/p.m, hs)
	for i := range r {
		r[i] = a[i]*number[C](back) + 0 // no negative zero
	}
	for i := range q {
		q[i] += 0
	}
	return nil
}
