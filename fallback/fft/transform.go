package fft

import (
	"math"
	"slices"

	"nxvk/fallback/dense"
	"nxvk/fallback/sched"
	"nxvk/ops"
)

var Kernels = map[ops.Op]dense.Kernel{
	ops.FFT: fft, ops.IFFT: fft, ops.FFT2: fft2, ops.IFFT2: fft2,
	ops.RFFT: rfft, ops.IRFFT: irfft,
}

// spectrum is a transform along one axis.
type spectrum struct {
	axis    int
	length  int // of the transform: lines are cut or filled with zeros
	keep    int // how many elements of it the result has
	inverse bool
	eps     float64 // real and imaginary parts up to it become 0
}

func real64(attr []int) float64 { return math.Float64frombits(uint64(attr[0])) }

func fft(in *dense.Call, args, outs []dense.Value) error {
	n := in.Attrs[0][0]
	transformAlong(in.Worker, spectrum{in.Attrs[1][0], n, n, in.Op == ops.IFFT, real64(in.Attrs[2])}, args[0], outs[0], nil)
	return nil
}

// fft2 transforms the second axis and then the first.
func fft2(in *dense.Call, args, outs []dense.Value) error {
	lengths, axes, eps, inverse := in.Attrs[0], in.Attrs[1], real64(in.Attrs[2]), in.Op == ops.IFFT2
	shape := slices.Clone(args[0].Type.Shape)
	shape[axes[1]] = lengths[1]
	half := dense.New(ops.Type{DType: outs[0].Type.DType, Shape: shape})
	transformAlong(in.Worker, spectrum{axes[1], lengths[1], lengths[1], inverse, eps}, args[0], half, nil)
	transformAlong(in.Worker, spectrum{axes[0], lengths[0], lengths[0], inverse, eps}, half, outs[0], nil)
	return nil
}

func rfft(in *dense.Call, args, outs []dense.Value) error {
	n := in.Attrs[0][0]
	transformAlong(in.Worker, spectrum{in.Attrs[1][0], n, n/2 + 1, false, real64(in.Attrs[2])}, args[0], outs[0], nil)
	return nil
}

// irfft completes each line with the conjugates of its coefficients, as the transform of a
// real signal has them.
func irfft(in *dense.Call, args, outs []dense.Value) error {
	n := in.Attrs[0][0]
	transformAlong(in.Worker, spectrum{in.Attrs[1][0], n, n, true, real64(in.Attrs[2])}, args[0], outs[0], func(xs []complex128) {
		half := n/2 + 1
		for i := half; i < n; i++ {
			x := xs[n-i]
			xs[i] = complex(real(x), -imag(x))
		}
	})
	return nil
}

// transformAlong transforms each line along an axis. It calls prepare, unless that is nil, with
// the line in the transform's length before.
func transformAlong(w *sched.Worker, s spectrum, src, dst dense.Value, prepare func(xs []complex128)) {
	load, store := dense.LoadCplx[src.Type.DType], dense.StoreCplx[dst.Type.DType]
	in := src.Type.Shape
	step, n := in.Strides()[s.axis], in[s.axis]
	dense.ParallelOn(w, in.Size()/n, dense.LineCost+s.length*16, func(w *sched.Worker, lo, hi int) {
		xs, ys := make([]complex128, max(s.length, 1)), make([]complex128, s.length)
		for i := lo; i < hi; i++ {
			given := min(n, s.length)
			dense.LoadLine(w, load, xs[:given], src.Data, dense.Line{At: i/step*step*n + i%step, Step: step, N: given})
			clear(xs[given:])
			if prepare != nil {
				w.Check()
				prepare(xs)
			}
			s.line(w, ys, xs)
			dense.ScatterLine(w, store, dst.Data, dense.Line{At: i/step*step*s.keep + i%step, Step: step, N: s.keep}, ys[:s.keep])
		}
	})
}

// line transforms a line and overwrites it. The inverse is the conjugate of the transform of
// the conjugates.
func (s *spectrum) line(w *sched.Worker, dst, xs []complex128) {
	if s.inverse {
		dense.Parallel(w, len(xs), 2, func(lo, hi int) {
			for i, x := range xs[lo:hi] {
				xs[lo+i] = complex(real(x), -imag(x))
			}
		})
	}
	forward(w, dst, xs)
	dense.Parallel(w, len(dst), 4, func(lo, hi int) {
		for i, x := range dst[lo:hi] {
			if s.inverse {
				n := float64(s.length)
				x = complex(real(x)/n, -imag(x)/n)
			}
			dst[lo+i] = complex(s.flush(real(x)), s.flush(imag(x)))
		}
	})
}

func (s *spectrum) flush(x float64) float64 {
	if math.Abs(x) <= s.eps {
		return 0
	}
	return x
}
