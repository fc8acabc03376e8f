package bench

import (
	"fmt"

	"nxvk/node/bench/program"
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
		{name: "program: sum(tanh(2x+1)·exp(-x²))", run: running(program.TanhExp(n), f32(n)), rounds: rounds, bytes: n4},
		{name: "program: softmax of rows", run: running(program.Softmax(square), square), rounds: rounds, bytes: 2 * s4},
		{name: "program: layer norm of rows", run: running(program.LayerNorm(square), square), rounds: rounds, bytes: 2 * s4},
		{name: "program: log-softmax of rows", run: running(program.LogSoftmax(square), square), rounds: rounds, bytes: 2 * s4},
		{name: "program: uniform numbers of a key", run: running(program.Uniform(max(1, n/4)), ops.Type{DType: ops.U32, Shape: ops.Shape{2}}),
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

// layer is a row of a network layer on n inputs of n features. Compare it with the product
// alone.
func layer(n int) row {
	p := program.Layer(n)
	return row{name: fmt.Sprintf("program: max(a·b + c, 0) of %d×%d", n, n), run: running(p, f32(n, n), f32(n, n), f32(n)),
		rounds: 20, flops: 2 * float64(n) * float64(n) * float64(n)}
}

// training is a round of one step, which continues with the weights of the one before.
func training(batch, in, hidden, classes int) func(*harness) error {
	p := program.Descent(batch, in, hidden, classes)
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
				weights = append(weights, h.Do(ops.Constant, t, nil, program.Number(0.01)))
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
	p := program.Descent(batch, in, hidden, classes)
	ends := endsOf(p)
	var weights []ops.ID
	rounds := 0
	return func(h *harness) error {
		if weights == nil {
			for _, t := range p.Params[2:] {
				weights = append(weights, h.Do(ops.Constant, t.Type, nil, program.Number(0.01)))
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
