package nuts

import (
	"math"
	"math/cmplx"
)

// covariances are the autocovariances of chains, the mean over them, by lag. Covariances
// of short lags are sums of products; few chains that mix need others. All lags together
// come from a Fourier transform.
type covariances struct {
	centred [][]float64
	known   []float64
}

// shortLags is the number of lags that are computed as sums of products. Together they
// cost about as much as a Fourier transform.
const shortLags = 64

func newCovariances(chains [][]float64, means []float64) *covariances {
	c := &covariances{centred: make([][]float64, len(chains))}
	for i, xs := range chains {
		c.centred[i] = make([]float64, len(xs))
		for k, x := range xs {
			c.centred[i][k] = x - means[i]
		}
	}
	return c
}

// at is the autocovariance at a lag. Lags are asked for in order.
func (c *covariances) at(lag int) float64 {
	if lag < len(c.known) {
		return c.known[lag]
	}
	if lag >= shortLags {
		c.all()
		return c.known[lag]
	}
	sum := 0.0
	for _, xs := range c.centred {
		later := xs[lag:]
		for k, x := range later {
			sum += x * xs[k]
		}
	}
	sum /= float64(len(c.centred) * len(c.centred[0]))
	c.known = append(c.known, sum)
	return sum
}

// all computes the covariances of all lags: the Fourier transform of a chain's power
// spectrum. Zeros behind the chain keep its ends apart.
func (c *covariances) all() {
	n := len(c.centred[0])
	size := 1
	for size < 2*n {
		size *= 2
	}
	power, work := make([]complex128, size), make([]complex128, size)
	for _, xs := range c.centred {
		clear(work)
		for i, x := range xs {
			work[i] = complex(x, 0)
		}
		fourier(work)
		for i, z := range work {
			power[i] += complex(real(z)*real(z)+imag(z)*imag(z), 0)
		}
	}
	fourier(power)
	c.known = make([]float64, n)
	for i := range c.known {
		c.known[i] = real(power[i]) / float64(size) / float64(len(c.centred)*n)
	}
}

// fourier transforms a list whose length is a power of two, in place (Cooley and Tukey,
// 1965).
func fourier(x []complex128) {
	n := len(x)
	for i, k := 1, 0; i < n; i++ { // into the order of reversed bits
		bit := n >> 1
		for ; k&bit != 0; bit >>= 1 {
			k ^= bit
		}
		if k ^= bit; i < k {
			x[i], x[k] = x[k], x[i]
		}
	}
	roots := make([]complex128, n/2)
	for i := range roots {
		roots[i] = cmplx.Rect(1, -2*math.Pi*float64(i)/float64(n))
	}
	for width := 2; width <= n; width *= 2 {
		half, step := width/2, n/width
		for begin := 0; begin < n; begin += width {
			for k := range half {
				a, b := x[begin+k], x[begin+k+half]*roots[k*step]
				x[begin+k], x[begin+k+half] = a+b, a-b
			}
		}
	}
}
