package fft_test

import (
	"encoding/binary"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"reflect"
	"testing"

	"nxvk/ops"
	"nxvk/synth/fft"
	"nxvk/synth/lowering"
	"nxvk/synth/synthtest"
)

// complexes are elements of a type of complex or real numbers.
func complexes(t ops.Type, b []byte) []complex128 {
	if !t.DType.IsComplex() {
		var out []complex128
		x := synthtest.FromBytes(t, b)
		for i := range t.Size() {
			out = append(out, complex(x.At(i), 0))
		}
		return out
	}
	part := func(i int) float64 {
		if t.DType == ops.C64 {
			return float64(math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:])))
		}
		return math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
	}
	out := make([]complex128, t.Size())
	for i := range out {
		out[i] = complex(part(2*i), part(2*i+1))
	}
	return out
}

// signal is memory of a type with a signal in it.
func signal(t ops.Type, seed uint64) []byte {
	if !t.DType.IsComplex() {
		return synthtest.Random(t, seed).Bytes()
	}
	d := ops.F32
	if t.DType == ops.C128 {
		d = ops.F64
	}
	return synthtest.Random(ops.Type{DType: d, Shape: ops.Shape{2 * t.Size()}}, seed).Bytes()
}

// transformRef transforms along an axis by definition.
func transformRef(xs []complex128, s ops.Shape, axis, length, keep int, inverse, halved bool) []complex128 {
	step, n := s.Strides()[axis], s[axis]
	out := make([]complex128, s.Size()/n*keep)
	sign := -1.0
	if inverse {
		sign = 1
	}
	for row := range s.Size() / n {
		line := make([]complex128, length)
		for i := range min(n, length) {
			line[i] = xs[row/step*step*n+row%step+i*step]
		}
		for i := length/2 + 1; halved && i < length; i++ {
			line[i] = cmplx.Conj(line[length-i])
		}
		for k := range keep {
			var sum complex128
			for i, x := range line {
				sum += x * cmplx.Rect(1, sign*2*math.Pi*float64(i*k%length)/float64(length))
			}
			if inverse {
				sum /= complex(float64(length), 0)
			}
			out[row/step*step*keep+row%step+k*step] = sum
		}
	}
	return out
}

// checkFFT compares a transform with its definition.
func checkFFT(t *testing.T, target *lowering.Target, op ops.Op, from, to ops.DType, s ops.Shape, axis, length int) {
	t.Helper()
	keep := length
	if op == ops.RFFT {
		keep = length/2 + 1
	}
	out := ops.Type{DType: to, Shape: append(ops.Shape{}, s...)}
	out.Shape[axis] = keep
	src := ops.Type{DType: from, Shape: s}
	in := synthtest.Instr(op, out, []int{length}, []int{axis}, []int{0})
	p, err := synthtest.Lower(t, target, in, src)
	if err != nil {
		t.Fatalf("%v of %v to %d: %v", op, src, length, err)
	}
	data := signal(src, uint64(length))
	got := complexes(out, synthtest.Execute(t, p, []int{out.Bytes()}, [][]byte{data}, nil)[0])
	inverse := op == ops.IFFT || op == ops.IRFFT
	want := transformRef(complexes(src, data), s, axis, length, keep, inverse, op == ops.IRFFT)
	closeTo(t, synthtest.Describe(op, src, out), got, want, to, !to.IsComplex())
}

func closeTo(t *testing.T, what string, got, want []complex128, d ops.DType, realPart bool) {
	t.Helper()
	norm, bound := 0.0, 1e-6
	if d == ops.C128 || d == ops.F64 {
		bound = 3e-14 // of the definition, too
	}
	for _, x := range want {
		norm = max(norm, cmplx.Abs(x))
	}
	for i, x := range want {
		if realPart { // the imaginary part is dropped
			x = (x + cmplx.Conj(x)) / 2
		}
		if e := cmplx.Abs(got[i] - x); !(e <= bound*norm) {
			t.Fatalf("%s: element %d: got %v, want %v", what, i, got[i], x)
		}
	}
}

// Every radix, alone and among others, along every axis.
func TestFFT(t *testing.T) {
	synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
		for _, n := range []int{1, 2, 3, 4, 5, 7, 8, 9, 11, 13, 16, 30, 32, 128, 143, 256, 720} {
			checkFFT(t, target, ops.FFT, ops.C64, ops.C64, ops.Shape{2, n}, 1, n)
			checkFFT(t, target, ops.FFT, ops.C128, ops.C128, ops.Shape{n, 3}, 0, n)
			checkFFT(t, target, ops.IFFT, ops.C64, ops.C64, ops.Shape{2, n, 2}, 1, n)
			checkFFT(t, target, ops.RFFT, ops.F32, ops.C64, ops.Shape{3, n}, 1, n)
			checkFFT(t, target, ops.IRFFT, ops.C64, ops.F32, ops.Shape{3, n}, 1, n)
		}
	})
}

