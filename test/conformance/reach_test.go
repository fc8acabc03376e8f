package conformance

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"testing"

	"nxvk/gen/exec/exectest"
	"nxvk/ops"
	"nxvk/ops/example"
	"nxvk/synth"
	"nxvk/test/draw"
)

// A binding reaches so many bytes of a buffer and no further. Here that is so few that
// small tensors are longer.

// lowBinding is a limit that most tensors of the other tests exceed.
const lowBinding = 256

// bound runs a test with bindings of at most so many bytes.
func bound(t *testing.T, bytes int64, test func(synth.Target)) {
	t.Helper()
	binding.Store(uint64(bytes))
	defer binding.Store(0)
	tg := target
	tg.MaxBinding = bytes
	test(tg)
}

// reachable skips where bindings are not what kernels take.
func reachable(t *testing.T) {
	t.Helper()
	needDevice(t)
	if target.Addresses {
		t.Skip("kernels of this device take addresses")
	}
}

// reached is an instruction as a program, for operations with functions too.
type reached struct {
	region *ops.Region
	types  []ops.Type // of the results
	data   [][]byte
	sizes  []int64 // bytes of operands and results
}

// reaching makes a program of an instruction on small whole numbers; of square
// matrices that have an inverse.
func reaching(in *ops.Instr, types []ops.Type) *reached {
	r := rand.New(rand.NewPCG(uint64(in.Op), uint64(in.Outs[0].Type.DType)))
	c := &reached{region: &ops.Region{}}
	one := *in
	one.Ins, one.Outs = slices.Clone(in.Ins), slices.Clone(in.Outs)
	for i, typ := range types {
		if in.Ins[i].Lit != nil {
			continue
		}
		id := ops.ID(i + 1)
		one.Ins[i] = ops.Operand{ID: id}
		c.region.Params = append(c.region.Params, ops.Result{ID: id, Type: typ})
		c.data = append(c.data, c.numbers(r, in.Op.Info().Kind, i, typ))
		c.sizes = append(c.sizes, int64(typ.Bytes()))
	}
	for i := range one.Outs {
		o := &one.Outs[i]
		o.ID = ops.ID(100 + i)
		c.types = append(c.types, o.Type)
		c.region.Values = append(c.region.Values, ops.Operand{ID: o.ID})
		c.sizes = append(c.sizes, int64(o.Type.Bytes()))
	}
	c.region.Body = []ops.Instr{one}
	return c
}

func (c *reached) numbers(r *rand.Rand, kind ops.Kind, i int, t ops.Type) []byte {
	s := sampler{draw.Sampler{Rand: r}}
	if kind == ops.Index && i == 1 {
		return s.natural(t, 0, 1)
	}
	if t.DType.IsComplex() {
		return s.natural(ops.Type{DType: t.DType.Real(), Shape: append(ops.Shape{2}, t.Shape...)}, 1, 3)
	}
	if n := len(t.Shape); kind != ops.LinAlg || n < 2 {
		return s.natural(t, 0, 3)
	}
	v, n := make([]float64, t.Size()), t.Shape[len(t.Shape)-1]
	for k := range v {
		row, col := k/n, k%n
		if v[k] = float64((row*col)%3 - 1); row == col {
			v[k] = float64(2*n + row)
		}
	}
	return draw.Encode(v, t)
}

// limits are what bindings may hold so that a buffer is just shorter, as long, just
// longer, or far longer.
func (c *reached) limits() (list []int64) {
	for _, n := range c.sizes {
		whole := (n + 3) / 4 * 4
		list = append(list, whole-4, whole, whole+4, whole/8*4)
	}
	slices.Sort(list)
	list = slices.DeleteFunc(slices.Compact(list), func(n int64) bool { return n < 4 })
	return list
}

func (c *reached) String() string {
	in := &c.region.Body[0]
	return fmt.Sprintf("%v %v of %v", in.Op, in.Attrs, c.region.Params)
}

