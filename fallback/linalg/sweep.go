package linalg

import (
	"math"

	"gonum.org/v1/gonum/lapack"
)

// sweep is one implicit QR iteration of the block.
func (b *bidiagonal) sweep(shift float64) {
	lo, n := b.lo, b.hi-b.lo
	if b.down {
		if shift == 0 {
			b.zeroDown()
		} else {
			b.chaseDown(shift)
		}
		b.rotateRows(b.right, lo, n, lapack.Forward)
		b.rotateColumns(b.left, lo, n, lapack.Forward)
		last := &b.e[b.hi-2]
		// LAPACK compares strictly where there is no shift.
		if size := math.Abs(*last); size < b.thresh || shift != 0 && size == b.thresh {
			*last = 0
		}
		return
	}
	if shift == 0 {
		b.zeroUp()
	} else {
		b.chaseUp(shift)
	}
	if math.Abs(b.e[lo]) <= b.thresh {
		b.e[lo] = 0
	}
	// From the bottom the two sides change roles.
	b.rotateRows(b.left, lo, n, lapack.Backward)
	b.rotateColumns(b.right, lo, n, lapack.Backward)
}

// zeroDown is an iteration without a shift from the top.
func (b *bidiagonal) zeroDown() {
	d, e := b.d, b.e
	c, oldC := 1.0, 1.0
	var s, r, oldS float64
	for i := b.lo; i < b.hi-1; i++ {
		c, s, r = b.impl.Dlartg(d[i]*c, e[i])
		if i > b.lo {
			e[i-1] = oldS * r
		}
		oldC, oldS, d[i] = b.impl.Dlartg(oldC*r, d[i+1]*s)
		k := i - b.lo
		b.right.c[k], b.right.s[k], b.left.c[k], b.left.s[k] = c, s, oldC, oldS
	}
	h := d[b.hi-1] * c
	d[b.hi-1] = h * oldC
	e[b.hi-2] = h * oldS
}

// zeroUp is an iteration without a shift from the bottom.
func (b *bidiagonal) zeroUp() {
	d, e := b.d, b.e
	c, oldC := 1.0, 1.0
	var s, r, oldS float64
	for i := b.hi - 1; i > b.lo; i-- {
		c, s, r = b.impl.Dlartg(d[i]*c, e[i-1])
		if i < b.hi-1 {
			e[i] = oldS * r
		}
		oldC, oldS, d[i] = b.impl.Dlartg(oldC*r, d[i-1]*s)
		k := i - b.lo - 1
		b.right.c[k], b.right.s[k], b.left.c[k], b.left.s[k] = c, -s, oldC, -oldS
	}
	h := d[b.lo] * c
	d[b.lo] = h * oldC
	e[b.lo] = h * oldS
}

// chaseDown is an iteration with a shift, whose bulge leaves at the bottom.
func (b *bidiagonal) chaseDown(shift float64) {
	d, e, lo, hi := b.d, b.e, b.lo, b.hi
	f := (math.Abs(d[lo]) - shift) * (math.Copysign(1, d[lo]) + shift/d[lo])
	g := e[lo]
	for i := lo; i < hi-1; i++ {
		cosr, sinr, r := b.impl.Dlartg(f, g)
		if i > lo {
			e[i-1] = r
		}
		f = cosr*d[i] + sinr*e[i]
		e[i] = cosr*e[i] - sinr*d[i]
		g = sinr * d[i+1]
		d[i+1] *= cosr
		cosl, sinl, r := b.impl.Dlartg(f, g)
		d[i] = r
		f = cosl*e[i] + sinl*d[i+1]
		d[i+1] = cosl*d[i+1] - sinl*e[i]
		if i < hi-2 {
			g = sinl * e[i+1]
			e[i+1] = cosl * e[i+1]
		}
		k := i - lo
		b.right.c[k], b.right.s[k], b.left.c[k], b.left.s[k] = cosr, sinr, cosl, sinl
	}
	e[hi-2] = f
}

// chaseUp is an iteration with a shift, whose bulge leaves at the top.
func (b *bidiagonal) chaseUp(shift float64) {
	d, e, lo, hi := b.d, b.e, b.lo, b.hi
	f := (math.Abs(d[hi-1]) - shift) * (math.Copysign(1, d[hi-1]) + shift/d[hi-1])
	g := e[hi-2]
	for i := hi - 1; i > lo; i-- {
		cosr, sinr, r := b.impl.Dlartg(f, g)
		if i < hi-1 {
			e[i] = r
		}
		f = cosr*d[i] + sinr*e[i-1]
		e[i-1] = cosr*e[i-1] - sinr*d[i]
		g = sinr * d[i-1]
		d[i-1] *= cosr
		cosl, sinl, r := b.impl.Dlartg(f, g)
		d[i] = r
		f = cosl*e[i-1] + sinl*d[i-1]
		d[i-1] = cosl*d[i-1] - sinl*e[i-1]
		if i > lo+1 {
			g = sinl * e[i-2]
			e[i-2] *= cosl
		}
		k := i - lo - 1
		b.right.c[k], b.right.s[k], b.left.c[k], b.left.s[k] = cosr, -sinr, cosl, -sinl
	}
	e[lo] = f
}