// Lines are cut or filled with zeros; real numbers of every type are signals.
func TestFFTLengths(t *testing.T) {
	synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
		checkFFT(t, target, ops.FFT, ops.C64, ops.C64, ops.Shape{2, 9}, 1, 16)
		checkFFT(t, target, ops.FFT, ops.S32, ops.C64, ops.Shape{2, 9}, 1, 6)
		checkFFT(t, target, ops.IFFT, ops.BF16, ops.C64, ops.Shape{9, 2}, 0, 12)
		checkFFT(t, target, ops.RFFT, ops.F64, ops.C128, ops.Shape{2, 40}, 1, 32)
		checkFFT(t, target, ops.IRFFT, ops.C128, ops.F64, ops.Shape{2, 9}, 1, 16)
		checkFFT(t, target, ops.IRFFT, ops.C64, ops.F32, ops.Shape{2, 5}, 1, 15)
	})
}

func TestFFT2(t *testing.T) {
	synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
		for _, op := range []ops.Op{ops.FFT2, ops.IFFT2} {
			src, out := synthtest.Type(ops.C64, 2, 6, 5), synthtest.Type(ops.C64, 2, 8, 10)
			in := synthtest.Instr(op, out, []int{8, 10}, []int{1, 2}, []int{0})
			p, err := synthtest.Lower(t, target, in, src)
			if err != nil {
				t.Fatal(err)
			}
			data := signal(src, 5)
			got := complexes(out, synthtest.Execute(t, p, []int{out.Bytes()}, [][]byte{data}, nil)[0])
			half := transformRef(complexes(src, data), src.Shape, 2, 10, 10, op == ops.IFFT2, false)
			want := transformRef(half, ops.Shape{2, 6, 10}, 1, 8, 8, op == ops.IFFT2, false)
			closeTo(t, synthtest.Describe(op, src), got, want, ops.C64, false)
		}
	})
}

// Small parts become 0.
func TestFFTFlush(t *testing.T) {
	src := synthtest.Type(ops.F32, 4)
	in := synthtest.Instr(ops.FFT, synthtest.Type(ops.C64, 4), []int{4}, []int{0}, []int{int(math.Float64bits(1.5))})
	p, err := synthtest.Lower(t, synthtest.GPU, in, src)
	if err != nil {
		t.Fatal(err)
	}
	x := synthtest.Tensor{Typ: src, F: []float64{1, 0, 0, 1}}
	got := complexes(in.Outs[0].Type, synthtest.Execute(t, p, []int{32}, [][]byte{x.Bytes()}, nil)[0])
	for i, want := range []complex128{2, 0, 0, 0} {
		if got[i] != want {
			t.Errorf("element %d: got %v, want %v", i, got[i], want)
		}
	}
}

// Lengths with a large prime factor go by way of another one.
func TestFFTChirp(t *testing.T) {
	synthtest.ForTargets(t, func(t *testing.T, target *lowering.Target) {
		for _, n := range []int{17, 34, 37, 131} {
			checkFFT(t, target, ops.FFT, ops.C64, ops.C64, ops.Shape{2, n}, 1, n)
			checkFFT(t, target, ops.FFT, ops.C128, ops.C128, ops.Shape{n, 3}, 0, n)
			checkFFT(t, target, ops.IFFT, ops.C64, ops.C64, ops.Shape{2, n + 3, 2}, 1, n)
			checkFFT(t, target, ops.RFFT, ops.F32, ops.C64, ops.Shape{3, n - 2}, 1, n)
			checkFFT(t, target, ops.IRFFT, ops.C128, ops.F64, ops.Shape{3, n/2 + 1}, 1, n)
			checkFFT(t, target, ops.IRFFT, ops.C64, ops.F32, ops.Shape{2, n, 2}, 1, n)
		}
	})
}

// Lengths that a workgroup transforms at once, and those that take several such
// passes, with every kind of neighbour.
func TestFFTBlock(t *testing.T) {
	for _, n := range []int{32, 48, 100, 256, 360, 1000} {
		checkFFT(t, synthtest.GPU, ops.FFT, ops.C64, ops.C64, ops.Shape{3, n}, 1, n)
		checkFFT(t, synthtest.GPU, ops.IFFT, ops.C64, ops.C64, ops.Shape{n, 3}, 0, n)
		checkFFT(t, synthtest.GPU, ops.RFFT, ops.F32, ops.C64, ops.Shape{2, n - 1, 2}, 1, n)
		checkFFT(t, synthtest.GPU, ops.IRFFT, ops.C128, ops.F64, ops.Shape{2, n/2 + 1}, 1, n)
	}
	for _, n := range []int{3, 11, 15, 31} { // more lines than a workgroup has
		checkFFT(t, synthtest.GPU, ops.FFT, ops.C64, ops.C64, ops.Shape{200, n}, 1, n)
		checkFFT(t, synthtest.GPU, ops.RFFT, ops.F64, ops.C128, ops.Shape{131, n}, 1, n)
		checkFFT(t, synthtest.GPU, ops.IRFFT, ops.C64, ops.F32, ops.Shape{2, 150, n + 1}, 2, 2*n)
	}
	checkFFT(t, synthtest.GPU, ops.FFT, ops.C64, ops.C64, ops.Shape{4096}, 0, 4096)
	checkFFT(t, synthtest.GPU, ops.FFT, ops.C128, ops.C128, ops.Shape{1, 4096}, 1, 4096)
	checkFFT(t, synthtest.GPU, ops.IFFT, ops.C64, ops.C64, ops.Shape{4500, 1}, 0, 4500)
	checkFFT(t, synthtest.GPU, ops.FFT, ops.C128, ops.C128, ops.Shape{3000, 2}, 0, 3000)
}

