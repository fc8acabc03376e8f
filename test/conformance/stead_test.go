package conformance

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"nxvk/gen/exec/exectest"
	"nxvk/gen/exec/placement"
	"nxvk/node/bench/sweep"
	"nxvk/ops"
	"nxvk/synth"
	"nxvk/test/draw"
)

// Where the device is a processor, the host computes some instructions in its stead. The bits do
// not depend on whether a kernel is compiled, nor on whether a case is eager, repeated, fused or a
// program; and they are those of the device, unless the host always computes the instruction.
func TestInStead(t *testing.T) {
	needDevice(t)
	if !target.CPU || target.Rounds == synth.Unlike {
		t.Skip("the device is no processor that rounds as the host does")
	}
	cold, warm, alone := exectest.NewWarmUp(device, target, 0), exectest.NewFor(device, target, 0), exectest.NewFor(device, target, -1)
	for _, d := range []*exectest.Driver{cold, warm, alone} {
		defer d.Close()
	}
	const families = "create,unary,binary,compare,cast,broadcast,view,transpose,movement,reduce,argreduce,sort,take,scatter,dot,dot16,dotint,skinny,conv,fused"
	count := 60
	if *full {
		count = 600
	}
	cases, err := sweep.Draw(sweep.Options{Seed: 14, Count: count, Family: families, MaxBytes: 1 << 17})
	if err != nil {
		t.Fatal(err)
	}
	placed := 0
	for i := range cases {
		c := newStead(t, &cases[i])
		first := c.eager(cold)
		for k := range 14 {
			c.same(fmt.Sprintf("run %d", k+2), c.eager(cold), first)
		}
		for k := range warm.Exec.Services().Trials() + 2 { // the host competes with the device
			c.same(fmt.Sprintf("run %d with every kernel compiled", k+1), c.eager(warm), first)
		}
		c.same("the program", c.program(cold), first)
		if c.exact() {
			c.same("the device", c.eager(alone), first)
			placed++
		}
	}
	if placed < count/4 || cold.Exec.Counters().Host == 0 || alone.Exec.Counters().Host > cold.Exec.Counters().Host {
		t.Errorf("%d of %d cases are the host's to compute, it computed %d instructions", placed, count, cold.Exec.Counters().Host)
	}
}

// stead is a case with its operands.
type stead struct {
	*testing.T
	*sweep.Case
	region *ops.Region
	types  []ops.Type
	data   [][]byte // of the parameters of the region
}

func newStead(t *testing.T, c *sweep.Case) *stead {
	region, types, err := c.Region()
	if err != nil {
		t.Fatal(err)
	}
	s := &stead{T: t, Case: c, region: region, types: types}
	sample, at := draw.New(uint64(c.ID)), 0
	for _, p := range c.Params {
		if p.Fill == sweep.Literal {
			continue
		}
		typ := region.Params[at].Type
		at++
		numbers := make([]float64, typ.Size())
		for i := range numbers {
			switch p.Fill {
			case sweep.Indices:
				numbers[i] = float64(sample.IntN(p.Bound))
			case sweep.Fraction:
				numbers[i] = float64(sample.IntN(2))
			case sweep.Positive:
				numbers[i] = 1 + math.Floor(8*sample.Float64())
			default:
				numbers[i] = sample.Number(typ.DType, ops.Real, false)
			}
			if typ.DType.IsFloat() && sample.IntN(50) == 0 {
				numbers[i] = []float64{0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.NaN()}[sample.IntN(5)]
			}
		}
		s.data = append(s.data, draw.Encode(numbers, typ))
	}
	return s
}

// operands uploads the parameters.
func (s *stead) operands(d *exectest.Driver) (ins []ops.Operand, ids []ops.ID) {
	for i, p := range s.region.Params {
		id := d.Upload(p.Type, s.data[i])
		ids = append(ids, id)
		ins = append(ins, ops.Operand{ID: id})
	}
	return ins, ids
}

// eager carries out the steps one after another and returns the results.
func (s *stead) eager(d *exectest.Driver) [][]byte {
	ins, ids := s.operands(d)
	values := make(map[ops.ID]ops.ID)
	for i, p := range s.region.Params {
		values[p.ID] = ins[i].ID
	}
	for i := range s.region.Body {
		in := &s.region.Body[i]
		var operands []ops.Operand
		for _, o := range in.Ins {
			if o.Lit == nil {
				o.ID = values[o.ID]
			}
			operands = append(operands, o)
		}
		var outs []ops.Type
		for _, o := range in.Outs {
			outs = append(outs, o.Type)
		}
		for k, id := range d.DoAll(in.Op, outs, in.Attrs, operands...) {
			values[in.Outs[k].ID] = id
			ids = append(ids, id)
		}
	}
	results := make([]ops.ID, len(s.region.Values))
	for i, o := range s.region.Values {
		results[i] = values[o.ID]
	}
	return s.read(d, results, ids)
}

// program carries out the steps as a program, often enough for that to be fused, and returns the
// results of the last run.
func (s *stead) program(d *exectest.Driver) (got [][]byte) {
	key := fmt.Sprint(s.ID, s.Name)
	d.Define(key, s.region)
	for range 14 {
		ins, ids := s.operands(d)
		results := d.Run(key, s.types, ins...)
		got = s.read(d, results, append(ids, results...))
		if err := d.Built(); err != nil {
			s.Fatal(err)
		}
	}
	return got
}

func (s *stead) read(d *exectest.Driver, results, ids []ops.ID) (got [][]byte) {
	for _, id := range results {
		b, err := d.Read(id)
		if err != nil {
			s.Fatalf("%s: %v", s.Name, err)
		}
		got = append(got, b)
	}
	d.Free(ids...)
	return got
}

