package fft_test

import (
	"fmt"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"testing"

	"nxvk/ops"
	"nxvk/synth/lowering"
	"nxvk/synth/synthtest"
)

// randomLength is a power of two, a product of small primes, any number, or a prime.
func randomLength(r *rand.Rand, most int) int {
	switch r.IntN(4) {
	case 0:
		return 1 << r.IntN(int(math.Log2(float64(most)))+1)
	case 1:
		n := 1
		for {
			p := []int{2, 2, 2, 3, 3, 5, 7, 11, 13}[r.IntN(9)]
			if n*p > most || r.IntN(9) == 0 {
				return n
			}
			n *= p
		}
	case 2:
		return 1 + r.IntN(most)
	}
	return []int{17, 31, 61, 251, 509, 1021, 2053}[r.IntN(7)]
}

// Transforms of random lengths, along any axis, of lines that are whole, cut or filled up,
// have the elements that the definition gives.
func TestRandomFFT(t *testing.T) {
	synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
		r := rand.New(rand.NewPCG(9, 14))
		for range 70 {
			checkRandom(t, target, r, randomLength(r, 4096))
		}
	})
}

// Radices with large prime factors are convolutions in shared memory, as first, middle and last
// passes, among others and alone.
func TestRandomColumns(t *testing.T) {
	r := rand.New(rand.NewPCG(37, 193))
	primes := []int{37, 41, 53, 61, 97, 127, 131, 193, 251, 257, 509, 1021}
	for range 40 {
		n := primes[r.IntN(len(primes))]
		for n < 4500 {
			if n < 250 && r.IntN(3) == 0 {
				n *= 37 + r.IntN(5)
			} else {
				n *= 2 + r.IntN(6)
			}
		}
		checkRandom(t, synthtest.GPU, r, n)
	}
}

// checkRandom compares a random transform of the given length with its definition.
func checkRandom(t *testing.T, target *lowering.Target, r *rand.Rand, n int) {
	t.Helper()
	op := []ops.Op{ops.FFT, ops.IFFT, ops.RFFT, ops.IRFFT}[r.IntN(4)]
	c, real := ops.C64, ops.F32
	if r.IntN(3) == 0 {
		c, real = ops.C128, ops.F64
	}
	have := n
	if op == ops.IRFFT {
		have = n/2 + 1
	}
	if r.IntN(4) == 0 {
		have = max(1, have+r.IntN(2*n)-n)
	}
	shape, axis := ops.Shape{have}, r.IntN(3)
	for len(shape) < 3 {
		other := 1 + r.IntN(3)
		switch {
		case n < 100:
			other = 1 + r.IntN(9)
		case n > 4096:
			other = 1 + r.IntN(2)
		}
		if len(shape) <= axis {
			shape = append(ops.Shape{other}, shape...)
		} else {
			shape = append(shape, other)
		}
	}
	from, to := c, c
	switch op {
	case ops.RFFT:
		from = real
	case ops.IRFFT:
		if r.IntN(4) > 0 { // else the imaginary parts are zeros
			to = real
		}
	case ops.FFT:
		if r.IntN(3) == 0 {
			from = real
		}
	}
	checkSome(t, target, r, op, ops.Type{DType: from, Shape: shape}, to, axis, n)
}

// checkSome compares some elements of a transform with their definition, in units of the
// root of the sum of squares of their line.
func checkSome(t *testing.T, target *lowering.Target, r *rand.Rand, op ops.Op, src ops.Type, to ops.DType, axis, n int) {
	t.Helper()
	out := ops.Type{DType: to, Shape: append(ops.Shape{}, src.Shape...)}
	out.Shape[axis] = n
	if op == ops.RFFT {
		out.Shape[axis] = n/2 + 1
	}
	in := synthtest.Instr(op, out, []int{n}, []int{axis}, []int{0})
	p, err := synthtest.Lower(t, target, in, src)
	if err != nil {
		t.Fatalf("%v of %v to %d: %v", op, src, n, err)
	}
	data := signal(src, r.Uint64())
	xs := complexes(src, data)
	got := complexes(out, synthtest.Execute(t, p, []int{out.Bytes()}, [][]byte{data}, nil)[0])
	bound := 4e-7
	if to == ops.C128 || to == ops.F64 {
		bound = 1e-15
	}
	step := src.Shape.Strides()[axis]
	inverse := op == ops.IFFT || op == ops.IRFFT
	for range 12 {
		at := r.IntN(out.Size())
		k, row := at/step%out.Shape[axis], at/step/out.Shape[axis]
		line, norm := make([]complex128, n), 0.0
		for i := range min(n, src.Shape[axis]) {
			line[i] = xs[(row*src.Shape[axis]+i)*step+at%step]
		}
		for i := n/2 + 1; op == ops.IRFFT && i < n; i++ {
			line[i] = cmplx.Conj(line[n-i])
		}
		var want complex128
		for i, x := range line {
			angle := -2 * math.Pi * float64(i*k%n) / float64(n)
			if inverse {
				angle = -angle
			}
			want += x * cmplx.Rect(1, angle)
			norm += real(x)*real(x) + imag(x)*imag(x)
		}
		norm = math.Sqrt(norm)
		if inverse {
			want, norm = want/complex(float64(n), 0), norm/float64(n)
		}
		if !to.IsComplex() {
			want = complex(real(want), 0)
		}
		if e := cmplx.Abs(got[at] - want); !(e <= bound*math.Log2(float64(n)+2)*norm) {
			t.Errorf("%s: element %d: got %v, want %v, off by %.1e of the norm", fmt.Sprint(synthtest.Describe(op, src, out), axis), at, got[at], want, e/norm)
			return
		}
	}
}
