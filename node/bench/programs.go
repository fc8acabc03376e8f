package bench

import (
	"fmt"

	"nxvk/ops"
)

// programs returns rows of compiled functions; a round is a run.
func programs(n int) []row {
	side := 1
	for side*side*4 <= n {
		side *= 2
	}
	const rounds = 20
	n4, s4 := 4*float64(n), 4*float64(side*side)
	square := f32(side, side)
	step := row{name: "program: SGD step of an MLP 784-128-10, batch 128", rounds: 200, run: training(128, 784, 128, 10)}
	eager := row{name: "one by one: SGD step of an MLP 784-128-10, batch 128", rounds: 200, run: eagerTraining(128, 784, 128, 10)}
	return []row{
		{name: "program: sum(tanh(2x+1)·exp(-x²))", run: running(tanhExp(n), f32(n)), rounds: rounds, bytes: n4},
		{name: "program: softmax of rows", run: running(softmax(square), square), rounds: rounds, bytes: 2 * s4},
		{name: "program: layer norm of rows", run: running(layerNorm(square), square), rounds: rounds, bytes: 2 * s4},
		{name: "program: log-softmax of rows", run: running(logSoftmax(square), square), rounds: rounds, bytes: 2 * s4},
		{name: "program: uniform numbers of a key", run: running(uniform(max(1, n/4)), ops.Type{DType: ops.U32, Shape: ops.Shape{2}}),
			rounds: rounds, bytes: n4 / 2},
		layer(512), layer(1024),
		step, eager,
		leapfrogs(1), leapfrogs(132), leapfrogs(264), leapfrogs(528), leapfrogs(1024),
	}
}

// running is a round of a program on inputs of the given types.
func running(p *ops.Region, ins ...ops.Type) func(*harness) error {
	key := fmt.Sprintf("%p", p)
	outs, err := p.CheckProgram()
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return func(h *harness) error {
		operands := make([]ops.Operand, len(ins))
		for i, t := range ins {
			operands[i] = h.input(t, i)
		}
		h.Define(key, p)
		ids := h.Run(key, outs, operands...)
		err := h.Err(ids[0])
		h.Free(ids...)
		return err
	}
}

func tanhExp(n int) *ops.Region {
	g := newGraph(ops.F32)
	x := g.param(f32(n))
	t := g.point(ops.Tanh, g.point(ops.Add, g.point(ops.Multiply, x, g.number(2)), g.number(1)))
	e := g.point(ops.Exp, g.point(ops.Negate, g.point(ops.Multiply, x, x)))
	return g.finish(g.fold(ops.Sum, g.point(ops.Multiply, t, e), 0, false))
}

func softmax(t ops.Type) *ops.Region {
	g := newGraph(ops.F32)
	x := g.param(t)
	e := g.point(ops.Exp, g.point(ops.Subtract, x, g.fold(ops.ReduceMax, x, 1, true)))
	return g.finish(g.point(ops.Divide, e, g.fold(ops.Sum, e, 1, true)))
}

// logs is the logarithm of the softmax of rows.
func (g *graph) logs(x node) node {
	d := g.point(ops.Subtract, x, g.fold(ops.ReduceMax, x, 1, true))
	return g.point(ops.Subtract, d, g.point(ops.Log, g.fold(ops.Sum, g.point(ops.Exp, d), 1, true)))
}

func logSoftmax(t ops.Type) *ops.Region {
	g := newGraph(ops.F32)
	return g.finish(g.logs(g.param(t)))
}

func layerNorm(t ops.Type) *ops.Region {
	g := newGraph(ops.F32)
	x, scale := g.param(t), 1/float64(t.Shape[1])
	mean := g.point(ops.Multiply, g.fold(ops.Sum, x, 1, true), g.number(scale))
	d := g.point(ops.Subtract, x, mean)
	v := g.point(ops.Multiply, g.fold(ops.Sum, g.point(ops.Multiply, d, d), 1, true), g.number(scale))
	return g.finish(g.point(ops.Multiply, d, g.point(ops.Rsqrt, g.point(ops.Add, v, g.number(1e-5)))))
}

// layer is a row of a network layer on n inputs of n features. Compare it with the product
// alone.
func layer(n int) row {
	g := newGraph(ops.F32)
	sum := g.point(ops.Add, g.dot(g.param(f32(n, n)), 1, g.param(f32(n, n)), 0), g.param(f32(n)))
	p := g.finish(g.point(ops.Max, sum, g.number(0)))
	return row{name: fmt.Sprintf("program: max(a·b + c, 0) of %d×%d", n, n), run: running(p, f32(n, n), f32(n, n), f32(n)),
		rounds: 20, flops: 2 * float64(n) * float64(n) * float64(n)}
}

