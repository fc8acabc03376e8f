package main

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"nxvk/gen/exec/target"
	"nxvk/ops"
	"nxvk/synth"
	device "nxvk/test/gemm"
)

// drawn is a product as Nx has it: types, sizes, and which operands are transposed.
type drawn struct {
	typ            ops.DType
	m, n, k, batch int
	ta, tb         bool
}

func (p drawn) String() string {
	layout := map[bool]string{false: "n", true: "t"}
	s := fmt.Sprintf("%v %dx%dx%d", p.typ, p.m, p.n, p.k)
	if p.batch > 1 {
		s += fmt.Sprintf("x%d", p.batch)
	}
	return s + " " + layout[p.ta] + layout[p.tb]
}

// drawnTypes are those of drawn products, f32 more often than the others.
var drawnTypes = []ops.DType{ops.F32, ops.F32, ops.F32, ops.F64, ops.BF16, ops.F16, ops.S32, ops.C64}

var (
	primes       = []int{3, 7, 13, 31, 61, 127, 131, 251, 257, 509, 521, 1009, 1021, 2039, 2053, 4093, 4099}
	vocabularies = []int{50257, 32003, 30522, 50265, 28996, 51865}
)

// draw draws a product of one of some types: odd, prime, of a vocabulary, skinny, batched, transposed.
func draw(r *rand.Rand, types []ops.DType) drawn {
	p := drawn{typ: types[r.IntN(len(types))], batch: 1, ta: r.IntN(4) == 0, tb: r.IntN(3) == 0}
	odd := func(from, to int) int { return (from+r.IntN(to-from))/2*2 + 1 }
	size := func() int { return odd(200, 4100) }
	switch r.IntN(7) {
	case 0: // odd
		p.m, p.n, p.k = size(), size(), size()
	case 1: // prime
		p.m, p.n, p.k = primes[r.IntN(len(primes))], primes[r.IntN(len(primes))], primes[r.IntN(len(primes))]
	case 2: // a head over a vocabulary, or its gradient
		dims := []int{64 << r.IntN(5), vocabularies[r.IntN(len(vocabularies))], 256 * (1 + r.IntN(4))}
		if r.IntN(3) == 0 {
			dims[1], dims[2] = dims[2], dims[1]
		}
		p.m, p.n, p.k = dims[0], dims[1], dims[2]
	case 3: // skinny
		p.m, p.n, p.k = odd(1, 64), size(), size()
		if r.IntN(2) == 0 {
			p.m, p.n = p.n, p.m
		}
	case 4: // batched, as attention has them
		p.m, p.n, p.k, p.batch = odd(17, 700), odd(17, 700), 1+r.IntN(128), 1+r.IntN(96)
	case 5: // one odd dimension
		dims := []int{256 * (1 + r.IntN(16)), 256 * (1 + r.IntN(16)), 256 * (1 + r.IntN(16))}
		dims[r.IntN(3)] += 1 - 2*r.IntN(2)
		p.m, p.n, p.k = dims[0], dims[1], dims[2]
	default: // just beyond or within a tile
		edge := func() int { return 64*(1+r.IntN(40)) + r.IntN(3) - 1 }
		p.m, p.n, p.k = edge(), edge(), edge()
	}
	return p
}

// aligned is the neighbour of p whose sizes are whole tiles, or whole vectors where
// they are small.
func (p drawn) aligned() drawn {
	up := func(n int) int {
		switch {
		case n == 1:
			return 1
		case n < 64:
			return (n + 3) / 4 * 4
		}
		return (n + 63) / 64 * 64
	}
	p.m, p.n, p.k = up(p.m), up(p.n), up(p.k)
	return p
}

func (p drawn) flops() float64 {
	f := 2 * float64(p.m) * float64(p.n) * float64(p.k) * float64(p.batch)
	if p.typ.IsComplex() {
		f *= 4
	}
	return f
}

// instr is the instruction of the product.
func (p drawn) instr() (*ops.Instr, []ops.Type) {
	operand := func(rows, cols int, transposed bool, contract int) (ops.Type, []int) {
		shape := ops.Shape{p.batch, rows, cols}
		if transposed {
			shape[1], shape[2], contract = cols, rows, 3-contract
		}
		return ops.Type{DType: p.typ, Shape: shape}, []int{contract}
	}
	a, ca := operand(p.m, p.k, p.ta, 2)
	b, cb := operand(p.k, p.n, p.tb, 1)
	return &ops.Instr{Op: ops.Dot, Ins: []ops.Operand{{}, {}}, Attrs: [][]int{ca, {0}, cb, {0}},
		Outs: []ops.Result{{Type: ops.Type{DType: p.typ, Shape: ops.Shape{p.batch, p.m, p.n}}}}}, []ops.Type{a, b}
}

