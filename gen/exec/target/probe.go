package target

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"nxvk/ops"
	"nxvk/synth"
	"nxvk/synth/kernel"
	"nxvk/vulkan"
)

// probed is how many pairs of numbers a probe computes.
const probed = 1 << 14

// Probe says what a device can do for the kernel compiler. What the driver
// does not tell is tried: whether f32 division and square root are rounded
// correctly, whether subnormals survive, how good the exponential of a GPU is, and how its matrix hardware holds
// operands. It waits for the device, and so is not for the goroutine of an Executor. An archive, which may be nil, keeps
// what the trials find.
func Probe(d *vulkan.Device, archive synth.Archive) (synth.Target, error) {
	t := Of(d.Info())
	var known trials
	key := fmt.Sprintf("trials of %+v", d.Info())
	if archive != nil && json.Unmarshal(archive.Get(key), &known) == nil {
		known.tell(&t)
		return t, nil
	}
	known, err := tryAll(d, t)
	if err != nil {
		return t, err
	}
	if data, err := json.Marshal(known); err == nil && archive != nil {
		archive.Put(key, data)
	}
	known.tell(&t)
	return t, nil
}

// trials are what the trials on a device find.
type trials struct {
	PreciseDiv, Subnormals, Flushes64, Exp2, Halves, RoundHalf bool

	Rounds synth.Rounding
	Alike  []synth.Matrix
}

// tell adds the findings to a target.
func (k *trials) tell(t *synth.Target) {
	t.PreciseDiv, t.Subnormals, t.Exp2, t.Halves, t.RoundHalf = k.PreciseDiv, k.Subnormals, k.Exp2, k.Halves, k.RoundHalf
	t.Flushes64, t.Rounds, t.Alike = k.Flushes64, k.Rounds, k.Alike
}

// tryAll makes the trials. Later ones build on what earlier ones have found.
func tryAll(d *vulkan.Device, t synth.Target) (k trials, err error) {
	raw := t
	raw.PreciseDiv, raw.Subnormals = true, true
	normal, tiny := samples(0x1p-40, 0x1p40), samples(0x1p-149, 0x1p-130)
	div, err := agrees(d, &raw, ops.Divide, normal, func(x, y float32) float32 { return x / y })
	if err != nil {
		return k, err
	}
	sqrt, err := agrees(d, &raw, ops.Sqrt, normal, func(x, _ float32) float32 { return float32(math.Sqrt(float64(x))) })
	if err != nil {
		return k, err
	}
	k.PreciseDiv = div && sqrt
	if k.Subnormals, err = agrees(d, &raw, ops.Add, tiny, func(x, y float32) float32 { return x + y }); err != nil {
		return k, err
	}
	if t.Float64 {
		if k.Flushes64, err = flushes64(d, &t); err != nil {
			return k, err
		}
	}
	k.tell(&t)
	if t.CPU {
		if k.PreciseDiv && k.Subnormals {
			k.Rounds, err = rounding(d, t)
		}
		return k, err
	}
	if k.Exp2, err = exponential(d, t); err != nil {
		return k, err
	}
	k.tell(&t)
	if k.Halves, err = halves(d, t); err != nil {
		return k, err
	}
	k.tell(&t)
	if t.Halves && t.Float16 {
		if k.RoundHalf, err = roundsHalf(d, t); err != nil {
			return k, err
		}
		k.tell(&t)
	}
	k.Alike, err = Alike(d, &t)
	return k, err
}

// Alike lists the shapes of a target's matrix hardware in which an invocation has the same elements of an operand as of
// a matrix of sums.
func Alike(d *vulkan.Device, t *synth.Target) ([]synth.Matrix, error) {
	var list []synth.Matrix
	for _, m := range t.Matrices {
		plan, ok, err := synth.AlikePlan(m, t)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		word, err := d.Alloc(4)
		if err != nil {
			return nil, err
		}
		defer word.Free()
		s := d.Stream()
		if err := s.Upload(word, 0, make([]byte, 4)); err != nil {
			return nil, err
		}
		if err := dispatch(d, s, plan, []*vulkan.Buffer{word}); err != nil {
			return nil, fmt.Errorf("probe matrices of %v on %s: %w", m.Type, d.Info().Name, err)
		}
		got, err := read(d, s, word)
		if err != nil {
			return nil, err
		}
		if got[0] == 1 {
			list = append(list, m)
		}
	}
	return list, nil
}

// flushes64 reports whether the device's conversion of f64 to f32 is wrong for subnormals.
func flushes64(d *vulkan.Device, t *synth.Target) (bool, error) {
	var in, want []byte
	for _, x := range samples(0x1p-149, 0x1p-126)[:probed] {
		y := float64(x) * (1 + 0x1p-30)
		in = binary.LittleEndian.AppendUint64(in, math.Float64bits(y))
		want = binary.LittleEndian.AppendUint32(want, math.Float32bits(float32(y)))
	}
	got, err := convertProbe(d, t, in, ops.F64, ops.F32)
	return !bytes.Equal(got, want), err
}

// exponential reports whether the device's own exponential and inverse root give a tanh
// within two units in the last place, which takes a third of the instructions fewer.
func exponential(d *vulkan.Device, t synth.Target) (bool, error) {
	t.Exp2 = true
	v := append(samples(0x1p-24, 0x1p6), samples(0.5, 1.5)...)
	for i := range v {
		v[i] = float32(math.Copysign(float64(v[i]), float64(i%2)-0.5))
	}
	copy(v, []float32{0, float32(math.Copysign(0, -1)), float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN())})
	for half := range slices.Chunk(v, probed) {
		got, err := try(d, &t, ops.Tanh, half)
		if err != nil {
			return false, fmt.Errorf("probe the exponential of %s: %w", d.Info().Name, err)
		}
		for i, y := range got {
			if !near(y, math.Tanh(float64(half[i]))) {
				return false, nil
			}
		}
	}
	return true, nil
}

