package exec

import (
	"context"
	"errors"

	"nxvk/gen/nuts"
	"nxvk/gen/wire"
	"nxvk/ops"
	"nxvk/synth"
	"nxvk/vulkan"
)

// Leapfrog takes the steps of a request with the kernel of a program, after
// everything that the session asked for before.
func (e *Executor) Leapfrog(l *Lane, c *wire.Leapfrog, done func(Rows, error)) {
	in := &wire.Instr{Name: "leapfrog", Instr: ops.Instr{Op: ops.Run, Ins: c.Data}}
	e.enqueue(l, request{in: in, task: func(l *Lane) (wait bool) {
		d, wait, err := e.density(l, in, &c.Density)
		if wait {
			return true
		}
		if err == nil {
			err = e.takeSteps(d, c, done)
		}
		if err != nil {
			done(Rows{}, err)
		}
		return false
	}})
}

// takeSteps begins at the gradient of the positions, which the kernel gives when
// it takes a step of no size.
func (e *Executor) takeSteps(d *density, c *wire.Leapfrog, done func(Rows, error)) error {
	if err := d.device(e); errors.Is(err, synth.ErrUnsupported) {
		return e.stepsOnHost(d, c, done)
	} else if err != nil {
		return err
	}
	leaper := e.newLeaper(d, 1)
	list := make([]instance, c.N)
	zero := make([]float64, c.Dim)
	for i := range list {
		of := func(v []float64) []float64 { return v[i*c.Dim : (i+1)*c.Dim] }
		list[i] = instance{q: of(c.Q), p: zero, grad: zero, metric: of(c.Metric), steps: 1}
	}
	e.withKernel(d, c.N, 1, func(first *planned, err error) {
		defer leaper.ended()
		var start, outs []vulkan.Arg
		var sizes []int
		if err == nil {
			start, _, err = e.dispatchLeapfrog(first, leaper.data, inputsOf(d, list), nil, c.N, d.typ)
		}
		if err == nil {
			for i := range list {
				list[i].p, list[i].eps, list[i].steps = c.P[i*c.Dim:(i+1)*c.Dim], c.Step, c.K
			}
			var all *planned
			e.withKernel(d, c.N, c.K, func(p *planned, e error) { all, err = p, e }) // it is compiled by now
			if err == nil {
				outs, sizes, err = e.dispatchLeapfrog(all, leaper.data, inputsOf(d, list), start[leapfrogGrad].Buffer, c.N*c.K, d.typ)
			}
		}
		freeAll(start)
		if err != nil {
			done(Rows{}, e.deviceError(err))
			return
		}
		e.rows(outs, sizes, done)
		freeAll(outs)
	})
	return nil
}

// rowsOf joins the states of instances.
func rowsOf(all [][]nuts.State, t ops.DType) (r Rows) {
	for _, states := range all {
		for _, s := range states {
			r.Q, r.P = appendFloats(r.Q, t, s.Q), appendFloats(r.P, t, s.P)
			r.Grad, r.LogP = appendFloats(r.Grad, t, s.Grad), appendFloats(r.LogP, t, []float64{s.LogP})
		}
	}
	return r
}

// stepsOnHost takes the steps of a request on the host, apart from the goroutine
// of the Executor.
func (e *Executor) stepsOnHost(d *density, c *wire.Leapfrog, done func(Rows, error)) error {
	go func() {
		all := make([][]nuts.State, c.N)
		var failed error
		for i := range all {
			h := d.copy()
			s, err := h.Start(context.Background(), c.Q[i*c.Dim:(i+1)*c.Dim])
			if err == nil {
				s.P = c.P[i*c.Dim : (i+1)*c.Dim]
				for len(all[i]) < c.K && err == nil {
					var next []nuts.State
					if next, err = h.Steps(context.Background(), s, c.Step, c.Metric[i*c.Dim:(i+1)*c.Dim], 1); err == nil {
						all[i] = append(all[i], next[0])
						s = &next[0]
					}
				}
			}
			failed = errors.Join(failed, err)
		}
		e.cfg.Post(func() { done(rowsOf(all, c.Type), failed) })
	}()
	return nil
}