// descent is a step of gradient descent on the cross-entropy of a perceptron with one hidden
// layer. Its parameters are inputs, labels, weights and biases; its values are the new weights
// and biases.
func descent(batch, in, hidden, classes int) *ops.Region {
	g := newGraph(ops.F32)
	x, y := g.param(f32(batch, in)), g.param(f32(batch, classes))
	w1, b1 := g.param(f32(in, hidden)), g.param(f32(hidden))
	w2, b2 := g.param(f32(hidden, classes)), g.param(f32(classes))
	z1 := g.point(ops.Add, g.dot(x, 1, w1, 0), b1)
	h := g.point(ops.Max, z1, g.number(0))
	z2 := g.point(ops.Add, g.dot(h, 1, w2, 0), b2)
	d2 := g.point(ops.Multiply, g.point(ops.Subtract, g.point(ops.Exp, g.logs(z2)), y), g.number(1/float64(batch)))
	zero := g.add(ops.Constant, f32(batch, hidden), nil, g.number(0))
	d1 := g.add(ops.Select, f32(batch, hidden), nil, g.point(ops.Greater, z1, g.number(0)), g.dot(d2, 1, w2, 1), zero)
	update := func(p, gradient node) node {
		return g.point(ops.Subtract, p, g.point(ops.Multiply, gradient, g.number(0.1)))
	}
	return g.finish(update(w1, g.dot(x, 0, d1, 0)), update(b1, g.fold(ops.Sum, d1, 0, false)),
		update(w2, g.dot(h, 0, d2, 0)), update(b2, g.fold(ops.Sum, d2, 0, false)))
}

// training is a round of one step, which continues with the weights of the one before.
func training(batch, in, hidden, classes int) func(*harness) error {
	p := descent(batch, in, hidden, classes)
	outs, err := p.CheckProgram()
	if err != nil {
		panic("BUG: " + err.Error())
	}
	var weights []ops.ID
	rounds := 0
	return func(h *harness) error {
		x, y := h.input(f32(batch, in), 0), h.input(f32(batch, classes), 1)
		if weights == nil {
			h.Define("descent", p)
			for _, t := range outs {
				weights = append(weights, h.Do(ops.Constant, t, nil, newGraph(ops.F32).number(0.01)))
			}
		}
		operands := []ops.Operand{x, y}
		for _, id := range weights {
			operands = append(operands, ops.Operand{ID: id})
		}
		next := h.Run("descent", outs, operands...)
		h.Free(weights...)
		weights = next
		if rounds++; rounds%checked == 1 {
			return h.Err(weights[0])
		}
		return nil
	}
}

// eagerTraining is training with single instructions, as a client without a compiler sends
// them.
func eagerTraining(batch, in, hidden, classes int) func(*harness) error {
	p := descent(batch, in, hidden, classes)
	ends := endsOf(p)
	var weights []ops.ID
	rounds := 0
	return func(h *harness) error {
		if weights == nil {
			for _, t := range p.Params[2:] {
				weights = append(weights, h.Do(ops.Constant, t.Type, nil, newGraph(ops.F32).number(0.01)))
			}
		}
		ids := map[ops.ID]ops.ID{p.Params[0].ID: h.input(p.Params[0].Type, 0).ID, p.Params[1].ID: h.input(p.Params[1].Type, 1).ID}
		for i, id := range weights {
			ids[p.Params[2+i].ID] = id
		}
		for i, x := range p.Body {
			ins := make([]ops.Operand, len(x.Ins))
			for k, o := range x.Ins {
				ins[k] = ops.Operand{ID: ids[o.ID], Lit: o.Lit}
			}
			ids[x.Outs[0].ID] = h.Do(x.Op, x.Outs[0].Type, x.Attrs, ins...)
			for _, id := range ends[i] {
				h.Free(ids[id])
			}
		}
		weights = weights[:0]
		for _, o := range p.Values {
			weights = append(weights, ids[o.ID])
		}
		if rounds++; rounds%checked == 1 {
			return h.Err(weights[0])
		}
		return nil
	}
}

// checked is the number of rounds between two checks of a result for an error. A check waits for
// the device.
const checked = 200

// endsOf lists, for each instruction, the values that it uses last. The first two parameters
// are left out.
func endsOf(p *ops.Region) [][]ops.ID {
	ends := make([][]ops.ID, len(p.Body))
	needed := map[ops.ID]bool{p.Params[0].ID: true, p.Params[1].ID: true}
	for _, o := range p.Values {
		needed[o.ID] = true
	}
	for i := len(p.Body) - 1; i >= 0; i-- {
		for _, o := range p.Body[i].Ins {
			if o.Lit == nil && !needed[o.ID] {
				needed[o.ID] = true
				ends[i] = append(ends[i], o.ID)
			}
		}
	}
	return ends
}
