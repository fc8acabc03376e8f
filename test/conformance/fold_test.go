package conformance

import (
	"fmt"
	"testing"

	"nxvk/gen/exec/exectest"
	"nxvk/ops"
	"nxvk/test/draw"
)

// reducings fold the axes of a shape: as Nx.reduce with a function.
func reducings() (all []instr) {
	for _, s := range []ops.Shape{shape(), shape(1), shape(257), shape(13, 17), shape(3, 4, 5, 6), shape(2, 3, 2, 3, 2, 3)} {
		for keep, axes := range [][]int{{}, {0}, {len(s) - 1}, ops.AllAxes(len(s))} {
			if len(s) > 0 || len(axes) == 0 {
				all = append(all, instr{attrs: [][]int{axes, {keep % 2}}, types: []ops.Type{{Shape: s}}})
			}
		}
	}
	return all
}

// orderly is a function whose order of elements matters: acc - 2x, and of types
// that have an order the larger of the two less 2x.
func orderly(d ops.DType) *ops.Region {
	s := ops.Type{DType: d}
	x, acc := ops.Operand{ID: 1}, ops.Operand{ID: 2}
	step := func(op ops.Op, id ops.ID, ins ...ops.Operand) ops.Instr {
		return ops.Instr{Op: op, Ins: ins, Outs: []ops.Result{{ID: id, Type: s}}}
	}
	two := ops.Operand{Lit: &ops.Literal{Type: s, Data: draw.Encode([]float64{2}, s)}}
	r := &ops.Region{Params: []ops.Result{{ID: 1, Type: s}, {ID: 2, Type: s}}, Values: []ops.Operand{{ID: 5}}}
	if !d.IsComplex() {
		r.Body = append(r.Body, step(ops.Max, 3, x, acc))
		acc.ID = 3
	}
	r.Body = append(r.Body, step(ops.Multiply, 4, x, two), step(ops.Subtract, 5, acc, ops.Operand{ID: 4}))
	return r
}

// folding is a program of one fold, since only programs carry functions.
func folding(c *instr, d *exectest.Driver, key string) ([]byte, error) {
	r := &ops.Region{Values: []ops.Operand{{ID: 9}}}
	var ins []ops.Operand
	var ids []ops.ID
	for i, typ := range c.types {
		r.Params = append(r.Params, ops.Result{ID: ops.ID(i + 1), Type: typ})
		id := d.Upload(typ, c.data[i])
		ids, ins = append(ids, id), append(ins, ops.Operand{ID: id})
	}
	r.Body = []ops.Instr{{Op: c.op, Attrs: append(c.attrs[:len(c.attrs):len(c.attrs)], nil), Ins: []ops.Operand{{ID: 1}, {ID: 2}},
		Outs: []ops.Result{{ID: 9, Type: c.out}}, Regions: []*ops.Region{orderly(c.out.DType)}}}
	d.Define(key, r)
	outs := d.Run(key, []ops.Type{c.out}, ins...)
	defer d.Free(append(ids, outs...)...)
	return d.Read(outs[0])
}

// Functions are folded in the order that the host has, on every device.
func TestFoldsOfFunctions(t *testing.T) {
	modes(t, func(t *testing.T, d, host *exectest.Driver, gpu bool) {
		var n tally
		for _, op := range []ops.Op{ops.ReduceFun, ops.WindowReduce} {
			forms := reducings()
			if op == ops.WindowReduce {
				forms = windowings
			}
			for _, form := range forms {
				for _, dt := range ops.DTypes() {
					c := form
					c.op, c.types = op, []ops.Type{{DType: dt, Shape: form.types[0].Shape}, {DType: dt}}
					of := 40
					if dt == ops.F32 && !gpu {
						of = 2
					}
					if rarely(of, &c) {
						n.fold(t, d, host, &c)
					}
				}
			}
		}
		n.allOnDevice(t)
	})
}

func (n *tally) fold(t *testing.T, d, host *exectest.Driver, c *instr) {
	t.Helper()
	dt := c.types[0].DType
	in := ops.Instr{Op: c.op, Attrs: append(c.attrs[:len(c.attrs):len(c.attrs)], nil), Regions: []*ops.Region{orderly(dt)},
		Outs: []ops.Result{{Type: ops.Type{DType: dt}}}}
	shapes, err := c.op.Info().Infer(&in, c.types)
	if err != nil {
		t.Fatalf("%v: %v", c, err)
	}
	c.out = ops.Type{DType: dt, Shape: shapes[0]}
	s := newSampler(seed(c.op, dt, c.types[0].Size()))
	c.data = [][]byte{s.natural(c.types[0], 0, 3), s.natural(c.types[1], 0, 3)}
	n.cases++
	before, key := d.Exec.Counters().Fallbacks, fmt.Sprint(c)
	got, err := folding(c, d, key)
	want, hostErr := folding(c, host, key)
	if err != nil || hostErr != nil {
		t.Errorf("%v: device says %v, host says %v", c, err, hostErr)
		return
	}
	if d.Exec.Counters().Fallbacks == before {
		n.device++
	}
	if err := compare(got, want, c.out, tolerance{}); err != nil {
		t.Errorf("%v: %v", c, err)
	}
}