// outcome is what was measured of a product.
type outcome struct {
	drawn
	first, each float64 // seconds
	ratio       float64 // its rate divided by that of its aligned neighbour
	wrong       string
	steps       int
	spec        []uint32  // of the last kernel
	parts       []float64 // microseconds of each step
}

// runDrawn draws products, times them and their neighbours, and prints those that
// lose most first.
func runDrawn(r *device.Runner, o *options) error {
	target, err := target.Probe(r.Device, nil)
	if err != nil {
		return err
	}
	types, err := o.elements(drawnTypes)
	if err != nil {
		return err
	}
	rng, begin := rand.New(rand.NewPCG(o.seed, 0)), time.Now()
	var all []outcome
	for len(all) < o.drawn && time.Since(begin) < o.total {
		x := outcome{drawn: draw(rng, types)}
		if x.flops() > o.flops {
			continue
		}
		y := outcome{drawn: x.aligned()}
		err := x.measure(r, o, &target)
		if err == nil {
			err = y.measure(r, o, &target)
		}
		switch {
		case errors.Is(err, synth.ErrUnsupported):
			fmt.Printf("%v: %v\n", x.drawn, err)
			continue
		case err != nil:
			return fmt.Errorf("%v: %w", x.drawn, err)
		}
		x.ratio = x.flops() / x.each / (y.flops() / y.each)
		if y.wrong != "" {
			x.wrong += " neighbour: " + y.wrong
		}
		all = append(all, x)
	}
	return printDrawn(all, o)
}

func printDrawn(all []outcome, o *options) error {
	slices.SortFunc(all, func(a, b outcome) int { return cmp.Compare(a.ratio, b.ratio) })
	fmt.Printf("%-34s %10s %10s %10s %7s\n", "product", "first ms", "each µs", "TFLOP/s", "ratio")
	wrong, slow := 0, 0.0
	for _, x := range all {
		if slow = max(slow, x.first); x.wrong != "" {
			wrong++
		}
		fmt.Printf("%-34v %10.1f %10.1f %10.2f %7.2f  %s\n", x.drawn, x.first*1e3, x.each*1e6, x.flops()/x.each/1e12, x.ratio, x.wrong)
	}
	fmt.Printf("seed %d: %d products, slowest first result %.0f ms, median ratio %.2f, wrong %d\n",
		o.seed, len(all), slow*1e3, all[len(all)/2].ratio, wrong)
	if wrong > 0 {
		return fmt.Errorf("%d wrong results", wrong)
	}
	return nil
}

// measure times a product: the first result, with what is compiled for it, and one of
// many.
func (x *outcome) measure(r *device.Runner, o *options, t *synth.Target) error {
	in, types := x.instr()
	data := [2][]byte{values(x.typ, types[0].Size(), 1), values(x.typ, types[1].Size(), 2)}
	got, err := x.measureInstr(r, o, t, in, types, data)
	if err == nil {
		x.wrong = x.check(got, data)
	}
	return err
}

// chain runs a plan n times and gives the seconds of each.
func (x *outcome) chain(r *device.Runner, plan *synth.Plan, buffers device.PlanBuffers, n int) (float64, error) {
	s := r.Device.Stream()
	for range n {
		for i := range plan.Steps {
			if err := r.RecordStep(s, &plan.Steps[i], plan.Steps[i].Push, buffers); err != nil {
				return 0, err
			}
		}
	}
	start := time.Now()
	err := r.Finish(s)
	return time.Since(start).Seconds() / float64(n), err
}

// values are random elements: integers below 2^8, or floats of few bits in [-1, 1), whose
// products every type but the narrow ones adds up without much rounding.
func values(d ops.DType, n int, seed uint64) []byte {
	out := make([]byte, 0, n*d.Size())
	r := rand.New(rand.NewPCG(seed, uint64(n)))
	if d.IsComplex() {
		n *= 2
	}
	for range n {
		i := int32(r.Uint32N(256)) - 128
		switch x := float32(i) / 128; d {
		case ops.S32:
			out = binary.LittleEndian.AppendUint32(out, uint32(i))
		case ops.S8, ops.U8:
			out = append(out, byte(i))
		case ops.F64:
			out = binary.LittleEndian.AppendUint64(out, math.Float64bits(float64(x)))
		case ops.BF16:
			out = binary.LittleEndian.AppendUint16(out, uint16(math.Float32bits(x)>>16))
		case ops.F16:
			out = binary.LittleEndian.AppendUint16(out, f16(x))
		default:
			out = binary.LittleEndian.AppendUint32(out, math.Float32bits(x))
		}
	}
	return out
}