// exact reports whether the host's results have the bits of the device's, by the rules. So have
// products and sums that are not small enough to be the host's own.
func (s *stead) exact() bool {
	return !s.some(func(in *ops.Instr, rule placement.Stead, large bool) bool {
		ordered := (in.Op == ops.Dot || in.Op == ops.Conv || in.Op == ops.Sum) && large
		return rule == placement.Always || rule == placement.Never && !ordered
	})
}

// always reports whether the host computes a step in the device's stead with bits of its own.
func (s *stead) always() bool {
	return s.some(func(_ *ops.Instr, rule placement.Stead, _ bool) bool { return rule == placement.Always })
}

// some reports whether f holds for a step, with its rule, and with large if an operand is not small.
func (s *stead) some(f func(in *ops.Instr, rule placement.Stead, large bool) bool) bool {
	types := make(map[ops.ID]ops.Type)
	for _, p := range s.region.Params {
		types[p.ID] = p.Type
	}
	for i := range s.region.Body {
		in := &s.region.Body[i]
		var operands []ops.Type
		for _, o := range in.Ins {
			t := types[o.ID]
			if o.Lit != nil {
				t = o.Lit.Type
			}
			operands = append(operands, t)
		}
		large := slices.ContainsFunc(operands, func(t ops.Type) bool { return t.Size() > placement.DefaultLimit(device.Info()) })
		if f(in, placement.InStead(in, operands), large) {
			return true
		}
		for _, o := range in.Outs {
			types[o.ID] = o.Type
		}
	}
	return false
}

// Where the host executes kernels of a processor as the device does, the quicker of the two carries out
// a plan. Whoever does it, the bits are those of the kernels.
func TestContest(t *testing.T) {
	needDevice(t)
	if !target.CPU || target.Rounds == synth.Unlike {
		t.Skip("the device is no processor that rounds as the host does")
	}
	warm, alone := exectest.NewFor(device, target, 0), exectest.NewFor(device, target, -1)
	defer warm.Close()
	defer alone.Close()
	count := 40
	if *full {
		count = 400
	}
	cases, err := sweep.Draw(sweep.Options{Seed: 15, Count: count, Family: "unary,functions,binary,broadcast,rows,scan,window,fft,conv,conv16,dot,dot16,dot64", MaxBytes: 1 << 17})
	if err != nil {
		t.Fatal(err)
	}
	for i := range cases {
		c := newStead(t, &cases[i])
		first := c.eager(warm)
		for k := range warm.Exec.Services().Trials() + 2 {
			c.same(fmt.Sprintf("run %d", k+2), c.eager(warm), first)
		}
		if c.large() && !c.always() {
			c.same("the device", c.eager(alone), first)
		}
	}
	if warm.Exec.Counters().Interpreted == 0 || warm.Exec.Counters().Device == 0 || alone.Exec.Counters().Interpreted > 0 {
		t.Errorf("the host has executed %d kernels, the device %d plans; alone the host %d", warm.Exec.Counters().Interpreted,
			warm.Exec.Counters().Device, alone.Exec.Counters().Interpreted)
	}
}

// large reports whether every step is too large to be the host's own.
func (s *stead) large() bool {
	for i := range s.region.Body {
		for _, o := range s.region.Body[i].Outs {
			if o.Type.Size() <= placement.DefaultLimit(device.Info()) {
				return false
			}
		}
	}
	return true
}

func (s *stead) same(what string, got, want [][]byte) {
	s.Helper()
	for i := range want {
		if err := sameBits(got[i], want[i], s.types[i]); err != nil {
			s.Errorf("%s, %s, result %d: %v", s.Name, what, i, err)
		}
	}
}

// A kernel that the host interprets for long is compiled meanwhile. Whichever is ready first gives
// the bits of the kernel.
func TestOvertaken(t *testing.T) {
	needDevice(t)
	if !target.CPU || target.Rounds == synth.Unlike {
		t.Skip("the device is no processor that rounds as the host does")
	}
	cold, warm := exectest.NewWarmUp(device, target, 0), exectest.NewFor(device, target, 0)
	defer cold.Close()
	defer warm.Close()
	long := ops.Type{DType: ops.F32, Shape: ops.Shape{1 << 10, 1 << 9}}
	for _, c := range []struct {
		op    ops.Op
		out   ops.Type
		attrs [][]int
	}{
		{ops.Asinh, long, nil}, {ops.Tan, long, nil}, {ops.Sum, ops.Type{DType: ops.F32, Shape: ops.Shape{1 << 10}}, [][]int{{1}, {0}}},
		{ops.CumulativeProduct, long, [][]int{{1}, {0}}},
	} {
		numbers, sample := make([]float64, long.Size()), draw.New(3)
		for i := range numbers {
			numbers[i] = 2 * sample.Float64()
		}
		data := [][]byte{draw.Encode(numbers, long)}
		got, err := once(cold, c.op, c.out, c.attrs, []ops.Type{long}, data)
		want, wantErr := once(warm, c.op, c.out, c.attrs, []ops.Type{long}, data)
		if err != nil || wantErr != nil {
			t.Fatalf("%v: %v, %v", c.op, err, wantErr)
		}
		if err := sameBits(got, want, c.out); err != nil {
			t.Errorf("%v: %v", c.op, err)
		}
	}
	if cold.Exec.Counters().Interpreted+cold.Exec.Counters().Device == 0 {
		t.Error("the host computed all in a way of its own")
	}
}
