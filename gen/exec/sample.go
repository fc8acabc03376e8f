package exec

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"nxvk/fallback"
	"nxvk/gen/nuts"
	"nxvk/gen/store"
	"nxvk/gen/wire"
	"nxvk/ops"
	"nxvk/synth"
)

// Sampler is a run of chains under way.
type Sampler struct {
	Number int
	reader *reader
	stop   context.CancelFunc // chains end, and tell so
	cancel context.CancelFunc // nobody is told any more
}

// Chunk is draws of one chain, in order, or the end of the chain.
type Chunk struct {
	Chain  int
	Warmup bool
	Draws  []*nuts.Draw // nil where the chain has ended
	Step   float64      // of a chain that has ended
	Metric []float64
	Err    error
}

// Sample begins chains, after everything that the session asked for before.
// started tells the number of the run, or why there is none. Each chain is a
// goroutine of its own; emit runs on the goroutine of the Executor. It reports
// false where the connection takes no more, and is asked again; where the request
// gives credit, chunks also wait for that. A chain goes on when its chunk has been
// taken, so a run holds no more than a chunk of each chain. The run ends with the
// session.
func (e *Executor) Sample(l *Lane, s *wire.Sample, started func(run int, err error), emit func(run int, c Chunk) bool) {
	in := &wire.Instr{Name: "sample", Instr: ops.Instr{Op: ops.Run, Ins: s.Data}, Defines: wire.Defines{Key: s.Program}}
	e.enqueue(l, request{in: in, task: func(l *Lane) (wait bool) {
		density, wait, err := e.density(l, in, &s.Density)
		if wait {
			return true
		}
		if err != nil {
			started(0, err)
			return false
		}
		e.begin(l, s, density, started, emit)
		return false
	}})
}

// begin starts the chains.
func (e *Executor) begin(l *Lane, s *wire.Sample, d *density, started func(int, error), emit func(int, Chunk) bool) {
	chains := make([]*nuts.Chain, s.Chains)
	var leaper *leaper
	integrator := func() nuts.Integrator { return d.copy() }
	switch err := d.device(e); {
	case err == nil && d.sampled(e):
		leaper = e.newLeaper(d, s.Chains)
		integrator = func() nuts.Integrator { return leaper }
	case err != nil && !errors.Is(err, synth.ErrUnsupported):
		started(0, err)
		return
	}
	for i := range chains {
		o := s.Options
		if s.Init != nil {
			o.Init = s.Init[i*s.Dim : (i+1)*s.Dim]
		}
		var err error
		if chains[i], err = nuts.New(integrator(), s.Dim, i, o); err != nil {
			started(0, &wire.Fault{Kind: wire.BadArgument, Err: err})
			return
		}
	}
	session, cancel := context.WithCancel(context.Background())
	ctx, stop := context.WithCancel(session)
	home := l.home()
	home.samplers++
	run := &Sampler{Number: home.samplers, stop: stop, cancel: cancel}
	run.reader = &reader{limited: s.Credit > 0, credit: s.Credit, emit: func(k Chunk) bool { return emit(run.Number, k) }}
	if home.sampling == nil {
		home.sampling = make(map[int]*Sampler)
	}
	home.sampling[run.Number] = run
	started(run.Number, nil)
	left := len(chains)
	for _, c := range chains {
		end := sync.OnceFunc(func() {
			if leaper != nil {
				leaper.ended()
			}
			if left--; left == 0 {
				cancel()
				delete(home.sampling, run.Number)
			}
		})
		go func() {
			err := e.chain(ctx, c, s, run.reader)
			last := Chunk{Chain: c.Number, Step: c.Step(), Metric: c.Metric(), Err: err}
			e.conclude(session, func() bool { return run.reader.emit(last) }, end)
		}()
	}
}

// chunkBytes bounds the positions of a chunk, whatever its draws.
const chunkBytes = 4 << 20

// chain runs a chain and gathers its draws in chunks.
func (e *Executor) chain(ctx context.Context, c *nuts.Chain, s *wire.Sample, to *reader) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	most := min(s.Chunk, max(1, chunkBytes/(8*s.Dim)))
	chunk := Chunk{Chain: c.Number}
	send := func() error {
		if len(chunk.Draws) == 0 {
			return nil
		}
		k := chunk
		chunk.Draws = nil
		return e.deliver(ctx, func(taken chan<- bool) { to.offer(offer{ctx, k, taken}) })
	}
	err = c.Run(ctx, func(warmup bool, d *nuts.Draw) error {
		if warmup && !s.Warmup {
			return ctx.Err()
		}
		if warmup != chunk.Warmup {
			if err := send(); err != nil {
				return err
			}
			chunk.Warmup = warmup
		}
		if chunk.Draws = append(chunk.Draws, d); len(chunk.Draws) < most {
			return ctx.Err()
		}
		return send()
	})
	if err == nil {
		err = send()
	}
	return err
}

