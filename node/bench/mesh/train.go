package mesh

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"nxvk/gen/wire"
	"nxvk/ops"
)

// graph builds the program of a step.
type graph struct {
	region ops.Region
	next   ops.ID
}

func (g *graph) param(t ops.Type) ops.Operand {
	g.next++
	g.region.Params = append(g.region.Params, ops.Result{ID: g.next, Type: t})
	return ops.Operand{ID: g.next}
}

func (g *graph) add(op ops.Op, t ops.Type, attrs [][]int, ins ...ops.Operand) ops.Operand {
	g.next++
	g.region.Body = append(g.region.Body, ops.Instr{Op: op, Ins: ins, Outs: []ops.Result{{ID: g.next, Type: t}}, Attrs: attrs})
	return ops.Operand{ID: g.next}
}

// dot contracts axis i of a and axis k of b.
func (g *graph) dot(t ops.Type, a ops.Operand, i int, b ops.Operand, k int) ops.Operand {
	return g.add(ops.Dot, t, [][]int{{i}, {}, {k}, {}}, a, b)
}

func number(x float32) ops.Operand {
	return ops.Operand{Lit: &ops.Literal{Type: ops.Type{DType: ops.F32}, Data: binary.LittleEndian.AppendUint32(nil, math.Float32bits(x))}}
}

func matrix(m, n int) ops.Type { return ops.Type{DType: ops.F32, Shape: ops.Shape{m, n}} }

// step is the program of a step of gradient descent for a network of two layers with ReLU and squared error, on so
// many rows of the batch. Its parameters are the rows, what they should give, and the two matrices; its values are
// the new matrices. The gradients of several ranks are summed as soon as they are there: that of the second matrix
// while the first one's is computed.
func step(rows, batch, hidden, ranks int) *ops.Region {
	g := &graph{}
	data, weights := matrix(rows, hidden), matrix(hidden, hidden)
	x, want, w1, w2 := g.param(data), g.param(data), g.param(weights), g.param(weights)
	sum := func(d ops.Operand) ops.Operand {
		if ranks == 1 {
			return d
		}
		return g.add(ops.AllReduce, weights, [][]int{ops.AllAxes(ranks), {0}}, d)
	}
	update := func(w, d ops.Operand) ops.Operand {
		return g.add(ops.Subtract, weights, nil, w, g.add(ops.Multiply, weights, nil, d, number(1e-3/float32(batch))))
	}
	h := g.add(ops.Max, data, nil, g.dot(data, x, 1, w1, 0), number(0))
	off := g.add(ops.Subtract, data, nil, g.dot(data, h, 1, w2, 0), want)
	d2 := sum(g.dot(weights, h, 0, off, 0))
	passes := g.add(ops.AsType, data, nil, g.add(ops.Greater, ops.Type{DType: ops.U8, Shape: data.Shape}, nil, h, number(0)))
	d1 := sum(g.dot(weights, x, 0, g.add(ops.Multiply, data, nil, g.dot(data, off, 1, w2, 1), passes), 0))
	g.region.Values = []ops.Operand{update(w1, d1), update(w2, d2)}
	return &g.region
}

// train measures a step on the first device alone, and then on the first two, three and so on with the batch divided.
func (all Sides) train(ctx context.Context, r *report, c Config) error {
	alone := 0.0
	for n := 1; n <= len(all); n++ {
		if c.Batch%n != 0 {
			continue
		}
		some := all[:n]
		key, rows := fmt.Sprint("step ", n), c.Batch/n
		program := step(rows, c.Batch, c.Hidden, n)
		if err := some.each(func(i int, s *Side) error { return errors.Join(s.join(key, i, n), s.prepare(key, program)) }); err != nil {
			return err
		}
		counts := make([]uint64, n) // of the runs of each rank, which are their rounds
		rounds, micros, err := some.rounds(ctx, c.Time, func(i int, s *Side) error {
			counts[i]++
			return s.run(key, program, []ops.Type{program.Params[2].Type, program.Params[3].Type}, counts[i])
		})
		if err != nil {
			return err
		}
		if n == 1 {
			alone = micros
		}
		err = r.add(Row{What: "step", Devices: ops.AllAxes(n), Micros: micros, Times: alone / micros, Rounds: rounds})
		if err := errors.Join(err, some.each(func(_ int, s *Side) error { return s.forget(program) })); err != nil {
			return err
		}
	}
	return nil
}

// params are the ids of the parameters of a program.
func params(p *ops.Region) (ids []int, ins []ops.Operand) {
	for i := range p.Params {
		ids = append(ids, 1000+i)
		ins = append(ins, ops.Operand{ID: ops.ID(1000 + i)})
	}
	return ids, ins
}

// prepare defines a program and makes its parameters: small numbers.
func (s *Side) prepare(key string, p *ops.Region) error {
	return s.await(func(done func(error)) {
		s.exec.Stream(s.queue, []wire.Instr{{Name: "program", Instr: ops.Instr{Op: ops.Program}, Defines: wire.Defines{Key: key, Program: p}}})
		ids, _ := params(p)
		for i, in := range p.Params {
			flat := ops.Type{DType: ops.F32, Shape: in.Type.Shape}
			s.stream(ops.Instr{Op: ops.Iota, Outs: []ops.Result{{ID: 2000, Type: flat}}, Attrs: [][]int{{1}}}, nil)
			s.stream(ops.Instr{Op: ops.Sin, Ins: []ops.Operand{{ID: 2000}}, Outs: []ops.Result{{ID: ops.ID(ids[i]), Type: flat}}}, nil)
			s.stream(ops.Instr{Op: ops.Free, Attrs: [][]int{{2000}}}, nil)
		}
		s.settle(ops.ID(ids[0]), done)
	})
}

// run runs a program with results of some types, and waits until the device has computed them.
func (s *Side) run(key string, p *ops.Region, results []ops.Type, round uint64) error {
	return s.await(func(done func(error)) {
		_, ins := params(p)
		var outs []ops.Result
		var ids []int
		for i, t := range results {
			outs, ids = append(outs, ops.Result{ID: ops.ID(3000 + i), Type: t}), append(ids, 3000+i)
		}
		s.exec.Stream(s.queue, []wire.Instr{{Name: "run", Instr: ops.Instr{Op: ops.Run, Ins: ins, Outs: outs},
			Defines: wire.Defines{Key: key, Round: round}}})
		s.exec.Describe(s.queue, outs[len(outs)-1].ID, func(_ ops.Type, err error) {
			if err != nil {
				done(err)
				return
			}
			s.settle(3000, func(err error) {
				s.stream(ops.Instr{Op: ops.Free, Attrs: [][]int{ids}}, nil)
				done(err)
			})
		})
	})
}

// forget frees the parameters of a program.
func (s *Side) forget(p *ops.Region) error {
	return s.await(func(done func(error)) {
		ids, _ := params(p)
		s.stream(ops.Instr{Op: ops.Free, Attrs: [][]int{ids}}, nil)
		s.exec.Sync(s.queue, done)
	})
}