// The radices of passes have as many threads as the widest stage has transforms. Those with a
// large prime factor have the stages of a convolution of twice as many points.
func TestFFTPasses(t *testing.T) {
	for _, tt := range []struct {
		n, words int
		aside    bool
		want     [][]int
	}{
		{8, 1, false, [][]int{{8}}}, {16, 1, false, [][]int{{4, 4}}}, {31, 1, false, [][]int{{31}}}, {256, 1, true, [][]int{{16, 16}}}, {4096, 1, false, [][]int{{16, 16, 16}}},
		{1024, 1, true, [][]int{{16, 8, 8}}}, {2048, 1, true, [][]int{{16, 16, 8}}}, {2048, 2, true, [][]int{{16, 16, 8}}},
		{4096, 1, true, [][]int{{8, 8}, {8, 8}}}, {4096, 2, false, [][]int{{16, 16, 16}}}, {8192, 2, false, [][]int{{16, 8}, {8, 8}}}, {8192, 1, false, [][]int{{16, 8, 8, 8}}},
		{1 << 20, 1, false, [][]int{{16, 8, 8}, {16, 8, 8}}}, {1 << 22, 1, false, [][]int{{16, 16, 8}, {16, 16, 8}}}, {1 << 24, 1, false, [][]int{{16, 16}, {16, 16}, {16, 16}}},
		{1000, 1, false, [][]int{{10, 10, 10}}}, {62, 1, false, [][]int{{31, 2}}}, {74, 1, false, [][]int{{16, 10}}}, {1009, 1, true, [][]int{{16, 16, 8}}},
		{65024, 1, false, [][]int{{16, 16}, {8, 8, 8}}}, {49408, 2, true, [][]int{{8, 8, 8}, {16, 16}}}, {37000, 1, false, [][]int{{16, 10}, {10, 10, 5}}},
		{1500, 1, true, [][]int{{10, 5}, {6, 5}}}, {1500, 2, true, [][]int{{15, 10, 10}}}, {1280 * 1280, 1, false, [][]int{{16, 10, 8}, {16, 10, 8}}}, {3000000, 1, false, [][]int{{8, 5, 5}, {15, 10}, {10, 10}}},
		{251 * 251, 1, false, [][]int{{8, 8, 8}, {8, 8, 8}}}, {524287, 1, false, nil},
	} {
		var got [][]int
		for _, b := range fft.Passes(synthtest.GPU, tt.n, tt.words, tt.aside) {
			got = append(got, b.Stages)
			limit := fft.BlockWords
			if tt.words*product(b.Stages)*b.Columns > limit {
				limit *= 2
			}
			if len(b.Stages) > 1 && (b.Threads*b.Columns > fft.BlockThreads || b.Words(true, false, true, tt.words)*tt.words > limit*9/8+64) {
				t.Errorf("%d: %+v is too large", tt.n, b)
			}
		}
		if !reflect.DeepEqual(got, tt.want) {
			t.Errorf("passes of %d: got %v, want %v", tt.n, got, tt.want)
		}
	}
}

// The runs of columns of passes fill sectors of memory: a pass of a radix whose threads or
// shared memory leave too few columns costs more than two of smaller radices.
func TestFFTRuns(t *testing.T) {
	r := rand.New(rand.NewPCG(32, 3))
	check := func(n, words int, aside bool) {
		passes := fft.Passes(synthtest.GPU, n, words, aside)
		for _, b := range passes {
			if bytes := 8 * words * b.Columns; len(b.Stages) > 1 && (aside || len(passes) > 1) && bytes%32 != 0 {
				t.Errorf("%d, words %d, aside %v: runs of %d bytes in %+v", n, words, aside, bytes, passes)
			}
		}
	}
	for n := 12; n <= 2048; n++ {
		check(n, 1, true)
		check(n, 2, true)
	}
	for range 1000 {
		n := 1
		for n < 8192 {
			n *= []int{2, 3, 4, 5, 7, 11, 31, 37, 127}[r.IntN(9)]
		}
		check(n*(1+r.IntN(100)), 1+r.IntN(2), r.IntN(2) == 0)
	}
}

func product(list []int) int {
	n := 1
	for _, x := range list {
		n *= x
	}
	return n
}