// Stop ends a run of chains. It reports false where there is none.
func (e *Executor) Stop(l *Lane, run int) bool {
	s := l.sampling[run]
	if s == nil {
		return false
	}
	s.stop()
	return true
}

// density is a program as an Integrator: it gives the log density and its
// gradient. Its data are on the host.
type density struct {
	program *program
	feed    *feed    // of the session that asks
	typ     ops.Type // of a position
	params  []fallback.Value
	eval    *fallback.Evaluator
}

// density finds the program of a request and brings its data to the host.
func (e *Executor) density(l *Lane, in *wire.Instr, s *wire.Density) (d *density, wait bool, err error) {
	p, err := e.program(l, s.Program)
	if err == nil {
		err = l.failed
	}
	if err != nil {
		return nil, false, err
	}
	w, err := e.gather(l, in)
	if err != nil {
		return nil, false, err
	}
	defer w.drop()
	position := ops.Type{DType: s.Type, Shape: ops.Shape{s.Dim}}
	if err := p.isDensity(position, w.types); err != nil {
		return nil, false, &wire.Fault{Kind: wire.BadArgument, Err: err}
	}
	for i, m := range w.args {
		if m != nil && !m.Bring() {
			wait, err := e.readBack(l, m, w.types[i])
			return nil, wait, err
		}
	}
	d = &density{program: p, feed: e.feed(l), typ: position, params: []fallback.Value{{Type: position}}}
	for i, t := range w.types {
		d.params = append(d.params, fallback.Value{Type: t, Data: dataOf(w.args[i], w.in.Ins[i], t)})
	}
	return d, false, nil
}

// dataOf is a copy of an operand's elements: the session may free it.
func dataOf(m *store.Storage, o ops.Operand, t ops.Type) []byte {
	if m == nil {
		return slices.Clone(o.Lit.Data)
	}
	return slices.Clone(m.Host[:t.Bytes()])
}

// isDensity reports whether a program takes a position and data of the given
// types, and gives a log density and its gradient.
func (p *program) isDensity(position ops.Type, data []ops.Type) error {
	want := append([]ops.Type{position}, data...)
	if len(p.body.params) != len(want) {
		return fmt.Errorf("the program takes %d operands; a density takes the position and its data, which are %d", len(p.body.params), len(want))
	}
	for i, t := range want {
		if have := p.body.params[i].Type; !have.Equal(t) {
			return fmt.Errorf("operand %d of the program is %v, must be %v", i, have, t)
		}
	}
	if len(p.values) != 2 || !p.values[0].Equal(ops.Type{DType: position.DType}) || !p.values[1].Equal(position) {
		return fmt.Errorf("the program gives %v; a density gives %v and its gradient, %v", p.values, position.DType, position)
	}
	if p.calls {
		return fmt.Errorf("a density cannot call back")
	}
	return nil
}

// copy is the density for another goroutine.
func (d *density) copy() *density {
	c := *d
	c.params = slices.Clone(d.params)
	c.params[0].Data = make([]byte, d.typ.Bytes())
	c.eval = fallback.NewEvaluator(d.program.region)
	return &c
}

// Start computes density and gradient at a position.
func (d *density) Start(ctx context.Context, q []float64) (*nuts.State, error) {
	s := &nuts.State{Q: slices.Clone(q), Grad: make([]float64, len(q))}
	return s, d.at(ctx, s)
}

// at fills in density and gradient of a position.
func (d *density) at(ctx context.Context, s *nuts.State) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	d.params[0].Data = appendFloats(d.params[0].Data[:0], d.typ.DType, s.Q)
	out, err := d.eval.Eval(d.params)
	if err != nil {
		return fmt.Errorf("compute the density: %w", err)
	}
	s.LogP = floatsOf(out[0].Data, d.typ.DType)[0]
	copy(s.Grad, floatsOf(out[1].Data, d.typ.DType))
	return nil
}

// CallCost is nothing: a step that may be in vain is never worth it.
func (d *density) CallCost() float64 { return 0 }

// Steps takes one leapfrog step, of the first leg.
func (d *density) Steps(ctx context.Context, metric []float64, legs []nuts.Leg) ([][]nuts.State, error) {
	from, eps := legs[0].From, legs[0].Eps
	n := len(from.Q)
	s := nuts.State{Q: make([]float64, n), P: make([]float64, n), Grad: make([]float64, n)}
	for i := range n {
		s.P[i] = from.P[i] + eps/2*from.Grad[i]
		s.Q[i] = from.Q[i] + eps*metric[i]*s.P[i]
	}
	err := d.at(ctx, &s)
	for i := range n {
		s.P[i] += eps / 2 * s.Grad[i]
	}
	return [][]nuts.State{{s}}, err
}
