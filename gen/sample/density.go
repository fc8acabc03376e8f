package sample

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"nxvk/fallback"
	"nxvk/fallback/sched"
	"nxvk/gen/exec"
	"nxvk/gen/exec/feed"
	"nxvk/gen/exec/program"
	"nxvk/gen/exec/queue"
	"nxvk/gen/nuts"
	"nxvk/gen/wire"
	"nxvk/ops"
	"nxvk/synth/graph"
)

// density is a program that gives a log density and its gradient. Its data are on the
// host.
type density struct {
	program *program.Program
	steps   *trajectory
	feed    *feed.Feed // of the session that asks
	typ     ops.Type   // of a position
	data    []fallback.Value

	once   sync.Once
	region *ops.Region // the density for evaluations on the host
}

// density finds the program of a request and brings its data to the host.
func (s *Sampler) density(q *exec.Queue, in *wire.Instr, r *wire.Density) (d *density, wait queue.Wait, err error) {
	p, err := s.e.Program(q, r.Program)
	if err != nil {
		return nil, 0, err
	}
	position := ops.Type{DType: r.Type, Shape: ops.Shape{r.Dim}}
	wait, err = s.e.OnHost(q, in, func(data []ops.Type) error { return isDensity(p, position, data) }, func(list []exec.HostOperand) {
		d = &density{program: p, typ: position}
		for _, x := range list { // copies: the session may free them
			d.data = append(d.data, fallback.Value{Type: x.Type, Data: slices.Clone(x.Data)})
		}
	})
	if wait != 0 || err != nil {
		return nil, wait, err
	}
	if d.steps, wait = s.trajectory(q, p); wait != 0 {
		return nil, wait, nil
	}
	d.feed = s.e.Feed(q)
	return d, 0, nil
}

// isDensity reports whether a program takes a position and data of the given
// types, and gives a log density and its gradient.
func isDensity(p *program.Program, position ops.Type, data []ops.Type) error {
	want, params := append([]ops.Type{position}, data...), p.Params()
	if len(params) != len(want) {
		return fmt.Errorf("the program takes %d operands; a density takes the position and its data, which are %d", len(params), len(want))
	}
	for i, t := range want {
		if have := params[i].Type; !have.Equal(t) {
			return fmt.Errorf("operand %d of the program is %v, must be %v", i, have, t)
		}
	}
	if len(p.Values) != 2 || !p.Values[0].Equal(ops.Type{DType: position.DType}) || !p.Values[1].Equal(position) {
		return fmt.Errorf("the program gives %v; a density gives %v and its gradient, %v", p.Values, position.DType, position)
	}
	if p.Calls {
		return fmt.Errorf("a density cannot call back")
	}
	return nil
}

// hosted is a density as an Integrator that computes on the host. It is for one
// goroutine.
type hosted struct {
	*density
	eval     *fallback.Evaluator // nil before the first evaluation
	position fallback.Value
	ctx      context.Context // of the evaluation under way
	worker   *sched.Worker   // that computes
}

// hosted is the density for a goroutine.
func (d *density) hosted() *hosted { return &hosted{density: d} }

// ready prepares the evaluator, on the goroutine of the chain. An evaluation ends with its
// context, also within a loop.
func (h *hosted) ready() {
	h.once.Do(func() {
		if h.region = h.program.Region; !regional(h.region) {
			h.region = graph.Simplify(h.region, graph.Options{Eval: program.Eval})
		}
	})
	h.eval = fallback.NewEvaluator(h.region, h.data...)
	h.eval.Check = func() error { return h.ctx.Err() }
	h.position = fallback.Value{Type: h.typ, Data: make([]byte, h.typ.Bytes())}
}

// regional reports whether code has loops, branches or functions.
func regional(r *ops.Region) bool {
	return slices.ContainsFunc(r.Body, func(in ops.Instr) bool { return len(in.Regions) > 0 })
}

// Start computes density and gradient at a position.
func (h *hosted) Start(ctx context.Context, q []float64) (*nuts.State, error) {
	s := &nuts.State{Q: slices.Clone(q), Grad: make([]float64, len(q))}
	if h.typ.DType == ops.F32 {
		for i, x := range s.Q {
			s.Q[i] = float64(float32(x)) // where the density is computed
		}
	}
	return s, h.at(ctx, s)
}

// at fills in density and gradient of a position. Where the density has no value there,
// as one that inverts a singular matrix, the state says so.
func (h *hosted) at(ctx context.Context, s *nuts.State) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if h.eval == nil {
		h.ready()
	}
	if h.worker.Yield() != nil {
		return context.Canceled
	}
	h.ctx = ctx
	putFloats(h.position.Data, h.typ.DType, s.Q)
	out, err := h.eval.EvalOn(h.worker, h.position)
	switch {
	case errors.Is(err, fallback.ErrSingular), errors.Is(err, fallback.ErrIndex):
		s.Fail(err)
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return fmt.Errorf("compute the density: %w", err)
	}
	s.LogP = floatAt(out[0].Data, h.typ.DType, 0)
	for i := range s.Grad {
		s.Grad[i] = floatAt(out[1].Data, h.typ.DType, i)
	}
	return nil
}

// CallCost is nothing: a step that may be in vain is never worth it.
func (h *hosted) CallCost() float64 { return 0 }

// Steps takes one leapfrog step, of the first segment.
func (h *hosted) Steps(ctx context.Context, metric []float64, segments []nuts.Segment) ([][]nuts.State, error) {
	from, eps := segments[0].From, segments[0].Eps
	n := len(from.Q)
	all := make([]float64, 3*n)
	s := nuts.State{Q: all[:n:n], P: all[n : 2*n : 2*n], Grad: all[2*n:]}
	for i := range n {
		s.P[i] = from.P[i] + eps/2*from.Grad[i]
		s.Q[i] = from.Q[i] + eps*metric[i]*s.P[i]
	}
	err := h.at(ctx, &s)
	for i := range n {
		s.P[i] += eps / 2 * s.Grad[i]
	}
	return [][]nuts.State{{s}}, err
}