// run gives what comes of the program, and whether the host computed it.
func (c *reached) run(d *exectest.Driver) (out [][]byte, fell bool, err error) {
	before := d.Exec.Counters().Fallbacks
	out, _, err = results(d, c.region, c.types, c.data)
	return out, d.Exec.Counters().Fallbacks > before, err
}

// check compares bits, and that the device computes where it does without the limit.
func (c *reached) check(t *testing.T, free *exectest.Driver, limits []int64) {
	t.Helper()
	want, fell, wantErr := c.run(free)
	for _, limit := range limits {
		bound(t, limit, func(tg synth.Target) {
			d := exectest.NewFor(device, tg, -1)
			defer d.Close()
			got, gone, err := c.run(d)
			switch {
			case err == nil && wantErr == nil && !slices.EqualFunc(got, want, bytes.Equal):
				t.Errorf("%v: bindings of %d bytes: other bits", c, limit)
			case (err == nil) != (wantErr == nil):
				t.Errorf("%v: bindings of %d bytes: %v; else %v", c, limit, err, wantErr)
			case gone != fell:
				t.Errorf("%v: bindings of %d bytes: the host computes: %v; else %v", c, limit, gone, fell)
			}
		})
	}
}

// drawn picks some of the limits of a case, all of them with -full.
func drawn(c *reached, limits []int64, n int) []int64 {
	if *full || len(limits) <= n {
		return limits
	}
	h := fnv.New64a()
	fmt.Fprint(h, c)
	r := rand.New(rand.NewPCG(h.Sum64(), 3))
	r.Shuffle(len(limits), func(i, j int) { limits[i], limits[j] = limits[j], limits[i] })
	return limits[:n]
}

// Every operation of the table gives the same bits, on the device, where a binding
// does not reach its operands or its results.
func TestReach(t *testing.T) {
	reachable(t)
	if !target.Addressable {
		t.Skip("the device has no buffer addresses")
	}
	free := exectest.NewFor(device, target, -1)
	defer free.Close()
	tried := 0
	for op := range ops.Count {
		var all []*reached
		for _, d := range ops.DTypes() {
			in, types, ok := example.Of(op, d)
			if ok && in.Check(types) == nil {
				all = append(all, reaching(in, types))
			}
		}
		t.Run(op.String(), func(t *testing.T) {
			for i, c := range all {
				// A type of each operation, another for each.
				if *full || i == int(op)%len(all) {
					c.check(t, free, drawn(c, c.limits(), 3))
					tried++
				}
			}
		})
	}
	t.Logf("%d instructions", tried)
}

// Where the device has no addresses either, the host computes and that is counted.
func TestBeyondReach(t *testing.T) {
	reachable(t)
	host := exectest.NewFor(nil, target, 0)
	defer host.Close()
	for _, op := range []ops.Op{ops.Add, ops.Slice, ops.Dot, ops.Sum, ops.Sort, ops.CumulativeSum, ops.Take, ops.Conv} {
		in, types, _ := example.Of(op, ops.F32)
		c := reaching(in, types)
		want, _, err := c.run(host)
		if err != nil {
			t.Fatal(err)
		}
		limit := slices.Max(c.sizes) - 4
		bound(t, limit, func(tg synth.Target) {
			tg.Addressable = false
			d := exectest.NewFor(device, tg, -1)
			defer d.Close()
			got, fell, err := c.run(d)
			if err != nil || !fell || !slices.EqualFunc(got, want, bytes.Equal) {
				t.Errorf("%v: got %v, counted %v (%v), want %v", c, got, fell, err, want)
			}
		})
	}
}

// Fusions of programs, too.
func TestProgramsBeyondBindings(t *testing.T) {
	reachable(t)
	if !target.Addressable {
		t.Skip("the device has no buffer addresses")
	}
	count := fewer
	if *full {
		count = programs
	}
	for _, limit := range []int64{4, 16, 48, 96, 128} {
		bound(t, limit, func(tg synth.Target) {
			t.Run(fmt.Sprint(limit), func(t *testing.T) { runPrograms(t, tg, count) })
		})
	}
}