// halves reports whether the device converts f16 exactly, to the nearest even and with
// subnormals: Vulkan leaves both to it.
func halves(d *vulkan.Device, t synth.Target) (bool, error) {
	if !t.Narrow(kernel.U16) {
		return false, nil
	}
	t.Halves = true
	return exactHalves(d, &t)
}

// exactHalves reports whether kernels convert f16 exactly: numbers of all magnitudes, ties among
// them, to f16 and back.
func exactHalves(d *vulkan.Device, t *synth.Target) (bool, error) {
	for v := range slices.Chunk(halfSamples(), probed) {
		rounded, err := convertProbe(d, t, encode(v), ops.F32, ops.F16)
		if err != nil {
			return false, err
		}
		back, err := convertProbe(d, t, rounded, ops.F16, ops.F32)
		if err != nil {
			return false, err
		}
		for i, x := range v {
			h := kernel.PackHalf(x)
			if binary.LittleEndian.Uint16(rounded[2*i:]) != h || binary.LittleEndian.Uint32(back[4*i:]) != math.Float32bits(kernel.UnpackHalf(h)) {
				return false, nil
			}
		}
	}
	return true, nil
}

// roundsHalf reports whether the device rounds to f16 exactly in the middle of a kernel.
func roundsHalf(d *vulkan.Device, t synth.Target) (bool, error) {
	t.RoundHalf = true
	for v := range slices.Chunk(halfSamples(), probed) {
		rounded, err := convertProbe(d, &t, encode(v), ops.F32, ops.F16, ops.F32)
		if err != nil {
			return false, err
		}
		for i, x := range v {
			if binary.LittleEndian.Uint32(rounded[4*i:]) != math.Float32bits(kernel.UnpackHalf(kernel.PackHalf(x))) {
				return false, nil
			}
		}
	}
	return true, nil
}

// halfSamples are numbers of all magnitudes of f16 and beyond, numbers of f16 and the middles of two
// among them.
func halfSamples() []float32 {
	r := rand.New(rand.NewPCG(3, 4))
	v := samples(0x1p-27, 0x1p17)
	for i := range 1 << 15 {
		if i%2 == 0 { // a number of f16, or the middle of two
			v[i] = kernel.UnpackHalf(uint16(r.Uint32N(0x7c00))) + float32(i/2%2)*kernel.UnpackHalf(uint16(r.Uint32N(0x400)))/2
		}
		v[i] = float32(math.Copysign(float64(v[i]), float64(i/4%2)-0.5))
	}
	copy(v, []float32{0, float32(math.Copysign(0, -1)), float32(math.Inf(1)), float32(math.Inf(-1)), 65504, 65519.996, 65520, 0x1p-25, 0x1.8p-24, 0x1p-24, -0x1.8p-25})
	return v
}

// near reports whether y is within two units in the last place of a number below 1,
// or has its sign where that is zero, or is NaN like it.
func near(y float32, want float64) bool {
	if want == 0 || want != want {
		return y == 0 && math.Signbit(float64(y)) == math.Signbit(want) || y != y && want != want
	}
	_, e := math.Frexp(want)
	return math.Abs(float64(y)-want) <= math.Ldexp(2, max(e, -125)-24)
}

// rounding says how a processor rounds multiply-adds: as the host does once or twice, by
// the bits of a function that is made of them.
func rounding(d *vulkan.Device, t synth.Target) (synth.Rounding, error) {
	v := samples(0x1p-10, 0x1p4)
	got, err := try(d, &t, ops.Tanh, v)
	if err != nil {
		return synth.Unlike, fmt.Errorf("probe multiply-adds on %s: %w", d.Info().Name, err)
	}
	plan, err := probePlan(ops.Tanh, &t)
	if err != nil {
		return synth.Unlike, err
	}
	x, y := Whole(encode(v[:probed])), make([]byte, 4*probed)
	for _, t.Rounds = range []synth.Rounding{synth.Twice, synth.Once} {
		for i := range plan.Steps {
			s := &plan.Steps[i]
			host := t.OnHost(s.Kernel)
			if host == nil {
				return synth.Unlike, nil
			}
			host(nil, [][]byte{x, y}, Push(s), s.Grid)
		}
		if bytes.Equal(y, encode(got)) {
			return t.Rounds, nil
		}
	}
	return synth.Unlike, nil
}

// samples are positive numbers of all magnitudes between two, always the same.
func samples(low, high float64) []float32 {
	r := rand.New(rand.NewPCG(1, 2))
	v := make([]float32, 2*probed)
	for i := range v {
		v[i] = float32(math.Exp2(math.Log2(low) + r.Float64()*(math.Log2(high)-math.Log2(low))))
	}
	return v
}

// agrees reports whether a device computes an operation of f32 bit for bit.
func agrees(d *vulkan.Device, t *synth.Target, op ops.Op, v []float32, want func(x, y float32) float32) (bool, error) {
	got, err := try(d, t, op, v)
	if err != nil {
		return false, fmt.Errorf("probe %v on %s: %w", op, d.Info().Name, err)
	}
	for i, g := range got {
		if w := want(v[i], v[probed+i]); math.Float32bits(g) != math.Float32bits(w) {
			return false, nil
		}
	}
	return true, nil
}
