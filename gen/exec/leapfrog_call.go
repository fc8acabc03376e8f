package exec

import (
	"context"
	"errors"

	"nxvk/gen/nuts"
	"nxvk/gen/wire"
	"nxvk/ops"
	"nxvk/synth"
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

// takeSteps takes the steps of a request. The kernel finds the gradients where
// it begins.
func (e *Executor) takeSteps(d *density, c *wire.Leapfrog, done func(Rows, error)) error {
	if err := d.device(e); errors.Is(err, synth.ErrUnsupported) {
		return e.stepsOnHost(d, c, done)
	} else if err != nil {
		return err
	}
	leaper := e.newLeaper(d, 1)
	list := make([]instance, c.N)
	unknown := make([]float64, c.Dim)
	for i := range list {
		of := func(v []float64) []float64 { return v[i*c.Dim : (i+1)*c.Dim] }
		list[i] = instance{q: of(c.Q), p: of(c.P), grad: unknown, metric: of(c.Metric), eps: c.Step, steps: c.K}
	}
	e.leapfrogRows(d, leaper.data, list, true, func(r Rows, _ int, err error) {
		leaper.ended()
		done(r, err)
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