// sampled is how many elements of a result are computed on the host.
const sampled = 48

// check computes some elements and says what is wrong; it says nothing where all are
// right.
func (x *outcome) check(got []byte, data [2][]byte) string {
	r := rand.New(rand.NewPCG(7, uint64(len(got))))
	for i := range sampled {
		z, m, n := r.IntN(x.batch), r.IntN(x.m), r.IntN(x.n)
		if i < 4 { // the last of rows and columns
			z, m, n = x.batch-1, x.m-1-i/2, x.n-1-i%2
			m, n = max(m, 0), max(n, 0)
		}
		want, scale := x.element(data, z, m, n)
		have := number(x.typ, got, (z*x.m+m)*x.n+n)
		if x.typ.Size() == 1 { // sums wrap
			want = complex(float64(uint8(int64(real(want)))), 0)
			have = complex(float64(uint8(int64(real(have)))), 0)
		}
		eps := map[ops.DType]float64{ops.F32: 0x1p-22, ops.C64: 0x1p-22, ops.F64: 0x1p-51, ops.BF16: 0x1p-7, ops.F16: 0x1p-10}[x.typ]
		far := max(math.Abs(real(have-want)), math.Abs(imag(have-want)))
		if !(far <= eps*(math.Abs(real(want))+math.Abs(imag(want)))+scale*0x1p-22*min(1, eps*0x1p22)) {
			return fmt.Sprintf("WRONG [%d,%d,%d] %v, want %v", z, m, n, have, want)
		}
	}
	return ""
}

// element is a result in double precision, and the sum of the magnitudes of its terms.
func (x *outcome) element(data [2][]byte, z, m, n int) (sum complex128, scale float64) {
	for k := range x.k {
		a, b := (z*x.m+m)*x.k+k, (z*x.k+k)*x.n+n
		if x.ta {
			a = (z*x.k+k)*x.m + m
		}
		if x.tb {
			b = (z*x.n+n)*x.k + k
		}
		t := number(x.typ, data[0], a) * number(x.typ, data[1], b)
		sum, scale = sum+t, scale+math.Abs(real(t))+math.Abs(imag(t))
	}
	return sum, scale
}

// number is an element of a type.
func number(d ops.DType, b []byte, i int) complex128 {
	b = b[i*d.Size():]
	float := func(b []byte) float64 { return float64(math.Float32frombits(binary.LittleEndian.Uint32(b))) }
	switch d {
	case ops.S8:
		return complex(float64(int8(b[0])), 0)
	case ops.U8:
		return complex(float64(b[0]), 0)
	case ops.S32:
		return complex(float64(int32(binary.LittleEndian.Uint32(b))), 0)
	case ops.F64:
		return complex(math.Float64frombits(binary.LittleEndian.Uint64(b)), 0)
	case ops.BF16:
		return complex(float64(math.Float32frombits(uint32(binary.LittleEndian.Uint16(b))<<16)), 0)
	case ops.F16:
		return complex(fromF16(binary.LittleEndian.Uint16(b)), 0)
	case ops.C64:
		return complex(float(b), float(b[4:]))
	}
	return complex(float(b), 0)
}

// f16 is the half of a number that has one, and is no subnormal.
func f16(x float32) uint16 {
	b := math.Float32bits(x)
	if x == 0 {
		return uint16(b >> 16 & 0x8000)
	}
	return uint16(b>>16&0x8000 | ((b>>23&0xff)-127+15)<<10 | b>>13&0x3ff)
}

func fromF16(h uint16) float64 {
	exp, frac := int(h>>10&0x1f), float64(h&0x3ff)
	x := math.Ldexp(1+frac/1024, exp-15)
	switch exp {
	case 0:
		x = math.Ldexp(frac/1024, -14)
	case 31:
		x = math.Inf(1)
		if frac != 0 {
			x = math.NaN()
		}
	}
	if h&0x8000 != 0 {
		return -x
	}
	return x
}
